/* site - a policy that is being put together: pools, queues and nodes by name, with the product's
 * defaults, for cases, scenarios and random runs.
 *
 * Rows are found and changed by pointer; a pointer to a row holds until the next row of its kind is
 * added.  Ids are given in the order of adding, from 1, and stay when rows are dropped.
 */
#ifndef MUSTER_SIM_SITE_H
#define MUSTER_SIM_SITE_H

#include "base/arena.h"
#include "base/vec.h"
#include "core/policy.h"

#define SITE_POOLS_MAX 8

struct site {
    struct arena *arena;  /* of all texts and lists */
    struct policy policy; /* without its lists: see site_policy */
    VEC(struct policy_pool) pools;
    VEC(struct policy_queue) queues;
    VEC(struct policy_node) nodes;
    VEC(const char *) levels;
    int64_t next_pool, next_queue, next_node;
};

void site_init(struct site *s);
void site_fini(struct site *s);

struct policy_pool *site_add_pool(struct site *s, const char *name);
/* In all pools there are, no reserve, no limits.  parent 0 = top. */
struct policy_queue *site_add_queue(struct site *s, const char *name, int64_t parent);
struct policy_node *site_add_node(struct site *s, const char *name, int64_t pool, int64_t gpus);
void site_add_domain(struct site *s, struct policy_node *node, const char *level,
                     const char *domain);
void site_add_label(struct site *s, struct policy_node *node, const char *key, const char *value);
void site_add_level(struct site *s, const char *level);

/* NULL if there is none of that name (or id). */
struct policy_pool *site_pool(struct site *s, const char *name);
struct policy_queue *site_queue(struct site *s, const char *name);
struct policy_queue *site_queue_of_id(struct site *s, int64_t id);
struct policy_node *site_node(struct site *s, const char *name);
/* The queue's row for a pool. */
struct policy_quota *site_quota(struct site *s, struct policy_queue *q, int64_t pool);
void site_drop_node(struct site *s, const char *name);
void site_drop_queue(struct site *s, const char *name);

/* The whole policy; its lists are the site's and hold until the site is changed. */
struct policy site_policy(struct site *s);

#endif
