/* seeded_disk - the journal of a life: crashes, failures, damage, and what must be there after
 * them.
 *
 * A crash stops the disk in the middle of a change; the engine goes on to the end of its step
 * against a disk that refuses everything, which is as good as dead: nobody hears of what it does
 * (the relay lets no call through, the hooks are not listened to).  Then all is closed and begun
 * anew from what is left.
 */
#include "base/hash.h"
#include "core/codec.h"
#include "core/view.h"
#include "sim/seeded_impl.h"

#include <stdio.h>
#include <string.h>

#define STARTS_MAX  30 /* crashes one after the other */
#define FLIPS       3  /* bits a stop, one at a time */
#define CRASHES_MAX 2  /* at one record, as in musterd */

static void state_of(void *ctx, struct str *ret)
{
    const struct life *l = ctx;

    core_snapshot(engine_core(l->world.engine), ret);
}

static int open_journal(struct life *l, struct err *err)
{
    const struct journal_sqlite_options options = {.vfs = l->fs != NULL ? "torn" : NULL};

    return journal_open_sqlite_with(SEEDED_JOURNAL, &options, &l->real, err);
}

int life_open_disk(struct life *l, struct err *err)
{
    const unsigned needs =
        SEEDED_FAULT(CRASH) | SEEDED_FAULT(DISK) | SEEDED_FAULT(FULL) | SEEDED_FAULT(FLIP);
    int rc;

    if (!life_has(l, needs)) {
        l->world.journal = journal_open_mem();
        return 0;
    }
    l->disk = torndisk_new(rng_next(&l->rng));
    l->fs = tornfs_new("torn", l->disk);
    witness_init(&l->witness);
    l->witness.state = state_of;
    l->witness.state_ctx = l;
    l->witness.disk = l->disk;
    l->world.disk = l->disk;
    l->relay.disk = l->disk;
    rc = open_journal(l, err);
    torndisk_flush(l->disk); /* on a real disk it is made aside and renamed */
    l->witness.real = l->real;
    l->world.journal = &l->witness.base;
    return rc;
}

void life_close_disk(struct life *l)
{
    if (l->disk == NULL) {
        return;
    }
    journal_close(l->real);
    witness_fini(&l->witness);
    tornfs_free(l->fs);
    torndisk_free(l->disk);
}

/* ---- faults ---- */

/* Somewhere in the next few commits, a first one or one far off. */
void life_arm_crash(struct life *l)
{
    static const int64_t REACH[] = {4, 12, 60};

    if (l->disk == NULL || !life_has(l, SEEDED_FAULT(CRASH))) {
        return;
    }
    torndisk_arm(l->disk, TORNDISK_CRASH, rng_range(&l->rng, 1, REACH[rng_below(&l->rng, 3)]), 1);
    l->witness.takes_state = life_one_in(l, 8);
}

void life_arm_disk(struct life *l)
{
    if (l->disk == NULL || !life_has(l, SEEDED_FAULT(DISK))) {
        return;
    }
    torndisk_arm(l->disk, life_one_in(l, 2) ? TORNDISK_EIO : TORNDISK_SYNC,
                 rng_range(&l->rng, 1, 12), rng_range(&l->rng, 1, 6));
}

void life_fill_disk(struct life *l)
{
    const struct seeded_turn turn = {l->world.now_ms +
                                         rng_range(&l->rng, 1, 120) * SEEDED_SECOND_MS,
                                     TURN_ROOM, 0};

    if (l->disk == NULL || !life_has(l, SEEDED_FAULT(FULL))) {
        return;
    }
    torndisk_set_room(l->disk, torndisk_used_bytes(l->disk) + rng_range(&l->rng, 0, 60000));
    vec_push(&l->turns, turn);
}

void life_mend_disk(struct life *l)
{
    if (l->disk != NULL) {
        torndisk_disarm(l->disk);
        torndisk_set_room(l->disk, -1);
    }
}

/* ---- the way back ---- */

