/* engine_commit - one batch to the journal, and the state back from it.
 *
 * Apply runs ahead of the disk.  When the append fails the state in memory is one that never was:
 * it is thrown away and read back, from the newest snapshot that proves itself (format, its own
 * hash, the chain's hash at its seq) and the records behind it.  After a failure that leaves open
 * whether the batch is on disk, the replay answers: all or none of it is there.
 */
#include "base/check.h"
#include "base/hash.h"
#include "core/codec.h"
#include "engine/engine_impl.h"

#include <string.h>

/* ---- replay ---- */

struct replay {
    struct core *core;
    struct arena *arena;
    int rc;
    struct err err;
};

/* A record that a later release wrote, or that is not what the chain vouches for: never half read.
 */
static int refuse_record(const struct journal_record *r, const struct err *why, struct err *err)
{
    if (why->code == ERR_UNKNOWN_FIELD) {
        return err_set(err, ERR_JOURNAL_NEWER, "record %lld (%s) is of a newer muster: %.200s",
                       (long long)r->seq, r->kind, why->text);
    }
    return err_set(err, ERR_JOURNAL_DAMAGED, "record %lld (%s) cannot be applied: %.200s",
                   (long long)r->seq, r->kind, why->text);
}

static bool replay_record(void *ctx, const struct journal_record *r)
{
    struct replay *replay = ctx;
    struct fact fact = {0};
    struct err err = {0};
    enum fact_kind kind = fact_kind_of(r->kind);

    arena_reset(replay->arena);
    if (kind == FACT_NONE) {
        replay->rc = err_set(&replay->err, ERR_JOURNAL_NEWER,
                             "record %lld is of kind \"%s\", which this release does not know",
                             (long long)r->seq, r->kind);
        return false;
    }
    if (r->version > ENGINE_RECORD_VERSION) {
        replay->rc =
            err_set(&replay->err, ERR_JOURNAL_NEWER,
                    "record %lld (%s) has version %lld of a newer muster; this one reads "
                    "up to %d",
                    (long long)r->seq, r->kind, (long long)r->version, ENGINE_RECORD_VERSION);
        return false;
    }
    replay->rc = codec_decode_fact(kind, r->bytes, r->len, replay->arena, &fact, &err);
    if (replay->rc == 0) {
        fact.seq = r->seq;
        fact.at_ms = r->at_ms;
        fact.true_at_ms = r->true_at_ms == r->at_ms ? 0 : r->true_at_ms;
        replay->rc = core_apply(replay->core, &fact, &err);
    }
    if (replay->rc != 0) {
        replay->rc = refuse_record(r, &err, &replay->err);
        return false;
    }
    return true;
}

static bool copy_hash(void *ctx, const struct journal_record *r)
{
    memcpy(ctx, r->hash, JOURNAL_HASH_BYTES);
    return false;
}

/* Is this the state after record seq of this very chain?  A snapshot that does not prove itself is
 * passed over: the journal alone is the truth. */
static bool snapshot_is_good(struct journal *j, const struct journal_snapshot *s)
{
    unsigned char hash[JOURNAL_HASH_BYTES] = {0};

    if (s->format != CORE_SNAPSHOT_FORMAT || s->seq > journal_last_seq(j)) {
        return false;
    }
    hash_sha256(s->bytes, s->len, hash);
    if (memcmp(hash, s->state_hash, JOURNAL_HASH_BYTES) != 0) {
        return false;
    }
    memset(hash, 0, sizeof(hash));
    if (s->seq > 0 && journal_read(j, s->seq, 1, copy_hash, hash, NULL) != 0) {
        return false;
    }
    return memcmp(hash, s->hash, JOURNAL_HASH_BYTES) == 0;
}

/* The core to begin with, and the seq of the last record it holds.  An older snapshot is passed
 * over, the records say the same; a newer one tells that a newer release has run here, whose
 * records may mean what this one does not know of. */
static int replay_base(struct journal *j, struct core **ret_core, int64_t *ret_seq, struct err *err)
{
    struct journal_snapshot snapshot;
    struct core *core = NULL;
    int64_t seq = 0;

    if (journal_snapshot_get(j, &snapshot, NULL) == 0) {
        if (snapshot.format > CORE_SNAPSHOT_FORMAT) {
            return err_set(err, ERR_JOURNAL_NEWER,
                           "the snapshot after record %lld has format %lld of a newer muster; this "
                           "one reads up to %d (an export, imported, has no snapshots)",
                           (long long)snapshot.seq, (long long)snapshot.format,
                           CORE_SNAPSHOT_FORMAT);
        }
        if (snapshot_is_good(j, &snapshot) &&
            core_restore(snapshot.bytes, snapshot.len, &core, NULL) == 0) {
            seq = snapshot.seq;
        }
    }
    *ret_core = core != NULL ? core : core_new();
    *ret_seq = seq;
    return 0;
}

