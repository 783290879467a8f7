/* seeded_check - what must hold, where it is checked, and how often.
 *
 * | the design's section 10                                  | checked                            |
 * |-----------------------------------------------------------|------------------------------------|
 * | no device over 100 %; whole-GPU tasks share with nobody   | each record: roll.complaint (the |
 * |                                                           | journal alone), virtual_complaint |
 * |                                                           | (the world); core_check | | usage =
 * sum of leases = fold of the journal               | core_check (ledgers, queues, pools);| | |
 * check_roll (core against journal)   | | caps, lends and borrow limits hold at every level; |
 * quotacheck, each start, from the    | | queues that never lend never lent | policy and the roll
 * alone           | | no gang below min                                         | roll.complaint,
 * core_check          | | non-preemptible never evicted                             |
 * roll.complaint, core_check          | | an entitled job that fits after reclaim starts in time |
 * probe (seeded.c), in quiet phases   | | no eviction whose claimant is not nominated |
 * roll.complaint; core_check          | | replay gives the same state hash | mirror, each crash and
 * restart, and | |                                                           | every MIRROR_EVERY
 * steps            | | hash chain verifies                                       | each start
 * (tail), the end (all)    | | every unit-ms is in one physical class                    |
 * core_check (meter_check)            |
 *
 * and of other sections: incremental and full plans decide the same, core_plan changes nothing
 * (mirror, every COMPARE_EVERY rounds); what may run and fits runs (life_check_rest); nobody waits
 * for ever (the end of the life); nothing is decided while frozen; decisions come to rest; nothing
 * is carried out before it is durable (relay); what was acknowledged survives (seeded_disk.c).
 *
 * The cheap ones follow each record or step; those that walk the whole state are sampled, and run
 * after every step in a build with -Daudit=true.
 */
#include "base/hash.h"
#include "core/view.h"
#include "core/why.h"
#include "sim/quotacheck.h"
#include "sim/seeded_impl.h"

#include <stdio.h>
#include <string.h>

#define DECISIONS_MAX 2000 /* in one millisecond */
#define IDLE_MAX      1000 /* steps without a record */
#define ATTEMPTS_MAX  1000 /* of one job */
#ifdef MUSTER_AUDIT
#define CHECK_EVERY   1
#define COMPARE_EVERY 13
#define MIRROR_EVERY  20
#else
#define CHECK_EVERY   8   /* steps between two walks over the state */
#define COMPARE_EVERY 61  /* rounds between two comparisons of plans */
#define MIRROR_EVERY  200 /* steps between two comparisons of states */
#endif

void life_fail(struct life *l, const char *what, const char *detail)
{
    if (!life_failed(l)) {
        str_addf(&l->result->failure, "event %lld, at %lld ms: %s: %s",
                 (long long)l->result->events, (long long)(l->world.now_ms - SEEDED_ZERO_MS), what,
                 detail);
        l->result->what = what;
    }
    l->world.stopped = true;
}

/* For people: what everybody waits for. */
static void print_waiting(struct life *l)
{
    const int64_t now_ms = l->world.now_ms + l->relay.skew_ms;
    const struct job *j;

    for (j = view_job_next(world_core(&l->world), 0); j != NULL;
         j = view_job_next(world_core(&l->world), j->id)) {
        struct why why = {0};
        struct str text = {0};

        if (!job_is_ended(j) &&
            why_job(world_core(&l->world), j->id, now_ms, l->arena, &why, NULL) == 0) {
            scene_text_why(&l->text, &why, now_ms, &text);
            (void)printf("job %lld attempt %lld: %s", (long long)j->id, (long long)j->attempt,
                         str_text(&text));
        }
        str_fini(&text);
    }
}

void life_fail_job(struct life *l, const char *what, int64_t job)
{
    const int64_t now_ms = l->world.now_ms + l->relay.skew_ms;
    struct why why = {0};
    struct str text = {0};

    str_addf(&text, "job %lld\n    ", (long long)job);
    if (why_job(world_core(&l->world), job, now_ms, l->arena, &why, NULL) == 0) {
        scene_text_why(&l->text, &why, now_ms, &text);
    }
    life_fail(l, what, text.text);
    str_fini(&text);
    if (l->options->verbose) {
        print_waiting(l);
    }
    arena_reset(l->arena);
}

/* ---- each record ---- */

/* Some hundred decisions may belong to one moment, thousands are a plan that never comes to rest.
 */
