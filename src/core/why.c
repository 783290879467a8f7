/* All blockers of a waiting job, each tested apart on the ledgers as they are: what people ask, the
 * quota rules level by level, room, promises and planned starts of others, and whether anyone could
 * be a victim. */
#include "core/why.h"

#include "base/check.h"
#include "core/forecast.h"
#include "core/order.h"
#include "core/place.h"
#include "core/shape.h"
#include "core/state.h"
#include "core/units.h"

#define BLOCKERS_MAX    32
#define JOBS_MAX        32
#define AHEAD_STEPS_MAX 10000 /* jobs and shapes that are walked to count those ahead */

struct study { /* one job being explained */
    struct core *c;
    struct job *job;
    int64_t now_ms;
    struct arena *a;
    struct why *ret;
    bool line; /* the first blocker is enough */
};

static struct why_blocker *blocker(struct study *s, int code, const char *text, const char *remedy)
{
    struct why_blocker *b;

    CHECK(s->ret->blocker_count < BLOCKERS_MAX);
    b = &s->ret->blockers[s->ret->blocker_count];
    if (s->ret->blocker_count < BLOCKERS_MAX - 1) {
        s->ret->blocker_count++;
    }
    *b = (struct why_blocker){.code = code, .text = text, .remedy = remedy};
    b->jobs = arena_new(s->a, JOBS_MAX, sizeof(b->jobs[0]));
    return b;
}

static void add_job(struct why_blocker *b, int64_t job)
{
    if (b->job_count < JOBS_MAX) {
        b->jobs[b->job_count++] = job;
    }
}

static const char *gpus(struct study *s, int64_t gu)
{
    char text[QUANTITY_TEXT_MAX];

    quantity_gpus_text(gu < 0 ? 0 : gu, text);
    return arena_text(s->a, text);
}

static const char *span(struct study *s, int64_t ms)
{
    char text[QUANTITY_TEXT_MAX];

    quantity_duration_text(ms < 0 ? 0 : ms, text);
    return arena_text(s->a, text);
}

/* ---- the quota rules ---- */

static void study_limits(struct study *s, const struct ask *ask)
{
    const struct queue_tree *t = s->c->queues;

    for (int q = s->job->queue; q >= 0; q = t->items[q].parent) {
        const struct queue_quota *own = &t->items[q].quotas[ask->pool->index];
        struct why_blocker *b;

        if (own->limit == QUEUE_NO_LIMIT ||
            own->plain - own->stopping + ask->need_gu <= own->limit) {
            continue;
        }
        b = blocker(
            s, WHY_LIMIT,
            arena_printf(s->a,
                         "queue %s has a limit of %s GPUs in pool %s and uses %s; %s are needed",
                         t->items[q].name, gpus(s, own->limit), ask->pool->name,
                         gpus(s, own->plain - own->stopping), gpus(s, ask->need_gu)),
            arena_printf(s->a, "a smaller request, or jobs of %s that end", t->items[q].name));
        b->pool = ask->pool->id;
        b->queue = t->items[q].id;
        b->need_gu = ask->need_gu;
        b->have_gu = own->limit - (own->plain - own->stopping);
        b->have_gu = b->have_gu > 0 ? b->have_gu : 0; /* a limit that was lowered below usage */
    }
}

static void study_fixed(struct study *s, const struct ask *ask)
{
    const struct queue_tree *t = s->c->queues;
    struct why_blocker *b;
    int q;

    if (!s->job->ask->nonpreemptible || t->items[s->job->queue].row->nonpreemptible_may_borrow ||
        quota_fixed_fits(t, ask->pool, s->job->queue, ask->need_gu, &q)) {
        return;
    }
    b = blocker(
        s, WHY_NONPREEMPTIBLE,
        arena_printf(
            s->a,
            "work that is not preemptible stays within the reserve: queue %s reserves %s GPUs of "
            "pool %s and %s of such work run",
            t->items[q].name, gpus(s, t->items[q].quotas[ask->pool->index].reserved),
            ask->pool->name, gpus(s, t->items[q].quotas[ask->pool->index].fixed)),
        ask->need_gu > t->items[q].quotas[ask->pool->index].reserved
            ? "submit it as preemptible; the reserve is less than it asks for"
            : "submit it as preemptible, or wait for such work of the queue to end");
    b->pool = ask->pool->id;
    b->queue = t->items[q].id;
    b->need_gu = ask->need_gu;
}

