/* seeded_site - small clusters with every setting somewhere: faults hide in combinations, not in
 * size.
 */
#include "sim/seeded_site.h"

#include "base/quantity.h"

#include <stdio.h>

#define SECOND_MS ((int64_t)1000)

static bool one_in(struct rng *rng, uint64_t n)
{
    return rng_below(rng, n) == 0;
}

/* ---- nodes ---- */

static void make_nodes(struct site *s, struct rng *rng, const struct seeded_traits *traits)
{
    static const int64_t CARDS[] = {1, 2, 4, 4, 8, 8};
    int64_t count = rng_range(rng, 2, 6);
    char name[32], rack[32];
    int64_t i;

    site_add_level(s, "rack");
    for (i = 0; i < count; i++) {
        const struct policy_pool *pool = &s->pools.items[rng_below(rng, s->pools.count)];
        struct policy_node *n;

        (void)snprintf(name, sizeof(name), "n%lld", (long long)i);
        (void)snprintf(rack, sizeof(rack), "r%lld", (long long)rng_range(rng, 0, 1));
        n = site_add_node(s, name, pool->id, CARDS[rng_below(rng, 6)]);
        site_add_domain(s, n, "rack", rack);
        n->model = "h100-80gb";
        n->mig = traits->slices && one_in(rng, 3);
        n->cpu_milli = rng_range(rng, 8, 64) * 1000;
        n->memory_bytes = rng_range(rng, 64, 512) << 30;
    }
}

static int64_t capacity_gu(const struct site *s, int64_t pool)
{
    int64_t gu = 0;
    size_t i;

    for (i = 0; i < s->nodes.count; i++) {
        gu += s->nodes.items[i].pool == pool ? s->nodes.items[i].gpus * GU_PER_GPU : 0;
    }
    return gu;
}

/* ---- queues ---- */

/* Whole GPUs, sometimes not quite. */
static int64_t some_gu(struct rng *rng, int64_t most_gu)
{
    int64_t gu = rng_range(rng, 0, most_gu / GU_PER_GPU) * GU_PER_GPU;

    if (one_in(rng, 8) && gu >= GU_PER_GPU) {
        gu -= GU_PER_GPU / 2;
    }
    return gu;
}

static void random_quota(struct rng *rng, struct policy_quota *quota, int64_t reserved_gu,
                         int64_t pool_gu)
{
    quota->reserved_gu = reserved_gu;
    quota->limit_gu = POLICY_NONE;
    quota->lend_gu = POLICY_NONE;
    quota->borrow_gu = POLICY_NONE;
    if (one_in(rng, 4)) {
        quota->limit_gu = reserved_gu + some_gu(rng, pool_gu);
    }
    if (one_in(rng, 4)) {
        quota->lend_gu = one_in(rng, 2) ? 0 : some_gu(rng, reserved_gu);
    }
    if (one_in(rng, 4)) {
        quota->borrow_gu = some_gu(rng, pool_gu);
    }
}

static void random_settings(struct rng *rng, struct policy_queue *q)
{
    q->weight = rng_range(rng, 0, 3);
    q->reclaim = one_in(rng, 4) ? (int)rng_below(rng, 3) : RECLAIM_ANY;
    q->preempt_within = one_in(rng, 3) ? (int)rng_below(rng, 3) : PREEMPT_LOWER_PRIORITY;
    q->order = one_in(rng, 3) ? ORDER_FIFO : ORDER_FAIR;
    q->nonpreemptible_may_borrow = one_in(rng, 6);
    q->min_run_binds_all = one_in(rng, 8);
    q->priority_max = 10;
    q->grace_ms = rng_range(rng, 0, 60) * SECOND_MS;
    q->grace_max_ms = 90 * SECOND_MS;
    q->min_run_ms = one_in(rng, 6) ? rng_range(rng, 1, 600) * SECOND_MS : 0;
    q->drain_after_ms = one_in(rng, 2) ? rng_range(rng, 60, 7200) * SECOND_MS : POLICY_NONE;
    q->gang_repair_ms = rng_range(rng, 0, 60) * SECOND_MS;
    q->stop_stuck_ms = rng_range(rng, 10, 60) * SECOND_MS;
    q->start_timeout_ms = rng_range(rng, 60, 600) * SECOND_MS;
}

