#include "core/queue.h"

#include "base/check.h"

#include <string.h>

static int64_t or_unlimited(int64_t gu)
{
    return gu == POLICY_NONE ? QUEUE_NO_LIMIT : gu;
}

static int pool_index(const struct policy *policy, int64_t id)
{
    for (size_t i = 0; i < policy->pool_count; i++) {
        if (policy->pools[i].id == id) {
            return (int)i;
        }
    }
    return -1;
}

static void link_parent(struct queue_tree *t, struct queue *q)
{
    struct queue *up;

    q->parent = q->row->parent == 0 ? -1 : queue_index(t, q->row->parent);
    if (q->parent < 0) {
        q->top = q->index;
        return;
    }
    CHECK(q->parent < q->index);
    up = &t->items[q->parent];
    q->top = up->top;
    q->depth = up->depth + 1;
    CHECK(q->depth < QUEUE_DEPTH_MAX);
    vec_push(&up->children, q->index);
}

static void fill_quotas(struct queue_tree *t, struct queue *q, const struct policy *policy)
{
    q->quotas = mem_new((size_t)t->pool_count, sizeof(q->quotas[0]));
    for (int p = 0; p < t->pool_count; p++) {
        q->quotas[p] = (struct queue_quota){.limit = QUEUE_NO_LIMIT,
                                            .lend = QUEUE_NO_LIMIT,
                                            .borrow = QUEUE_NO_LIMIT};
    }
    for (size_t i = 0; i < q->row->quota_count; i++) {
        const struct policy_quota *row = &q->row->quotas[i];
        int p = pool_index(policy, row->pool);

        CHECK(p >= 0);
        q->quotas[p].reserved = row->reserved_gu;
        q->quotas[p].limit = or_unlimited(row->limit_gu);
        q->quotas[p].lend = or_unlimited(row->lend_gu);
        q->quotas[p].borrow = or_unlimited(row->borrow_gu);
    }
}

void queue_settle(struct queue_tree *t, int pool)
{
    t->unused_keep[pool] = 0;
    t->kept[pool] = 0;
    t->over_leaves[pool] = 0;
    for (int i = t->count - 1; i >= 0; i--) {
        struct queue *q = &t->items[i];
        struct queue_quota *own = &q->quotas[pool];

        own->mine = own->reserved;
        for (size_t k = 0; k < q->children.count; k++) {
            const struct queue_quota *child = &t->items[q->children.items[k]].quotas[pool];

            /* spare + what the child does not keep = r - Σ r(child) + Σ (T(child) - keep(child)) */
            own->mine += child->mine - child->keep - child->reserved;
        }
        own->keep =
            own->lend >= own->mine || q->row->state == QUEUE_CLOSED ? 0 : own->mine - own->lend;
        t->kept[pool] += own->keep;
        t->over_leaves[pool] += queue_is_leaf(q) && own->used > own->mine;
        if (own->keep > own->used) {
            t->unused_keep[pool] += own->keep - own->used;
        }
    }
}

struct queue_tree *queue_tree_new(const struct policy *policy)
{
    struct queue_tree *t = mem_new(1, sizeof(*t));

    t->count = (int)policy->queue_count;
    t->pool_count = (int)policy->pool_count;
    t->items = mem_new((size_t)t->count, sizeof(t->items[0]));
    t->over_leaves = mem_new((size_t)t->pool_count, sizeof(t->over_leaves[0]));
    t->kept = mem_new((size_t)t->pool_count, sizeof(t->kept[0]));
    t->unused_keep = mem_new((size_t)t->pool_count, sizeof(t->unused_keep[0]));
    for (int i = 0; i < t->count; i++) {
        struct queue *q = &t->items[i];

        q->row = &policy->queues[i];
        q->id = q->row->id;
        q->name = q->row->name;
        q->index = i;
        link_parent(t, q);
        fill_quotas(t, q, policy);
    }
    for (int i = t->count - 1; i >= 0; i--) {
        struct queue *q = &t->items[i];

        if (q->parent >= 0 && t->items[q->parent].height <= q->height) {
            t->items[q->parent].height = q->height + 1;
        }
    }
    for (int p = 0; p < t->pool_count; p++) {
        queue_settle(t, p);
    }
    return t;
}

void queue_tree_free(struct queue_tree *t)
{
    if (t == NULL) {
        return;
    }
    for (int i = 0; i < t->count; i++) {
        vec_fini(&t->items[i].children);
        vec_fini(&t->items[i].shapes);
        vec_fini(&t->items[i].active);
        vec_fini(&t->items[i].by_loss);
        mem_free(t->items[i].quotas);
        mem_free(t->items[i].least_gu);
    }
    mem_free(t->items);
    mem_free(t->over_leaves);
    mem_free(t->kept);
    mem_free(t->unused_keep);
    mem_free(t);
}

int queue_index(const struct queue_tree *t, int64_t id)
{
    for (int i = 0; i < t->count; i++) {
        if (t->items[i].row != NULL && t->items[i].id == id) {
            return i;
        }
    }
    return -1;
}

int queue_index_of_name(const struct queue_tree *t, const char *name)
{
    for (int i = 0; i < t->count; i++) {
        if (strcmp(t->items[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

int queue_common(const struct queue_tree *t, int a, int b)
{
    while (a != b) {
        int da = a < 0 ? -1 : t->items[a].depth;
        int db = b < 0 ? -1 : t->items[b].depth;

        if (da >= db) {
            a = t->items[a].parent;
        }
        if (db >= da) {
            b = t->items[b].parent;
        }
    }
    return a;
}

bool queue_covers(const struct queue_tree *t, int a, int b)
{
    while (b >= 0 && t->items[b].depth > t->items[a].depth) {
        b = t->items[b].parent;
    }
    return a == b;
}
