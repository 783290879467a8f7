/* core_plan: what is due, then gangs to repair, then what was promised, then whose turn it is, then
 * growth.
 *
 * The plan works on the ledgers with a log and puts everything back at the end, so the state hash
 * does not change; what it decided becomes true when it is applied.  Any decision asks for another
 * plan at once: what it frees or starts may let more be decided, and a plan that decides nothing is
 * cheap. */
#include "base/check.h"
#include "core/decide.h"
#include "core/due.h"
#include "core/fold.h"
#include "core/forecast.h"
#include "core/order.h"
#include "core/place.h"
#include "core/state.h"
#include "core/trial.h"

#include <stdlib.h>

static void mark_decided(struct core *c, struct job *j)
{
    j->decided = true;
    plan_touch(c, j);
}

/* A start that leaves a queue over its reserve makes victims possible: what failed before may claim
 * now. */
static bool is_over(const struct core *c, const struct job *j, int pool)
{
    for (int q = j->queue; q >= 0; q = c->queues->items[q].parent) {
        if (quota_borrowed(c->queues, pool, q) > 0) {
            return true;
        }
    }
    return false;
}

static void decide_trial(struct core *c, struct job *j, const struct trial *t, int64_t now_ms)
{
    if (t->kind == TRIAL_START) {
        decide_start(c, j, t, now_ms);
        c->claimed = c->claimed || is_over(c, j, t->pool->index);
    } else {
        decide_claim(c, j, t, now_ms);
        c->claimed = true;
    }
    mark_decided(c, j);
}

/* ---- promises ---- */

static bool may_keep(const struct job *j)
{
    if (j->decided || j->unseated || !j->nomination.is) {
        return false;
    }
    if (j->nomination.step > 1) {
        return job_is_active(j) && !j->stop.told;
    }
    return job_is_waiting(j) && !j->cancel_asked;
}

static void break_promise(struct core *c, struct job *j)
{
    struct fact_nomination_ended *d = decide_new(c, FACT_NOMINATION_ENDED);

    d->job = j->id;
    d->reason = "quota";
    d->lost_gu_ms = j->nomination.lost_gu_ms;
    d->victims = arena_copy(c->plan_arena, j->nomination.victims.items,
                            j->nomination.victims.count * sizeof(int64_t));
    d->victim_count = j->nomination.victims.count;
    mark_decided(c, j);
}

/* Does anything that was told to stop still lie where the job was promised? */
static bool waits_for_victims(const struct core *c, const struct job *j)
{
    for (size_t i = 0; i < j->nomination.tasks.count; i++) {
        const struct lease_task *t = &j->nomination.tasks.items[i];

        for (int d = 0; d < t->device_count; d++) {
            const struct device *dev = &c->nodes.items[t->node]->devices[t->devices[d].slot];

            if (dev->count[LEDGER_LEAVING] > 0) {
                return true;
            }
        }
    }
    for (struct omap_item *i = omap_first(&c->leaving); i != NULL; i = omap_next(i)) {
        if (((const struct job *)i->value)->pool == j->nomination.pool) {
            return true; /* its usage counts until it is gone */
        }
    }
    return false;
}

static void plan_promises(struct core *c, int64_t now_ms)
{
    for (struct omap_item *i = omap_first(&c->nominated); i != NULL; i = omap_next(i)) {
        struct job *j = i->value;
        struct trial t = {0};

        if (!may_keep(j)) {
            continue;
        }
        if (trial_nominated(c, j, now_ms, &t)) {
            decide_trial(c, j, &t, now_ms);
        } else if (!waits_for_victims(c, j)) {
            break_promise(c, j); /* all is free that was to be freed, and still it may not start */
        }
        trial_fini(&t);
    }
}

/* ---- gangs below their minimum, and growth ---- */

static int64_t missing(const struct job *j, int group, int64_t want)
{
    int64_t have = group < (int)j->finished.count ? j->finished.items[group] : 0;

    for (size_t i = 0; i < j->tasks.count; i++) {
        have += j->tasks.items[i].group == group && load_ledger(&j->tasks.items[i]) == LEDGER_HELD;
    }
    return want > have ? want - have : 0;
}

static void try_more(struct core *c, struct job *j, struct more more, int64_t now_ms)
{
    struct trial t = {0};

    if (trial_more(c, j, more, now_ms, &t)) {
        decide_trial(c, j, &t, now_ms);
    }
    trial_fini(&t);
}