/* What others of the pool keep for themselves. */
static void study_lending(struct study *s, const struct ask *ask, int64_t may)
{
    const struct queue_tree *t = s->c->queues;
    const struct pool *p = ask->pool;
    struct why_blocker *b;

    for (int q = s->job->queue; q >= 0; q = t->items[q].parent) {
        const struct queue_quota *own = &t->items[q].quotas[p->index];

        if (own->borrow != QUEUE_NO_LIMIT &&
            quota_borrowed_after(t, p->index, q, s->job->queue, ask->need_gu) > own->borrow) {
            b = blocker(
                s, WHY_BORROW_LIMIT,
                arena_printf(s->a,
                             "queue %s may borrow %s GPUs of pool %s beyond its reserve of %s and "
                             "uses %s",
                             t->items[q].name, gpus(s, own->borrow), p->name, gpus(s, own->mine),
                             gpus(s, own->used)),
                "a smaller request, or jobs of the queue that end");
            b->pool = p->id;
            b->queue = t->items[q].id;
            b->need_gu = ask->need_gu;
            b->have_gu = may;
        }
    }
    for (int q = 0; q < t->count; q++) {
        const struct queue_quota *own = &t->items[q].quotas[p->index];

        if (own->keep > own->used && !queue_covers(t, q, s->job->queue)) {
            b = blocker(
                s, WHY_NOT_LENT,
                arena_printf(s->a, "queue %s keeps %s idle GPUs of pool %s: it lends %s of its %s",
                             t->items[q].name, gpus(s, own->keep - own->used), p->name,
                             gpus(s, own->mine - own->keep), gpus(s, own->mine)),
                "");
            b->pool = p->id;
            b->queue = t->items[q].id;
            b->need_gu = ask->need_gu;
            b->have_gu = may;
        }
    }
}

static void study_holders(struct study *s, const struct ask *ask, struct why_blocker *b)
{
    for (int q = 0; q < s->c->queues->count; q++) {
        const struct queue *leaf = &s->c->queues->items[q];

        for (size_t i = 0; i < leaf->active.count && b->job_count < JOBS_MAX; i++) {
            if (leaf->active.items[i]->pool == ask->pool->index) {
                add_job(b, leaf->active.items[i]->id);
            }
        }
    }
}

static void study_idle(struct study *s, const struct ask *ask)
{
    const struct pool *p = ask->pool;
    int64_t idle = p->capacity_gu - p->taken_gu;
    int64_t may = quota_avail(s->c->queues, p, s->job->queue);
    struct why_blocker *b;

    if (idle < ask->need_gu) {
        b = blocker(
            s, WHY_NO_IDLE,
            arena_printf(s->a, "%s GPUs of pool %s are needed; %s of %s are idle and not promised",
                         gpus(s, ask->need_gu), p->name, gpus(s, idle), gpus(s, p->capacity_gu)),
            "");
        b->pool = p->id;
        b->need_gu = ask->need_gu;
        b->have_gu = idle;
        study_holders(s, ask, b);
    }
    if (may < ask->need_gu) {
        study_lending(s, ask, may);
    }
}

/* The part of a guarantee that cannot be delivered because capacity is lost or overcommitted. */
static void study_undelivered(struct study *s, const struct ask *ask)
{
    const struct queue_tree *t = s->c->queues;
    const struct queue_quota *own = &t->items[s->job->queue].quotas[ask->pool->index];
    int64_t within = own->mine - own->used < ask->need_gu ? own->mine - own->used : ask->need_gu;
    int64_t idle = ask->pool->capacity_gu - ask->pool->taken_gu;
    int64_t reserved = 0;
    struct why_blocker *b;

    for (int q = 0; q < t->count; q++) {
        reserved += t->items[q].parent < 0 ? t->items[q].quotas[ask->pool->index].reserved : 0;
    }
    if (ask->pool->capacity_gu >= reserved || within <= idle) {
        return;
    }
    b = blocker(
        s, WHY_UNDELIVERED,
        arena_printf(
            s->a,
            "%s GPUs of the guarantee of queue %s cannot be delivered now: %s are reserved in "
            "pool %s and %s are in service",
            gpus(s, within - idle), t->items[s->job->queue].name, gpus(s, reserved),
            ask->pool->name, gpus(s, ask->pool->capacity_gu)),
        "the operator returns cards to service, or the policy reserves less");
    b->pool = ask->pool->id;
    b->queue = t->items[s->job->queue].id;
    b->need_gu = within;
    b->have_gu = idle;
}

