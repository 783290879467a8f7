/* queue - the tree of queues and, pool by pool, what each of them has and uses.
 *
 * Indices are dense (0 … count-1, parents before children) and change with the policy; ids do not.
 * Amounts are GPU units.  Usage is kept up to date by quota_add and quota_remove (core/quota.h).
 */
#ifndef MUSTER_CORE_QUEUE_H
#define MUSTER_CORE_QUEUE_H

#include "base/vec.h"
#include "core/policy.h"

#define QUEUE_NO_LIMIT  INT64_MAX
#define QUEUE_DEPTH_MAX 16

struct job;
struct shape;

struct queue_quota {  /* one queue in one pool */
    int64_t reserved; /* r, written */
    int64_t limit;    /* m; QUEUE_NO_LIMIT */
    int64_t lend;     /* l; QUEUE_NO_LIMIT */
    int64_t borrow;   /* b; QUEUE_NO_LIMIT */
    int64_t mine;  /* T: reserved at a leaf; spare + what children do not keep at an inner queue */
    int64_t keep;  /* max(0, T - l): never leaves the queue */
    int64_t used;  /* U: what counts against T (running, stopping, nominated) */
    int64_t plain; /* u: the sum of its leaves, for limits and people */
    int64_t stopping; /* part of plain whose jobs were told to stop: limits do not count it */
    int64_t fixed;    /* part of plain that is not preemptible */
};

struct queue {
    int64_t id;
    const char *name;
    int index;
    int parent;                     /* index, -1 = top */
    int top;                        /* index of the top queue it belongs to */
    int depth;                      /* 0 = top */
    int height;                     /* 0 = leaf */
    const struct policy_queue *row; /* lent from the policy in force */
    VEC(int) children;
    struct queue_quota *quotas; /* by pool index */
    /* of leaves */
    VEC(struct shape *) shapes; /* of its waiting jobs, by id of the shape */
    VEC(struct job *) active;   /* starting, running, stopping or nominated, by id */
    int64_t waiting;            /* jobs */
    int64_t *least_gu;          /* by pool: the least that any of them asks; only if wants_known */
    int64_t highest;            /* their highest priority; only if wants_known */
    bool wants_known;
    int64_t wants_stamp; /* of the site then */
    int64_t oldest_ms;   /* age of the oldest of them; only if oldest_known */
    bool oldest_known;
    struct job *head; /* planner: the first that could ever run, as of that plan */
    int64_t head_plan;
    /* of its preemptible jobs among those: see core/prey.h */
    bool prey_known;
    int64_t lowest; /* priority; INT64_MAX = none */
    int64_t largest_gu, smallest_gu, takeable_gu;
    int elastic;               /* jobs */
    VEC(struct job *) by_loss; /* only if by_loss_known */
    bool by_loss_known;
};

struct queue_tree {
    struct queue *items;
    int count;
    int pool_count;
    int64_t *kept;        /* by pool: Σ keep over all queues */
    int *over_leaves;     /* by pool: leaf queues that use more than T */
    int64_t *unused_keep; /* by pool: Σ over all queues of max(0, keep - U) */
};

/* A tree from a policy that core_policy_check found good; the policy is lent for its life. */
struct queue_tree *queue_tree_new(const struct policy *policy);
void queue_tree_free(struct queue_tree *t);
/* Compute T, keep and the unused keep of one pool anew, after written reserves or usage were set
 * directly. */
void queue_settle(struct queue_tree *t, int pool);
/* Index of an id or a name, -1 if there is none. */
int queue_index(const struct queue_tree *t, int64_t id);
int queue_index_of_name(const struct queue_tree *t, const char *name);
static inline bool queue_is_leaf(const struct queue *q)
{
    return q->children.count == 0;
}
/* The lowest common ancestor, -1 = only the root above the tops. */
int queue_common(const struct queue_tree *t, int a, int b);
/* Is a the queue b or an ancestor of it? */
bool queue_covers(const struct queue_tree *t, int a, int b);

#endif
