/* A set of victims is tried by taking it off the ledgers, testing the quota rules and placing the
 * claimant on what is left, and putting everything back.  Up to CLAIM_EXACT_MAX candidates all sets
 * are tried, smallest first, without the supersets of those that work; above, node by node for a
 * claim of one task, and by four greedy orders with giving back what turns out not to be needed. */
#include "core/claim.h"

#include "base/check.h"
#include "core/harm.h"
#include "core/place.h"
#include "core/state.h"
#include "core/units.h"

#include <stdlib.h>

#define GREEDY_ORDERS   4
#define NODES_TRIED_MAX 16

typedef VEC(const struct claim_unit *) unit_set;

struct hunt { /* one search */
    struct core *c;
    const struct ask *ask;
    claim_units units;
    int64_t leaving_gu;     /* of the claimant's own queue: it counts there until it is gone */
    VEC(struct harm) works; /* sets that work; their units live in the plan arena */
    unit_set best;
    bool found;
};

void trial_fini(struct trial *t)
{
    vec_fini(&t->tasks);
    vec_fini(&t->victims);
    for (size_t i = 0; i < t->moves.count; i++) {
        vec_fini(&t->moves.items[i].tasks);
    }
    vec_fini(&t->moves);
    vec_fini(&t->passes);
    vec_fini(&t->marked);
}

void trial_clear(struct trial *t)
{
    trial_fini(t);
    *t = (struct trial){0};
}

void trial_undo(struct core *c, struct trial *t, size_t mark)
{
    load_undo(c, mark);
    for (size_t i = 0; i < t->marked.count; i++) {
        t->marked.items[i]->marked = false;
    }
    for (size_t i = 0; i < t->victims.count; i++) {
        struct claim_unit *u = &t->victims.items[i];

        if (u->kind == UNIT_NOMINEE) {
            u->job->unseated = false;
        } else if (u->kind == UNIT_WHOLE) {
            u->job->marked = false;
        }
    }
}

/* ---- the ledgers ---- */

bool claim_quota_fits(const struct core *c, const struct ask *ask)
{
    int whose;

    if (ask->job->ask->nonpreemptible &&
        !c->queues->items[ask->job->queue].row->nonpreemptible_may_borrow &&
        !quota_fixed_fits(c->queues, ask->pool, ask->job->queue, ask->need_gu, &whose)) {
        return false;
    }
    return quota_avail(c->queues, ask->pool, ask->job->queue) >= ask->need_gu;
}

bool claim_place(struct core *c, const struct ask *ask, enum ledger ledger, lease_tasks *ret)
{
    if (ask->group < 0) {
        return place_start(c, ask->job, ask->pool, ledger, ret);
    }
    return place_group(c, ask->job, ask->pool, ask->group, ask->numbers, ask->count, ledger, ret);
}

static void drop_task(struct core *c, struct job *j, const struct lease_task *t, int pool)
{
    enum ledger l = load_ledger(t);

    load_vacate(c, t);
    load_take(c, j, t, l);
    load_quota(c, j, pool, load_task_gu(t), l == LEDGER_LEAVING, -1);
}

static void drop_leaving_of(struct core *c, struct job *j, int pool)
{
    for (size_t i = 0; i < j->tasks.count && j->pool == pool; i++) {
        if (load_ledger(&j->tasks.items[i]) == LEDGER_LEAVING) {
            drop_task(c, j, &j->tasks.items[i], pool);
        }
    }
}

void claim_drop_leaving(struct core *c, int pool)
{
    for (struct omap_item *i = omap_first(&c->leaving); i != NULL; i = omap_next(i)) {
        drop_leaving_of(c, i->value, pool);
    }
    for (size_t i = 0; i < c->touched.count; i++) {
        struct job *j = c->touched.items[i];

        if (omap_get(&c->leaving, (struct omap_key){j->id, 0, 0}) == NULL) {
            drop_leaving_of(c, j, pool);
        }
    }
}

void claim_drop_unit(struct core *c, const struct claim_unit *u, int pool)
{
    struct job *j = u->job;

    if (u->kind == UNIT_TASK) {
        drop_task(c, j, &j->tasks.items[u->at], pool);
        return;
    }
    if (u->kind == UNIT_NOMINEE) {
        for (size_t i = 0; i < j->nomination.tasks.count; i++) {
            load_take(c, j, &j->nomination.tasks.items[i], LEDGER_PROMISED);
            load_quota(c, j, pool, load_task_gu(&j->nomination.tasks.items[i]), false, -1);
        }
        return;
    }
    for (size_t i = 0; i < j->tasks.count; i++) {
        if (load_ledger(&j->tasks.items[i]) == LEDGER_HELD) {
            drop_task(c, j, &j->tasks.items[i], pool);
        }
    }
}