static bool may_get_more(const struct job *j)
{
    return job_is_active(j) && !j->decided && !j->marked && !j->stop.told && !j->nomination.is &&
           !j->ended_badly && !j->refused && !j->cancel_asked && j->stopping_gu == 0;
}

static void plan_repairs(struct core *c, int64_t now_ms)
{
    for (struct omap_item *i = omap_first(&c->broken); i != NULL; i = omap_next(i)) {
        struct job *j = i->value;

        for (int g = 0; !c->claimed && may_get_more(j) && g < (int)j->ask->group_count; g++) {
            int64_t count = missing(j, g, j->ask->groups[g].min_tasks);

            if (count > 0) {
                try_more(c, j, (struct more){g, count, true}, now_ms);
            }
        }
    }
}

/* What is tried again only when it changes: the pool, and the planned starts. */
static int64_t growth_stamp(const struct core *c, const struct job *j)
{
    return c->pools.items[j->pool]->generation ^ (int64_t)(c->heads_stamp & INT64_MAX);
}

static bool may_grow(const struct core *c, const struct job *j)
{
    return may_get_more(j) && j->broken_ms == 0 && j->finished.count == 0 &&
           j->grow_failed != growth_stamp(c, j);
}

static void grow(struct core *c, struct job *j, int64_t now_ms)
{
    c->inexact = false;
    for (int g = 0; !c->claimed && may_get_more(j) && g < (int)j->ask->group_count; g++) {
        if (missing(j, g, j->ask->groups[g].tasks) > 0) {
            try_more(c, j, (struct more){g, 1, false}, now_ms);
        }
    }
    if (!c->claimed && !j->decided && !c->inexact) {
        j->grow_failed = growth_stamp(c, j);
    }
}

/* One task of the first that can grow, by priority and age; the next plan, which follows at once,
 * gives the next.  A leaf's startable minimums come before its growth.  entitled: only those whose
 * next task stays within reserve. */
static bool plan_growth(struct core *c, struct order *o, bool entitled, int64_t now_ms)
{
    struct job **jobs = arena_new(c->plan_arena, c->growing.count + 1, sizeof(*jobs));
    size_t count = 0;

    for (struct omap_item *i = omap_first(&c->growing); i != NULL; i = omap_next(i)) {
        struct job *j = i->value;

        if (may_grow(c, j) && !order_has_candidate(o, j->queue) &&
            (!entitled ||
             quota_cover(c->queues, j->queue, j->pool,
                         place_task_gu(c, c->pools.items[j->pool], &j->ask->groups[0])) >= 0)) {
            jobs[count++] = j;
        }
    }
    if (count > 1) {
        qsort(jobs, count, sizeof(jobs[0]), order_compare);
    }
    for (size_t i = 0; i < count && !c->claimed; i++) {
        grow(c, jobs[i], now_ms);
        if (jobs[i]->decided) {
            return true;
        }
    }
    return false;
}

/* A victim whose claimant went away goes on stopping; if it fits again it is promised that at once,
 * or work that came after it would take the first devices that it leaves. */
static bool is_first_of_leaf(const struct core *c, const struct job *j, int64_t now_ms)
{
    const struct queue *q = &c->queues->items[j->queue];

    for (size_t i = 0; i < q->shapes.count; i++) {
        const struct omap_item *first = omap_first(&q->shapes.items[i]->waiting);

        if (order_earlier(first->value, j) && order_competes(first->value, now_ms)) {
            return false;
        }
    }
    return true;
}

static void plan_returns(struct core *c, int64_t now_ms)
{
    for (struct omap_item *i = omap_first(&c->leaving); i != NULL; i = omap_next(i)) {
        struct job *j = i->value;
        const struct job *by = core_job(c, j->stop.by);
        struct trial t = {0};

        if (!j->stop.told || !j->stop.claimed || j->nomination.is || j->decided ||
            j->cancel_asked || j->done_said || !is_first_of_leaf(c, j, now_ms) ||
            (by != NULL && (by->nomination.is || by->decided || job_is_active(by)))) {
            continue;
        }
        if (trial_return(c, j, now_ms, &t)) {
            decide_trial(c, j, &t, now_ms);
            trial_fini(&t);
            return;
        }
        trial_fini(&t);
    }
}

