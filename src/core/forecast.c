#include "core/forecast.h"

#include "base/check.h"
#include "base/minmax.h"
#include "core/ends.h"
#include "core/order.h"
#include "core/place.h"
#include "core/shape.h"
#include "core/state.h"
#include "core/units.h"

#include <stdlib.h>

static bool fits(struct core *c, const struct ask *ask, lease_tasks *ret)
{
    return claim_quota_fits(c, ask) && claim_place(c, ask, LEDGER_PROMISED, ret);
}

/* Those that passed the head and may go for it end for it, whenever it likes.  ret: by place, who
 * did. */
static bool *drop_passers(struct core *c, const struct ask *ask, const struct ending *items,
                          size_t count)
{
    bool *gone = arena_new(c->plan_arena, count + 1, sizeof(*gone));

    for (size_t i = 0; i < count; i++) {
        if (job_has_passed(items[i].job, ask->job->id) &&
            units_passer_may_go(c, ask, items[i].job)) {
            claim_drop_job(c, items[i].job, ask->pool->index);
            gone[i] = true;
        }
    }
    return gone;
}

/* The first time the ask fits, 0 = none known: one ending after the other is taken off the ledgers.
 */
static int64_t project_slowly(struct core *c, const struct ask *ask, const struct ends *ends,
                              lease_tasks *ret, int64_t *ret_slack)
{
    size_t count;
    const struct ending *items = ends_items(ends, &count);
    int64_t at = ends_now_ms(ends);
    size_t mark = load_mark(c);
    size_t k = 0;
    bool more = true;
    bool found = false;
    bool *gone;

    gone = drop_passers(c, ask, items, count);
    while (!found && more) {
        while (k < count && items[k].end_ms <= at) {
            if (!gone[k]) {
                claim_drop_job(c, items[k].job, ask->pool->index);
            }
            k++;
        }
        if (ask->pool->capacity_gu - ask->pool->taken_gu >= ask->need_gu) {
            *ret_slack = quota_avail(c->queues, ask->pool, ask->job->queue) - ask->need_gu;
            found = fits(c, ask, ret);
        }
        more = k < count && items[k].end_ms != INT64_MAX;
        at = !found && more ? items[k].end_ms : at;
    }
    load_undo(c, mark);
    return found ? at : 0;
}

/* Tasks of one group on whole cards, anywhere: the count of cards tells when they could fit. */
static bool is_by_cards(const struct ask *ask, const struct ends *ends)
{
    const struct fact_job_submitted *want = ask->job->ask;

    return ask->group < 0 && want->group_count == 1 && want->groups[0].gpus > 0 &&
           want->groups[0].required[0] == '\0' && ends_by_cards(ends) &&
           !ends_passed(ends, ask->job);
}

/* The first time by the count of cards, tried with those gone that hold them then.  0: it does not
 * fit so, for its quota, its CPUs or its choice of nodes. */
static int64_t project_by_cards(struct core *c, const struct ask *ask, struct ends *ends,
                                lease_tasks *ret, int64_t *ret_slack)
{
    const struct fact_group *want = &ask->job->ask->groups[0];
    struct job **holders = NULL;
    size_t mark = load_mark(c);
    size_t count;
    int64_t at = ends_first(ends, want->gpus, want->min_tasks, &holders, &count);
    bool found = false;

    for (size_t i = 0; at > 0 && i < count; i++) {
        claim_drop_job(c, holders[i], ask->pool->index);
    }
    if (at > 0) {
        found = fits(c, ask, ret);
    }
    load_undo(c, mark);
    if (found) {
        *ret_slack = ends_slack_gu(ends, ask->job->queue, at) - ask->need_gu;
    }
    return found ? at : 0;
}

/* On success ret has its tasks and ret_slack what is left of the quota; the ledgers are as before.
 */
