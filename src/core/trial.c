#include "core/trial.h"

#include "base/check.h"
#include "core/moves.h"
#include "core/order.h"
#include "core/place.h"
#include "core/shape.h"
#include "core/state.h"
#include "core/units.h"

/* Within reserve on some level. */
static bool is_entitled(const struct core *c, const struct ask *ask)
{
    return quota_cover(c->queues, ask->job->queue, ask->pool->index, ask->need_gu) >= 0;
}

/* May it take back what others borrow? */
static bool may_reclaim(const struct core *c, const struct ask *ask)
{
    return quota_cover_job(c->queues, ask->job->queue, ask->pool->index, ask->need_gu,
                           ask->job->ask->nonpreemptible) >= 0;
}

/* Too many cards for what is free, or for any node? */
static bool surely_no_room(const struct ask *ask)
{
    const struct fact_job_submitted *want = ask->job->ask;
    int64_t cards = 0;

    if (ask->group >= 0) {
        cards = want->groups[ask->group].gpus * ask->count;
    }
    for (size_t g = 0; ask->group < 0 && g < want->group_count; g++) {
        cards += want->groups[g].gpus * want->groups[g].min_tasks;
    }
    return cards > ask->pool->free_whole;
}

/* Once all that was told to stop is gone: is what others keep for themselves still free then?
 * Without kept reserves the end is never tighter than now. */
static bool fits_at_the_end(struct core *c, const struct ask *ask)
{
    size_t mark = load_mark(c);
    bool fits;

    if (c->queues->kept[ask->pool->index] == 0 ||
        (c->leaving.count == 0 && c->touched.count == 0)) {
        return true;
    }
    claim_drop_leaving(c, ask->pool->index);
    fits = claim_quota_fits(c, ask);
    load_undo(c, mark);
    return fits;
}

/* On what is idle. */
static bool try_free(struct core *c, const struct ask *ask, const char *rule, int64_t now_ms,
                     struct trial *ret)
{
    if (!claim_quota_fits(c, ask) || !fits_at_the_end(c, ask) ||
        (c->heads.count == 0 && surely_no_room(ask)) || !forecast_place(c, ask, now_ms, ret)) {
        return false;
    }
    load_quota(c, ask->job, ask->pool->index, ask->need_gu, false, 1);
    ret->kind = TRIAL_START;
    ret->pool = ask->pool;
    ret->need_gu = ask->need_gu;
    ret->rule = rule;
    return true;
}

static bool try_claim(struct core *c, const struct ask *ask, const char *rule, int64_t now_ms,
                      struct trial *ret)
{
    size_t mark = load_mark(c);

    if (!units_any(c, ask, may_reclaim(c, ask)) ||
        (c->heads.count > 0 && !claim_could(c, ask, now_ms))) {
        return false; /* before all wishes are taken off the ledgers for it */
    }
    forecast_lift(c, ask);
    if (claim_search(c, ask, now_ms, ret)) {
        forecast_settled(c, ask->job);
        ret->rule = rule;
        return true;
    }
    load_undo(c, mark);
    forecast_lifted(c);
    return false;
}

/* Its planned start is now: what runs in front of it is told to stop. */
static bool is_planned_now(struct core *c, const struct ask *ask, int64_t now_ms)
{
    const struct head *h = forecast_head(c, ask->job);

    return forecast_is_due(h, now_ms) && h->pool == ask->pool;
}

static bool has_own_victims(const struct core *c, const struct job *j)
{
    const struct queue *q = &c->queues->items[j->queue];

    return q->row->preempt_within != PREEMPT_NEVER && q->active.count > 0;
}

static bool takes_own_only(const struct trial *t)
{
    for (size_t i = 0; i < t->victims.count; i++) {
        if (!t->victims.items[i].own) {
            return false;
        }
    }
    return t->victims.count > 0;
}

static bool try_pool_entitled(struct core *c, struct ask *ask, bool evict, int64_t now_ms,
                              struct trial *ret)
{
    if (evict ? !may_reclaim(c, ask) : !is_entitled(c, ask)) {
        return false;
    }
    if (!evict) {
        return try_free(c, ask, "entitled", now_ms, ret);
    }
    if (try_claim(c, ask, "reclaim", now_ms, ret)) {
        ret->rule = takes_own_only(ret) ? "priority" : "reclaim";
        return true;
    }
    return fits_at_the_end(c, ask) && moves_search(c, ask, now_ms, ret);
}

