#include "random_tree.h"

#include "base/quantity.h"

#define POOL_ID   7
#define FIRST_ID  11
#define QUEUE_MAX 20

static int64_t random_gpus(struct rng *rng, int64_t most)
{
    return rng_range(rng, 0, most) * GU_PER_GPU;
}

static void add_queue(struct policy *p, struct rng *rng, struct arena *arena, int64_t parent)
{
    struct policy_queue *q = &p->queues[p->queue_count++];

    q->id = FIRST_ID + (int64_t)p->queue_count - 1;
    q->name = arena_printf(arena, "q%zu", p->queue_count - 1);
    q->parent = parent;
    q->weight = 1;
    q->quotas = arena_new(arena, 1, sizeof(q->quotas[0]));
    q->quota_count = 1;
    q->quotas[0] = (struct policy_quota){.pool = POOL_ID,
                                         .reserved_gu = random_gpus(rng, parent == 0 ? 4 : 3),
                                         .limit_gu = POLICY_NONE,
                                         .lend_gu = POLICY_NONE,
                                         .borrow_gu = POLICY_NONE};
}

/* A parent's reserve is its own spare and what its children have. */
static void sum_up(struct policy *p)
{
    for (size_t i = p->queue_count; i-- > 0;) {
        if (p->queues[i].parent != 0) {
            p->queues[p->queues[i].parent - FIRST_ID].quotas[0].reserved_gu +=
                p->queues[i].quotas[0].reserved_gu;
        }
    }
}

struct policy *random_tree(struct rng *rng, struct arena *arena)
{
    struct policy *p = arena_new(arena, 1, sizeof(*p));
    size_t tops = (size_t)rng_range(rng, 2, 4);
    size_t count = tops + (size_t)rng_range(rng, 0, QUEUE_MAX - (int64_t)tops);

    p->cluster = "random";
    p->pools = arena_new(arena, 1, sizeof(p->pools[0]));
    p->pools[0] = (struct policy_pool){.id = POOL_ID, .name = "main"};
    p->pool_count = 1;
    p->queues = arena_new(arena, count, sizeof(p->queues[0]));
    while (p->queue_count < count) {
        int64_t parent =
            p->queue_count < tops ? 0 : FIRST_ID + rng_range(rng, 0, (int64_t)p->queue_count - 1);

        add_queue(p, rng, arena, parent);
    }
    sum_up(p);
    for (size_t i = 0; i < count; i++) {
        struct policy_quota *row = &p->queues[i].quotas[0];
        int64_t gpus = row->reserved_gu / GU_PER_GPU;

        row->lend_gu = rng_below(rng, 3) == 0 ? random_gpus(rng, gpus) : POLICY_NONE;
        row->borrow_gu = rng_below(rng, 5) == 0 ? random_gpus(rng, 3) : POLICY_NONE;
        row->limit_gu = rng_below(rng, 5) == 0 ? random_gpus(rng, gpus + 3) : POLICY_NONE;
    }
    return p;
}

int64_t random_tree_reserved_gu(const struct policy *policy)
{
    int64_t sum = 0;

    for (size_t i = 0; i < policy->queue_count; i++) {
        sum += policy->queues[i].parent == 0 ? policy->queues[i].quotas[0].reserved_gu : 0;
    }
    return sum;
}