static void stop_daemon(struct life *l)
{
    struct engine_stats stats;

    if (l->world.engine != NULL) {
        engine_stats(l->world.engine, &stats);
        l->result->core_us += stats.core_us;
    }
    l->relay.down = true;
    engine_close(l->world.engine);
    l->world.engine = NULL;
    mirror_restart(&l->mirror);
    if (l->disk != NULL) {
        journal_close(l->real);
        l->real = NULL;
        l->witness.real = NULL;
    }
}

static bool copy_hash(void *ctx, const struct journal_record *r)
{
    memcpy(ctx, r->hash, JOURNAL_HASH_BYTES);
    return false;
}

/* What was told of is there, record by record: the chain's hash says so. */
static bool holds_what_was_told(struct life *l)
{
    unsigned char hash[JOURNAL_HASH_BYTES] = {0};
    struct err err = {0};
    char text[100];

    if (journal_last_seq(l->real) < l->durable_seq) {
        (void)snprintf(text, sizeof(text), "%lld records of %lld",
                       (long long)journal_last_seq(l->real), (long long)l->durable_seq);
        life_fail(l, "a crash took what was durable", text);
        return false;
    }
    if (l->durable_seq > 0 &&
        journal_read(l->real, l->durable_seq, 1, copy_hash, hash, &err) != 0) {
        life_fail(l, "the last durable record cannot be read", err.text);
        return false;
    }
    if (l->durable_seq > 0 && memcmp(hash, l->durable_hash, sizeof(hash)) != 0) {
        life_fail(l, "a crash changed what was durable", "the chain's hash is another");
        return false;
    }
    return true;
}

/* A record that survived untold: durable from now on. */
static bool tell(void *ctx, const struct journal_record *r)
{
    struct life *l = ctx;
    struct fact fact = {0};
    struct err err = {0};

    if (codec_decode_fact(fact_kind_of(r->kind), r->bytes, r->len, l->arena, &fact, &err) != 0) {
        life_fail(l, "a record that survived cannot be read", err.text);
        return false;
    }
    fact.seq = r->seq;
    fact.at_ms = r->at_ms;
    fact.true_at_ms = r->true_at_ms;
    world_tell(&l->world, &fact, r);
    return !life_failed(l);
}

/* All or none of the batch that was on its way; *ret_state is what the state must then be, NULL =
 * not known. */
static void take_what_survived(struct life *l, char **ret_state)
{
    const struct witness_try *t;
    struct err err = {0};

    *ret_state = NULL;
    if (!holds_what_was_told(l) || journal_last_seq(l->real) == l->durable_seq) {
        return;
    }
    t = witness_match(&l->witness, l->real, l->durable_seq + 1);
    if (t == NULL) {
        life_fail(l, "the journal holds what was never a batch",
                  "more records than were durable, and not those that were on their way");
        return;
    }
    *ret_state = t->state.len > 0 ? mem_text(t->state.text) : NULL;
    l->result->carried++;
    mirror_flush(&l->mirror, false);
    if (journal_read(l->real, l->durable_seq + 1, INT64_MAX, tell, l, &err) != 0) {
        life_fail(l, "what survived cannot be read", err.text);
    }
    mirror_flush(&l->mirror, false);
    arena_reset(l->arena);
}

static void compare_state(struct life *l, const char *want)
{
    struct str got = {0};

    mirror_flush(&l->mirror, false);
    mirror_compare(&l->mirror, world_core(&l->world));
    if (l->mirror.failure.len > 0) {
        life_fail(l, "after a start", l->mirror.failure.text);
    }
    if (want != NULL) {
        core_snapshot(world_core(&l->world), &got);
        if (strcmp(str_text(&got), want) != 0) {
            life_fail(l, "after a start", "the state is not what the engine had with that batch");
        }
        str_fini(&got);
    }
}

