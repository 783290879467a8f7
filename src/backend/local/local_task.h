/* local_task - musterd's side of one task: it starts the supervisor, talks to it, and if it is
 * killed takes its place until nothing of the task is left. */
#ifndef MUSTER_LOCAL_LOCAL_TASK_H
#define MUSTER_LOCAL_LOCAL_TASK_H

#include "backend/environ.h"
#include "backend/local/exitrec.h"
#include "backend/local/local_attempt.h"

#include <event2/bufferevent.h>

enum local_task_state {
    LOCAL_TASK_STARTING, /* a supervisor was started, it has not spoken yet */
    LOCAL_TASK_RUNNING,
    LOCAL_TASK_SWEEPING, /* the supervisor is dead: we kill the tree and prove that it is gone */
    LOCAL_TASK_ENDED     /* told; the record stays until forgotten */
};

struct local_task {
    struct local_attempt *attempt;
    int64_t task;
    int64_t step; /* in which it was started */
    enum local_task_state state;
    bool unwanted;    /* nobody knows it: end it, tell nothing */
    bool kill_wanted; /* said to the supervisor as soon as there is a link */
    bool kill_said;
    bool kill_answered;
    bool born_linked; /* its supervisor got a link from us: the link's end is its end */
    bool told_running;
    int64_t signal;               /* to be said when there is a link, 0 = none */
    int64_t since_ms;             /* of the state or of the order to kill, CLOCK_MONOTONIC */
    int clean_scans;              /* sweeping: scans in a row that found nothing */
    char key[2 * LOCAL_NAME_MAX]; /* "J.A.T.S" */
    char control[LOCAL_NAME_MAX]; /* its directory in the attempt's: "T.S" */
    char mark[EXITREC_TEXT_MAX];  /* in the environment of its processes */
    struct bufferevent *link;
    struct event *timer;
};

struct local_task *local_task_new(struct local_attempt *a, int64_t task, int64_t step);
void local_task_free(struct local_task *t);

/* Make its directories and start a supervisor; what comes of it is told as facts, unless this
 * fails. ERR_IO, ERR_INVALID (not UTF-8). */
MUST_CHECK int local_task_start(struct local_task *t, const struct backend_job *job, size_t index,
                                const struct osaccount *account, struct err *err);

/* Take up what an earlier musterd started.  wanted: the core holds it, so its end is told. */
void local_task_adopt(struct local_task *t, bool wanted);

void local_task_signal(struct local_task *t, int64_t signal);
/* Kill the whole tree, until it is gone. */
void local_task_kill(struct local_task *t);
/* The starter of its supervisor failed. */
void local_task_start_failed(struct local_task *t, const char *why);

/* Write MUSTER_PREEMPT_FILE. */
MUST_CHECK int local_task_write_deadline(const struct local_task *t, int64_t deadline_ms,
                                         const char *reason, struct err *err);

/* Its end is durable: a supervisor that could not write its record need not wait any more, and the
 * socket goes. */
void local_task_forget(struct local_task *t);

#endif
