/* seeded - the life: phases of random events, each followed by a quiet one.
 *
 * The order of the draws is the life: nothing may draw that depends on anything but the seed and
 * the state, and a new kind of event changes all lives, which is why a failing seed is told
 * together with its release.
 */
#include "sim/seeded.h"

#include "base/quantity.h"
#include "core/view.h"
#include "sim/mirror.h"
#include "sim/scene_text.h"
#include "sim/seeded_job.h"
#include "sim/world.h"

#include <stdio.h>
#include <stdlib.h>

#define ZERO_MS       ((int64_t)1000000000)
#define SECOND_MS     ((int64_t)1000)
#define WAITING_MAX   40   /* jobs; above it nothing is submitted */
#define DECISIONS_MAX 2000 /* in one millisecond */
#define IDLE_MAX      1000 /* steps without a record */
#define COMPARE_EVERY 13   /* rounds between two comparisons of plans */
#define MIRROR_EVERY  50   /* steps between two comparisons of states */
#define QUIET_EVERY   250  /* events between two quiet phases */
#define QUIET_MS      (1800 * SECOND_MS)
#define PROBE_MS      (400 * SECOND_MS) /* grace_max + kill + stop_stuck, twice, and some */

struct life {
    const struct seeded_options *options;
    struct seeded_result *result;
    struct rng rng;
    struct seeded_traits traits;
    struct arena *arena;
    struct site site;
    struct world world;
    struct mirror mirror;
    struct scene_text text;
    int64_t rounds;
    int64_t steps;
    int64_t idle;     /* steps since the last record */
    int64_t at_ms;    /* of the last record */
    int64_t at_count; /* decisions in that very millisecond */
};

static bool one_in(struct life *l, uint64_t n)
{
    return rng_below(&l->rng, n) == 0;
}

static bool failed(const struct life *l)
{
    return l->result->failure.len > 0;
}

static void fail(struct life *l, const char *what, const char *detail)
{
    if (!failed(l)) {
        str_addf(&l->result->failure, "event %lld, at %lld ms: %s: %s",
                 (long long)l->result->events, (long long)(l->world.now_ms - ZERO_MS), what,
                 detail);
    }
}

/* ---- checks ---- */

/* Some hundred decisions may belong to one moment, thousands are a plan that never comes to rest.
 */
static void check_rest(struct life *l, const struct fact *fact)
{
    l->at_count = fact->at_ms == l->at_ms ? l->at_count : 0;
    l->at_ms = fact->at_ms;
    l->at_count += fact_kind_is_decision(fact->kind) ? 1 : 0;
    l->idle = 0;
    if (l->at_count > DECISIONS_MAX) {
        fail(l, "no rest", fact_kind_name(fact->kind));
        l->world.stopped = true;
    }
}

static void watch(void *ctx, const struct fact *fact, const struct journal_record *record)
{
    struct life *l = ctx;
    struct engine_stats stats;

    engine_stats(l->world.engine, &stats);
    if (stats.rounds != l->mirror.round) {
        mirror_flush(&l->mirror, ++l->rounds % COMPARE_EVERY == 0);
    }
    mirror_add(&l->mirror, stats.rounds, record);
    check_rest(l, fact);
    l->result->records++;
    l->result->starts += fact->kind == FACT_JOB_STARTED ? 1 : 0;
    if (fact->kind == FACT_JOB_CLAIMED) {
        l->result->evictions += (int64_t)fact_of(fact, JOB_CLAIMED)->victim_count;
    }
    if (l->options->verbose) {
        struct str line = {0};

        scene_text_fact(&l->text, fact, &line);
        (void)fputs(str_text(&line), stdout);
        str_fini(&line);
    }
}

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
            fail(l, "core and journal disagree about a lease", text);
            return;
        }
    }
}

static void after_step(void *ctx)
{
    struct life *l = ctx;
    const char *broken;

    if (failed(l) || l->world.engine == NULL) {
        return;
    }
    if (++l->idle > IDLE_MAX) {
        fail(l, "no rest", "the core asks to be woken again and again and decides nothing");
        l->world.stopped = true;
    }
    broken = core_check(world_core(&l->world), l->arena);
    if (broken != NULL) {
        fail(l, "broken", broken);
    }
    if (virtual_complaint(l->world.backend) != NULL) {
        fail(l, "the world", virtual_complaint(l->world.backend));
    }
    check_roll(l);
    mirror_flush(&l->mirror, ++l->rounds % COMPARE_EVERY == 0);
    if (++l->steps % MIRROR_EVERY == 0) {
        mirror_compare(&l->mirror, world_core(&l->world));
    }
    if (l->mirror.failure.len > 0) {
        fail(l, "mirror", l->mirror.failure.text);
    }
    arena_reset(l->arena);
}

