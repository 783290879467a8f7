/* seeded - the life: phases of random events, each followed by a quiet one, and an end in which
 * all work runs out.
 *
 * The order of the draws is the life: nothing may draw that depends on anything but the seed and
 * the state, and a new kind of event changes all lives, which is why a failing seed is told
 * together with its release.
 */
#include "sim/seeded.h"

#include "base/quantity.h"
#include "core/quota.h"
#include "core/view.h"
#include "core/why.h"
#include "sim/seeded_impl.h"

#include <stdio.h>
#include <stdlib.h>

#define QUIET_MS   (1800 * SEEDED_SECOND_MS)
#define PROBE_MS   (400 * SEEDED_SECOND_MS) /* grace_max + kill + stop_stuck, twice, and some */
#define LAST_MS    (3600 * SEEDED_SECOND_MS)
#define LAST_HOURS 400 /* the longest jobs run for hours, one after the other */

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
            life_put(l, FACT_NODE_DRAIN, &resume);
        }
        for (k = 0; k < n->device_count; k++) {
            in.node = n->id;
            in.slot = n->devices[k].slot;
            if (n->devices[k].out) {
                life_put(l, FACT_DEVICE_STATE, &in);
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

static bool probe_started(const struct life *l, int64_t job)
{
    const struct roll_job *r = roll_job(&l->world.roll, job);

    return r != NULL && r->attempt > 0;
}

static bool within_reserve(const struct core *c, int64_t job)
{
    const struct job *j = view_job(c, job);
    int64_t need_gu = 0;

    for (size_t g = 0; g < j->ask->group_count; g++) {
        need_gu += j->ask->groups[g].gpus * j->ask->groups[g].min_tasks * GU_PER_GPU;
    }
    return quota_cover(view_queues(c), j->queue, 0, need_gu) >= 0;
}

/* Does it wait for the drain or the planned start of one within its reserve?  Those stand before
 * everybody, however long. */
static bool is_bound(struct life *l, int64_t job)
{
    struct core *c = world_core(&l->world);
    struct why why = {0};
    bool bound = false;

    if (why_job(c, job, l->world.now_ms + l->relay.skew_ms, l->arena, &why, NULL) != 0) {
        return false;
    }
    for (size_t i = 0; i < why.blocker_count; i++) {
        const struct why_blocker *b = &why.blockers[i];
        bool is_head = b->code == WHY_DRAINING_FOR || b->code == WHY_PLANNED_START;

        for (size_t k = 0; is_head && k < b->job_count; k++) {
            bound = bound || within_reserve(c, b->jobs[k]);
        }
    }
    arena_reset(l->arena);
    return bound;
}

/* An entitled job of one GPU must run in bounded time.  Where cards are cut or shared, work that
 * may not be stopped can lie on every card, so nothing is promised there. */
static void probe(struct life *l)
{
    struct core *c = world_core(&l->world);
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
    const struct virtual_behaviour how = {.run_ms = 3600 * SEEDED_SECOND_MS};
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
    life_put(l, FACT_JOB_SUBMITTED, &job);
    world_settle(&l->world);
    life_pass(l, l->world.now_ms + PROBE_MS);
    if (!life_failed(l) && !probe_started(l, job.id) && !is_bound(l, job.id)) {
        life_fail_job(l, "an entitled job does not start", job.id);
    }
}

static void no_faults(struct life *l)
{
    const struct virtual_faults none = {.seed = rng_next(&l->rng)};

    life_mend_disk(l);
    life_end_turns(l);
    engine_set_frozen(l->world.engine, false, NULL);
    virtual_set_faults(l->world.backend, &none);
    l->relay.fail_ppm = 0;
    l->world.write_ms = 0;
    life_finish_writing(l);
}

static void some_faults(struct life *l)
{
    struct virtual_faults some = {.seed = rng_next(&l->rng), .late_ms = 20 * SEEDED_SECOND_MS};

    l->relay.rng = rng_init(rng_next(&l->rng));
    l->world.write_ms = rng_range(&l->rng, 0, 40);
    if (life_has(l, SEEDED_FAULT(REPLY))) {
        some.late_ppm = 50000;
        some.double_ppm = 50000;
        some.missing_ppm = 10000;
        some.refuse_ppm = 20000;
        virtual_set_faults(l->world.backend, &some);
        l->relay.fail_ppm = 10000;
    }
}

static void quiet(struct life *l)
{
    no_faults(l);
    repair(l);
    life_pass(l, l->world.now_ms + QUIET_MS);
    if (!life_failed(l)) {
        repair(l); /* what was found stuck meanwhile */
        life_check_rest(l);
    }
    if (!life_failed(l)) {
        probe(l);
    }
    some_faults(l);
}

/* ---- the end ---- */

/* Work that may wait for ever: by somebody's word, or because the present policy can never run it.
 */
static bool may_wait(struct life *l, const struct job *j)
{
    struct core *c = world_core(&l->world);
    const struct queue_tree *t = view_queues(c);
    struct fact_job_submitted ask = *j->ask;
    int up;

    ask.name = j->name;
    ask.subject = j->subject;
    ask.spec = j->spec;
    for (up = j->queue; up >= 0; up = t->items[up].parent) {
        if (t->items[up].row->state != QUEUE_OPEN) {
            return true;
        }
    }
    return core_submit_check(c, &ask, NULL) != 0;
}

/* The first that waits for no good reason, NULL = none. */
static const struct job *starving(struct life *l)
{
    const struct core *c = world_core(&l->world);
    const struct job *j;

    for (j = view_job_next(c, 0); j != NULL; j = view_job_next(c, j->id)) {
        if (job_is_waiting(j) && !may_wait(l, j)) {
            return j;
        }
    }
    return NULL;
}

/* A kill is proven from now on: a task that no kill ends is preempted again and again, and neither
 * it nor whom it is stopped for comes to an end. */
static void let_kills_end(struct life *l)
{
    const struct core *c = world_core(&l->world);
    const struct job *j;

    for (j = view_job_next(c, 0); j != NULL; j = view_job_next(c, j->id)) {
        struct virtual_behaviour how = virtual_behaviour_of(l->world.backend, j->id);

        if (how.on_signal == VIRTUAL_STUCK) {
            how.on_signal = VIRTUAL_IGNORES;
            virtual_set_job(l->world.backend, j->id, &how);
        }
    }
}

/* Nothing new comes and all is well: whatever can run has run in the end. */
static void run_out(struct life *l)
{
    const struct job *j = NULL;
    int i;

    no_faults(l);
    let_kills_end(l);
    for (i = 0; i < LAST_HOURS && !life_failed(l); i++) {
        repair(l);
        life_pass(l, l->world.now_ms + LAST_MS);
        j = life_failed(l) ? NULL : starving(l);
        if (j == NULL) {
            break;
        }
    }
    if (j != NULL) {
        life_fail_job(l, "a job starves", j->id);
    }
    life_check_rest(l);
    l->result->settled += life_failed(l) ? 0 : 1;
}

/* ---- life ---- */

static bool is_cut(const struct seeded_cut *cut, int64_t event)
{
    return cut != NULL && event < cut->count && cut->quiets[event];
}

/* A smaller site, if the failing life was made so. */
static void cut_site(struct site *s, const struct seeded_cut *cut)
{
    size_t i;

    for (i = s->nodes.count; cut != NULL && i-- > 0;) {
        if (s->nodes.items[i].id < 64 && (cut->nodes >> s->nodes.items[i].id & 1U) != 0) {
            site_drop_node(s, s->nodes.items[i].name);
        }
    }
    for (i = s->queues.count; cut != NULL && i-- > 0;) {
        if (s->queues.items[i].id < 64 && (cut->queues >> s->queues.items[i].id & 1U) != 0) {
            site_drop_queue(s, s->queues.items[i].name);
        }
    }
}

/* Two of three faults, on average, and the site. */
static void draw_nature(struct life *l)
{
    unsigned kind;

    for (kind = 0; kind < SEEDED_FAULT_COUNT; kind++) {
        l->faults |= life_one_in(l, 3) ? 0U : 1U << kind;
    }
    l->faults &= l->options->faults;
    l->traits.slices = life_one_in(l, 3);
    l->traits.shares = life_one_in(l, 3);
    l->traits.trouble = life_has(l, SEEDED_FAULT(TASK));
    seeded_site_make(&l->site, &l->rng, &l->traits);
}

void seeded_site_ids(const struct seeded_options *options, uint64_t *ret_nodes,
                     uint64_t *ret_queues)
{
    struct life l = {.options = options, .rng = rng_init(options->seed)};
    size_t i;

    draw_nature(&l);
    for (i = 0; i < l.site.nodes.count; i++) {
        *ret_nodes |= (uint64_t)1 << (l.site.nodes.items[i].id & 63);
    }
    for (i = 0; i < l.site.queues.count; i++) {
        *ret_queues |= (uint64_t)1 << (l.site.queues.items[i].id & 63);
    }
    site_fini(&l.site);
}

static void begin(struct life *l)
{
    struct err err = {0};

    l->rng = rng_init(l->options->seed);
    l->arena = arena_make();
    draw_nature(l);
    cut_site(&l->site, l->options->cut);
    mirror_init(&l->mirror);
    world_prepare(&l->world, SEEDED_ZERO_MS, 0);
    relay_init(&l->relay, l->world.backend);
    l->world.relay = &l->relay;
    l->world.snapshot_every = 200; /* starts are many */
    l->world.threaded = life_one_in(l, 2);
    l->world.rng = rng_init(rng_next(&l->rng));
    l->world.clocked = life_has(l, SEEDED_FAULT(CLOCK));
    l->text = (struct scene_text){&l->world.roll, SEEDED_ZERO_MS};
    l->world.watch = life_watch;
    l->world.after_step = life_after_step;
    l->world.watch_ctx = l;
    if (life_open_disk(l, &err) != 0 || world_open(&l->world, &err) != 0) {
        life_fail(l, "the beginning", err.text);
        return;
    }
    life_set_policy(l);
    world_settle(&l->world);
    some_faults(l);
}

static void end(struct life *l)
{
    struct engine_stats stats = {0};

    if (l->world.engine != NULL) {
        engine_stats(l->world.engine, &stats);
    }
    l->result->core_us += stats.core_us;
    l->result->compared = l->mirror.compared;
    l->result->steps = l->steps;
    l->result->disk_faults += l->disk != NULL ? torndisk_faults(l->disk) : 0;
    l->relay.down = true;
    world_fini(&l->world);
    life_close_disk(l);
    relay_fini(&l->relay);
    mirror_fini(&l->mirror);
    site_fini(&l->site);
    vec_fini(&l->turns);
    vec_fini(&l->started);
    arena_free(l->arena);
}

void seeded_run(const struct seeded_options *options, volatile int64_t *progress,
                struct seeded_result *ret)
{
    struct life l = {.options = options, .result = ret};
    int64_t i;

    *ret = (struct seeded_result){0};
    str_add(&ret->failure, "");
    begin(&l);
    for (i = 0; i < options->events && !life_failed(&l); i++) {
        ret->events = i + 1;
        if (progress != NULL) {
            *progress = i + 1;
        }
        life_event(&l, i);
        if ((i + 1) % SEEDED_QUIET_EVERY == 0 && !life_failed(&l) && !is_cut(options->cut, i)) {
            quiet(&l);
        }
    }
    if (!life_failed(&l)) {
        world_settle(&l.world);
        life_recover(&l);
    }
    if (!life_failed(&l) && !options->no_end) {
        ret->ran_out = true;
        run_out(&l);
    }
    if (!life_failed(&l)) {
        life_check_end(&l);
    }
    end(&l);
}

void seeded_result_fini(struct seeded_result *r)
{
    str_fini(&r->failure);
}