int engine_replay(struct engine *e, struct err *err)
{
    struct replay replay = {0};
    int64_t seq = 0;
    int rc = replay_base(e->config.journal, &replay.core, &seq, err);

    if (rc != 0) {
        return rc;
    }
    replay.arena = arena_make();
    rc = journal_read(e->config.journal, seq + 1, INT64_MAX, replay_record, &replay, err);
    arena_free(replay.arena);
    if (rc == 0 && replay.rc != 0) {
        rc = err_set(err, replay.err.code, "%s", replay.err.text);
    }
    if (rc != 0) {
        core_free(replay.core);
        return rc;
    }
    core_free(e->core);
    e->core = replay.core;
    e->snapshot_seq = seq;
    e->next_plan_ms = INT64_MIN;
    return 0;
}

/* ---- append ---- */

/* The bytes have stopped moving. */
static void point_records(struct engine_batch *b)
{
    size_t i;

    for (i = 0; i < b->records.count; i++) {
        b->records.items[i].bytes = b->bytes.text + b->offsets.items[i];
    }
}

int engine_commit_end(struct engine *e, int rc, const struct err *why, struct err *err)
{
    const struct engine_batch *b = &e->batch;
    struct err replay_err = {0};
    size_t i;

    if (rc == 0) {
        for (i = 0; i < b->records.count; i++) {
            CHECK(b->records.items[i].seq == b->facts.items[i].seq);
        }
        return 0;
    }
    if (engine_replay(e, &replay_err) != 0) {
        check_failed(__FILE__, __LINE__, replay_err.text);
    }
    if (rc == ERR_IO &&
        journal_last_seq(e->config.journal) == b->base_seq + (int64_t)b->records.count) {
        return 0; /* it is on disk after all */
    }
    return err_set(err, (enum err_code)rc, "%s", why->text);
}

int engine_commit(struct engine *e, bool urgent, struct err *err)
{
    struct engine_batch *b = &e->batch;
    struct err why = {0};
    int rc;

    if (b->records.count == 0) {
        return 0;
    }
    point_records(b);
    rc = urgent ? journal_append_urgent(e->config.journal, b->records.items, b->records.count, &why)
                : journal_append(e->config.journal, b->records.items, b->records.count, &why);
    return engine_commit_end(e, rc, &why, err);
}

void engine_commit_begin(struct engine *e)
{
    point_records(&e->batch);
    e->in_flight = true;
    e->committer.append(e->committer.ctx, e->batch.records.items, e->batch.records.count);
}

/* ---- snapshots ---- */

/* ret->bytes is for the caller to free. */
static void make_snapshot(struct engine *e, struct journal_snapshot *ret)
{
    struct str text = {0};

    core_snapshot(e->core, &text);
    *ret = (struct journal_snapshot){
        .seq = journal_last_seq(e->config.journal),
        .format = CORE_SNAPSHOT_FORMAT,
        .len = text.len,
    };
    ret->bytes = str_take(&text);
    journal_last_hash(e->config.journal, ret->hash);
    hash_sha256(ret->bytes, ret->len, ret->state_hash);
    e->snapshot_wanted = false;
    if (e->config.hooks.snapshot != NULL) {
        e->config.hooks.snapshot(e->config.hooks.ctx, ret);
    }
}

int engine_snapshot_put(struct engine *e, struct err *err)
{
    struct journal_snapshot snapshot;
    int rc;

    make_snapshot(e, &snapshot);
    rc = journal_snapshot_put(e->config.journal, &snapshot, err);
    mem_freep(&snapshot.bytes);
    if (rc == 0) {
        e->snapshot_seq = snapshot.seq;
    }
    return rc;
}

void engine_snapshot_due(struct engine *e)
{
    int64_t every = e->config.snapshot_every;
    int64_t last = journal_last_seq(e->config.journal);
    struct journal_snapshot snapshot;

    e->bytes_since_snapshot += e->batch.bytes.len;
    if (!e->snapshot_wanted && (every <= 0 || last - e->snapshot_seq < every)) {
        return;
    }
    if (e->committer.append == NULL) {
        if (engine_snapshot_put(e, NULL) != 0) {
            e->snapshot_seq = last; /* the next try is `every` records later */
        }
        return;
    }
    /* Making one holds up the step: not before as many bytes of records have come as the last one
     * had, so that it costs less than the records themselves. */
    if (!e->snapshot_wanted && e->bytes_since_snapshot < e->snapshot_bytes) {
        return;
    }
    make_snapshot(e, &snapshot);
    e->snapshot_seq = last;
    e->snapshot_bytes = snapshot.len;
    e->bytes_since_snapshot = 0;
    e->committer.snapshot(e->committer.ctx, &snapshot);
}