/* ---- room ---- */

static int64_t most_on_a_node(const struct core *c, const struct pool *p)
{
    int64_t most = 0;

    for (size_t i = 0; i < p->nodes.count; i++) {
        int64_t cards = c->nodes.items[p->nodes.items[i]]->free_whole;

        most = cards > most ? cards : most;
    }
    return most;
}

/* Would every group fit if it asked for no CPU and no memory? */
static bool only_cpu_or_memory(struct study *s, const struct ask *ask)
{
    struct fact_job_submitted bare = *s->job->ask;
    struct job twin = *s->job;
    struct ask easy = *ask;
    size_t mark = load_mark(s->c);
    lease_tasks tasks = {0};
    bool fits;

    bare.groups = arena_copy(s->a, bare.groups, bare.group_count * sizeof(bare.groups[0]));
    for (size_t i = 0; i < bare.group_count; i++) {
        bare.groups[i].cpu_milli = 0;
        bare.groups[i].memory_bytes = 0;
    }
    twin.ask = &bare;
    easy.job = &twin;
    fits = claim_place(s->c, &easy, LEDGER_HELD, &tasks);
    load_undo(s->c, mark);
    vec_fini(&tasks);
    return fits;
}

static void study_room(struct study *s, const struct ask *ask)
{
    struct core *c = s->c;
    size_t mark = load_mark(c);
    lease_tasks tasks = {0};
    const struct fact_group *g = &s->job->ask->groups[0];
    struct why_blocker *b = NULL;
    struct err err = {0};
    bool fits = claim_place(c, ask, LEDGER_HELD, &tasks);

    load_undo(c, mark);
    vec_fini(&tasks);
    if (fits) {
        return;
    }
    for (int k = 0; k < (int)s->job->ask->group_count; k++) {
        if (!place_possible(c, ask->pool, s->job->ask, k, &err)) {
            b = blocker(s, WHY_NEVER, arena_text(s->a, err.text),
                        "change the request, or cancel it");
            b->pool = ask->pool->id;
            return;
        }
    }
    if (only_cpu_or_memory(s, ask)) {
        b = blocker(s, WHY_CPU_MEMORY,
                    arena_printf(s->a,
                                 "the nodes of pool %s that have room for its GPUs lack the CPU or "
                                 "the memory it asks for",
                                 ask->pool->name),
                    "ask for less CPU or memory");
    } else if (g->profile[0] != '\0') {
        b = blocker(s, WHY_NO_SLICE,
                    arena_printf(s->a, "no card of pool %s has room for a %s now", ask->pool->name,
                                 g->profile),
                    "a smaller profile, or wait for a slice to be given back");
    } else if (g->required[0] != '\0') {
        b = blocker(s, WHY_NO_DOMAIN,
                    arena_printf(s->a, "no %s of pool %s has room for all its tasks now",
                                 g->required, ask->pool->name),
                    "a preferred instead of a required level");
    } else if (ask->pool->capacity_gu - ask->pool->taken_gu >= ask->need_gu) {
        b = blocker(
            s, WHY_FRAGMENTED,
            arena_printf(
                s->a,
                "%s GPUs are free in pool %s, but at most %lld on one node; a task needs %lld",
                gpus(s, ask->pool->capacity_gu - ask->pool->taken_gu), ask->pool->name,
                (long long)most_on_a_node(c, ask->pool), (long long)g->gpus),
            "smaller tasks, or consolidation: on");
    }
    if (b != NULL) {
        b->pool = ask->pool->id;
        b->need_gu = ask->need_gu;
    }
}

/* ---- others ---- */

static void study_promises(struct study *s, const struct ask *ask)
{
    struct core *c = s->c;

    for (struct omap_item *i = omap_first(&c->nominated); i != NULL; i = omap_next(i)) {
        const struct job *j = i->value;
        struct why_blocker *b;
        int64_t gu = 0;

        if (j == s->job || j->nomination.pool != ask->pool->index) {
            continue;
        }
        for (size_t k = 0; k < j->nomination.tasks.count; k++) {
            gu += load_task_gu(&j->nomination.tasks.items[k]);
        }
        b = blocker(
            s, WHY_NOMINATED_ELSEWHERE,
            arena_printf(s->a,
                         "%s GPUs of pool %s are promised to job %lld (%s), which starts within %s",
                         gpus(s, gu), ask->pool->name, (long long)j->id, j->name,
                         span(s, j->nomination.latest_ms - s->now_ms)),
            "");
        b->pool = ask->pool->id;
        b->have_gu = gu;
        add_job(b, j->id);
        if (s->ret->blocker_count > BLOCKERS_MAX / 2) {
            return;
        }
    }
}