static int64_t project(struct core *c, const struct ask *ask, int64_t now_ms, lease_tasks *ret,
                       int64_t *ret_slack)
{
    struct ends *ends = ends_of(c, ask->pool, now_ms);
    int64_t at = 0;

    if (is_by_cards(ask, ends)) {
        at = project_by_cards(c, ask, ends, ret, ret_slack);
    }
    return at > 0 ? at : project_slowly(c, ask, ends, ret, ret_slack);
}

/* ---- heads ---- */

static void set_soft(struct core *c, struct head *h, bool on)
{
    if (h->on == on) {
        return;
    }
    for (size_t i = 0; i < h->task_count; i++) {
        struct node *n = c->nodes.items[h->tasks[i].node];

        for (int d = 0; d < h->tasks[i].device_count; d++) {
            load_soft(c, &n->devices[h->tasks[i].devices[d].slot], n, on ? 1 : -1);
        }
    }
    h->on = on;
}

struct head *forecast_head(struct core *c, const struct job *j)
{
    for (size_t i = 0; i < c->heads.count; i++) {
        if (c->heads.items[i].job == j) {
            return &c->heads.items[i];
        }
    }
    return NULL;
}

static uint64_t mix(uint64_t stamp, int64_t value)
{
    stamp = (stamp ^ (uint64_t)value) * 0x9e3779b97f4a7c15U;
    return stamp ^ stamp >> 32;
}

/* All that a trial sees of it. */
static uint64_t stamp_of(const struct head *h, int64_t now_ms)
{
    uint64_t stamp = mix(1, h->job->id);

    stamp = mix(stamp, h->pool->id);
    stamp =
        mix(stamp, h->start_ms == 0 || h->start_ms > now_ms ? h->start_ms : -1); /* due is due */
    stamp = mix(stamp, h->slack_gu);
    stamp = mix(stamp, h->entitled);
    for (size_t i = 0; i < h->task_count; i++) {
        stamp = mix(stamp, h->tasks[i].node);
        for (int d = 0; d < h->tasks[i].device_count; d++) {
            stamp = mix(stamp, h->tasks[i].devices[d].slot);
        }
    }
    return stamp;
}

void forecast_drop(struct core *c, struct head *h)
{
    c->heads_stamp = mix(c->heads_stamp, h->job->id);
    set_soft(c, h, false);
    h->task_count = 0;
    h->job = NULL;
}

static struct ask ask_of(struct core *c, struct job *j, struct pool *pool)
{
    return (struct ask){.job = j,
                        .pool = pool,
                        .group = -1,
                        .need_gu = shape_need_gu(c, j->shape, pool->index)};
}

static void add_head(struct core *c, const struct ask *ask, int64_t start_ms, int64_t slack_gu,
                     const lease_tasks *tasks)
{
    struct head h = {.job = ask->job,
                     .pool = ask->pool,
                     .need_gu = ask->need_gu,
                     .start_ms = start_ms,
                     .slack_gu = slack_gu,
                     .task_count = tasks->count};

    h.entitled = quota_cover(c->queues, ask->job->queue, ask->pool->index, ask->need_gu) >= 0;
    h.tasks = arena_copy(c->plan_arena, tasks->items, tasks->count * sizeof(tasks->items[0]));
    vec_push(&c->heads, h);
    c->heads_stamp = mix(c->heads_stamp, (int64_t)stamp_of(&h, c->planning_ms));
    set_soft(c, &c->heads.items[c->heads.count - 1], true);
}

/* What it would take if everything preemptible or not were gone: no new work goes there. */
static bool drain_target(struct core *c, const struct ask *ask, lease_tasks *ret)
{
    size_t mark = load_mark(c);
    bool found;

    for (int q = 0; q < c->queues->count; q++) {
        const struct queue *leaf = &c->queues->items[q];

        for (size_t i = 0; i < leaf->active.count; i++) {
            struct job *j = leaf->active.items[i];

            if (job_is_active(j) && j->pool == ask->pool->index) {
                claim_drop_job(c, j, ask->pool->index);
            }
        }
    }
    found = claim_place(c, ask, LEDGER_PROMISED, ret);
    load_undo(c, mark);
    return found;
}

