/* state - what is inside struct core.  Only files of the core include this.
 *
 * Canonical state (in hash and snapshot): policy, nodes, jobs with their leases and nominations,
 * tokens, counters of ids, meters.  Everything else is derived by core/fold*.c as facts are applied
 * (sums of queues, ledgers of devices, indices of pools), or is the planner's scratch.
 */
#ifndef MUSTER_CORE_STATE_H
#define MUSTER_CORE_STATE_H

#include "base/arena.h"
#include "base/idmap.h"
#include "base/omap.h"
#include "base/quantity.h"
#include "core/core.h"
#include "core/forecast.h"
#include "core/job.h"
#include "core/load.h"
#include "core/meter.h"
#include "core/node.h"
#include "core/pool.h"
#include "core/queue.h"
#include "core/view.h"

#define CORE_ID_MAX (INT64_MAX / 2) /* ids count up from 1: none is near this */

struct token { /* what view.h shows, and its memory */
    struct view_token shown;
    struct arena *arena;
};

struct core {
    int64_t now_ms;      /* at_ms of the last fact */
    int64_t applying_ms; /* at_ms of the fact being applied */
    int64_t next_job;
    int64_t next_node;
    int64_t next_token;
    int64_t next_pool;
    int64_t next_queue;
    /* policy */
    struct arena *policy_arena;
    struct policy *policy;
    int64_t policy_seq;
    struct queue_tree *queues;
    VEC(struct pool *) pools; /* as in the policy */
    VEC(struct node *) nodes; /* by id */
    struct omap node_names;   /* by hash of name, hash of cluster, id */
    struct job *first_job;    /* by id */
    struct job *last_job;
    struct idmap job_of_id;
    VEC(int64_t) ended; /* ids, oldest first, from place ended_from on */
    size_t ended_from;
    struct omap tokens; /* by id: struct token */
    struct omap shapes; /* by hash of what is asked, chained; see shape.c */
    int64_t next_shape;
    int64_t generation; /* the last one given to a pool */
    int64_t
        site_stamp; /* another one when what cards there are, or what they charge, has changed */
    int64_t waiting_count;
    struct omap nominated; /* jobs with a nomination, by (since, id) */
    struct omap attention; /* jobs that the next plan must look at, by id */
    struct omap timers;    /* (due ms, id of job or -id of node) */
    struct omap leaving;   /* active jobs with tasks that were told to stop, by id */
    struct omap broken;    /* jobs below their minimum by a fault, by id */
    struct omap growing;   /* active elastic jobs below their size, by id */
    struct meter meter;
    bool rebuilding; /* usage is put together again: nothing changes */
    /* planner's scratch */
    struct undo_log undo;
    struct arena *plan_arena;
    VEC(struct fact) decisions;
    VEC(struct head) heads; /* first jobs of leaves that wait for a known time, or drain */
    uint64_t heads_stamp;   /* tells one set of them from another, 0 = none */
    bool claimed;           /* this plan has claimed: it ends there */
    int64_t plan_number;
    bool move_too_dear;        /* a job waits until a move loses less: a checkpoint may do that */
    bool inexact;              /* the last trial gave up on candidates that it chose by cost */
    int64_t wake_ms;           /* time alone may let more start then: forget what failed */
    struct ends *ends;         /* of this plan, in the plan arena */
    int64_t planning_ms;       /* the time of this plan, or of the last */
    int64_t planned_to_ms;     /* timers up to here were seen */
    int64_t again_ms;          /* the plan wants to be asked again then */
    VEC(struct job *) touched; /* whose scratch marks the plan must clear */
};

/* The planner wants to be asked again then, if that is later than now. */
void plan_again(struct core *c, int64_t at_ms, int64_t now_ms);

/* This plan sets scratch marks of the job: list it once, to clear them. */
void plan_touch(struct core *c, struct job *j);

/* The job of an id, NULL if the core does not know it. */
struct job *core_job(const struct core *c, int64_t id);
struct node *core_node(const struct core *c, int64_t id);
struct pool *core_pool_of_id(const struct core *c, int64_t id);

#endif