/* Jobs of the shape that come before this one, counted from the nearer end of its list.  budget:
 * steps that may still be walked; false: it is gone, and there are more than were counted. */
static bool count_before(const struct shape *shape, const struct job *j, int64_t *budget,
                         int64_t *ret)
{
    const struct omap_item *down =
        omap_lower_bound(&shape->waiting, (struct omap_key){j->age_ms, j->id, 0});
    const struct omap_item *up = down != NULL ? omap_prev(down) : NULL;
    int64_t all = (int64_t)shape->waiting.count;
    int64_t steps = 0;

    if (shape->ask->priority != j->ask->priority) {
        *ret = shape->ask->priority > j->ask->priority ? all : 0;
        return true;
    }
    for (; down != NULL && up != NULL && *budget > 0; steps++) {
        down = omap_next(down);
        up = omap_prev(up);
        --*budget;
    }
    *ret = down == NULL ? all - steps : steps;
    return down == NULL || up == NULL;
}

static void add_first(const struct shape *shape, const struct job *j, struct why_blocker *b)
{
    for (const struct omap_item *k = omap_first(&shape->waiting);
         k != NULL && b->job_count < JOBS_MAX && order_earlier(k->value, j); k = omap_next(k)) {
        add_job(b, ((const struct job *)k->value)->id);
    }
}

static void study_ahead(struct study *s)
{
    const struct queue *q = &s->c->queues->items[s->job->queue];
    struct why_blocker *b = NULL;
    int64_t budget = AHEAD_STEPS_MAX;
    int64_t ahead = 0;
    bool all = true;

    for (size_t i = 0; i < q->shapes.count && all; i++) {
        int64_t before = 0;

        all = budget-- > 0 && count_before(q->shapes.items[i], s->job, &budget, &before);
        if (before > 0 && b == NULL) {
            b = blocker(s, WHY_AHEAD, "", "");
            b->queue = q->id;
        }
        if (before > 0) {
            add_first(q->shapes.items[i], s->job, b);
        }
        ahead += before;
    }
    if (b != NULL) {
        b->text = arena_printf(s->a, "%s%lld job%s of queue %s %s before it",
                               all ? "" : "at least ", (long long)ahead, ahead == 1 ? "" : "s",
                               q->name, ahead == 1 ? "is" : "are");
    }
}

static void study_heads(struct study *s, const struct ask *ask)
{
    for (size_t i = 0; i < s->c->heads.count; i++) {
        const struct head *h = &s->c->heads.items[i];
        struct why_blocker *b;

        if (h->job == NULL || h->pool != ask->pool || h->job == s->job) {
            continue;
        }
        b = h->start_ms > 0
                ? blocker(s, WHY_PLANNED_START,
                          arena_printf(s->a, "would delay the planned start of job %lld (%s) in %s",
                                       (long long)h->job->id, h->job->name,
                                       span(s, h->start_ms - s->now_ms)),
                          "a time limit that ends before, or submit it as preemptible")
                : blocker(s, WHY_DRAINING_FOR,
                          arena_printf(s->a,
                                       "the pool is drained for job %lld (%s), which has waited %s",
                                       (long long)h->job->id, h->job->name,
                                       span(s, s->now_ms - h->job->age_ms)),
                          "");
        b->pool = ask->pool->id;
        add_job(b, h->job->id);
    }
}

/* Why nothing can be taken back for an entitled claim: the setting, the age of those that could go,
 * or nobody is over. */
static const char *no_victim_text(struct study *s, const struct ask *ask)
{
    struct core *c = s->c;
    const struct queue *own = &c->queues->items[s->job->queue];
    int over = c->queues->over_leaves[ask->pool->index];

    if (own->row->reclaim == RECLAIM_NEVER) {
        return arena_printf(s->a, "queue %s takes nothing back from others (reclaim: never)",
                            own->name);
    }
    over -= own->quotas[ask->pool->index].used > own->quotas[ask->pool->index].mine;
    if (over <= 0) {
        return "no other queue uses more than its reserve, so nothing can be taken back for it";
    }
    return arena_printf(s->a,
                        "%d other queue%s use%s more than its reserve, but what runs there cannot "
                        "be told to stop for it "
                        "now: it is not preemptible, too young (min_run), of a higher priority, or "
                        "would not make room",
                        over, over == 1 ? "" : "s", over == 1 ? "s" : "");
}