static bool try_pool_rest(struct core *c, struct ask *ask, int64_t now_ms, struct trial *ret)
{
    if (try_free(c, ask, "borrow", now_ms, ret)) {
        return true;
    }
    if (is_planned_now(c, ask, now_ms)) {
        ask->planned = true;
        if (try_claim(c, ask, "planned", now_ms, ret)) {
            return true;
        }
        ask->planned = false;
    }
    if (!may_reclaim(c, ask) && has_own_victims(c, ask->job) &&
        try_claim(c, ask, "priority", now_ms, ret)) {
        return true;
    }
    if (!may_reclaim(c, ask) && c->policy->fair_share == FAIR_TAKE) {
        ask->take = true;
        if (try_claim(c, ask, "take", now_ms, ret)) {
            return true;
        }
        ask->take = false;
    }
    return !may_reclaim(c, ask) && fits_at_the_end(c, ask) && moves_search(c, ask, now_ms, ret);
}

bool trial_job(struct core *c, struct job *j, int64_t now_ms, struct trial *ret)
{
    int count;
    const int *pools = order_pools(c, j, &count);
    struct ask *asks = arena_new(c->plan_arena, (size_t)count + 1, sizeof(*asks));

    ret->step = 1;
    for (int i = 0; i < count; i++) {
        asks[i] = (struct ask){.job = j, .pool = c->pools.items[pools[i]], .group = -1};
        asks[i].need_gu = shape_need_gu(c, j->shape, pools[i]);
    }
    for (int pass = 0; pass < 3; pass++) {
        for (int i = 0; i < count; i++) {
            if (asks[i].need_gu >= 0 &&
                (pass < 2 ? try_pool_entitled(c, &asks[i], pass == 1, now_ms, ret)
                          : try_pool_rest(c, &asks[i], now_ms, ret))) {
                return true;
            }
        }
    }
    return false;
}

/* ---- what was promised ---- */

static bool device_is_free_for(const struct node *n, const struct lease_device *part)
{
    const struct device *d = &n->devices[part->slot];

    if (!node_usable(n) || d->out) {
        return false;
    }
    if (part->profile >= 0) {
        int start;
        int end = part->start + d->table->profiles[part->profile].size;

        for (int i = 0; i < d->layout.count; i++) {
            start = d->layout.cuts[i].start;
            if (d->layout.cuts[i].held && start < end &&
                part->start < start + d->table->profiles[d->layout.cuts[i].profile].size) {
                return false;
            }
        }
        return d->whole == 0 && d->share_count == 0;
    }
    if (part->gu >= d->size_gu) {
        return d->count[LEDGER_HELD] == 0 && d->count[LEDGER_LEAVING] == 0;
    }
    return d->whole == 0 && d->size_gu - d->gu[LEDGER_HELD] - d->gu[LEDGER_LEAVING] >= part->gu &&
           (part->memory_bytes == 0 ||
            d->memory_bytes - d->memory[LEDGER_HELD] - d->memory[LEDGER_LEAVING] >=
                part->memory_bytes);
}

static bool task_is_free(const struct core *c, const struct lease_task *t)
{
    const struct node *n = c->nodes.items[t->node];

    for (int d = 0; d < t->device_count; d++) {
        if (!device_is_free_for(n, &t->devices[d])) {
            return false;
        }
    }
    return (t->cpu_milli == 0 || node_cpu_free(n) >= t->cpu_milli) &&
           (t->memory_bytes == 0 || node_memory_free(n) >= t->memory_bytes);
}

/* Put the promised tasks on the ledger one by one, as several may lie on one device.  False:
 * something there is not free yet; the caller undoes. */
static bool keep_promise(struct core *c, struct job *j, struct trial *ret)
{
    struct lease_task *tasks = arena_copy(c->plan_arena, j->nomination.tasks.items,
                                          j->nomination.tasks.count * sizeof(tasks[0]));

    for (size_t i = 0; i < j->nomination.tasks.count; i++) {
        if (!task_is_free(c, &tasks[i])) {
            return false;
        }
        vec_push(&ret->tasks, tasks[i]);
        load_put(c, j, &tasks[i], LEDGER_HELD);
    }
    return true;
}