static bool make_head_in(struct core *c, struct job *j, struct pool *pool, int64_t now_ms)
{
    struct ask ask = ask_of(c, j, pool);
    int64_t drain_ms = c->queues->items[j->queue].row->drain_after_ms;
    lease_tasks tasks = {0};
    int64_t slack = 0;
    int64_t at = 0;
    bool made = true;

    if (!shape_could_run(c, j->shape, pool->index)) {
        return false;
    }
    if (pool->timed > 0) {
        at = project(c, &ask, now_ms, &tasks, &slack);
    }
    if (at > 0) {
        add_head(c, &ask, at, slack, &tasks);
        plan_again(c, at, now_ms);
    } else if (drain_ms != POLICY_NONE && now_ms - j->age_ms >= drain_ms &&
               drain_target(c, &ask, &tasks)) {
        add_head(c, &ask, 0, 0, &tasks);
    } else {
        made = false;
        if (drain_ms != POLICY_NONE) {
            plan_again(c, j->age_ms + drain_ms, now_ms);
        }
    }
    vec_fini(&tasks);
    return made;
}

static bool fits_as_is(struct core *c, struct job *j, struct pool *pool)
{
    struct ask ask = ask_of(c, j, pool);
    size_t mark = load_mark(c);
    lease_tasks tasks = {0};
    bool does = ask.need_gu >= 0 && fits(c, &ask, &tasks);

    load_undo(c, mark);
    vec_fini(&tasks);
    return does;
}

static void make_head(struct core *c, struct job *j, int64_t now_ms)
{
    int count;
    const int *pools = order_pools(c, j, &count);

    for (int i = 0; i < count; i++) {
        if (fits_as_is(c, j, c->pools.items[pools[i]])) {
            return; /* it will have its turn */
        }
    }
    for (int i = 0; i < count; i++) {
        if (make_head_in(c, j, c->pools.items[pools[i]], now_ms)) {
            return;
        }
    }
}

static bool could_run(struct core *c, const struct job *j)
{
    int count;
    const int *pools = order_pools(c, j, &count);

    for (int p = 0; p < count; p++) {
        if (shape_could_run(c, j->shape, pools[p])) {
            return true;
        }
    }
    return false;
}

static bool before_job(const struct shape *s, struct omap_key first, const struct job *best)
{
    if (s->ask->priority != best->ask->priority) {
        return s->ask->priority > best->ask->priority;
    }
    return first.a != best->age_ms ? first.a < best->age_ms : first.b < best->id;
}

/* The leaf's first job that could ever run. */
static struct job *leaf_head(struct core *c, const struct queue *q, int64_t now_ms)
{
    struct job *best = NULL;

    for (size_t i = 0; i < q->shapes.count; i++) {
        const struct shape *s = q->shapes.items[i];

        for (struct omap_item *k = omap_first(&s->waiting);
             k != NULL && (best == NULL || before_job(s, k->key, best)); k = omap_next(k)) {
            if (order_competes(k->value, now_ms)) {
                best = could_run(c, k->value) ? k->value : best;
                break; /* its equals come after it */
            }
        }
    }
    return best;
}

void forecast_heads(struct core *c, int64_t now_ms)
{
    bool timed = false;

    for (size_t p = 0; p < c->pools.count && !timed; p++) {
        timed = c->pools.items[p]->timed > 0;
    }
    for (int i = 0; i < c->queues->count; i++) {
        struct queue *q = &c->queues->items[i];
        int64_t drain_ms;
        int64_t age;
        struct job *j;

        if (!queue_is_leaf(q) || q->waiting == 0 || q->row->state == QUEUE_CLOSED) {
            continue;
        }
        drain_ms = q->row->drain_after_ms;
        age = drain_ms != POLICY_NONE ? shape_oldest_ms(q) : INT64_MAX;
        if (!timed && (drain_ms == POLICY_NONE || now_ms - age < drain_ms)) {
            if (drain_ms != POLICY_NONE) {
                plan_again(c, age + drain_ms, now_ms);
            }
            continue;
        }
        j = q->head = leaf_head(c, q, now_ms);
        q->head_plan = c->plan_number;
        if (j != NULL) {
            make_head(c, j, now_ms);
        }
    }
}

