#include "core/bounds.h"

#include "base/minmax.h"
#include "core/order.h"
#include "core/prey.h"
#include "core/shape.h"
#include "core/state.h"
#include "core/units.h"

struct bounds {
    struct core *c;
    int64_t now_ms;
    bool *planned;     /* by leaf: its head's planned start is now */
    int64_t **give;    /* by pool, by queue: what its subtree could give */
    int64_t **give_in; /* by pool, by queue: the sum over its children; [count] is the root */
    int64_t *idle;     /* by pool: idle, and what is leaving */
};

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
            prey_know(q);
            sum = q->takeable_gu;
            largest[i] = q->largest_gu;
        }
        give[i] = over > 0 ? min64(sum, over + largest[i]) : 0;
        give_in[up] += give[i];
        largest[up] = largest[i] > largest[up] ? largest[i] : largest[up];
        b->idle[pool] += q->parent < 0 ? q->quotas[pool].stopping : 0;
    }
}

const struct bounds *bounds_make(struct core *c, int64_t now_ms)
{
    struct bounds *b = arena_new(c->plan_arena, 1, sizeof(*b));
    size_t queues = (size_t)c->queues->count + 1;

    b->c = c;
    b->now_ms = now_ms;
    b->planned = arena_new(c->plan_arena, queues, sizeof(b->planned[0]));
    for (size_t i = 0; i < c->heads.count; i++) {
        const struct head *h = &c->heads.items[i];

        if (forecast_is_due(h, now_ms)) {
            b->planned[h->job->queue] = true;
        }
    }
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

/* Can what is idle be had by this leaf? */
static int64_t idle_for(const struct bounds *b, int leaf, int pool)
{
    return quota_avail(b->c->queues, b->c->pools.items[pool], leaf);
}

/* Nobody could be told to stop for so many units more in this leaf, whatever its own jobs do. */
static bool gives_nothing(const struct bounds *b, int leaf, int pool, int64_t need_gu)
{
    return quota_cover(b->c->queues, leaf, pool, need_gu) < 0 ||
           b->idle[pool] + others_give(b, pool, leaf) < need_gu;
}

static bool pool_refuses(const struct bounds *b, const struct job *j, int pool)
{
    struct core *c = b->c;
    int64_t need = shape_need_gu(c, j->shape, pool);

    if (need < 0) {
        return true;
    }
    if (need == 0 || c->policy->fair_share == FAIR_TAKE || units_own_any(c, j)) {
        return false;
    }
    return idle_for(b, j->queue, pool) < need && gives_nothing(b, j->queue, pool, need);
}

bool bounds_refuse(const struct bounds *b, const struct job *j)
{
    const struct policy_queue *row = b->c->queues->items[j->queue].row;
    size_t count = j->ask->pool_count > 0 ? j->ask->pool_count : row->pool_count;
    const int64_t *ids = j->ask->pool_count > 0 ? j->ask->pools : row->pools;

    if (b->c->heads.count > 0 && forecast_is_due(forecast_head(b->c, j), b->now_ms)) {
        return false; /* what passed it makes way, which is in no sum */
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

bool bounds_refuse_leaf(const struct bounds *b, int leaf)
{
    struct core *c = b->c;
    struct queue *q = &c->queues->items[leaf];

    if (q->waiting == 0) {
        return true;
    }
    if (b->planned[leaf] || c->policy->fair_share == FAIR_TAKE) {
        return false;
    }
    shape_know_wants(c, q);
    if (units_own_below(c, leaf, q->highest)) {
        return false;
    }
    for (size_t p = 0; p < c->pools.count; p++) {
        int64_t least = q->least_gu[p];

        if (least == 0 || (least != INT64_MAX && (idle_for(b, leaf, (int)p) >= least ||
                                                  !gives_nothing(b, leaf, (int)p, least)))) {
            return false;
        }
    }
    return true;
}