/* ---- whose turn it is ---- */

/* A plan ends with its first claim, and with the start of a head: they change what is leaving, what
 * is promised, what limits count and what is wished for, so what failed before may do now; the next
 * plan, which follows at once, sees that. */
static void plan_turns(struct core *c, struct order *o, bool entitled, int64_t now_ms)
{
    struct trial t = {0};
    struct job *j;

    while (!c->claimed && (j = order_next(o, entitled, &t)) != NULL) {
        struct head *h = forecast_head(c, j);

        decide_trial(c, j, &t, now_ms);
        if (h != NULL) {
            forecast_drop(c, h);
            c->claimed = true;
        }
        trial_clear(&t);
    }
    trial_fini(&t);
}

/* Those within a reserve, growth of what runs included, come before any borrower. */
static void plan_all_turns(struct core *c, int64_t now_ms)
{
    struct order *o = order_make(c, now_ms);

    plan_turns(c, o, true, now_ms);
    if (!c->claimed && !plan_growth(c, o, true, now_ms)) {
        plan_turns(c, o, false, now_ms);
        if (!c->claimed) {
            plan_growth(c, o, false, now_ms);
        }
    }
}

/* ---- the plan ---- */

void plan_again(struct core *c, int64_t at_ms, int64_t now_ms)
{
    if (at_ms > now_ms && at_ms < c->again_ms) {
        c->again_ms = at_ms;
    }
}

void plan_touch(struct core *c, struct job *j)
{
    if (!j->touched) {
        j->touched = true;
        vec_push(&c->touched, j);
    }
}

static void clear_marks(struct core *c)
{
    for (size_t i = 0; i < c->touched.count; i++) {
        struct job *j = c->touched.items[i];

        j->decided = j->unseated = j->marked = j->touched = false;
        for (size_t k = 0; k < j->tasks.count; k++) {
            j->tasks.items[k].marked = false;
        }
    }
    vec_clear(&c->touched);
}

static int64_t next_timer(const struct core *c, int64_t now_ms)
{
    const struct omap_item *i =
        omap_lower_bound(&c->timers, (struct omap_key){now_ms + 1, INT64_MIN, INT64_MIN});

    return i != NULL ? i->key.a : INT64_MAX;
}

void core_plan(struct core *c, int64_t now_ms, struct decisions *ret)
{
    arena_reset(c->plan_arena);
    vec_clear(&c->decisions);
    vec_clear(&c->heads);
    c->heads_stamp = 0;
    c->ends = NULL;
    c->claimed = false;
    c->plan_number++;
    if (now_ms < c->now_ms) {
        now_ms = c->now_ms;
    }
    c->planning_ms = now_ms;
    if (now_ms >= c->wake_ms) {
        fold_wake(c, -1);
        c->wake_ms = INT64_MAX;
    }
    c->again_ms = INT64_MAX;
    if (c->policy != NULL && !due_decide(c, now_ms)) {
        plan_repairs(c, now_ms);
        if (!c->claimed) {
            forecast_heads(c, now_ms); /* a promise that starts elsewhere must not delay them */
            plan_promises(c, now_ms);
        }
        if (!c->claimed) {
            plan_returns(c, now_ms);
        }
        if (!c->claimed) {
            plan_all_turns(c, now_ms);
        }
        load_undo(c, 0);
        clear_marks(c);
    }
    for (size_t i = 0; i < c->decisions.count; i++) {
        c->decisions.items[i].at_ms = now_ms;
        c->decisions.items[i].true_at_ms = now_ms;
    }
    ret->items = c->decisions.items;
    ret->count = c->decisions.count;
    ret->next_plan_ms = next_timer(c, now_ms);
    if (c->again_ms < c->wake_ms) {
        c->wake_ms = c->again_ms; /* kept until it has come: a plan that skips what failed would not
                                     find it again */
    }
    if (c->wake_ms < ret->next_plan_ms) {
        ret->next_plan_ms = c->wake_ms;
    }
    if (ret->count > 0) {
        ret->next_plan_ms = now_ms;
    }
}

void core_forget(struct core *c)
{
    for (size_t i = 0; i < c->pools.count; i++) {
        c->pools.items[i]->generation = ++c->generation;
    }
    c->planned_to_ms = 0;
    c->wake_ms = INT64_MAX;
}
