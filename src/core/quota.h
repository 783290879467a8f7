/* quota - the quota rules: what a queue may use, who is entitled, who is over.  See DESIGN section
 * 4; one function answers limit, lend and borrow.  All amounts are GPU units, in one pool.
 *
 * "within reserve" is U <= T, "over" is U > T (used and mine of struct queue_quota).
 */
#ifndef MUSTER_CORE_QUOTA_H
#define MUSTER_CORE_QUOTA_H

#include "core/pool.h"
#include "core/queue.h"

struct quota_use {
    int64_t gu;
    bool fixed;    /* not preemptible */
    bool stopping; /* told to stop: limits do not count it */
};

/* Count usage at a leaf and all above it; sign is 1 or -1. */
void quota_add(struct queue_tree *t, int leaf, int pool, struct quota_use use, int sign);

/* avail(q): what the queue may start now, never below 0. */
int64_t quota_avail(const struct queue_tree *t, const struct pool *pool, int q);
/* A(q), the part of it that lending and borrowing allow. */
int64_t quota_may(const struct queue_tree *t, const struct pool *pool, int q);
/* The least m - u over the queue and its ancestors; *ret_queue is whose it is (-1: no limit at
 * all). */
int64_t quota_limit_room(const struct queue_tree *t, int pool, int q, int *ret_queue);

/* The smallest subtree that is within its reserve once gu more is used at leaf: the index of its
 * top, -1 = none.  A claim is entitled against a victim outside that subtree. */
int quota_cover(const struct queue_tree *t, int leaf, int pool, int64_t gu);

/* The same for a job: one that is not preemptible reclaims only if the whole usage of its own queue
 * stays within reserve. */
int quota_cover_job(const struct queue_tree *t, int leaf, int pool, int64_t gu, bool fixed);

/* Would gu more at leaf, not preemptible, keep what is not preemptible within the written reserve
 * at every level?  *ret_queue is where it would not. */
bool quota_fixed_fits(const struct queue_tree *t, const struct pool *pool, int leaf, int64_t gu,
                      int *ret_queue);

/* Is the queue, and every ancestor of it below `common` (-1 = the root), over its reserve? */
bool quota_over(const struct queue_tree *t, int pool, int q, int common);

/* What this queue uses above T, >= 0. */
int64_t quota_borrowed(const struct queue_tree *t, int pool, int q);

/* The same of q, leaf or above, once gu more is used at leaf. */
int64_t quota_borrowed_after(const struct queue_tree *t, int pool, int q, int leaf, int64_t gu);

/* The most that a job of this queue could ever hold if nothing else ran and all nodes were well:
 * keeps, limits and borrow limits.  nominal_gu: all devices of the pool. */
int64_t quota_ever(const struct queue_tree *t, int pool, int q, int64_t nominal_gu);

#endif