/* Share out what the parent (or the pool) has among count children; the rest is spare. */
static void make_children(struct site *s, struct rng *rng, int64_t parent, const int64_t *have_gu,
                          int depth)
{
    int64_t left_gu[SITE_POOLS_MAX];
    int64_t count = rng_range(rng, 2, depth == 0 ? 4 : 3);
    char name[32];
    int64_t i;
    size_t p;

    for (p = 0; p < s->pools.count; p++) {
        left_gu[p] = have_gu[p];
    }
    for (i = 0; i < count; i++) {
        int64_t mine_gu[SITE_POOLS_MAX] = {0};
        struct policy_queue *q;
        int64_t id;

        (void)snprintf(name, sizeof(name), "q%lld", (long long)s->next_queue);
        q = site_add_queue(s, name, parent);
        id = q->id;
        random_settings(rng, q);
        for (p = 0; p < s->pools.count; p++) {
            mine_gu[p] = some_gu(rng, left_gu[p]);
            left_gu[p] -= mine_gu[p];
            random_quota(rng, site_quota(s, q, s->pools.items[p].id), mine_gu[p],
                         capacity_gu(s, s->pools.items[p].id));
        }
        if (depth < 2 && one_in(rng, 2)) {
            make_children(s, rng, id, mine_gu, depth + 1);
        }
    }
}

void seeded_site_make(struct site *s, struct rng *rng, const struct seeded_traits *traits)
{
    int64_t have_gu[SITE_POOLS_MAX] = {0};
    size_t p;

    site_init(s);
    site_add_pool(s, "p0")->share_within = (int)rng_below(rng, 3);
    if (one_in(rng, 4)) {
        site_add_pool(s, "p1")->share_within = (int)rng_below(rng, 3);
    }
    make_nodes(s, rng, traits);
    s->policy.fair_share = (int)rng_below(rng, 3);
    s->policy.consolidation = one_in(rng, 3);
    s->policy.node_lost_ms = rng_range(rng, 30, 300) * SECOND_MS;
    s->policy.restart_cost_ms = rng_range(rng, 0, 60) * SECOND_MS;
    s->policy.backoff_ms = rng_range(rng, 0, 30) * SECOND_MS;
    for (p = 0; p < s->pools.count; p++) {
        have_gu[p] = capacity_gu(s, s->pools.items[p].id);
    }
    make_children(s, rng, 0, have_gu, 0);
    s->policy.ended_jobs = rng_range(rng, 1, 300);
}

/* ---- changes ---- */

struct policy_queue *seeded_site_leaf(struct site *s, struct rng *rng)
{
    size_t from = rng_below(rng, s->queues.count);
    size_t i, k;

    for (i = 0; i < s->queues.count; i++) {
        struct policy_queue *q = &s->queues.items[(from + i) % s->queues.count];

        for (k = 0; k < s->queues.count && s->queues.items[k].parent != q->id; k++) {
        }
        if (k == s->queues.count) {
            return q;
        }
    }
    return &s->queues.items[0];
}

static bool change_queue(struct site *s, struct rng *rng, const struct core *c)
{
    struct policy_queue *q = &s->queues.items[rng_below(rng, s->queues.count)];
    const struct policy_pool *pool = &s->pools.items[rng_below(rng, s->pools.count)];
    struct policy_quota *quota = site_quota(s, q, pool->id);
    const struct policy_queue old = *q;
    const struct policy_quota old_quota = *quota;
    int64_t reserved_gu = quota->reserved_gu;
    struct policy after;

    if (one_in(rng, 4)) {
        q->state = one_in(rng, 2) ? QUEUE_OPEN : (int)rng_below(rng, 3);
    } else if (one_in(rng, 3)) {
        int state = q->state;

        random_settings(rng, q);
        q->state = state;
    } else {
        if (one_in(rng, 3)) {
            reserved_gu = some_gu(rng, capacity_gu(s, pool->id));
        }
        random_quota(rng, quota, reserved_gu, capacity_gu(s, pool->id));
    }
    after = site_policy(s);
    if (core_policy_check(c, &after, NULL) != 0) {
        *q = old;
        *quota = old_quota;
        return false;
    }
    return true;
}

bool seeded_site_change(struct site *s, struct rng *rng, const struct core *c)
{
    if (one_in(rng, 6)) {
        s->policy.fair_share = (int)rng_below(rng, 3);
        s->policy.consolidation = one_in(rng, 2);
        return true;
    }
    return change_queue(s, rng, c);
}
