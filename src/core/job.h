/* job - one job: what was asked, where it is in its life, what it holds and what it was promised.
 */
#ifndef MUSTER_CORE_JOB_H
#define MUSTER_CORE_JOB_H

#include "base/omap.h"
#include "base/vec.h"
#include "core/fact.h"

enum job_state {
    JOB_STATE_HELD,
    JOB_STATE_QUEUED,
    JOB_STATE_STARTING,
    JOB_STATE_RUNNING,
    JOB_STATE_STOPPING,
    JOB_STATE_SUCCEEDED,
    JOB_STATE_FAILED,
    JOB_STATE_CANCELLED,
};
extern const char
    *const JOB_STATE_NAMES[]; /* held queued starting running stopping succeeded failed cancelled */

enum task_state { TASK_STATE_STARTING, TASK_STATE_RUNNING, TASK_STATE_STOPPING };
extern const char *const TASK_STATE_NAMES[]; /* starting running stopping */

struct lease_device {
    int32_t slot;
    int16_t start;   /* MIG: first memory slice, -1 = no slice of a cut card */
    int16_t profile; /* MIG: index in the device's table, -1 */
    bool recut;      /* MIG: idle instances go for it */
    int64_t gu;
    int64_t memory_bytes;
};

struct lease_task {
    int32_t task;
    int32_t step; /* of the lease in which it was granted; 0 while it is only planned or promised */
    int16_t group;
    int16_t state; /* enum task_state */
    int32_t node;  /* index */
    int16_t device_count;
    bool marked; /* planner: told to stop by this plan */
    struct lease_device *devices;
    int64_t cpu_milli;
    int64_t memory_bytes;
};

typedef VEC(struct lease_task) lease_tasks;

/* Jobs with the same shape in the same queue are equal for every test but their age. */
struct shape {
    int64_t id;
    int refs;
    struct arena *arena;
    const struct fact_job_submitted
        *ask;  /* what makes shapes equal: without id, name and spec, subject only with shares */
    int queue; /* index of the leaf; kept by the core when the policy changes */
    bool elastic;
    int64_t hash;
    struct shape *next;  /* of the same hash */
    struct omap waiting; /* by age, id */
    int64_t *need_gu;    /* by pool: see shape_need_gu */
    signed char *could;  /* by pool: see shape_could_run; -1 = not known */
    int64_t need_stamp;
    /* planner's memo: generation of each pool when it was last found not startable */
    int64_t *failed;
    int failed_count;
    bool failed_for_good; /* until a generation or the planned starts change, not in that plan alone
                           */
    uint64_t failed_heads; /* the planned starts then */
    int64_t failed_plan;
    /* planner's memo: none before it may start in plan skip_plan; NULL = not known */
    struct omap_item *skip;
    int64_t skip_plan;
};

struct job_stop { /* of an attempt that was told to stop */
    bool told;
    bool claimed; /* for a claim (preemption), else for `cause` */
    bool killed;
    bool stuck; /* devices were given up */
    int cause;  /* enum stop_cause */
    int64_t by; /* the claimant */
    int64_t told_ms;
    int64_t deadline_ms;
    int64_t killed_ms;
    int64_t lost_gu_ms;
};

#define JOB_AVOID_MS ((int64_t)3600 * 1000) /* from not_before_ms on */

struct nomination {
    bool is;
    bool move;    /* the job is still stopping elsewhere: it is moved there, or returns */
    bool returns; /* its claimant went away; not a move */
    int pool;     /* index */
    int64_t pool_id;
    int64_t step;
    int64_t since_ms;
    int64_t latest_ms; /* the last deadline of its victims */
    lease_tasks tasks;
    VEC(int64_t) victims;
    int64_t lost_gu_ms;
};

/* A site has 100,000 that wait: mind the holes.  What every fact about a job looks at comes first,
 * and lies together. */
struct job {
    int64_t id;
    struct job *next; /* by id */
    struct job *prev;
    struct shape *shape;
    const struct fact_job_submitted *ask; /* shape->ask; group and limits */
    int queue;                            /* index */
    enum job_state state;
    int pool;         /* of the lease: index, -1 = none */
    int timed_in;     /* pool whose `timed` counts it, -1 = none */
    int64_t timer_ms; /* its entry in the core's timers, 0 = none */
    bool listed;      /* in its queue's `active` */
    bool cancel_asked;
    bool requeue_asked;
    bool done_said;
    bool ended_badly;   /* some task ended other than with status 0 */
    bool ended_by_loss; /* a task was lost with its node */
    bool refused;       /* a task could not be started */
    /* planner's scratch */
    bool decided;  /* by this plan: started or promised */
    bool unseated; /* its nomination was taken over by this plan */
    bool marked;   /* a victim of this plan */
    bool touched;  /* listed, so that these are cleared */
    /* the order's key, and the lease */
    int64_t age_ms; /* submitted + time held */
    int64_t not_before_ms;
    int64_t attempt; /* the last one started, 0 = none yet */
    int64_t step;
    lease_tasks tasks;
    int64_t leased_gu;
    int64_t stopping_gu; /* part of it whose tasks were told to stop */
    int64_t started_ms;
    int64_t running_ms;    /* all tasks run, 0 = not yet */
    int64_t checkpoint_ms; /* last usable one of any attempt, 0 = none */
    int64_t broken_ms;     /* fell below its minimum then, 0 = whole */
    VEC(int64_t) passes;
    struct job_stop stop;
    struct nomination nomination;
    VEC(int64_t) finished; /* by group: tasks of this attempt that ended well */
    int64_t pool_id;       /* 0 = none */
    int64_t reserved_gu;   /* split as of its last decision */
    int64_t borrowed_gu;
    int64_t unsaved_gu_ms; /* of tasks that are gone: units × ms since they were last saved */
    int64_t end_status;
    int64_t end_signal;
    int64_t fault_node; /* id */
    int64_t ended_ms;
    int64_t grow_failed; /* planner: stamp of the pool and heads when no growth was possible */
    /* what was asked, and its life */
    const char *name; /* the texts are in the job's own piece of memory */
    const char *subject;
    const char *spec;
    int64_t subject_key; /* hash of subject, for comparing */
    int64_t array;
    int64_t element;
    int64_t queue_id;
    int64_t submitted_ms;
    int64_t held_since_ms;
    int64_t avoid_node; /* id; for JOB_AVOID_MS, as it may be the only one that suits */
    int64_t retries_used;
    int64_t preemptions;
    int64_t lost_gu_ms;
    struct fact_reason why; /* of the last decision about it, in why_arena */
    struct arena *why_arena;
    int64_t why_seq;
};

static inline bool job_is_waiting(const struct job *j)
{
    return j->state == JOB_STATE_QUEUED;
}
static inline bool job_is_active(const struct job *j)
{
    return j->state >= JOB_STATE_STARTING && j->state <= JOB_STATE_STOPPING;
}
static inline bool job_is_ended(const struct job *j)
{
    return j->state >= JOB_STATE_SUCCEEDED;
}

/* Did this attempt start in front of that job's planned start? */
bool job_has_passed(const struct job *j, int64_t head);

/* Time since the last usable checkpoint of this attempt, or since its start, at now; ms. */
int64_t job_unsaved_ms(const struct job *j, int64_t now_ms);

#endif