/* ---- events ---- */

static void put(struct life *l, enum fact_kind kind, const void *body)
{
    const struct fact fact = {.kind = kind, .body.any = body};

    world_put(&l->world, &fact);
}

static void ev_submit(struct life *l)
{
    struct arena *arena = arena_make();
    struct fact_job_submitted job = seeded_job_make(&l->site, &l->rng, arena, &l->traits);
    const struct virtual_behaviour how = seeded_job_behaviour(&l->rng, &l->traits);
    struct core *c = world_core(&l->world);
    bool unchecked = one_in(l, 25);

    job.id = core_next_job(c);
    if (view_waiting_count(c) < WAITING_MAX &&
        (core_submit_check(c, &job, NULL) == 0 || unchecked)) {
        virtual_set_job(l->world.backend, job.id, &how);
        put(l, FACT_JOB_SUBMITTED, &job);
    } else {
        l->result->refused++;
    }
    world_step(&l->world);
    arena_free(arena);
}

/* A job at random, NULL if there is none. */
static const struct job *some_job(struct life *l)
{
    const struct core *c = world_core(&l->world);
    int64_t next = core_next_job(c);
    const struct job *j;

    if (next <= 1) {
        return NULL;
    }
    j = view_job_next(c, rng_range(&l->rng, next > 60 ? next - 60 : 0, next - 1));
    return j != NULL ? j : view_job_next(c, 0);
}

static void ev_asked(struct life *l)
{
    static const enum fact_kind KINDS[] = {FACT_JOB_CANCEL,   FACT_JOB_CANCEL,   FACT_JOB_HELD,
                                           FACT_JOB_RELEASED, FACT_JOB_RELEASED, FACT_JOB_REQUEUE,
                                           FACT_JOB_DONE};
    const struct job *j = some_job(l);
    enum fact_kind kind = KINDS[rng_below(&l->rng, 7)];
    struct fact_job_asked body = {.subject = "ann", .reason = ""};

    if (j == NULL) {
        return;
    }
    body.job = j->id;
    body.attempt = kind == FACT_JOB_DONE ? j->attempt : 0;
    put(l, kind, &body);
}

static void ev_checkpoint(struct life *l)
{
    const struct job *j = some_job(l);
    struct fact_job_checkpointed body = {.name = "step"};

    if (j != NULL) {
        body.job = j->id;
        body.attempt = j->attempt;
        put(l, FACT_JOB_CHECKPOINTED, &body);
    }
}

static void ev_end(struct life *l)
{
    const struct job *j = some_job(l);

    if (j != NULL) {
        virtual_end_job(l->world.backend, j->id, one_in(l, 4) ? 1 : 0);
    }
}

static void ev_fail_task(struct life *l)
{
    const struct job *j = some_job(l);

    if (j != NULL && j->tasks.count > 0) {
        int64_t task = j->tasks.items[rng_below(&l->rng, j->tasks.count)].task;

        virtual_fail_task(l->world.backend, j->id, task, 9);
    }
}

static const struct node *some_node(struct life *l)
{
    const struct core *c = world_core(&l->world);
    int count = view_node_count(c);

    return count > 0 ? view_node(c, (int)rng_below(&l->rng, (uint64_t)count)) : NULL;
}

static void ev_node(struct life *l)
{
    const struct node *n = some_node(l);
    bool dies = one_in(l, 2);

    if (n == NULL || !l->traits.trouble) {
        return;
    }
    if (n->health == HEALTH_UP && one_in(l, 3)) {
        virtual_node_dark(l->world.backend, n->id, dies);
    } else {
        virtual_node_back(l->world.backend, n->id);
    }
}

static void ev_drain(struct life *l)
{
    const struct node *n = some_node(l);
    struct fact_node_drain body = {.reason = "test", .subject = "ann"};

    if (n == NULL) {
        return;
    }
    body.node = n->id;
    body.drain = !n->drain && one_in(l, 3);
    body.by_ms = one_in(l, 2) ? l->world.now_ms + rng_range(&l->rng, 0, 600) * SECOND_MS : 0;
    put(l, FACT_NODE_DRAIN, &body);
}

static void ev_device(struct life *l)
{
    const struct node *n = some_node(l);
    struct fact_device_state body = {.reason = "test"};
    const struct device *d;

    if (n == NULL || n->device_count == 0) {
        return;
    }
    d = &n->devices[rng_below(&l->rng, (uint64_t)n->device_count)];
    body.node = n->id;
    body.slot = d->slot;
    body.out = !d->out && one_in(l, 4);
    put(l, FACT_DEVICE_STATE, &body);
}