static void check_pace(struct life *l, const struct fact *fact)
{
    l->at_count = fact->at_ms == l->at_ms ? l->at_count : 0;
    l->at_ms = fact->at_ms;
    l->at_count += fact_kind_is_decision(fact->kind) ? 1 : 0;
    l->idle = 0;
    if (l->at_count > DECISIONS_MAX) {
        life_fail(l, "no rest", fact_kind_name(fact->kind));
    }
}

/* The round is over; a full plan of the same must decide the same. */
static void flush(struct life *l)
{
    mirror_flush(&l->mirror, ++l->rounds % COMPARE_EVERY == 0 && l->planned);
}

static void print_fact(const struct life *l, const struct fact *fact)
{
    struct str line = {0};

    scene_text_fact(&l->text, fact, &line);
    (void)fputs(str_text(&line), stdout);
    str_fini(&line);
}

/* A step of tasks without devices takes nothing from any queue. */
static bool grants_devices(const struct fact_job_started *d)
{
    for (size_t i = 0; i < d->task_count; i++) {
        const struct fact_grant *g = &d->tasks[i];

        if (g->device_count > 0 && (g->step == 0 || g->step == d->step)) {
            return true;
        }
    }
    return false;
}

void life_watch(void *ctx, const struct fact *fact, const struct journal_record *record)
{
    struct life *l = ctx;
    struct engine_stats stats = {.rounds = -1}; /* a record that a crash left: a round of its own */

    if (l->world.engine != NULL) {
        engine_stats(l->world.engine, &stats);
    }
    if (stats.rounds != l->mirror.round) {
        flush(l);
        l->planned = stats.batch_plans > 0;
    }
    mirror_add(&l->mirror, stats.rounds, record);
    relay_note(&l->relay, fact);
    check_pace(l, fact);
    l->durable_seq = record->seq;
    memcpy(l->durable_hash, record->hash, sizeof(l->durable_hash));
    l->result->records++;
    if (fact->kind == FACT_JOB_STARTED) {
        l->result->starts++;
        if (fact_of(fact, JOB_STARTED)->attempt > ATTEMPTS_MAX) {
            life_fail(l, "no rest", "a job is started and stopped again and again");
        }
        if (grants_devices(fact_of(fact, JOB_STARTED))) {
            vec_push(&l->started, fact_of(fact, JOB_STARTED)->job);
        }
    }
    if (fact->kind == FACT_JOB_CLAIMED) {
        l->result->evictions += (int64_t)fact_of(fact, JOB_CLAIMED)->victim_count;
    }
    if (l->world.engine != NULL && engine_frozen(l->world.engine) &&
        fact_kind_is_decision(fact->kind)) {
        life_fail(l, "decided while frozen", fact_kind_name(fact->kind));
    }
    if (l->options->verbose) {
        print_fact(l, fact);
    }
}

/* ---- each step ---- */

/* Who holds what, as the journal says and as the core says. */
static void check_roll(struct life *l)
{
    const struct core *c = world_core(&l->world);
    const struct job *j;
    char text[160];

    for (j = view_job_next(c, 0); j != NULL; j = view_job_next(c, j->id)) {
        const struct roll_job *r = roll_job(&l->world.roll, j->id);
        int64_t gu = r != NULL ? roll_job_gu(r) : -1;

        if (r == NULL || r->tasks.count != j->tasks.count || gu != j->leased_gu) {
            (void)snprintf(text, sizeof(text), "job %lld: %zu tasks and %lld units, %zu and %lld",
                           (long long)j->id, j->tasks.count, (long long)j->leased_gu,
                           r != NULL ? r->tasks.count : 0, (long long)gu);
            life_fail(l, "core and journal disagree about a lease", text);
            return;
        }
    }
}

/* Each start of this step against the quotas; the roll is as far as the journal. */
static void check_starts(struct life *l)
{
    const struct core *c = world_core(&l->world);
    const char *bad = NULL;
    size_t i;
    int p;

    for (i = 0; i < l->started.count && bad == NULL; i++) {
        const struct roll_job *r = roll_job(&l->world.roll, l->started.items[i]);

        for (p = 0; r != NULL && p < view_pool_count(c); p++) {
            const struct pool *pool = view_pool(c, p);

            if (pool->id == r->pool) {
                bad =
                    quotacheck(view_policy(c), &l->world.roll, r->id, pool->capacity_gu, l->arena);
            }
        }
    }
    vec_clear(&l->started);
    if (bad != NULL) {
        life_fail(l, "a quota", bad);
    }
}