static void study_victims(struct study *s, const struct ask *ask)
{
    struct core *c = s->c;
    size_t mark = load_mark(c);
    claim_units units = {0};
    struct why_blocker *b;
    const struct queue *q = &c->queues->items[s->job->queue];
    const struct queue_quota *own = &q->quotas[ask->pool->index];
    int64_t left = own->mine > own->used ? own->mine - own->used : 0;
    bool entitled = quota_cover(c->queues, s->job->queue, ask->pool->index, ask->need_gu) >= 0;

    claim_drop_leaving(c, ask->pool->index);
    units_gather(c, ask, s->now_ms, &units);
    load_undo(c, mark);
    if (units.count == 0 || !entitled) {
        const char *remedy = entitled || left == 0
                                 ? ""
                                 : arena_printf(s->a, "ask for %s GPUs or less", gpus(s, left));

        b = blocker(s, WHY_NO_VICTIM,
                    entitled ? no_victim_text(s, ask)
                             : arena_printf(s->a,
                                            "it is beyond the reserve of queue %s (%s, in use %s), "
                                            "and beyond its reserve "
                                            "a queue takes nothing back from others",
                                            q->name, gpus(s, own->mine), gpus(s, own->used)),
                    remedy);
        b->pool = ask->pool->id;
        b->queue = s->job->queue_id;
        b->need_gu = ask->need_gu;
        b->have_gu = left;
    }
    vec_fini(&units);
}

/* What sums tell, without a look at nodes and at others' planned starts. */
static struct ask study_sums(struct study *s, struct pool *p)
{
    struct ask ask = {.job = s->job, .pool = p, .group = -1};

    ask.need_gu = shape_need_gu(s->c, s->job->shape, p->index);
    if (ask.need_gu < 0) {
        blocker(s, WHY_NEVER,
                arena_printf(s->a, "no card of pool %s has the profile it asks for", p->name),
                "another profile or pool")
            ->pool = p->id;
    } else {
        study_limits(s, &ask);
        study_fixed(s, &ask);
        study_idle(s, &ask);
    }
    return ask;
}

static void study_pool(struct study *s, struct pool *p)
{
    size_t before = s->ret->blocker_count;
    struct ask ask = study_sums(s, p);
    const struct head *head;
    size_t mark;
    int64_t at;

    if (ask.need_gu < 0) {
        return;
    }
    study_undelivered(s, &ask);
    mark = load_mark(s->c);
    forecast_lift(s->c, &ask); /* its own wish, and those that do not bind it, are not in its way */
    study_room(s, &ask);
    load_undo(s->c, mark);
    forecast_lifted(s->c);
    study_promises(s, &ask);
    study_heads(s, &ask);
    if (s->line) {
        return;
    }
    if (s->ret->blocker_count > before) {
        study_victims(s, &ask);
    }
    head = forecast_head(s->c, s->job);
    at = head != NULL && head->pool == p ? head->start_ms
                                         : forecast_start(s->c, s->job, p, s->now_ms);
    if (at > 0 && (s->ret->earliest_ms == 0 || at < s->ret->earliest_ms)) {
        s->ret->earliest_ms = at;
    }
}

/* ---- the record ---- */

static bool is_enough(const struct study *s)
{
    return s->line && s->ret->blocker_count > 0;
}

/* Pool by pool, beside the planned starts of others. */
static void study_pools(struct study *s)
{
    struct core *c = s->c;
    int count;
    const int *pools = order_pools(c, s->job, &count);

    if (s->line && count > 0) {
        study_sums(s, c->pools.items[pools[0]]);
    }
    if (is_enough(s)) {
        return; /* as it would be found below */
    }
    forecast_heads(c, s->now_ms);
    for (int i = 0; i < count && !is_enough(s); i++) {
        study_pool(s, c->pools.items[pools[i]]);
    }
    if (!is_enough(s)) {
        study_ahead(s);
    }
    load_undo(c, 0);
}

