#include "core/moves.h"

#include "base/check.h"
#include "core/place.h"
#include "core/state.h"
#include "core/units.h"

#include <stdlib.h>

#define MOVES_EXACT_MAX 8
#define MOVES_TRIED_MAX 256 /* sets placed in one search: a move is a favour, not a right */

struct shift { /* one search */
    struct core *c;
    const struct ask *ask;
    int64_t now_ms;
    int64_t lost_max; /* the work lost may not exceed this */
    int tried;
    claim_units best;
    int64_t best_cost;
    bool found;
};

/* Some of its tasks may have ended well: started anew, it needs them all again. */
static bool has_minimum(const struct job *j)
{
    for (size_t g = 0; g < j->ask->group_count; g++) {
        int64_t have = 0;

        for (size_t i = 0; i < j->tasks.count; i++) {
            have += j->tasks.items[i].group == (int16_t)g;
        }
        if (have < j->ask->groups[g].min_tasks) {
            return false;
        }
    }
    return true;
}

static bool may_move(const struct ask *ask, const struct job *j)
{
    return j != ask->job && job_is_active(j) && !j->ask->nonpreemptible && !j->marked &&
           !j->stop.told && !j->decided && j->broken_ms == 0 && j->stopping_gu == 0 &&
           !j->nomination.is && j->pool == ask->pool->index && j->leased_gu < ask->need_gu &&
           has_minimum(j);
}

static void gather(struct core *c, const struct ask *ask, int64_t now_ms, claim_units *ret)
{
    for (int q = 0; q < c->queues->count; q++) {
        struct queue *leaf = &c->queues->items[q];

        for (size_t i = 0; i < leaf->active.count; i++) {
            struct job *j = leaf->active.items[i];

            if (may_move(ask, j)) {
                struct claim_unit u = {.kind = UNIT_WHOLE, .job = j, .at = -1, .gu = j->leased_gu};

                u.lost_gu_ms = claim_lost(c, j, -1, now_ms);
                u.cost_gu_ms = u.lost_gu_ms + u.gu * c->policy->restart_cost_ms;
                u.own = j->queue == ask->job->queue;
                vec_push(ret, u);
            }
        }
    }
}

static int by_cost(const void *a, const void *b)
{
    const struct claim_unit *x = a;
    const struct claim_unit *y = b;

    if (x->cost_gu_ms != y->cost_gu_ms) {
        return x->cost_gu_ms < y->cost_gu_ms ? -1 : 1;
    }
    return x->job->id < y->job->id ? -1 : 1;
}

/* Place what the job holds now somewhere else. */
static bool replace(struct core *c, const struct job *j, struct pool *pool, lease_tasks *ret)
{
    for (size_t g = 0; g < j->ask->group_count; g++) {
        int64_t *numbers = arena_new(c->plan_arena, j->tasks.count + 1, sizeof(*numbers));
        int64_t count = 0;

        for (size_t i = 0; i < j->tasks.count; i++) {
            if (j->tasks.items[i].group == (int16_t)g) {
                numbers[count++] = j->tasks.items[i].task;
            }
        }
        if (!place_group(c, (struct place_ask){j, pool, (int)g, numbers, count}, LEDGER_PROMISED,
                         ret)) {
            return false;
        }
    }
    return true;
}

static int by_size_down(const void *a, const void *b)
{
    const struct job *x = *(struct job *const *)a;
    const struct job *y = *(struct job *const *)b;

    if (x->leased_gu != y->leased_gu) {
        return x->leased_gu > y->leased_gu ? -1 : 1;
    }
    return x->id < y->id ? -1 : 1;
}

/* The largest first: it is the hardest to place again.  What each would lose has no say in it, or
 * time alone would let a move succeed. */
static bool replace_all(struct shift *s, const claim_units *set, struct trial *ret)
{
    struct job **jobs = arena_new(s->c->plan_arena, set->count + 1, sizeof(jobs[0]));

    for (size_t k = 0; k < set->count; k++) {
        jobs[k] = set->items[k].job;
    }
    qsort(jobs, set->count, sizeof(jobs[0]), by_size_down);
    for (size_t k = 0; k < set->count; k++) {
        struct claim_move m = {.job = jobs[k]};

        /* an anchor of its present place must not bind the new one */
        if (!replace(s->c, m.job, s->ask->pool, &m.tasks)) {
            vec_fini(&m.tasks);
            return false;
        }
        if (ret != NULL) {
            vec_push(&ret->moves, m);
        } else {
            vec_fini(&m.tasks);
        }
    }
    return true;
}

static bool try_set(struct shift *s, const claim_units *set, struct trial *ret)
{
    struct core *c = s->c;
    size_t mark = load_mark(c);
    lease_tasks tasks = {0};
    bool works;

    for (size_t i = 0; i < set->count; i++) {
        claim_drop_unit(c, &set->items[i], s->ask->pool->index);
    }
    works = claim_place(c, s->ask, LEDGER_PROMISED, ret != NULL ? &ret->tasks : &tasks) &&
            replace_all(s, set, ret);
    load_undo(c, mark);
    vec_fini(&tasks);
    return works;
}