void claim_drop_job(struct core *c, struct job *j, int pool)
{
    for (size_t i = 0; i < j->tasks.count; i++) {
        drop_task(c, j, &j->tasks.items[i], pool);
    }
}

typedef int unit_order(const void *a, const void *b);

static void sort_units(unit_set *set, unit_order *by)
{
    if (set->count > 1) { /* qsort of nothing at NULL is not defined */
        qsort(set->items, set->count, sizeof(set->items[0]), by);
    }
}

/* ---- is a set lawful and sufficient? ---- */

static int by_size(const void *a, const void *b)
{
    const struct claim_unit *x = *(const struct claim_unit *const *)a;
    const struct claim_unit *y = *(const struct claim_unit *const *)b;

    if (x->gu != y->gu) {
        return x->gu < y->gu ? -1 : 1;
    }
    if (x->job->id != y->job->id) {
        return x->job->id < y->job->id ? -1 : 1;
    }
    return x->at - y->at;
}

/* An indivisible victim may take its queue below the reserve; an elastic one shrinks instead: its
 * whole is lawful only if the queue is still over once its surplus is off.  off_gu: what of it is
 * off already. */
static bool shrinking_would_do(struct hunt *h, const struct claim_unit *u, int64_t off_gu)
{
    struct core *c = h->c;
    int pool = h->ask->pool->index;
    int common = queue_common(c->queues, u->job->queue, h->ask->job->queue);
    size_t mark = load_mark(c);
    bool over = true;

    if (u->kind != UNIT_WHOLE || !u->job->shape->elastic) {
        return false;
    }
    load_quota(c, u->job, pool, units_surplus_gu(u->job) - off_gu, false, -1);
    over = quota_over(c->queues, pool, u->job->queue, common);
    load_undo(c, mark);
    return !over;
}

/* Taking other queues' jobs the smallest first is lawful if any order is: in each queue and
 * ancestor the largest comes last, so what was taken before it is the least it can be. */
static bool take_lawfully(struct hunt *h, unit_set *set)
{
    struct core *c = h->c;
    int pool = h->ask->pool->index;
    int leaf = h->ask->job->queue;
    int cover;

    for (size_t i = 0; i < set->count; i++) {
        if (set->items[i]->own) {
            claim_drop_unit(c, set->items[i], pool);
        }
    }
    cover = quota_cover(c->queues, leaf, pool, h->ask->need_gu + h->leaving_gu);
    for (size_t i = 0; i < set->count; i++) {
        const struct claim_unit *u = set->items[i];
        int common;

        if (u->own) {
            continue;
        }
        common = queue_common(c->queues, u->job->queue, leaf);
        if (!u->passer) {
            if (!h->ask->take && (cover < 0 || queue_covers(c->queues, cover, u->job->queue))) {
                return false;
            }
            if (!quota_over(c->queues, pool, u->job->queue, common) ||
                shrinking_would_do(h, u, 0)) {
                return false;
            }
        }
        claim_drop_unit(c, u, pool);
    }
    return true;
}

/* The child of `common` on the way to leaf. */
static int below_common(const struct queue_tree *t, int leaf, int common)
{
    while (t->items[leaf].parent != common) {
        leaf = t->items[leaf].parent;
    }
    return leaf;
}

/* fair_share: take.  Afterwards the claimant's share of what is borrowed is not above the victim's:
 * a / wa <= b / wb in whole numbers; weight 0 ranks after every positive one. */
static bool share_stays_fair(const struct core *c, const struct ask *ask, const struct job *victim)
{
    int common = queue_common(c->queues, victim->queue, ask->job->queue);
    int mine = below_common(c->queues, ask->job->queue, common);
    int theirs = below_common(c->queues, victim->queue, common);
    int64_t my_weight = c->queues->items[mine].row->weight;
    int64_t their_weight = c->queues->items[theirs].row->weight;
    int64_t my_share = quota_borrowed(c->queues, ask->pool->index, mine);
    int64_t their_share = quota_borrowed(c->queues, ask->pool->index, theirs);

    if ((my_weight == 0) != (their_weight == 0)) {
        return my_share == 0 || my_weight > 0;
    }
    if (my_weight == 0) {
        my_weight = their_weight = 1;
    }
    return (int128)my_share * their_weight <= (int128)their_share * my_weight;
}