bool forecast_blocked(struct core *c, struct job *j, int64_t now_ms)
{
    size_t had = c->heads.count;
    struct queue *q = &c->queues->items[j->queue];
    bool timed =
        q->row->drain_after_ms != POLICY_NONE && now_ms - j->age_ms >= q->row->drain_after_ms;

    for (size_t p = 0; p < c->pools.count && !timed; p++) {
        timed = c->pools.items[p]->timed > 0;
    }
    if (!timed) {
        return false; /* nothing gives a time, and it has not waited long enough to drain */
    }
    if (q->head_plan != c->plan_number || q->head == NULL || !order_competes(q->head, now_ms)) {
        q->head = leaf_head(c, q, now_ms);
        q->head_plan = c->plan_number;
    }
    if (q->head == j && forecast_head(c, j) == NULL) {
        make_head(c, j, now_ms);
    }
    return c->heads.count > had;
}

int64_t forecast_start(struct core *c, struct job *j, struct pool *pool, int64_t now_ms)
{
    struct ask ask = ask_of(c, j, pool);
    lease_tasks tasks = {0};
    int64_t slack;
    int64_t at = ask.need_gu < 0 ? 0 : project(c, &ask, now_ms, &tasks, &slack);

    vec_fini(&tasks);
    return at;
}

/* ---- passing ---- */

/* The time limit is that of the attempt: more tasks of what runs end with it. */
static int64_t end_if_started(const struct job *j, int64_t now_ms)
{
    int64_t from = job_is_active(j) && j->running_ms > 0 ? j->running_ms : now_ms;

    return j->ask->limit_ms > 0 ? from + j->ask->limit_ms : INT64_MAX;
}

/* A planned start beyond its reserve does not bind work of other queues that is within reserve. */
static bool binds(struct core *c, const struct head *h, const struct ask *ask)
{
    if (h->job == NULL || h->job == ask->job || h->pool != ask->pool) {
        return false;
    }
    return h->entitled || h->job->queue == ask->job->queue ||
           quota_cover(c->queues, ask->job->queue, ask->pool->index, ask->need_gu) < 0;
}

void forecast_lift(struct core *c, const struct ask *ask)
{
    for (size_t i = 0; i < c->heads.count; i++) {
        struct head *h = &c->heads.items[i];

        h->lifted = h->on;
        if (h->job != NULL && !binds(c, h, ask)) {
            set_soft(c, h, false);
        }
    }
}

void forecast_save(struct core *c)
{
    for (size_t i = 0; i < c->heads.count; i++) {
        c->heads.items[i].saved = c->heads.items[i].on;
    }
}

void forecast_load(struct core *c)
{
    for (size_t i = 0; i < c->heads.count; i++) {
        c->heads.items[i].on = c->heads.items[i].saved;
    }
}

void forecast_lifted(struct core *c)
{
    for (size_t i = 0; i < c->heads.count; i++) {
        c->heads.items[i].on = c->heads.items[i].lifted;
    }
}

void forecast_settled(struct core *c, const struct job *j)
{
    for (size_t i = 0; i < c->heads.count; i++) {
        struct head *h = &c->heads.items[i];

        if (h->job != NULL) {
            set_soft(c, h, h->job != j);
        }
    }
}

static bool share_device(const struct lease_task *a, const struct lease_task *b)
{
    for (int d = 0; a->node == b->node && d < a->device_count; d++) {
        for (int e = 0; e < b->device_count; e++) {
            if (a->devices[d].slot == b->devices[e].slot) {
                return true;
            }
        }
    }
    return false;
}

static bool overlaps(const struct head *h, const lease_tasks *tasks)
{
    for (size_t i = 0; i < tasks->count; i++) {
        for (size_t k = 0; k < h->task_count; k++) {
            if (share_device(&tasks->items[i], &h->tasks[k])) {
                return true;
            }
        }
    }
    return false;
}