static void consider(struct shift *s, const claim_units *set)
{
    int64_t cost = 0;
    int64_t lost = 0;
    int64_t gu = 0;

    for (size_t i = 0; i < set->count; i++) {
        cost += set->items[i].cost_gu_ms;
        lost += set->items[i].lost_gu_ms;
        gu += set->items[i].gu;
    }
    if (s->found && cost >= s->best_cost) {
        return;
    }
    if (s->tried >= MOVES_TRIED_MAX) {
        s->c->inexact = true;
        return;
    }
    s->tried++;
    if (!try_set(s, set, NULL)) {
        return;
    }
    if (lost > s->lost_max) { /* not yet: once the claimant's GPUs times its wait have reached it */
        /* what is lost grows by gu a ms, the bound by need_gu */
        s->c->move_too_dear = true;
        if (gu < s->ask->need_gu) {
            plan_again(s->c,
                       s->now_ms +
                           (lost - s->lost_max + s->ask->need_gu - gu - 1) / (s->ask->need_gu - gu),
                       s->now_ms);
        }
        return;
    }
    s->found = true;
    s->best_cost = cost;
    vec_clear(&s->best);
    for (size_t i = 0; i < set->count; i++) {
        vec_push(&s->best, set->items[i]);
    }
}

static void try_subsets(struct shift *s, const claim_units *from)
{
    size_t count = from->count < MOVES_EXACT_MAX ? from->count : MOVES_EXACT_MAX;
    claim_units set = {0};

    s->c->inexact = s->c->inexact || count < from->count;
    for (unsigned m = 1; m < 1U << count; m++) {
        vec_clear(&set);
        for (unsigned i = 0; i < count; i++) {
            if ((m >> i & 1) != 0) {
                vec_push(&set, from->items[i]);
            }
        }
        consider(s, &set);
    }
    vec_fini(&set);
}

static bool on_node(const struct job *j, int node)
{
    for (size_t i = 0; i < j->tasks.count; i++) {
        if (j->tasks.items[i].node == node) {
            return true;
        }
    }
    return false;
}

/* Node by node for a claim that one node can take; the cheapest few for a gang. */
static void search(struct shift *s, const claim_units *units)
{
    claim_units some = {0};

    if (units->count <= MOVES_EXACT_MAX) {
        try_subsets(s, units);
        return;
    }
    for (size_t n = 0; n < s->ask->pool->nodes.count; n++) {
        vec_clear(&some);
        for (size_t i = 0; i < units->count; i++) {
            if (on_node(units->items[i].job, s->ask->pool->nodes.items[n])) {
                vec_push(&some, units->items[i]);
            }
        }
        try_subsets(s, &some);
    }
    if (!s->found) {
        try_subsets(s, units);
    }
    vec_fini(&some);
}

static void conclude(struct shift *s, struct trial *ret)
{
    struct core *c = s->c;
    const struct ask *ask = s->ask;
    struct lease_task *tasks;

    CHECK(try_set(s, &s->best, ret));
    for (size_t i = 0; i < s->best.count; i++) {
        vec_push(&ret->victims, s->best.items[i]);
    }
    claim_settle(c, ask, ret);
    tasks = arena_copy(c->plan_arena, ret->tasks.items, ret->tasks.count * sizeof(*tasks));
    for (size_t i = 0; i < ret->tasks.count; i++) {
        load_put(c, ask->job, &tasks[i], LEDGER_PROMISED);
    }
    load_quota(c, ask->job, ask->pool->index, ask->need_gu, false, 1);
    for (size_t k = 0; k < ret->moves.count; k++) {
        struct claim_move *m = &ret->moves.items[k];

        tasks = arena_copy(c->plan_arena, m->tasks.items, m->tasks.count * sizeof(*tasks));
        for (size_t i = 0; i < m->tasks.count; i++) {
            load_put(c, m->job, &tasks[i], LEDGER_PROMISED);
            load_quota(c, m->job, ask->pool->index, load_task_gu(&tasks[i]), false, 1);
        }
    }
    ret->kind = TRIAL_CLAIM;
    ret->rule = "move";
    ret->pool = ask->pool;
    ret->need_gu = ask->need_gu;
    ret->exact = true;
}

bool moves_search(struct core *c, const struct ask *ask, int64_t now_ms, struct trial *ret)
{
    struct shift s = {.c = c, .ask = ask, .now_ms = now_ms, .lost_max = INT64_MAX};
    claim_units units = {0};
    int128 bound = (int128)ask->need_gu * (now_ms - ask->job->age_ms);

    if (!c->policy->consolidation || ask->need_gu == 0 || !claim_quota_fits(c, ask)) {
        return false;
    }
    if (quota_cover(c->queues, ask->job->queue, ask->pool->index, ask->need_gu) < 0) {
        s.lost_max = bound > INT64_MAX ? INT64_MAX : (int64_t)bound;
    }
    gather(c, ask, now_ms, &units);
    if (units.count > 0) {
        qsort(units.items, units.count, sizeof(units.items[0]), by_cost);
        search(&s, &units);
    }
    if (s.found) {
        conclude(&s, ret);
        ret->candidates = (int64_t)units.count;
    }
    vec_fini(&units);
    vec_fini(&s.best);
    return s.found;
}