/* The planner's scratch is used as in a plan, but what the last plan has decided stays. */
static void study_plan(struct study *s)
{
    struct core *c = s->c;
    struct arena *planning = c->plan_arena;

    c->plan_arena = arena_make();
    vec_clear(&c->heads);
    c->ends = NULL;
    study_pools(s);
    vec_clear(&c->heads);
    c->ends = NULL;
    arena_free(c->plan_arena);
    c->plan_arena = planning;
}

static void study_waiting(struct study *s)
{
    const struct queue *q = &s->c->queues->items[s->job->queue];

    if (s->job->not_before_ms > s->now_ms) {
        blocker(s, WHY_BACKOFF,
                arena_printf(s->a, "failed before; waits another %s",
                             span(s, s->job->not_before_ms - s->now_ms)),
                "");
        s->ret->earliest_ms = s->job->not_before_ms;
    }
    if (q->row->state == QUEUE_CLOSED) {
        blocker(s, WHY_QUEUE_CLOSED,
                arena_printf(s->a, "queue %s is %s", q->name, QUEUE_STATE_NAMES[q->row->state]),
                "the operator opens the queue")
            ->queue = q->id;
    }
    if (s->job->nomination.is) {
        struct why_blocker *b =
            blocker(s, WHY_NOMINATED,
                    arena_printf(s->a, "its capacity is being freed; it starts within %s",
                                 span(s, s->job->nomination.latest_ms - s->now_ms)),
                    "");

        for (size_t i = 0; i < s->job->nomination.victims.count; i++) {
            add_job(b, s->job->nomination.victims.items[i]);
        }
        s->ret->latest_ms = s->job->nomination.latest_ms;
        s->ret->earliest_ms = s->now_ms;
        return;
    }
    if (!is_enough(s)) {
        study_plan(s);
    }
}

static const char *summary(struct study *s)
{
    const struct job *j = s->job;

    if (job_is_waiting(j)) {
        return s->now_ms > j->age_ms
                   ? arena_printf(s->a, "waits for %s in queue %s", span(s, s->now_ms - j->age_ms),
                                  s->c->queues->items[j->queue].name)
                   : arena_printf(s->a, "waits in queue %s", s->c->queues->items[j->queue].name);
    }
    if (j->state == JOB_STATE_HELD) {
        return "is held: it waits to be released";
    }
    if (job_is_active(j)) {
        return arena_printf(s->a, "%s on %s GPUs of pool %s, attempt %lld",
                            JOB_STATE_NAMES[j->state], gpus(s, j->leased_gu),
                            s->c->pools.items[j->pool]->name, (long long)j->attempt);
    }
    return arena_printf(s->a, "%s", JOB_STATE_NAMES[j->state]);
}

static int study(struct study *s, int64_t job, struct err *err)
{
    struct why *ret = s->ret;

    s->job = core_job(s->c, job);
    if (s->job == NULL) {
        return err_set(err, ERR_NOT_FOUND, "no job %lld", (long long)job);
    }
    *ret = (struct why){.job = job,
                        .state = JOB_STATE_NAMES[s->job->state],
                        .decision = s->job->why,
                        .decision_seq = s->job->why_seq};
    if (ret->decision.rule == NULL) {
        ret->decision.rule = ret->decision.text = "";
    }
    ret->blockers = arena_new(s->a, BLOCKERS_MAX, sizeof(ret->blockers[0]));
    ret->summary = summary(s);
    if (s->job->state == JOB_STATE_HELD) {
        blocker(s, WHY_HELD, "it is held",
                arena_printf(s->a, "muster release %lld", (long long)job));
    } else if (job_is_waiting(s->job)) {
        study_waiting(s);
    }
    return 0;
}

int why_job(struct core *c, int64_t job, int64_t now_ms, struct arena *arena, struct why *ret,
            struct err *err)
{
    struct study s = {.c = c, .now_ms = now_ms, .a = arena, .ret = ret};

    return study(&s, job, err);
}

int why_line(struct core *c, int64_t job, int64_t now_ms, struct arena *arena, const char **ret,
             struct err *err)
{
    struct why why;
    struct study s = {.c = c, .now_ms = now_ms, .a = arena, .ret = &why, .line = true};
    int rc = study(&s, job, err);

    if (rc == 0) {
        *ret = why.blocker_count > 0 ? why.blockers[0].text : why.summary;
    }
    return rc;
}
