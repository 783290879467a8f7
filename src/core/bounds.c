#include "core/bounds.h"

#include "base/minmax.h"

#include "core/order.h"
#include "core/place.h"
#include "core/state.h"
#include "core/units.h"

struct bounds {
    struct core *c;
    int64_t **give;    /* by pool, by queue: what its subtree could give */
    int64_t **give_in; /* by pool, by queue: the sum over its children; [count] is the root */
    int64_t *idle;     /* by pool: idle, and what is leaving */
};

/* Sums of the leaf's preemptible jobs, kept until one of them changes. */
static void know_leaf(struct queue *q)
{
    if (q->bound_known) {
        return;
    }
    q->largest_gu = 0;
    q->takeable_gu = 0;
    for (size_t i = 0; i < q->active.count; i++) {
        const struct job *j = q->active.items[i];
        int64_t gu = j->leased_gu;

        if (j->ask->nonpreemptible) {
            continue;
        }
        for (size_t k = 0; j->nomination.is && k < j->nomination.tasks.count; k++) {
            gu += load_task_gu(&j->nomination.tasks.items[k]);
        }
        q->takeable_gu += gu;
        q->largest_gu = gu > q->largest_gu ? gu : q->largest_gu;
    }
    q->bound_known = true;
}

static void fill_pool(struct bounds *b, int pool)
{
    struct queue_tree *t = b->c->queues;
    const struct pool *p = b->c->pools.items[pool];
    int64_t *give = b->give[pool];
    int64_t *give_in = b->give_in[pool];
    int64_t *largest = arena_new(b->c->plan_arena, (size_t)t->count + 1, sizeof(*largest));

    b->idle[pool] = p->capacity_gu - p->taken_gu;
    for (int i = t->count - 1; i >= 0; i--) {
        struct queue *q = &t->items[i];
        int64_t over = quota_borrowed(t, pool, i);
        int up = q->parent >= 0 ? q->parent : t->count;
        int64_t sum = give_in[i];

        if (queue_is_leaf(q)) {
            know_leaf(q);
            sum = q->takeable_gu;
            largest[i] = q->largest_gu;
        }
        give[i] = over > 0 ? min64(sum, over + largest[i]) : 0;
        give_in[up] += give[i];
        largest[up] = largest[i] > largest[up] ? largest[i] : largest[up];
        b->idle[pool] += q->parent < 0 ? q->quotas[pool].stopping : 0;
    }
}

const struct bounds *bounds_make(struct core *c)
{
    struct bounds *b = arena_new(c->plan_arena, 1, sizeof(*b));
    size_t queues = (size_t)c->queues->count + 1;

    b->c = c;
    b->idle = arena_new(c->plan_arena, c->pools.count + 1, sizeof(b->idle[0]));
    b->give = arena_new(c->plan_arena, c->pools.count + 1, sizeof(b->give[0]));
    b->give_in = arena_new(c->plan_arena, c->pools.count + 1, sizeof(b->give_in[0]));
    for (size_t p = 0; p < c->pools.count; p++) {
        b->give[p] = arena_new(c->plan_arena, queues, sizeof(int64_t));
        b->give_in[p] = arena_new(c->plan_arena, queues, sizeof(int64_t));
        fill_pool(b, (int)p);
    }
    return b;
}

/* From all subtrees beside the path of this leaf. */
static int64_t others_give(const struct bounds *b, int pool, int leaf)
{
    const struct queue_tree *t = b->c->queues;
    int64_t gu = 0;

    for (int q = leaf; q >= 0; q = t->items[q].parent) {
        int up = t->items[q].parent >= 0 ? t->items[q].parent : t->count;

        gu += b->give_in[pool][up] - b->give[pool][q];
    }
    return gu;
}

static bool pool_refuses(const struct bounds *b, const struct job *j, int pool)
{
    struct core *c = b->c;
    const struct pool *p = c->pools.items[pool];
    int64_t need = place_need_gu(c, p, j->ask);

    if (need < 0) {
        return true;
    }
    if (need == 0 || p->capacity_gu - p->taken_gu >= need) {
        return false;
    }
    if (c->policy->fair_share == FAIR_TAKE) {
        return false;
    }
    if (units_own_any(c, j)) {
        return false;
    }
    return quota_cover(c->queues, j->queue, pool, need) < 0 ||
           b->idle[pool] + others_give(b, pool, j->queue) < need;
}

bool bounds_refuse(const struct bounds *b, const struct job *j)
{
    const struct policy_queue *row = b->c->queues->items[j->queue].row;
    size_t count = j->ask->pool_count > 0 ? j->ask->pool_count : row->pool_count;
    const int64_t *ids = j->ask->pool_count > 0 ? j->ask->pools : row->pools;

    const struct head *h = b->c->heads.count > 0 ? forecast_head(b->c, j) : NULL;

    if (b->c->touched.count > 0 || (h != NULL && h->start_ms > 0)) {
        return false; /* what this plan has decided, and what passed a planned start, are not in the
                         sums */
    }
    if (count == 0) {
        for (size_t i = 0; i < b->c->pools.count; i++) {
            if (!pool_refuses(b, j, (int)i)) {
                return false;
            }
        }
        return true;
    }
    for (size_t i = 0; i < count; i++) {
        const struct pool *p = core_pool_of_id(b->c, ids[i]);

        if (p != NULL && !pool_refuses(b, j, p->index)) {
            return false;
        }
    }
    return true;
}