static void set_policy(struct life *l)
{
    const struct fact_policy_set body = {.policy = site_policy(&l->site), .subject = "ann"};

    put(l, FACT_POLICY_SET, &body);
}

static void ev_policy(struct life *l)
{
    if (seeded_site_change(&l->site, &l->rng, world_core(&l->world))) {
        set_policy(l);
    } else {
        l->result->refused++;
    }
}

/* The engine's counters end with it. */
static void add_stats(struct life *l)
{
    struct engine_stats stats;

    engine_stats(l->world.engine, &stats);
    l->result->core_us += stats.core_us;
}

static void ev_restart(struct life *l)
{
    struct err err = {0};

    world_settle(&l->world);
    if (failed(l)) {
        return;
    }
    add_stats(l);
    if (world_restart(&l->world, &err) != 0) {
        fail(l, "restart", err.text);
    }
    l->result->restarts++;
}

static void ev_nothing(struct life *l)
{
    (void)l;
}

static const struct {
    uint64_t weight;
    void (*happen)(struct life *l);
} EVENTS[] = {
    {50, ev_submit},   {8, ev_asked},   {8, ev_checkpoint}, {6, ev_end},
    {2, ev_fail_task}, {5, ev_node},    {3, ev_drain},      {3, ev_device},
    {3, ev_policy},    {1, ev_restart}, {11, ev_nothing},
};

static void pass_time(struct life *l)
{
    int64_t ms = 0;

    switch (rng_below(&l->rng, 8)) {
    case 0:
    case 1:
    case 2:
        break; /* the same millisecond: facts that come together */
    case 3:
        ms = rng_range(&l->rng, 1, 600 * SECOND_MS);
        break;
    default:
        ms = rng_range(&l->rng, 1, 40 * SECOND_MS);
        break;
    }
    if (ms > 0) {
        world_run_until(&l->world, l->world.now_ms + ms);
    }
}

static void one_event(struct life *l)
{
    uint64_t sum = 0;
    uint64_t draw;
    size_t i;

    pass_time(l);
    for (i = 0; i < sizeof(EVENTS) / sizeof(EVENTS[0]); i++) {
        sum += EVENTS[i].weight;
    }
    draw = rng_below(&l->rng, sum);
    for (i = 0; draw >= EVENTS[i].weight; i++) {
        draw -= EVENTS[i].weight;
    }
    EVENTS[i].happen(l);
    if (one_in(l, 2)) {
        world_settle(&l->world);
    }
}

/* ---- quiet phases ---- */

/* All is well again: nodes, devices, backends. */
static void repair(struct life *l)
{
    const struct core *c = world_core(&l->world);
    struct fact_node_drain resume = {.reason = "quiet", .subject = "ann"};
    struct fact_device_state in = {.reason = "quiet"};
    int i, k;

    for (i = 0; i < view_node_count(c); i++) {
        const struct node *n = view_node(c, i);

        virtual_node_back(l->world.backend, n->id);
        resume.node = n->id;
        if (n->drain) {
            put(l, FACT_NODE_DRAIN, &resume);
        }
        for (k = 0; k < n->device_count; k++) {
            in.node = n->id;
            in.slot = n->devices[k].slot;
            if (n->devices[k].out) {
                put(l, FACT_DEVICE_STATE, &in);
            }
        }
    }
    world_settle(&l->world);
}

/* A leaf that has a whole GPU of its reserve left, at every level, and nobody waiting before us. */
static int probe_queue(struct life *l)
{
    const struct core *c = world_core(&l->world);
    const struct queue_tree *t = view_queues(c);
    int q, up;

    for (q = 0; q < t->count; q++) {
        const struct queue *leaf = &t->items[q];
        bool fits = queue_is_leaf(leaf) && leaf->waiting == 0 && leaf->row->state == QUEUE_OPEN &&
                    leaf->row->reclaim == RECLAIM_ANY;

        for (up = q; fits && up >= 0; up = t->items[up].parent) {
            const struct queue_quota *quota = &t->items[up].quotas[0];

            fits = quota->used + GU_PER_GPU <= quota->mine &&
                   (quota->limit == QUEUE_NO_LIMIT || quota->plain + GU_PER_GPU <= quota->limit) &&
                   t->items[up].row->state == QUEUE_OPEN;
        }
        if (fits) {
            return q;
        }
    }
    return -1;
}

/* An entitled job of one GPU must run in bounded time.  Where cards are cut or shared, work that
 * may not be stopped can lie on every card, so nothing is promised there. */
