/* The formula is computed from the top down along one path, so a test costs the depth of the tree
 * and nothing is scanned.  Σ max(0, keep - U) over all queues is kept up to date by quota_add. */
#include "core/quota.h"

#include "base/check.h"
#include "base/minmax.h"

/* a + b where b may be QUEUE_NO_LIMIT. */
static int64_t add_limit(int64_t a, int64_t b)
{
    return b == QUEUE_NO_LIMIT ? QUEUE_NO_LIMIT : a + b;
}

static int64_t shared_part(const struct queue_quota *q)
{
    return max64(0, q->used - q->keep);
}

static int64_t unused_keep(const struct queue_quota *q)
{
    return max64(0, q->keep - q->used);
}

void quota_add(struct queue_tree *t, int leaf, int pool, struct quota_use use, int sign)
{
    int64_t delta = sign * use.gu;

    for (int i = leaf; i >= 0; i = t->items[i].parent) {
        struct queue_quota *q = &t->items[i].quotas[pool];
        int64_t shared = shared_part(q);

        q->plain += sign * use.gu;
        q->fixed += use.fixed ? sign * use.gu : 0;
        q->stopping += use.stopping ? sign * use.gu : 0;
        t->unused_keep[pool] -= unused_keep(q);
        t->over_leaves[pool] -= i == leaf && q->used > q->mine;
        q->used += delta;
        t->over_leaves[pool] += i == leaf && q->used > q->mine;
        t->unused_keep[pool] += unused_keep(q);
        delta = shared_part(q) - shared;
        CHECK(q->plain >= 0 && q->used >= 0 && q->fixed >= 0 && q->stopping >= 0);
    }
}

/* A of a child, from A of what is above it. */
static int64_t step_down(const struct queue_quota *q, int64_t above)
{
    int64_t rest = q->mine - q->keep - shared_part(q);

    return unused_keep(q) + max64(0, min64(above, add_limit(rest, q->borrow)));
}

static int path_down(const struct queue_tree *t, int q, int path[QUEUE_DEPTH_MAX])
{
    int count = t->items[q].depth + 1;

    for (int k = count - 1; k >= 0; k--) {
        path[k] = q;
        q = t->items[q].parent;
    }
    return count;
}

int64_t quota_may(const struct queue_tree *t, const struct pool *pool, int q)
{
    int path[QUEUE_DEPTH_MAX];
    int count = path_down(t, q, path);
    int64_t may = max64(0, pool->capacity_gu - pool->taken_gu - t->unused_keep[pool->index]);

    for (int k = 0; k < count; k++) {
        may = step_down(&t->items[path[k]].quotas[pool->index], may);
    }
    return may;
}

int64_t quota_limit_room(const struct queue_tree *t, int pool, int q, int *ret_queue)
{
    int64_t room = QUEUE_NO_LIMIT;

    *ret_queue = -1;
    for (int i = q; i >= 0; i = t->items[i].parent) {
        const struct queue_quota *own = &t->items[i].quotas[pool];

        if (own->limit != QUEUE_NO_LIMIT && own->limit - (own->plain - own->stopping) < room) {
            room = own->limit - (own->plain - own->stopping);
            *ret_queue = i;
        }
    }
    return room;
}

int64_t quota_avail(const struct queue_tree *t, const struct pool *pool, int q)
{
    int whose;
    int64_t avail = min64(quota_may(t, pool, q), pool->capacity_gu - pool->taken_gu);

    avail = min64(avail, quota_limit_room(t, pool->index, q, &whose));
    return max64(0, avail);
}

int quota_cover(const struct queue_tree *t, int leaf, int pool, int64_t gu)
{
    int64_t delta = gu;

    for (int i = leaf; i >= 0; i = t->items[i].parent) {
        const struct queue_quota *q = &t->items[i].quotas[pool];

        if (q->used + delta <= q->mine) {
            return i;
        }
        delta = max64(0, q->used + delta - q->keep) - shared_part(q);
    }
    return -1;
}

int quota_cover_job(const struct queue_tree *t, int leaf, int pool, int64_t gu, bool fixed)
{
    int cover = quota_cover(t, leaf, pool, gu);

    return fixed && cover != leaf ? -1 : cover;
}

bool quota_fixed_fits(const struct queue_tree *t, const struct pool *pool, int leaf, int64_t gu,
                      int *ret_queue)
{
    for (int i = leaf; i >= 0; i = t->items[i].parent) {
        const struct queue_quota *q = &t->items[i].quotas[pool->index];

        if (pool->no_reserve && t->items[i].parent >= 0) {
            continue; /* nobody wrote a reserve: the top queue's is all there is */
        }
        if (q->fixed + gu > q->reserved) {
            *ret_queue = i;
            return false;
        }
    }
    return true;
}

bool quota_over(const struct queue_tree *t, int pool, int q, int common)
{
    for (int i = q; i != common; i = t->items[i].parent) {
        const struct queue_quota *own = &t->items[i].quotas[pool];

        CHECK(i >= 0);
        if (own->used <= own->mine) {
            return false;
        }
    }
    return true;
}

int64_t quota_borrowed(const struct queue_tree *t, int pool, int q)
{
    const struct queue_quota *own = &t->items[q].quotas[pool];

    return max64(0, own->used - own->mine);
}

int64_t quota_borrowed_after(const struct queue_tree *t, int pool, int q, int leaf, int64_t gu)
{
    int64_t delta = gu;

    for (int i = leaf; i >= 0; i = t->items[i].parent) {
        const struct queue_quota *own = &t->items[i].quotas[pool];

        if (i == q) {
            return max64(0, own->used + delta - own->mine);
        }
        delta = max64(0, own->used + delta - own->keep) - shared_part(own);
    }
    return 0;
}

int64_t quota_ever(const struct queue_tree *t, int pool, int q, int64_t nominal_gu)
{
    int path[QUEUE_DEPTH_MAX];
    int count = path_down(t, q, path);
    int64_t may = max64(0, nominal_gu - t->kept[pool]);

    for (int k = 0; k < count; k++) {
        const struct queue_quota *own = &t->items[path[k]].quotas[pool];

        may = own->keep + max64(0, min64(may, add_limit(own->mine - own->keep, own->borrow)));
    }
    for (int k = 0; k < count; k++) {
        may = min64(may, t->items[path[k]].quotas[pool].limit);
    }
    return min64(may, nominal_gu);
}