/* The ask that the promise answers. */
static struct ask ask_of_promise(struct core *c, struct job *j)
{
    const struct nomination *n = &j->nomination;
    struct ask ask = {.job = j, .pool = c->pools.items[n->pool], .group = -1};

    for (size_t i = 0; i < n->tasks.count; i++) {
        ask.need_gu += load_task_gu(&n->tasks.items[i]);
    }
    if (n->step > 1) {
        ask.group = n->tasks.items[0].group;
        ask.count = (int64_t)n->tasks.count;
        ask.numbers = arena_new(c->plan_arena, n->tasks.count, sizeof(ask.numbers[0]));
        for (size_t i = 0; i < n->tasks.count; i++) {
            ask.numbers[i] = n->tasks.items[i].task;
        }
    }
    return ask;
}

bool trial_nominated(struct core *c, struct job *j, int64_t now_ms, struct trial *ret)
{
    struct ask ask = ask_of_promise(c, j);
    struct claim_unit unit = {.kind = UNIT_NOMINEE, .job = j};
    size_t mark = load_mark(c);
    size_t dropped;

    ret->step = j->nomination.step;
    claim_drop_unit(c, &unit, ask.pool->index);
    dropped = load_mark(c);
    if (claim_quota_fits(c, &ask) && fits_at_the_end(c, &ask) && keep_promise(c, j, ret)) {
        load_quota(c, j, ask.pool->index, ask.need_gu, false, 1);
        ret->kind = TRIAL_START;
        ret->pool = ask.pool;
        ret->need_gu = ask.need_gu;
        ret->rule = "promised";
        return true;
    }
    load_undo(c, dropped);
    vec_clear(&ret->tasks);
    if (!j->nomination.move && try_free(c, &ask, "elsewhere", now_ms, ret)) {
        return true;
    }
    load_undo(c, mark);
    return false;
}

/* ---- more tasks of a job that runs ---- */

static bool has_task(const struct job *j, int64_t number)
{
    for (size_t i = 0; i < j->tasks.count; i++) {
        if (j->tasks.items[i].task == number) {
            return true;
        }
    }
    return false;
}

bool trial_more(struct core *c, struct job *j, struct more more, int64_t now_ms, struct trial *ret)
{
    int group = more.group;
    int64_t count = more.count;
    bool repair = more.repair;
    const struct fact_group *want = &j->ask->groups[group];
    int64_t first = place_first_task(j->ask, group);
    struct ask ask = {
        .job = j, .pool = c->pools.items[j->pool], .group = group, .count = 0, .growth = !repair};

    ask.numbers = arena_new(c->plan_arena, (size_t)count + 1, sizeof(ask.numbers[0]));
    for (int64_t n = first; n < first + want->tasks && ask.count < count; n++) {
        if (!has_task(j, n)) {
            ask.numbers[ask.count++] = n;
        }
    }
    if (ask.count < count) {
        return false;
    }
    ask.need_gu = place_task_gu(c, ask.pool, want) * count;
    ret->step = j->step + 1;
    if (try_free(c, &ask, repair ? "repair" : "growth", now_ms, ret)) {
        return true;
    }
    if (may_reclaim(c, &ask)) {
        return try_claim(c, &ask, repair ? "repair" : "growth", now_ms, ret);
    }
    /* a broken gang claims what it misses by every right it has, growth beyond the reserve takes
     * idle cards only */
    return repair && has_own_victims(c, j) && try_claim(c, &ask, "repair", now_ms, ret);
}

bool trial_return(struct core *c, struct job *j, int64_t now_ms, struct trial *ret)
{
    struct ask ask = {.job = j, .pool = c->pools.items[j->pool], .group = -1, .leaving_only = true};

    ask.need_gu = shape_need_gu(c, j->shape, j->pool);
    ret->step = 1;
    return ask.need_gu >= 0 && try_claim(c, &ask, "return", now_ms, ret);
}