static bool take_is_fair(struct hunt *h, const unit_set *set)
{
    struct core *c = h->c;
    size_t mark = load_mark(c);
    bool fair = true;

    if (!h->ask->take) {
        return true;
    }
    load_quota(c, h->ask->job, h->ask->pool->index, h->ask->need_gu, false, 1);
    for (size_t i = 0; i < set->count && fair; i++) {
        fair = share_stays_fair(c, h->ask, set->items[i]->job);
    }
    load_undo(c, mark);
    return fair;
}

/* No set member twice: a whole job and its single tasks, or more tasks than its surplus. */
static bool is_proper(const unit_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        const struct claim_unit *u = set->items[i];
        int64_t same = 0;
        int64_t have = 0;

        if (u->kind != UNIT_TASK) {
            continue;
        }
        for (size_t k = 0; k < set->count; k++) {
            const struct claim_unit *o = set->items[k];

            if (o->job != u->job) {
                continue;
            }
            if (o->kind == UNIT_WHOLE) {
                return false;
            }
            same += u->job->tasks.items[o->at].group == u->job->tasks.items[u->at].group;
        }
        for (size_t k = 0; k < u->job->tasks.count; k++) {
            const struct lease_task *t = &u->job->tasks.items[k];

            have += t->group == u->job->tasks.items[u->at].group && load_ledger(t) == LEDGER_HELD;
        }
        if (have - same < u->job->ask->groups[u->job->tasks.items[u->at].group].min_tasks) {
            return false;
        }
    }
    return true;
}

/* Does the set work?  The ledgers are as before afterwards; ret_harm is what it would do. */
static bool set_works(struct hunt *h, unit_set *set, struct harm *ret_harm)
{
    struct core *c = h->c;
    size_t mark = load_mark(c);
    lease_tasks tasks = {0};
    bool works = false;

    if (!is_proper(set)) {
        return false;
    }
    sort_units(set, by_size);
    if (take_lawfully(h, set) && claim_quota_fits(c, h->ask) && take_is_fair(h, set)) {
        *ret_harm = harm_of(c, h->ask, set->items, (int)set->count);
        works = claim_place(c, h->ask, LEDGER_PROMISED, &tasks);
    }
    load_undo(c, mark);
    vec_fini(&tasks);
    return works;
}

static void keep(struct hunt *h, const unit_set *set, const struct harm *harm)
{
    struct harm kept = *harm;

    kept.units = arena_copy(h->c->plan_arena, set->items, set->count * sizeof(set->items[0]));
    vec_push(&h->works, kept);
    h->found = true;
}

/* Priorities are compared inside one queue only, which is no order over all sets: first a set goes
 * that another beats by priority and nothing before it, then the least of the rest is taken. */
static void choose_best(struct hunt *h)
{
    const struct harm *best = NULL;

    for (size_t i = 0; i < h->works.count; i++) {
        const struct harm *a = &h->works.items[i];
        bool beaten = false;

        for (size_t k = 0; k < h->works.count && !beaten; k++) {
            beaten = k != i && harm_beats_by_priority(&h->works.items[k], a);
        }
        if (!beaten && (best == NULL || harm_less(a, best))) {
            best = a;
        }
    }
    for (int i = 0; best != NULL && i < best->count; i++) {
        vec_push(&h->best, best->units[i]);
    }
}

/* ---- all sets ---- */

static bool has_subset(const unsigned *good, int count, unsigned mask)
{
    for (int i = 0; i < count; i++) {
        if ((good[i] & mask) == good[i]) {
            return true;
        }
    }
    return false;
}

/* Could the set free enough at all?  Cards and units are counted, nothing is placed. */
static bool frees_enough(const struct hunt *h, const unit_set *set)
{
    int64_t free_gu = h->ask->pool->capacity_gu - h->ask->pool->taken_gu;

    for (size_t i = 0; i < set->count; i++) {
        free_gu += set->items[i]->gu;
    }
    return free_gu >= h->ask->need_gu;
}

/* The next larger number with as many bits set. */
static unsigned next_of_size(unsigned mask)
{
    unsigned low = mask & (0U - mask);
    unsigned ripple = mask + low;

    return ripple | (((mask ^ ripple) >> 2) / low);
}

