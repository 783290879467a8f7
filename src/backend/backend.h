/* backend - what carries decisions out: a table of functions over one kind of engine.  No policy.
 *
 * Calls are idempotent by (job, attempt, task, step of the lease): a number may be used again
 * within an attempt (repair, growth after a shrink), and the step tells the one task from the
 * other.  A repeated start of what was started does nothing, and every report names the step that
 * it is about. They return quickly; what happens is told as facts through the sink (task_running,
 * task_ended, task_refused, node_seen, node_state, job_checkpointed, job_done).  Unknown is not
 * dead: a backend says task_ended only when it is proven that nothing of the task runs any more.
 */
#ifndef MUSTER_BACKEND_BACKEND_H
#define MUSTER_BACKEND_BACKEND_H

#include "base/err.h"
#include "core/fact.h"

struct backend;

/* A fact from the world; it and what it points to is lent for the call.  at_ms is set by the taker.
 */
typedef void backend_sink(void *ctx, const struct fact *fact);

/* What the processes of a job are, from the content store. */
struct backend_spec {
    const char *const *argv;
    size_t arg_count;
    const char
        *script; /* text of a script to run instead of argv[0], "" = none; argv are its arguments */
    const char *const *env; /* "NAME=value", the allowlisted ones */
    size_t env_count;
    const char *dir;     /* working directory */
    const char *account; /* OS account the tasks run as */
    const char *output;  /* file pattern for the log, "" = muster's own */
};

struct backend_node {
    int64_t id;
    const char *name;
    bool simulated;
    const char *const *uuids; /* by slot */
    size_t uuid_count;
};

struct backend_job { /* all that a start needs; lent */
    int64_t job;
    int64_t attempt;
    int64_t step;
    int64_t array;
    int64_t element;
    const char *name;
    const char *queue;
    const char *pool;
    const struct fact_job_submitted *submitted;
    const struct fact_grant *tasks; /* the full wanted set of this step, each with the step that it
                                       was granted in (0 = this one) */
    size_t task_count;
    const struct backend_node *nodes; /* one for each node id that tasks name */
    size_t node_count;
    struct backend_spec spec;
    bool sandbox; /* asked for by the job, or required by its queue */
};

struct backend_task { /* one task of an attempt */
    int64_t task;
    int64_t step; /* in which it was granted; 0 = whichever has the number */
};

static inline bool backend_task_is(const struct backend_task *which, int64_t task, int64_t step)
{
    return which->task == task && (which->step == 0 || which->step == step);
}

/* Is it one of those, where none stands for all? */
static inline bool backend_task_among(const struct backend_task *rows, size_t count, int64_t task,
                                      int64_t step)
{
    size_t i;

    for (i = 0; i < count && !backend_task_is(&rows[i], task, step); i++) {
    }
    return count == 0 || i < count;
}

/* The step in which a task of a start was granted. */
static inline int64_t backend_step_of(const struct backend_job *job, size_t index)
{
    return job->tasks[index].step != 0 ? job->tasks[index].step : job->step;
}

struct backend_signal { /* lent */
    int64_t job;
    int64_t attempt;
    const struct backend_task *tasks; /* none = all of the attempt */
    size_t task_count;
    int64_t number;      /* 0 = SIGTERM */
    int64_t deadline_ms; /* when a kill follows: MUSTER_PREEMPT_DEADLINE, 0 = no change */
    const char *reason;
};

struct backend_held { /* what the core believes is there: to adopt after a restart */
    int64_t job;
    int64_t attempt;
    struct backend_task task;
    int64_t node;
};

struct backend_ops {
    const char *name; /* "local", "virtual" */
    /* Take up what already runs: for every row that is not there, and never will be, say task_ended
     * (lost or its recorded end); for every task found that no row names, stop it. */
    int (*adopt)(struct backend *b, const struct backend_held *held, size_t count, struct err *err);
    /* Tell what nodes there are (node_seen through the sink) under this policy. */
    int (*observe)(struct backend *b, const struct policy *policy, struct err *err);
    int (*start)(struct backend *b, const struct backend_job *job, struct err *err);
    /* Tell the tasks to stop, and by when; no kill. */
    int (*signal)(struct backend *b, const struct backend_signal *what, struct err *err);
    /* Kill the whole process tree of the tasks. */
    int (*kill)(struct backend *b, int64_t job, int64_t attempt, const struct backend_task *tasks,
                size_t task_count, struct err *err);
    /* The attempt's end is durable: exit records and sockets may go.  Logs and checkpoints stay. */
    void (*forget)(struct backend *b, int64_t job, int64_t attempt);
    void (*free)(struct backend *b);
};

struct backend { /* first member of every implementation */
    const struct backend_ops *ops;
    backend_sink *sink;
    void *sink_ctx;
};

#endif