/* A disk that cannot be read is an error, never damage, never a crash of ours. */
static void try_unreadable(struct life *l)
{
    struct engine_config config = {0};
    struct engine *e = NULL;
    struct err err = {0};
    int rc;

    torndisk_set_unreadable(l->disk, true);
    rc = open_journal(l, &err);
    if (rc == 0) {
        config.journal = l->real;
        rc = engine_open(&config, &e, &err);
        engine_close(e);
        journal_close(l->real);
        l->real = NULL;
    }
    torndisk_set_unreadable(l->disk, false);
    if (rc == 0 || rc == ERR_JOURNAL_DAMAGED) {
        life_fail(l, "a journal that cannot be read", rc == 0 ? "was opened" : err.text);
    }
    l->result->disk_faults++;
}

/* As musterd does: a second crash at the same record starts frozen. */
static void freeze_if_stuck(struct life *l, bool crashed)
{
    const struct seeded_turn turn = {l->world.now_ms +
                                         rng_range(&l->rng, 1, 300) * SEEDED_SECOND_MS,
                                     TURN_THAW, 0};

    if (!crashed) {
        return;
    }
    l->crashes_there = l->crash_seq == l->durable_seq ? l->crashes_there + 1 : 1;
    l->crash_seq = l->durable_seq;
    if (l->crashes_there >= CRASHES_MAX) {
        engine_set_frozen(l->world.engine, true, "two crashes at one record");
        l->result->frozen++;
        vec_push(&l->turns, turn);
    }
}

/* Opening writes, so a fault that is still armed may meet it, or the power go: then systemd tries
 * again, as long as the faults last. */
static int open_in_the_end(struct life *l, struct err *err)
{
    bool fails = true;
    int starts;
    int rc = ERR_IO;

    for (starts = 0; rc == ERR_IO && fails && starts < STARTS_MAX; starts++) {
        if (torndisk_is_dead(l->disk)) {
            l->result->crashes++;
            torndisk_revive(l->disk);
        }
        fails = torndisk_may_fail(l->disk); /* this one may meet the last fault */
        rc = open_journal(l, err);
    }
    return rc;
}

static void start_daemon(struct life *l, bool crashed)
{
    CLEANUP(mem_freep) char *state = NULL;
    struct err err = {0};
    int rc;

    if (l->disk != NULL && life_has(l, SEEDED_FAULT(DISK)) && life_one_in(l, 8)) {
        try_unreadable(l);
    }
    if (l->disk != NULL && !life_failed(l)) {
        rc = open_in_the_end(l, &err);
        if (rc != 0) {
            life_fail(l, "the journal does not open", err.text);
            return;
        }
        l->witness.real = l->real;
        take_what_survived(l, &state);
        witness_settle(&l->witness);
    }
    if (life_failed(l)) {
        return;
    }
    rc = world_open(&l->world, &err);
    if (rc != 0) {
        life_fail(l, "the engine does not open", err.text);
        return;
    }
    l->relay.down = false;
    compare_state(l, state);
    freeze_if_stuck(l, crashed);
    if (crashed && life_one_in(l, 4)) {
        life_arm_crash(l);
    }
    if (world_adopt(&l->world, &err) != 0) {
        life_fail(l, "adopt", err.text);
    }
    world_settle(&l->world);
}

static bool is_dead(const struct life *l)
{
    return l->disk != NULL && torndisk_is_dead(l->disk);
}

static void some_time_down(struct life *l)
{
    if (life_one_in(l, 2)) {
        l->world.now_ms += rng_range(&l->rng, 1, 120 * SEEDED_SECOND_MS);
        virtual_run_until(l->world.backend, l->world.now_ms);
    }
}

void life_recover(struct life *l)
{
    int starts;

    for (starts = 0; is_dead(l) && !life_failed(l) && starts < STARTS_MAX; starts++) {
        l->result->crashes++;
        stop_daemon(l);
        torndisk_revive(l->disk);
        l->world.stopped = false;
        some_time_down(l);
        start_daemon(l, true);
    }
    if (is_dead(l) && !life_failed(l)) {
        life_mend_disk(l);
        life_fail(l, "recover", "more crashes than a life should have");
    }
}