static void try_mask(struct hunt *h, const unit_set *from, unsigned mask, unit_set *set,
                     unsigned *good, int *good_count)
{
    struct harm harm;

    if (has_subset(good, *good_count, mask)) {
        return; /* a member of it could stay */
    }
    vec_clear(set);
    for (unsigned i = 0; i < from->count; i++) {
        if ((mask >> i & 1) != 0) {
            vec_push(set, from->items[i]);
        }
    }
    if (frees_enough(h, set) && set_works(h, set, &harm)) {
        good[(*good_count)++] = mask;
        keep(h, set, &harm);
    }
}

/* All sets, the smaller first. */
static void try_all_sets(struct hunt *h, const unit_set *from)
{
    unsigned limit = 1U << from->count;
    unsigned *good = arena_new(h->c->plan_arena, limit, sizeof(*good));
    int good_count = 0;
    unit_set set = {0};

    for (unsigned size = 1; size <= from->count; size++) {
        for (unsigned mask = (1U << size) - 1; mask < limit; mask = next_of_size(mask)) {
            try_mask(h, from, mask, &set, good, &good_count);
        }
    }
    vec_fini(&set);
}

/* ---- greedy ---- */

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
    struct core *c = h->c;
    int pool = h->ask->pool->index;
    int leaf = h->ask->job->queue;
    int cover;

    if (u->own || u->passer) {
        return true;
    }
    cover = quota_cover(c->queues, leaf, pool, h->ask->need_gu + h->leaving_gu);
    return (h->ask->take || (cover >= 0 && !queue_covers(c->queues, cover, u->job->queue))) &&
           quota_over(c->queues, pool, u->job->queue,
                      queue_common(c->queues, u->job->queue, leaf)) &&
           !shrinking_would_do(h, u, off_gu);
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
 * stays if the claimant still fits. */
