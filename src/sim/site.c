/* site - rows in vectors, so that a policy can be changed and given out again and again. */
#include "sim/site.h"

#include "base/check.h"
#include "base/str.h"

#define CPU_MILLI_NODE    ((int64_t)128 * 1000)
#define MEMORY_BYTES_NODE ((int64_t)1024 << 30)
#define SECOND_MS         ((int64_t)1000)

void site_init(struct site *s)
{
    *s = (struct site){.arena = arena_make(), .next_pool = 1, .next_queue = 1, .next_node = 1};
    s->policy = (struct policy){
        .cluster = "sim",
        .timezone = "UTC",
        .node_lost_ms = 300 * SECOND_MS,
        .decay_half_life_ms = POLICY_NONE,
        .retries = 3,
        .backoff_ms = 10 * SECOND_MS,
        .digest = "",
    };
}

void site_fini(struct site *s)
{
    arena_free(s->arena);
    vec_fini(&s->pools);
    vec_fini(&s->queues);
    vec_fini(&s->nodes);
    vec_fini(&s->levels);
}

struct policy_pool *site_add_pool(struct site *s, const char *name)
{
    const struct policy_pool pool = {.id = s->next_pool++, .name = arena_text(s->arena, name)};

    CHECK(s->pools.count < SITE_POOLS_MAX);
    vec_push(&s->pools, pool);
    return &s->pools.items[s->pools.count - 1];
}

struct policy_queue *site_add_queue(struct site *s, const char *name, int64_t parent)
{
    struct policy_queue q = {
        .id = s->next_queue++,
        .name = arena_text(s->arena, name),
        .parent = parent,
        .weight = 1,
        .grace_ms = 60 * SECOND_MS,
        .grace_max_ms = 3600 * SECOND_MS,
        .drain_after_ms = 12 * 3600 * SECOND_MS,
        .gang_repair_ms = 60 * SECOND_MS,
        .stop_stuck_ms = 60 * SECOND_MS,
        .start_timeout_ms = 600 * SECOND_MS,
        .priority_max = 1000000,
    };
    size_t i;

    q.pools = arena_new(s->arena, SITE_POOLS_MAX, sizeof(*q.pools));
    q.quotas = arena_new(s->arena, SITE_POOLS_MAX, sizeof(*q.quotas));
    for (i = 0; i < s->pools.count; i++) {
        q.pools[q.pool_count++] = s->pools.items[i].id;
        q.quotas[q.quota_count++] = (struct policy_quota){.pool = s->pools.items[i].id,
                                                          .limit_gu = POLICY_NONE,
                                                          .lend_gu = POLICY_NONE,
                                                          .borrow_gu = POLICY_NONE};
    }
    vec_push(&s->queues, q);
    return &s->queues.items[s->queues.count - 1];
}

struct policy_node *site_add_node(struct site *s, const char *name, int64_t pool, int64_t gpus)
{
    const struct policy_node node = {
        .id = s->next_node++,
        .name = arena_text(s->arena, name),
        .cluster = "local",
        .pool = pool,
        .gpus = gpus,
        .model = "gpu",
        .simulated = true,
        .cpu_milli = CPU_MILLI_NODE,
        .memory_bytes = MEMORY_BYTES_NODE,
    };

    vec_push(&s->nodes, node);
    return &s->nodes.items[s->nodes.count - 1];
}

static void add_label(struct site *s, struct policy_label **labels, size_t *count,
                      struct policy_label label)
{
    struct policy_label *more = arena_new(s->arena, *count + 1, sizeof(*more));
    size_t i;

    for (i = 0; i < *count; i++) {
        more[i] = (*labels)[i];
    }
    more[(*count)++] =
        (struct policy_label){arena_text(s->arena, label.key), arena_text(s->arena, label.value)};
    *labels = more;
}

void site_add_domain(struct site *s, struct policy_node *node, const char *level,
                     const char *domain)
{
    add_label(s, &node->domains, &node->domain_count, (struct policy_label){level, domain});
}

void site_add_label(struct site *s, struct policy_node *node, const char *key, const char *value)
{
    add_label(s, &node->labels, &node->label_count, (struct policy_label){key, value});
}

void site_add_level(struct site *s, const char *level)
{
    vec_push(&s->levels, arena_text(s->arena, level));
}

struct policy_pool *site_pool(struct site *s, const char *name)
{
    size_t i;

    for (i = 0; i < s->pools.count; i++) {
        if (str_cmp(s->pools.items[i].name, name) == 0) {
            return &s->pools.items[i];
        }
    }
    return NULL;
}

struct policy_queue *site_queue(struct site *s, const char *name)
{
    size_t i;

    for (i = 0; i < s->queues.count; i++) {
        if (str_cmp(s->queues.items[i].name, name) == 0) {
            return &s->queues.items[i];
        }
    }
    return NULL;
}

struct policy_queue *site_queue_of_id(struct site *s, int64_t id)
{
    size_t i;

    for (i = 0; i < s->queues.count; i++) {
        if (s->queues.items[i].id == id) {
            return &s->queues.items[i];
        }
    }
    return NULL;
}

struct policy_node *site_node(struct site *s, const char *name)
{
    size_t i;

    for (i = 0; i < s->nodes.count; i++) {
        if (str_cmp(s->nodes.items[i].name, name) == 0) {
            return &s->nodes.items[i];
        }
    }
    return NULL;
}

struct policy_quota *site_quota(struct site *s, struct policy_queue *q, int64_t pool)
{
    size_t i;

    (void)s;
    for (i = 0; i < q->quota_count; i++) {
        if (q->quotas[i].pool == pool) {
            return &q->quotas[i];
        }
    }
    CHECK(q->quota_count < SITE_POOLS_MAX);
    q->quotas[q->quota_count] = (struct policy_quota){.pool = pool,
                                                      .limit_gu = POLICY_NONE,
                                                      .lend_gu = POLICY_NONE,
                                                      .borrow_gu = POLICY_NONE};
    return &q->quotas[q->quota_count++];
}

void site_drop_node(struct site *s, const char *name)
{
    const struct policy_node *node = site_node(s, name);

    if (node != NULL) {
        vec_remove(&s->nodes, (size_t)(node - s->nodes.items));
    }
}

void site_drop_queue(struct site *s, const char *name)
{
    const struct policy_queue *q = site_queue(s, name);

    if (q != NULL) {
        vec_remove(&s->queues, (size_t)(q - s->queues.items));
    }
}

struct policy site_policy(struct site *s)
{
    struct policy p = s->policy;

    p.levels = s->levels.items;
    p.level_count = s->levels.count;
    p.pools = s->pools.items;
    p.pool_count = s->pools.count;
    p.queues = s->queues.items;
    p.queue_count = s->queues.count;
    p.nodes = s->nodes.items;
    p.node_count = s->nodes.count;
    return p;
}