static void probe(struct life *l)
{
    const struct core *c = world_core(&l->world);
    int q = probe_queue(l);
    struct fact_group group = {.name = "main",
                               .tasks = 1,
                               .min_tasks = 1,
                               .gpus = 1,
                               .profile = "",
                               .model = "",
                               .required = "",
                               .preferred = ""};
    struct fact_job_submitted job = {.name = "probe", .subject = "ann", .priority = 10, .spec = ""};
    const struct virtual_behaviour how = {.run_ms = 3600 * SECOND_MS};
    int64_t pools[1] = {l->site.pools.items[0].id};

    if (l->traits.slices || l->traits.shares || q < 0) {
        return;
    }
    job.id = core_next_job(c);
    job.queue = view_queues(c)->items[q].id;
    job.groups = &group;
    job.group_count = 1;
    job.pools = pools;
    job.pool_count = 1;
    if (core_submit_check(c, &job, NULL) != 0) {
        return;
    }
    l->result->probes++;
    virtual_set_job(l->world.backend, job.id, &how);
    put(l, FACT_JOB_SUBMITTED, &job);
    world_settle(&l->world);
    world_run_until(&l->world, l->world.now_ms + PROBE_MS);
    if (!failed(l)) {
        const struct roll_job *r = roll_job(&l->world.roll, job.id);

        if (r == NULL || r->attempt == 0) {
            char text[64];

            (void)snprintf(text, sizeof(text), "job %lld of queue %s", (long long)job.id,
                           view_queues(c)->items[q].name);
            fail(l, "an entitled job does not start", text);
        }
    }
}

static void quiet(struct life *l)
{
    const struct virtual_faults none = {.seed = rng_next(&l->rng)};
    struct virtual_faults some = {.late_ms = 20 * SECOND_MS};

    virtual_set_faults(l->world.backend, &none);
    repair(l);
    world_run_until(&l->world, l->world.now_ms + QUIET_MS);
    if (!failed(l)) {
        repair(l); /* what was found stuck meanwhile */
        probe(l);
    }
    if (l->traits.trouble) {
        some.seed = rng_next(&l->rng);
        some.late_ppm = 50000;
        some.double_ppm = 50000;
        some.missing_ppm = 10000;
        some.refuse_ppm = 20000;
        virtual_set_faults(l->world.backend, &some);
    }
}

/* ---- life ---- */

/* A restart from the journal alone leads to the same state, snapshots or not. */
static void check_end(struct life *l)
{
    const struct engine_config config = {.journal = l->world.journal};
    struct engine *again = NULL;
    struct err err = {0};

    mirror_flush(&l->mirror, false);
    mirror_compare(&l->mirror, world_core(&l->world));
    if (engine_open(&config, &again, &err) != 0) {
        fail(l, "replay", err.text);
        return;
    }
    mirror_compare(&l->mirror, engine_core(again));
    engine_close(again);
    if (l->mirror.failure.len > 0) {
        fail(l, "mirror", l->mirror.failure.text);
    }
}

static void begin(struct life *l)
{
    l->rng = rng_init(l->options->seed);
    l->arena = arena_make();
    l->traits.slices = one_in(l, 3);
    l->traits.shares = one_in(l, 3);
    l->traits.trouble = !one_in(l, 3);
    seeded_site_make(&l->site, &l->rng, &l->traits);
    mirror_init(&l->mirror);
    world_init(&l->world, ZERO_MS, 0);
    l->text = (struct scene_text){&l->world.roll, ZERO_MS};
    l->world.watch = watch;
    l->world.after_step = after_step;
    l->world.watch_ctx = l;
    set_policy(l);
    world_settle(&l->world);
}

void seeded_run(const struct seeded_options *options, volatile int64_t *progress,
                struct seeded_result *ret)
{
    struct life l = {.options = options, .result = ret};
    int64_t i;

    *ret = (struct seeded_result){0};
    str_add(&ret->failure, "");
    begin(&l);
    for (i = 0; i < options->events && !failed(&l); i++) {
        ret->events = i + 1;
        if (progress != NULL) {
            *progress = i + 1;
        }
        one_event(&l);
        if ((i + 1) % QUIET_EVERY == 0 && !failed(&l)) {
            quiet(&l);
        }
    }
    if (!failed(&l)) {
        world_settle(&l.world);
    }
    if (!failed(&l)) {
        check_end(&l);
    }
    add_stats(&l);
    ret->compared = l.mirror.compared;
    ret->steps = l.steps;
    world_fini(&l.world);
    mirror_fini(&l.mirror);
    site_fini(&l.site);
    arena_free(l.arena);
}

void seeded_result_fini(struct seeded_result *r)
{
    str_fini(&r->failure);
}