static void give_back(struct hunt *h, unit_set *set, const unit_set *order)
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
        if (at == set->count || !may_put_back(u)) {
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

/* One order: take until it fits, give back, keep if better. */
static void try_order(struct hunt *h, unit_set *order, unit_order *by)
{
    unit_set set = {0};
    unit_set all = {0};
    struct harm harm;

    sort_units(order, by);
    if (take_until_fit(h, order, &set)) {
        for (size_t i = 0; i < set.count; i++) {
            vec_push(&all, set.items[i]);
        }
        give_back(h, &set, order);
        if (set_works(h, &set, &harm)) {
            keep(h, &set, &harm);
        } else if (set_works(h, &all, &harm)) {
            keep(h, &all, &harm); /* without what was given back others are not lawful */
        }
    }
    vec_fini(&all);
    vec_fini(&set);
}

/* Whether anything is found may not depend on costs, which change with time (what failed once is
 * not tried again until something changes): orders without costs first; where they find something,
 * orders by cost may find better. */
static void try_greedy(struct hunt *h, const unit_set *from)
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

/* ---- a claim of one task: node by node ---- */

struct node_bid {
    int node;
    int64_t cost; /* of the cheapest units that free enough units there: a bound, not a plan */
    unit_set units;
};

static int by_bid(const void *a, const void *b)
{
    const struct node_bid *x = a;
    const struct node_bid *y = b;

    return x->cost != y->cost ? compare64(x->cost, y->cost) : x->node - y->node;
}

/* List the unit with every node that one of its tasks lies on. */
static void list_by_node(const struct claim_unit *u, struct node_bid *by_node)
{
    const lease_tasks *tasks = u->kind == UNIT_NOMINEE ? &u->job->nomination.tasks : &u->job->tasks;

    for (size_t i = 0; i < tasks->count; i++) {
        unit_set *list = &by_node[tasks->items[i].node].units;

        if ((u->kind != UNIT_TASK || (int)i == u->at) &&
            (list->count == 0 || list->items[list->count - 1] != u)) {
            vec_push(list, u);
        }
    }
}

static void price_node(struct hunt *h, struct node_bid *bid)
{
    const struct node *n = h->c->nodes.items[bid->node];
    int64_t free_gu = 0;

    for (int i = 0; i < n->device_count; i++) {
        free_gu += n->devices[i].capacity_gu - n->devices[i].taken_gu;
    }
    sort_units(&bid->units, by_cost_per_gpu);
    for (size_t i = 0; i < bid->units.count && free_gu < h->ask->need_gu; i++) {
        free_gu += bid->units.items[i]->gu;
        bid->cost += bid->units.items[i]->cost_gu_ms;
    }
    if (free_gu < h->ask->need_gu) {
        vec_clear(&bid->units); /* not even all of them would do */
    }
}

static void try_nodes(struct hunt *h)
{
    size_t count = h->c->nodes.count;
    struct node_bid *bids = arena_new(h->c->plan_arena, count, sizeof(*bids));
    size_t tried = 0;

    for (size_t i = 0; i < h->units.count; i++) {
        list_by_node(&h->units.items[i], bids);
    }
    for (size_t i = 0; i < count; i++) {
        bids[i].node = (int)i;
        if (bids[i].units.count > 0) {
            price_node(h, &bids[i]);
        }
    }
    qsort(bids, count, sizeof(bids[0]), by_bid);
    for (size_t i = 0; i < count; i++) {
        if (bids[i].units.count > 0 && node_usable(h->c->nodes.items[bids[i].node]) &&
            (tried < NODES_TRIED_MAX || !h->found)) {
            tried++;
            if (bids[i].units.count <= CLAIM_EXACT_MAX) {
                try_all_sets(h, &bids[i].units);
            } else {
                try_greedy(h, &bids[i].units);
            }
        }
        vec_fini(&bids[i].units);
    }
}

/* ---- the search ---- */

static bool is_one_task(const struct ask *ask)
{
    const struct fact_job_submitted *want = ask->job->ask;

    if (ask->group >= 0) {
        return ask->count == 1;
    }
    return want->group_count == 1 && want->groups[0].min_tasks == 1;
}

/* What the candidates of other queues could give at the most, subtree by subtree below the common
 * ancestor: what it has over its reserve and one indivisible victim more. */
static int64_t others_could_give(const struct hunt *h)
{
    struct core *c = h->c;
    int pool = h->ask->pool->index;
    int64_t *most = arena_new(c->plan_arena, (size_t)c->queues->count + 1, sizeof(*most));
    int64_t *sum = arena_new(c->plan_arena, (size_t)c->queues->count + 1, sizeof(*sum));
    int64_t gu = 0;

    for (size_t i = 0; i < h->units.count; i++) {
        const struct claim_unit *u = &h->units.items[i];
        int common, q;

        if (u->own || u->kind == UNIT_TASK) {
            continue;
        }
        if (u->passer) {
            gu += u->gu;
            continue;
        }
        common = queue_common(c->queues, u->job->queue, h->ask->job->queue);
        q = below_common(c->queues, u->job->queue, common);
        sum[q] += u->gu;
        most[q] = u->gu > most[q] ? u->gu : most[q];
    }
    for (int q = 0; q < c->queues->count; q++) {
        int64_t bound = quota_borrowed(c->queues, pool, q) + most[q];

        gu += sum[q] < bound ? sum[q] : bound;
    }
    return gu;
}

/* Idle units, what is leaving and what candidates could give together: are they as much as is
 * asked? */
static bool sums_suffice(const struct hunt *h)
{
    const struct pool *p = h->ask->pool;
    int64_t gu = p->capacity_gu - p->taken_gu;

    for (int q = 0; q < h->c->queues->count; q++) {
        if (h->c->queues->items[q].parent < 0) {
            gu += h->c->queues->items[q].quotas[p->index].stopping;
        }
    }
    for (size_t i = 0; i < h->units.count; i++) {
        gu +=
            h->units.items[i].own && h->units.items[i].kind != UNIT_TASK ? h->units.items[i].gu : 0;
    }
    return gu >= h->ask->need_gu || gu + others_could_give(h) >= h->ask->need_gu;
}

/* With every candidate gone, lawful or not: if it cannot be placed even then, no set will do.
 * (Several groups are placed one after the other, where more room can lead astray: they are
 * searched.) */
static bool hopeless(struct hunt *h)
{
    struct core *c = h->c;
    size_t mark = load_mark(c);
    lease_tasks tasks = {0};
    bool placed;

    if (h->ask->group < 0 && h->ask->job->ask->group_count > 1) {
        return false;
    }
    for (size_t i = 0; i < h->units.count; i++) {
        const struct claim_unit *u = &h->units.items[i];

        if (u->kind != UNIT_TASK) { /* single tasks go with their whole job */
            claim_drop_unit(c, u, h->ask->pool->index);
        }
    }
    placed = claim_place(c, h->ask, LEDGER_PROMISED, &tasks);
    load_undo(c, mark);
    vec_fini(&tasks);
    return !placed;
}

static void hunt_all(struct hunt *h)
{
    unit_set all = {0};

    for (size_t i = 0; i < h->units.count; i++) {
        vec_push(&all, &h->units.items[i]);
    }
    if (all.count <= CLAIM_EXACT_MAX) {
        try_all_sets(h, &all);
    } else {
        if (is_one_task(h->ask)) {
            try_nodes(h);
        }
        if (!h->found || !is_one_task(h->ask)) {
            try_greedy(h, &all);
        }
    }
    vec_fini(&all);
}

void claim_settle(struct core *c, const struct ask *ask, struct trial *t)
{
    int pool = ask->pool->index;

    for (size_t i = 0; i < t->victims.count; i++) {
        struct claim_unit *u = &t->victims.items[i];
        struct job *j = u->job;

        if (u->kind == UNIT_NOMINEE) {
            claim_drop_unit(c, u, pool);
            j->unseated = true;
            plan_touch(c, j);
            continue;
        }
        for (size_t k = 0; k < j->tasks.count; k++) {
            struct lease_task *task = &j->tasks.items[k];
            int64_t gu = load_task_gu(task);

            if ((u->kind == UNIT_TASK && (int)k != u->at) || load_ledger(task) == LEDGER_LEAVING) {
                continue;
            }
            load_take(c, j, task, LEDGER_HELD);
            load_quota(c, j, pool, gu, false, -1);
            task->marked = true;
            vec_push(&t->marked, task);
            load_put(c, j, task, LEDGER_LEAVING);
            load_quota(c, j, pool, gu, true, 1);
        }
        j->marked = j->marked || u->kind == UNIT_WHOLE;
        plan_touch(c, j);
    }
}

static bool conclude(struct hunt *h, struct trial *ret, size_t mark)
{
    struct core *c = h->c;
    const struct ask *ask = h->ask;
    struct lease_task *tasks;

    /* place once more as the search did, on the ledgers without victims: the tasks are the promise
     */
    for (size_t i = 0; i < h->best.count; i++) {
        claim_drop_unit(c, h->best.items[i], ask->pool->index);
    }
    if (!claim_place(c, ask, LEDGER_PROMISED, &ret->tasks)) {
        CHECK(!"a set that worked does not work");
    }
    load_undo(c, mark);
    for (size_t i = 0; i < h->best.count; i++) {
        vec_push(&ret->victims, *h->best.items[i]);
    }
    claim_settle(c, ask, ret);
    tasks = arena_copy(c->plan_arena, ret->tasks.items, ret->tasks.count * sizeof(*tasks));
    for (size_t i = 0; i < ret->tasks.count; i++) {
        load_put(c, ask->job, &tasks[i], LEDGER_PROMISED); /* the log outlives the trial */
    }
    load_quota(c, ask->job, ask->pool->index, ask->need_gu, false, 1);
    ret->kind = TRIAL_CLAIM;
    ret->pool = ask->pool;
    ret->need_gu = ask->need_gu;
    ret->candidates = (int64_t)h->units.count;
    ret->exact = h->units.count <= CLAIM_EXACT_MAX;
    return true;
}

/* What is leaving is promised without a victim to those within reserve, to a planned start, and
 * back to a victim whose claimant went away; a borrower uses what is idle. */
static bool may_wait_only(const struct core *c, const struct ask *ask)
{
    return ask->planned || ask->leaving_only ||
           quota_cover(c->queues, ask->job->queue, ask->pool->index, ask->need_gu) >= 0;
}

bool claim_search(struct core *c, const struct ask *ask, int64_t now_ms, struct trial *ret)
{
    struct hunt h = {.c = c, .ask = ask};
    size_t mark = load_mark(c);
    unit_set none = {0};
    struct harm harm;
    bool wait_only;
    bool found;

    h.leaving_gu = c->queues->items[ask->job->queue].quotas[ask->pool->index].stopping;
    wait_only = may_wait_only(c, ask);
    if (!ask->leaving_only) {
        units_gather(c, ask, now_ms,
                     &h.units); /* before what is leaving is off: never fewer than after */
    }
    if (!sums_suffice(&h)) {
        vec_fini(&h.units);
        return false;
    }
    claim_drop_leaving(c, ask->pool->index);
    if (set_works(&h, &none, &harm)) {
        h.found = wait_only; /* what is leaving anyway is enough: take nobody, and promise it to
                                those who may be */
    } else if (h.units.count > 0 && !hopeless(&h)) {
        hunt_all(&h);
    }
    found = h.found;
    choose_best(&h);
    if (found) {
        conclude(&h, ret, mark);
    } else {
        load_undo(c, mark);
    }
    vec_fini(&none);
    vec_fini(&h.best);
    vec_fini(&h.works);
    vec_fini(&h.units);
    return found;
}
