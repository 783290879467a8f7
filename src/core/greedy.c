#include "core/greedy.h"

#include "base/check.h"
#include "core/state.h"

#include <stdlib.h>

static int64_t cost_per_gpu(const struct claim_unit *u)
{
    return u->gu > 0 ? (int64_t)((int128)u->cost_gu_ms * 1000 / u->gu) : 0;
}

static int compare64(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_kind(const struct claim_unit *a, const struct claim_unit *b)
{
    if ((a->kind == UNIT_WHOLE) != (b->kind == UNIT_WHOLE)) {
        return a->kind == UNIT_WHOLE ? 1 : -1;
    }
    if (a->own != b->own) {
        return a->own ? 1 : -1;
    }
    return a->job->queue == b->job->queue ? compare64(a->job->ask->priority, b->job->ask->priority)
                                          : 0;
}

static int compare_end(const struct claim_unit *a, const struct claim_unit *b)
{
    if (a->job->started_ms != b->job->started_ms) {
        return a->job->started_ms > b->job->started_ms ? -1 : 1;
    }
    if (a->job->id != b->job->id) {
        return a->job->id > b->job->id ? -1 : 1;
    }
    return b->at - a->at;
}

#define GREEDY_ORDER(name, key)                                                                    \
    static int name(const void *pa, const void *pb)                                                \
    {                                                                                              \
        const struct claim_unit *a = *(const struct claim_unit *const *)pa;                        \
        const struct claim_unit *b = *(const struct claim_unit *const *)pb;                        \
        int verdict = compare_kind(a, b);                                                          \
                                                                                                   \
        verdict = verdict != 0 ? verdict : (key);                                                  \
        return verdict != 0 ? verdict : compare_end(a, b);                                         \
    }

GREEDY_ORDER(by_cost_per_gpu, compare64(cost_per_gpu(a), cost_per_gpu(b)))
GREEDY_ORDER(by_cost, compare64(a->cost_gu_ms, b->cost_gu_ms))
GREEDY_ORDER(by_largest, compare64(b->gu, a->gu))
GREEDY_ORDER(by_smallest, compare64(a->gu, b->gu))
GREEDY_ORDER(by_newest, 0)

/* Is this unit lawful just now, after those that were taken? */
static bool lawful_next(struct hunt *h, const struct claim_unit *u, int64_t off_gu)
{
    return u->own || hunt_is_lawful(h, u, hunt_cover(h), off_gu);
}

static bool fits_now(struct hunt *h)
{
    size_t mark = load_mark(h->c);
    lease_tasks tasks = {0};
    bool fits =
        claim_quota_fits(h->c, h->ask) && claim_place(h->c, h->ask, LEDGER_PROMISED, &tasks);

    load_undo(h->c, mark);
    vec_fini(&tasks);
    return fits;
}

/* Units of the single tasks of a job that are in the set. */
static int64_t gu_of_tasks(const unit_set *set, const struct job *j)
{
    int64_t gu = 0;

    for (size_t i = 0; i < set->count; i++) {
        gu += set->items[i]->job == j && set->items[i]->kind == UNIT_TASK ? set->items[i]->gu : 0;
    }
    return gu;
}

static bool has_tasks_of(const unit_set *set, const struct job *j)
{
    for (size_t i = 0; i < set->count; i++) {
        if (set->items[i]->job == j) {
            return true;
        }
    }
    return false;
}

static void remove_tasks_of(unit_set *set, const struct job *j)
{
    size_t kept = 0;

    for (size_t i = 0; i < set->count; i++) {
        if (set->items[i]->job != j) {
            set->items[kept++] = set->items[i];
        }
    }
    set->count = kept;
}

/* May this unit join the set: no whole job beside its single tasks, no more tasks than its surplus?
 */
static bool may_join(const unit_set *set, const struct claim_unit *u)
{
    int group = u->kind == UNIT_TASK ? u->job->tasks.items[u->at].group : 0;
    int64_t same = 1;

    for (size_t i = 0; i < set->count && u->kind == UNIT_TASK; i++) {
        const struct claim_unit *o = set->items[i];

        if (o->job != u->job) {
            continue;
        }
        if (o->kind == UNIT_WHOLE) {
            return false;
        }
        same += u->job->tasks.items[o->at].group == group;
    }
    return u->kind != UNIT_TASK || same <= units_surplus(u->job, group);
}

/* Take units in order until the claimant fits.  Once the sums suffice every addition is tried, then
 * every second, every fourth …: what was taken too many is given back. */
static bool take_until_fit(struct hunt *h, const unit_set *order, unit_set *ret)
{
    struct core *c = h->c;
    size_t mark = load_mark(c);
    size_t next = 0;
    bool fits = false;

    for (size_t i = 0; i < order->count && !fits; i++) {
        const struct claim_unit *u = order->items[i];
        bool last = i + 1 == order->count;

        if (lawful_next(h, u, gu_of_tasks(ret, u->job))) {
            if (u->kind == UNIT_WHOLE && has_tasks_of(ret, u->job)) {
                load_undo(c, mark); /* the whole job in place of its single tasks */
                remove_tasks_of(ret, u->job);
                for (size_t k = 0; k < ret->count; k++) {
                    claim_drop_unit(c, ret->items[k], h->ask->pool->index);
                }
            }
            if (may_join(ret, u)) {
                vec_push(ret, u);
                claim_drop_unit(c, u, h->ask->pool->index);
            }
        }
        if (h->ask->pool->capacity_gu - h->ask->pool->taken_gu >= h->ask->need_gu &&
            (ret->count >= next || last)) {
            fits = fits_now(h);
            next = ret->count + 1 + ret->count / 8;
        }
    }
    load_undo(c, mark);
    return fits;
}

static void put_back(struct core *c, const struct claim_unit *u, int pool)
{
    struct job *j = u->job;

    if (u->kind == UNIT_NOMINEE) {
        for (size_t i = 0; i < j->nomination.tasks.count; i++) {
            load_put(c, j, &j->nomination.tasks.items[i], LEDGER_PROMISED);
            load_quota(c, j, pool, load_task_gu(&j->nomination.tasks.items[i]), false, 1);
        }
        return;
    }
    for (size_t i = 0; i < j->tasks.count; i++) {
        const struct lease_task *t = &j->tasks.items[i];

        if (u->kind == UNIT_TASK ? (int)i == u->at : load_ledger(t) == LEDGER_HELD) {
            load_put(c, j, t, LEDGER_HELD);
            load_quota(c, j, pool, load_task_gu(t), false, 1);
        }
    }
}

/* Could this unit lie where it lay, now that others may have changed layouts?  Only cut cards can
 * be in the way. */
static bool may_put_back(const struct claim_unit *u)
{
    for (size_t i = 0; i < u->job->tasks.count; i++) {
        for (int k = 0; k < u->job->tasks.items[i].device_count; k++) {
            if (u->job->tasks.items[i].devices[k].profile >= 0) {
                return false;
            }
        }
    }
    return u->kind != UNIT_NOMINEE;
}

/* Give back what is not needed, the most harmful first: with all of them off, each is put back and
 * stays if the claimant still fits.  own: those of the claimant's own queue too. */
static void give_back(struct hunt *h, unit_set *set, const unit_set *order, bool own)
{
    struct core *c = h->c;
    int pool = h->ask->pool->index;
    size_t mark = load_mark(c);

    for (size_t i = 0; i < set->count; i++) {
        claim_drop_unit(c, set->items[i], pool);
    }
    for (size_t k = order->count; k-- > 0 && set->count > 1;) {
        const struct claim_unit *u = order->items[k];
        size_t at = 0;
        size_t before = load_mark(c);

        while (at < set->count && set->items[at] != u) {
            at++;
        }
        if (at == set->count || !may_put_back(u) || (u->own && !own)) {
            continue;
        }
        put_back(c, u, pool);
        if (fits_now(h)) {
            vec_remove(set, at);
        } else {
            load_undo(c, before);
        }
    }
    load_undo(c, mark);
}

/* Take until it fits, give back, keep if better. */
void greedy_in_order(struct hunt *h, unit_set *order)
{
    unit_set all = {0};
    bool done = !take_until_fit(h, order, &all);

    /* own jobs that are given back may have made others lawful: then they all go, or with all that
     * was taken */
    for (int tier = 0; tier < 3 && !done; tier++) {
        unit_set set = {0};
        struct harm harm;

        for (size_t i = 0; i < all.count; i++) {
            vec_push(&set, all.items[i]);
        }
        if (tier < 2) {
            give_back(h, &set, order, tier == 0);
        }
        done = hunt_works(h, &set, &harm);
        if (done) {
            hunt_keep(h, &set, &harm);
        }
        vec_fini(&set);
    }
    vec_fini(&all);
}

static void try_order(struct hunt *h, unit_set *order, unit_order *by)
{
    hunt_sort(order, by);
    greedy_in_order(h, order);
}

/* Whether anything is found may not depend on costs, which change with time (what failed once is
 * not tried again until something changes): orders without costs first; where they find something,
 * orders by cost may find better. */
void greedy_try(struct hunt *h, const unit_set *from)
{
    static unit_order *const PLAIN[] = {by_smallest, by_largest, by_newest};
    static unit_order *const COSTS[] = {by_cost_per_gpu, by_cost};
    unit_set order = {0};
    bool had = h->found;

    h->found = false;
    for (size_t i = 0; i < from->count; i++) {
        vec_push(&order, from->items[i]);
    }
    for (size_t k = 0; k < ARRAY_LEN(PLAIN); k++) {
        try_order(h, &order, PLAIN[k]);
    }
    for (size_t k = 0; h->found && k < ARRAY_LEN(COSTS); k++) {
        try_order(h, &order, COSTS[k]);
    }
    h->found = h->found || had;
    vec_fini(&order);
}

int greedy_by_cost(const void *a, const void *b)
{
    return by_cost_per_gpu(a, b);
}
