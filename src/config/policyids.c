#include "config/policyids.h"

#include "base/check.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

struct named_id {
    const char *name;
    int64_t id;
};

static int compare(const void *x, const void *y)
{
    return strcmp(((const struct named_id *)x)->name, ((const struct named_id *)y)->name);
}

/* New ids of `count` objects in new[i]; old is sorted by name. */
static void assign(const struct named_id *old, size_t old_count, struct named_id *new, size_t count,
                   int64_t next)
{
    for (size_t i = 0; i < count; i++) {
        const struct named_id *found =
            old_count == 0 ? NULL : bsearch(&new[i], old, old_count, sizeof(*old), compare);

        new[i].id = found != NULL ? found->id : next++;
    }
}

/* map holds (old id, new id) in pairs; few pools and thousands of queues make this cheap enough by
 * position: provisional ids are index + 1, others are looked for. */
static int64_t mapped(const int64_t *before, const struct named_id *after, size_t count, int64_t id)
{
    if (id >= 1 && (size_t)id <= count && before[id - 1] == id) {
        return after[id - 1].id;
    }
    for (size_t i = 0; i < count; i++) {
        if (before[i] == id) {
            return after[i].id;
        }
    }
    return 0;
}

struct map {
    int64_t *before;
    struct named_id *after;
    size_t count;
};

#define MAP_OF(rows, row_count, old_rows, old_count, next, ret)                                    \
    do {                                                                                           \
        struct named_id *old_ = mem_new(old_count, sizeof(*old_));                                 \
        (ret)->count = (row_count);                                                                \
        (ret)->before = mem_new(row_count, sizeof(int64_t));                                       \
        (ret)->after = mem_new(row_count, sizeof(struct named_id));                                \
        for (size_t i_ = 0; i_ < (old_count); i_++) {                                              \
            old_[i_] = (struct named_id){(old_rows)[i_].name, (old_rows)[i_].id};                  \
        }                                                                                          \
        qsort(old_, (old_count), sizeof(*old_), compare);                                          \
        for (size_t i_ = 0; i_ < (row_count); i_++) {                                              \
            (ret)->before[i_] = (rows)[i_].id;                                                     \
            (ret)->after[i_].name = (rows)[i_].name;                                               \
        }                                                                                          \
        assign(old_, (old_count), (ret)->after, (row_count), (next));                              \
        for (size_t i_ = 0; i_ < (row_count); i_++) {                                              \
            (rows)[i_].id = (ret)->after[i_].id;                                                   \
        }                                                                                          \
        mem_free(old_);                                                                            \
    } while (0)

static int64_t to(const struct map *m, int64_t id)
{
    return mapped(m->before, m->after, m->count, id);
}

static void rename_queue(struct policy_queue *q, const struct map *pools, const struct map *queues)
{
    q->parent = q->parent == 0 ? 0 : to(queues, q->parent);
    for (size_t i = 0; i < q->pool_count; i++) {
        q->pools[i] = to(pools, q->pools[i]);
    }
    for (size_t i = 0; i < q->quota_count; i++) {
        q->quotas[i].pool = to(pools, q->quotas[i].pool);
    }
}

static void map_fini(struct map *m)
{
    mem_free(m->before);
    mem_free(m->after);
}

void policyids_assign(struct policy *policy, const struct policy *previous,
                      const struct policyids *next)
{
    static const struct policy NOTHING = {0};
    const struct policy *old = previous == NULL ? &NOTHING : previous;
    struct map pools;
    struct map queues;
    struct map nodes;

    MAP_OF(policy->pools, policy->pool_count, old->pools, old->pool_count, next->pool, &pools);
    MAP_OF(policy->queues, policy->queue_count, old->queues, old->queue_count, next->queue,
           &queues);
    MAP_OF(policy->nodes, policy->node_count, old->nodes, old->node_count, next->node, &nodes);
    for (size_t i = 0; i < policy->queue_count; i++) {
        rename_queue(&policy->queues[i], &pools, &queues);
    }
    for (size_t i = 0; i < policy->node_count; i++) {
        policy->nodes[i].pool = to(&pools, policy->nodes[i].pool);
    }
    for (size_t i = 0; i < policy->user_count; i++) {
        for (size_t k = 0; k < policy->users[i].queue_count; k++) {
            policy->users[i].queues[k] = to(&queues, policy->users[i].queues[k]);
        }
    }
    map_fini(&pools);
    map_fini(&queues);
    map_fini(&nodes);
}
