/* random_tree - small policies at random: one pool, a tree of queues with reserves, limits, lends
 * and borrow limits, whole GPUs. */
#ifndef MUSTER_TESTS_UNIT_CORE_RANDOM_TREE_H
#define MUSTER_TESTS_UNIT_CORE_RANDOM_TREE_H

#include "base/arena.h"
#include "base/rng.h"
#include "core/policy.h"

/* 2 to 20 queues, parents before children, ids 11, 12, …; the pool has id 7. */
struct policy *random_tree(struct rng *rng, struct arena *arena);

/* Σ of the tops' reserves. */
int64_t random_tree_reserved_gu(const struct policy *policy);

#endif