static void check_state(struct life *l)
{
    const char *broken = core_check(world_core(&l->world), l->arena);

    if (broken != NULL) {
        life_fail(l, "broken", broken);
    }
    check_roll(l);
    arena_reset(l->arena);
}

void life_after_step(void *ctx)
{
    struct life *l = ctx;

    if (l->disk != NULL && torndisk_is_dead(l->disk)) {
        l->world.stopped = true;
        return;
    }
    if (life_failed(l) || l->world.engine == NULL) {
        return;
    }
    if (++l->idle > IDLE_MAX) {
        life_fail(l, "no rest", "the core asks to be woken again and again and decides nothing");
    }
    if (virtual_complaint(l->world.backend) != NULL) {
        life_fail(l, "the world", virtual_complaint(l->world.backend));
    }
    if (l->world.roll.complaint[0] != '\0') {
        life_fail(l, "the journal", l->world.roll.complaint);
    }
    if (l->relay.complaint[0] != '\0') {
        life_fail(l, "the calls", l->relay.complaint);
    }
    if (engine_in_flight(l->world.engine)) {
        return; /* the core is ahead of the journal */
    }
    if (l->started.count > 0) {
        check_starts(l);
    }
    if (++l->steps % CHECK_EVERY == 0) {
        check_state(l);
    }
    flush(l);
    if (l->steps % MIRROR_EVERY == 0) {
        mirror_compare(&l->mirror, world_core(&l->world));
    }
    if (l->mirror.failure.len > 0) {
        life_fail(l, "mirror", l->mirror.failure.text);
    }
}

/* ---- a world at rest ---- */

/* Each job that waits has a reason to. */
static void check_reasons(struct life *l, struct core *c)
{
    const int64_t now_ms = l->world.now_ms + l->relay.skew_ms;
    const struct job *j;
    char text[64];

    for (j = view_job_next(c, 0); j != NULL && !life_failed(l); j = view_job_next(c, j->id)) {
        struct why why = {0};
        struct err err = {0};

        if (!job_is_waiting(j)) {
            continue;
        }
        if (why_job(c, j->id, now_ms, l->arena, &why, &err) != 0) {
            life_fail(l, "why", err.text);
        } else if (why.blocker_count == 0) {
            (void)snprintf(text, sizeof(text), "job %lld", (long long)j->id);
            life_fail(l, "a job waits for nothing", text);
        }
    }
    arena_reset(l->arena);
}

void life_check_rest(struct life *l)
{
    struct decisions decisions = {0};
    struct core *clone = NULL;
    struct str text = {0};
    struct err err = {0};

    if (life_failed(l)) {
        return;
    }
    check_state(l);
    core_snapshot(world_core(&l->world), &text);
    if (core_restore(text.text, text.len, &clone, &err) != 0) {
        life_fail(l, "a snapshot cannot be restored", err.text);
    } else {
        core_forget(clone);
        core_plan(clone, l->world.now_ms + l->relay.skew_ms, &decisions);
        if (decisions.count > 0) {
            life_fail(l, "at rest there is more to decide",
                      fact_kind_name(decisions.items[0].kind));
        }
        check_reasons(l, clone);
        core_free(clone);
    }
    str_fini(&text);
}

/* ---- the end ---- */

static void hex(const unsigned char *bytes, char ret[17])
{
    int i;

    for (i = 0; i < 8; i++) {
        (void)snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
    }
}

/* A restart from the journal alone leads to the same state, snapshots or not. */
void life_check_end(struct life *l)
{
    const struct engine_config config = {.journal = l->world.journal};
    unsigned char hash[JOURNAL_HASH_BYTES] = {0};
    struct journal_verdict verdict = {0};
    struct str text = {0};
    struct engine *again = NULL;
    struct err err = {0};

    mirror_flush(&l->mirror, false);
    mirror_compare(&l->mirror, world_core(&l->world));
    if (engine_open(&config, &again, &err) != 0) {
        life_fail(l, "replay", err.text);
        return;
    }
    mirror_compare(&l->mirror, engine_core(again));
    engine_close(again);
    if (l->mirror.failure.len > 0) {
        life_fail(l, "mirror", l->mirror.failure.text);
    }
    if (journal_verify(l->world.journal, &verdict, &err) != 0) {
        life_fail(l, "the chain", err.text);
    }
    hex(l->durable_hash, l->result->chain);
    core_snapshot(world_core(&l->world), &text);
    hash_sha256(text.text, text.len, hash);
    hex(hash, l->result->state);
    str_fini(&text);
}
