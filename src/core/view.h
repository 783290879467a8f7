/* view - read access to the core for those who show it (daemon, simulator).  Everything is lent
 * until the next core_apply; nothing may be changed through it. */
#ifndef MUSTER_CORE_VIEW_H
#define MUSTER_CORE_VIEW_H

#include "core/core.h"
#include "core/job.h"
#include "core/node.h"
#include "core/pool.h"
#include "core/queue.h"

struct view_token {
    int64_t id;
    const char *subject;
    const char *name;
    const char *digest; /* SHA-256, hex */
    const char *const *roles;
    size_t role_count;
    int64_t created_ms;
    int64_t expires_ms;
};

/* The policy in force, NULL before the first; its seq. */
const struct policy *view_policy(const struct core *c);
int64_t view_policy_seq(const struct core *c);

const struct queue_tree *view_queues(const struct core *c); /* NULL before the first policy */
int view_pool_count(const struct core *c);
const struct pool *view_pool(const struct core *c, int index);
int view_node_count(const struct core *c);
const struct node *view_node(const struct core *c, int index);
const struct node *view_node_of_id(const struct core *c, int64_t id);
const struct node *view_node_of_name(const struct core *c, const char *cluster, const char *name);

/* NULL if there is none (never was, or ended long ago: see the journal). */
const struct job *view_job(const struct core *c, int64_t id);
/* The next job by id after `after` (0 = from the first), NULL at the end.  At once if the core
 * knows `after`; else the jobs before it are walked. */
const struct job *view_job_next(const struct core *c, int64_t after);
int64_t view_waiting_count(const struct core *c);

const struct view_token *view_token_next(const struct core *c, int64_t after_id);

/* Units that queue q (index) could start now in the pool, as a borrower too (avail of the quota
 * rules). */
int64_t view_available_gu(const struct core *c, int queue, int pool);
/* What others use of its unused reserve, units. */
int64_t view_lent_gu(const struct core *c, int queue, int pool);

/* How the units that an active job holds now divide: inside its queue the reserve is filled by work
 * that is not preemptible first, then oldest start first; what no queue on its path has reserved is
 * borrowed. */
void view_split(const struct core *c, const struct job *j, int64_t *ret_reserved_gu,
                int64_t *ret_borrowed_gu);

#endif