/* What is being written is finished. */
void life_finish_writing(struct life *l)
{
    int64_t had_ms = l->world.write_ms;

    l->world.write_ms = 0;
    if (l->world.writing != NULL) {
        l->world.written_ms = l->world.now_ms;
    }
    world_settle(&l->world);
    l->world.write_ms = had_ms;
}

void life_restart(struct life *l)
{
    life_finish_writing(l);
    if (life_failed(l) || is_dead(l)) {
        return;
    }
    stop_daemon(l); /* a crash may be armed for the writes of closing */
    if (is_dead(l)) {
        l->result->crashes++;
        torndisk_revive(l->disk);
    }
    some_time_down(l);
    start_daemon(l, false);
    l->result->restarts++;
}

/* ---- damage ---- */

/* Does the journal hold what is durable, to the last record?  One more may stand behind it: a batch
 * whose sync failed was told to have failed, and a power cut may still bring it back. */
static bool holds_durable(struct life *l)
{
    unsigned char hash[JOURNAL_HASH_BYTES] = {0};

    return journal_read(l->real, l->durable_seq, 1, copy_hash, hash, NULL) >= 0 &&
           memcmp(hash, l->durable_hash, sizeof(hash)) == 0;
}

/* The verdict on a journal with one bit turned: damage, or the very same records. */
static void judge(struct life *l, const char *file, int64_t byte)
{
    struct journal_verdict verdict = {0};
    struct err err = {0};
    char text[120];
    int rc = open_journal(l, &err);
    bool log = strcmp(file, SEEDED_JOURNAL) != 0;

    (void)snprintf(text, sizeof(text), "byte %lld of %s", (long long)byte, file);
    if (rc == 0) {
        rc = journal_verify(l->real, &verdict, &err);
        if (rc == 0 && l->durable_seq > 0 && !holds_durable(l) &&
            !(log && journal_last_seq(l->real) < l->durable_seq)) {
            life_fail(l, "damage was accepted", text);
        }
        torndisk_crash(l->disk); /* closing must not write */
        journal_close(l->real);
        l->real = NULL;
    }
    if (rc != 0 && rc != ERR_JOURNAL_DAMAGED && rc != ERR_JOURNAL_NEWER) {
        struct str said = {0};

        str_addf(&said, "%s: %s (%s)", text, err.text, err_name((enum err_code)rc));
        life_fail(l, "damage has another name", said.text);
        str_fini(&said);
    }
    torndisk_rewind(l->disk);
}

void life_flip(struct life *l)
{
    static const char *const FILES[] = {SEEDED_JOURNAL, SEEDED_JOURNAL "-wal"};
    int i;

    if (l->disk == NULL || !life_has(l, SEEDED_FAULT(FLIP))) {
        return;
    }
    life_mend_disk(l);
    life_finish_writing(l);
    if (life_failed(l)) {
        return;
    }
    if (life_one_in(l, 2)) {
        torndisk_crash(l->disk); /* the log is not moved into the file */
    }
    stop_daemon(l);
    if (is_dead(l)) {
        torndisk_revive(l->disk);
    }
    torndisk_flush(l->disk);
    for (i = 0; i < FLIPS && !life_failed(l); i++) {
        const char *file = FILES[rng_below(&l->rng, 2)];
        struct torndisk_file *f = torndisk_open(l->disk, file, false);
        int64_t byte;
        int bit = (int)rng_below(&l->rng, 8);

        if (f == NULL || torndisk_size(f) == 0) {
            continue;
        }
        byte = rng_range(&l->rng, 0, torndisk_size(f) - 1);
        torndisk_flip(f, byte, bit);
        judge(l, file, byte);
        torndisk_flip(torndisk_open(l->disk, file, false), byte, bit);
        l->result->flips++;
    }
    l->world.stopped = false;
    if (!life_failed(l)) {
        start_daemon(l, false);
    }
}
