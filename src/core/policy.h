/* policy - what the site decided: pools, queues, nodes of this machine, settings.  A plain value:
 * the configuration reader makes it, FACT_POLICY_SET journals it whole, the core applies it.
 *
 * All defaults are resolved before it gets here: a core never sees "inherited".  Amounts are GPU
 * units (126,000 a GPU), times are ms.  Ids are immutable and never reused; 0 = none.  Names are
 * [a-z0-9-]{1,63}, unique among pools, among queues, among nodes of a cluster.
 */
#ifndef MUSTER_CORE_POLICY_H
#define MUSTER_CORE_POLICY_H

#include "core/schema.h"

#define POLICY_NONE ((int64_t)-1) /* no limit, lends all, off */
/* The largest amount in a policy, 73 million GPUs: a million of them add up within int64. */
#define POLICY_GU_MAX (INT64_MAX / 1000000)
/* The longest time that may be asked for or set, 100 years: it can be added to any time. */
#define POLICY_MS_MAX ((int64_t)36525 * 86400 * 1000)

enum queue_state { QUEUE_OPEN, QUEUE_CLOSED, QUEUE_DRAINING };
enum queue_reclaim { RECLAIM_ANY, RECLAIM_LOWER_PRIORITY, RECLAIM_NEVER };
enum queue_preempt { PREEMPT_LOWER_PRIORITY, PREEMPT_LOWER_OR_NEWER_EQUAL, PREEMPT_NEVER };
enum queue_order { ORDER_FAIR, ORDER_FIFO, ORDER_ATTAINED, ORDER_SHORTEST };
enum queue_sandbox { QUEUE_SANDBOX_OPTIONAL, QUEUE_SANDBOX_REQUIRED };
enum fair_share { FAIR_WEIGHTED, FAIR_TAKE, FAIR_NONE };
enum share_within { SHARE_TOP, SHARE_USER, SHARE_ANY };
enum job_class { CLASS_TRAINING, CLASS_SERVICE, CLASS_WORKSPACE };

extern const char *const QUEUE_STATE_NAMES[];   /* open closed draining */
extern const char *const QUEUE_RECLAIM_NAMES[]; /* any lower_priority never */
extern const char *const QUEUE_PREEMPT_NAMES[]; /* lower_priority lower_or_newer_equal never */
extern const char *const QUEUE_SANDBOX_NAMES[]; /* optional required */
extern const char *const QUEUE_ORDER_NAMES[];   /* fair fifo attained shortest */
extern const char *const FAIR_SHARE_NAMES[];    /* weighted take none */
extern const char *const SHARE_WITHIN_NAMES[];  /* top user any */
extern const char *const JOB_CLASS_NAMES[];     /* training service workspace */

struct policy_pool {
    int64_t id;
    const char *name;
    int share_within;          /* enum share_within */
    bool mixed;                /* may hold several models */
    int64_t cpu_per_gpu_milli; /* kept for each free GPU against tasks without GPUs */
};

struct policy_quota {
    int64_t pool;
    int64_t reserved_gu; /* on an inner queue: its whole reserve, children's included */
    int64_t limit_gu;    /* cap, borrowed included; POLICY_NONE */
    int64_t lend_gu;     /* what outsiders may use of its unused reserve; POLICY_NONE = all */
    int64_t borrow_gu;   /* above its reserve; POLICY_NONE */
};

struct policy_queue {
    int64_t id;
    const char *name;
    int64_t parent; /* 0 = top */
    int64_t weight;
    int state;          /* enum queue_state */
    int reclaim;        /* enum queue_reclaim */
    int preempt_within; /* enum queue_preempt */
    int order;          /* enum queue_order */
    bool nonpreemptible_may_borrow;
    bool
        min_run_binds_all; /* minimum run time also against entitled claims and in-queue priority */
    int64_t priority_max;  /* the highest that members may ask for */
    int64_t grace_ms;      /* after the preemption signal */
    int64_t grace_max_ms;  /* the most a job may ask for */
    int64_t min_run_ms;
    int64_t drain_after_ms; /* POLICY_NONE = off */
    int64_t gang_repair_ms;
    int64_t stop_stuck_ms;
    int64_t start_timeout_ms;
    int64_t *pools; /* tried in this order when a job names none */
    size_t pool_count;
    struct policy_quota *quotas; /* a pool without a row: reserved 0, no limit, lends all */
    size_t quota_count;
    int sandbox; /* enum queue_sandbox */
};

struct policy_label {
    const char *key;
    const char *value;
};

struct policy_node {
    int64_t id;
    const char *name;    /* without the cluster */
    const char *cluster; /* "local" */
    int64_t pool;
    int64_t gpus;
    const char *model; /* id of core/mig_table, e.g. "h100-80gb", or any word */
    bool mig;          /* cards are in MIG mode and are cut as work asks */
    bool simulated;    /* no such card exists: processes are real, GPUs are not */
    int64_t cpu_milli;
    int64_t memory_bytes;
    struct policy_label *labels;
    size_t label_count;
    struct policy_label *domains; /* level name, domain name */
    size_t domain_count;
};

struct policy_user {
    const char *subject; /* opaque id; the name and the account sit in an erasable table */
    const char **roles;  /* admin operator auditor submit: empty = submit */
    size_t role_count;
    int64_t *queues; /* leaves or inner queues; empty = none */
    size_t queue_count;
};

/* Charge of one slice, where the site does not want memory slices / memory slices of the card. */
struct policy_charge {
    const char *model;
    const char *profile;
    int64_t charge_gu;
};

#define POLICY_ENDED_JOBS     4096
#define POLICY_ENDED_JOBS_MAX 1000000

struct policy {
    const char *cluster;  /* name of the site */
    const char *timezone; /* IANA name */
    int fair_share;       /* enum fair_share */
    bool consolidation;
    bool overcommit;
    int64_t node_lost_ms;
    int64_t restart_cost_ms;    /* priced with the work lost */
    int64_t decay_half_life_ms; /* usage decay among equals; POLICY_NONE = off */
    int64_t retries;            /* default bound of a job's retries */
    int64_t backoff_ms;         /* first wait after a failure, doubled each time */
    const char **levels;        /* topology levels, outermost first, below them always "node" */
    size_t level_count;
    struct policy_pool *pools;
    size_t pool_count;
    struct policy_queue *queues; /* parents before children */
    size_t queue_count;
    struct policy_node *nodes;
    size_t node_count;
    struct policy_user *users;
    size_t user_count;
    struct policy_charge *charges;
    size_t charge_count;
    const char *digest; /* SHA-256 of the file, hex; "" when made otherwise */
    int64_t ended_jobs; /* so many are remembered; 0 = POLICY_ENDED_JOBS */
};

extern const struct schema POLICY_SCHEMA;

#endif
