/* pool - a named set of GPUs that quotas count, with the indices that placement needs: nodes by how
 * many whole cards they have free, and topology domains. */
#ifndef MUSTER_CORE_POOL_H
#define MUSTER_CORE_POOL_H

#include "base/vec.h"
#include "core/node.h"
#include "core/policy.h"

#define POOL_CARDS_MAX 64 /* whole cards a node */

struct domain {
    int level;
    int parent; /* index of the domain around it, -1 = none */
    const char *name;
    int free_whole; /* whole cards free in it */
    VEC(int) nodes; /* indices of nodes, ascending */
};

struct pool {
    int64_t id;
    const char *name;
    int index;
    const struct policy_pool *row;
    VEC(int) nodes;       /* node indices, by node id */
    VEC(int) slice_nodes; /* of those, the ones with cards that are cut, or static slices */
    VEC(struct domain) domains;
    int level_count;
    int64_t capacity_gu; /* in service or still held */
    int64_t taken_gu;    /* held or promised, each device once */
    int64_t held_gu;     /* held or leaving: what is physically used */
    int64_t free_whole;  /* whole cards free */
    /* bitmap of positions in `nodes` by free_whole */
    uint64_t *by_free[POOL_CARDS_MAX + 1];
    int by_free_count[POOL_CARDS_MAX + 1];
    size_t words;
    int64_t nominal_gu; /* all its devices, in service or not */
    bool no_reserve;    /* no queue states one: the single top queue has it all */
    int timed;          /* active jobs that end by a known time */
    /* planner's memo: bumped when a waiting job might start that could not before */
    int64_t generation;
};

#endif
