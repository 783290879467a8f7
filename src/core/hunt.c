#include "core/hunt.h"

#include "base/check.h"
#include "core/state.h"

#include <stdlib.h>

void hunt_sort(unit_set *set, unit_order *by)
{
    if (set->count > 1) { /* qsort of nothing at NULL is not defined */
        qsort(set->items, set->count, sizeof(set->items[0]), by);
    }
}

/* ---- is a set lawful and sufficient? ---- */

int hunt_by_size(const void *a, const void *b)
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
bool hunt_would_shrink(struct hunt *h, const struct claim_unit *u, int64_t off_gu)
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

int hunt_cover(const struct hunt *h)
{
    return quota_cover_job(h->c->queues, h->ask->job->queue, h->ask->pool->index,
                           h->ask->need_gu + h->leaving_gu, h->ask->job->ask->nonpreemptible);
}

bool hunt_is_lawful(struct hunt *h, const struct claim_unit *u, int cover, int64_t off_gu)
{
    const struct queue_tree *t = h->c->queues;
    int pool = h->ask->pool->index;
    int common = queue_common(t, u->job->queue, h->ask->job->queue);

    if (u->passer) { /* those before it may have brought its queue within reserve */
        return units_passer_may_go(h->c, h->ask, u->job);
    }
    return (h->ask->take || (cover >= 0 && !queue_covers(t, cover, u->job->queue))) &&
           quota_over(t, pool, u->job->queue, common) && !hunt_would_shrink(h, u, off_gu);
}

bool hunt_take(struct hunt *h, const struct claim_unit *u, int cover)
{
    if (!hunt_is_lawful(h, u, cover, 0)) {
        return false;
    }
    claim_drop_unit(h->c, u, h->ask->pool->index);
    return true;
}

/* Taking other queues' jobs the smallest first is lawful if any order is: in each queue and
 * ancestor the largest comes last, so what was taken before it is the least it can be. */
static bool take_lawfully(struct hunt *h, unit_set *set)
{
    int cover;

    for (size_t i = 0; i < set->count; i++) {
        if (set->items[i]->own) {
            claim_drop_unit(h->c, set->items[i], h->ask->pool->index);
        }
    }
    cover = hunt_cover(h);
    for (size_t i = 0; i < set->count; i++) {
        if (!set->items[i]->own && !hunt_take(h, set->items[i], cover)) {
            return false;
        }
    }
    return true;
}

/* The child of `common` on the way to leaf. */
int hunt_below(const struct queue_tree *t, int leaf, int common)
{
    while (t->items[leaf].parent != common) {
        leaf = t->items[leaf].parent;
    }
    return leaf;
}

/* fair_share: take.  Afterwards the claimant's share of what is borrowed is not above the victim's:
 * a / wa <= b / wb in whole numbers; what weight 0 borrows is more than any other, but 0 is 0. */
static bool share_stays_fair(const struct core *c, const struct ask *ask, const struct job *victim)
{
    int common = queue_common(c->queues, victim->queue, ask->job->queue);
    int mine = hunt_below(c->queues, ask->job->queue, common);
    int theirs = hunt_below(c->queues, victim->queue, common);
    int64_t my_weight = c->queues->items[mine].row->weight;
    int64_t their_weight = c->queues->items[theirs].row->weight;
    int64_t my_share = quota_borrowed(c->queues, ask->pool->index, mine);
    int64_t their_share = quota_borrowed(c->queues, ask->pool->index, theirs);

    if ((my_weight == 0) != (their_weight == 0)) {
        return my_share == 0 || (my_weight > 0 && their_share > 0);
    }
    if (my_weight == 0) {
        my_weight = their_weight = 1;
    }
    return (int128)my_share * their_weight <= (int128)their_share * my_weight;
}

/* What the job could take of its own queue: that is off before its entitlement is tested. */
static int64_t evictable_gu(const struct core *c, const struct job *j, int pool)
{
    const struct queue *leaf = &c->queues->items[j->queue];
    int64_t gu = 0;

    for (size_t i = 0; i < leaf->active.count; i++) {
        const struct job *o = leaf->active.items[i];

        if (o != j && job_is_active(o) && o->pool == pool && units_could_evict(c, j, o)) {
            gu += o->leased_gu - o->stopping_gu;
        }
    }
    return gu;
}

/* Rule 11: could the victim, queued again, reclaim from the claimant?  Then taking it only starts a
 * dance. */
static bool could_take_back(const struct core *c, const struct ask *ask, const struct claim_unit *u)
{
    int pool = ask->pool->index;
    int claimant = ask->job->queue;
    int64_t need_gu = u->gu - evictable_gu(c, u->job, pool);
    int cover = quota_cover(c->queues, u->job->queue, pool, need_gu);

    return u->kind != UNIT_TASK && cover >= 0 && !queue_covers(c->queues, cover, claimant) &&
           quota_over(c->queues, pool, claimant, queue_common(c->queues, claimant, u->job->queue));
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
        fair = share_stays_fair(c, h->ask, set->items[i]->job) &&
               !could_take_back(c, h->ask, set->items[i]);
    }
    load_undo(c, mark);
    return fair;
}

bool hunt_is_proper(const unit_set *set)
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

bool hunt_suffices(struct hunt *h, const unit_set *set, struct harm *ret_harm)
{
    struct core *c = h->c;
    size_t mark = load_mark(c);
    lease_tasks tasks = {0};
    bool does;

    if (!claim_quota_fits(c, h->ask) || !take_is_fair(h, set)) {
        return false;
    }
    *ret_harm = harm_of(c, h->ask, set->items, (int)set->count);
    does = claim_place(c, h->ask, LEDGER_PROMISED, &tasks);
    load_undo(c, mark);
    vec_fini(&tasks);
    return does;
}

/* Does the set work?  The ledgers are as before afterwards; ret_harm is what it would do. */
bool hunt_works(struct hunt *h, unit_set *set, struct harm *ret_harm)
{
    size_t mark = load_mark(h->c);
    bool works;

    if (!hunt_is_proper(set)) {
        return false;
    }
    hunt_sort(set, hunt_by_size);
    works = take_lawfully(h, set) && hunt_suffices(h, set, ret_harm);
    load_undo(h->c, mark);
    return works;
}

void hunt_keep(struct hunt *h, const unit_set *set, const struct harm *harm)
{
    struct harm kept = *harm;

    kept.units = arena_copy(h->c->plan_arena, set->items, set->count * sizeof(set->items[0]));
    vec_push(&h->works, kept);
    h->found = true;
}

/* Priorities are compared inside one queue only, which is no order over all sets: first a set goes
 * that another beats by priority and nothing before it, then the least of the rest is taken. */
void hunt_choose(struct hunt *h)
{
    const struct harm *best = NULL;

    for (size_t i = 0; i < h->works.count; i++) {
        const struct harm *a = &h->works.items[i];
        bool beaten = false;

        if (best != NULL && !harm_less(a, best)) {
            continue; /* the cheaper question first: the other is asked of every pair */
        }
        for (size_t k = 0; k < h->works.count && !beaten; k++) {
            beaten = k != i && harm_beats_by_priority(&h->works.items[k], a);
        }
        if (!beaten) {
            best = a;
        }
    }
    for (int i = 0; best != NULL && i < best->count; i++) {
        vec_push(&h->best, best->units[i]);
    }
}