/* With the ask's tasks and quota on the ledgers: can the head still start in time? */
static bool still_in_time(struct core *c, struct head *h, int64_t now_ms)
{
    struct ask ask = ask_of(c, h->job, h->pool);
    lease_tasks tasks = {0};
    bool on = h->on;
    int64_t slack;
    int64_t at;

    set_soft(c, h, false);
    at = project(c, &ask, now_ms, &tasks, &slack);
    set_soft(c, h, on);
    vec_fini(&tasks);
    return at > 0 && at <= h->start_ms;
}

/* The ask would delay the planned start: may it?  Growth may not, or the two would take turns; nor
 * is what could evict the head by its rank a victim for it: it delays it for good. */
static bool pass(struct core *c, const struct ask *ask, const struct head *h, struct trial *t)
{
    if (ask->growth) {
        return false;
    }
    if (!units_could_evict(c, ask->job, h->job)) {
        vec_push(&t->passes, h->job->id);
        return !ask->job->ask->nonpreemptible;
    }
    return true;
}

/* The tasks are on the ledgers: which heads would be delayed?  False: one that may not be. */
static bool settle_heads(struct core *c, const struct ask *ask, int64_t now_ms, struct trial *t)
{
    size_t had = t->passes.count;
    bool lawful = true;

    for (size_t i = 0; i < c->heads.count; i++) {
        c->heads.items[i].binding =
            binds(c, &c->heads.items[i], ask); /* before the ask counts itself */
    }
    load_quota(c, ask->job, ask->pool->index, ask->need_gu, false, 1);
    for (size_t i = 0; i < c->heads.count && lawful; i++) {
        struct head *h = &c->heads.items[i];
        bool in_way;

        if (!h->binding) {
            continue;
        }
        in_way = overlaps(h, &t->tasks);
        if (h->start_ms == 0) {
            lawful = !in_way;
        } else if (end_if_started(ask->job, now_ms) > h->start_ms &&
                   (in_way || ask->need_gu > h->slack_gu) && !still_in_time(c, h, now_ms)) {
            lawful = pass(c, ask, h, t);
        }
    }
    load_quota(c, ask->job, ask->pool->index, ask->need_gu, false, -1);
    if (!lawful) {
        t->passes.count = had;
    }
    return lawful;
}

static bool place_and_settle(struct core *c, const struct ask *ask, int64_t now_ms, struct trial *t)
{
    size_t mark = load_mark(c);

    if (!claim_place(c, ask, LEDGER_HELD, &t->tasks)) {
        return false;
    }
    if (settle_heads(c, ask, now_ms, t)) {
        return true;
    }
    load_undo(c, mark);
    vec_clear(&t->tasks);
    return false;
}

bool forecast_place(struct core *c, const struct ask *ask, int64_t now_ms, struct trial *t)
{
    struct head *own = forecast_head(c, ask->job);
    bool placed;

    if (c->heads.count == 0) {
        return claim_place(c, ask, LEDGER_HELD, &t->tasks);
    }
    if (own != NULL) {
        set_soft(c, own, false);
    }
    placed = place_and_settle(c, ask, now_ms, t);
    if (!placed) {
        /* beside nobody's wishes there is no room: over those of heads that may be passed */
        for (size_t i = 0; i < c->heads.count; i++) {
            struct head *h = &c->heads.items[i];

            if (h->job != NULL && (h->start_ms > 0 || !binds(c, h, ask))) {
                set_soft(c, h, false);
            }
        }
        placed = place_and_settle(c, ask, now_ms, t);
        for (size_t i = 0; i < c->heads.count; i++) {
            if (c->heads.items[i].job != NULL) {
                set_soft(c, &c->heads.items[i], true);
            }
        }
    }
    if (own != NULL && own->job != NULL) {
        set_soft(c, own, !placed);
    }
    return placed;
}
