/* local_attempt - one attempt of a job on this machine: its directories, its files, its tasks. */
#ifndef MUSTER_LOCAL_LOCAL_ATTEMPT_H
#define MUSTER_LOCAL_LOCAL_ATTEMPT_H

#include "backend/local/local_state.h"
#include "backend/local/osaccount.h"

#include <jansson.h>

#define LOCAL_NAME_MAX 96

struct local_checkpoint {
    char *name;
    int64_t true_ms;
};

struct local_checkpoints { /* what local_checkpoint keeps of an attempt */
    VEC(struct local_checkpoint) waiting;
    int64_t told_ms;     /* true time of the last one that was told */
    int64_t tokens;      /* how many may be told at once */
    int64_t refilled_ms; /* CLOCK_MONOTONIC */
    struct event *timer; /* tells those that wait */
};

struct local_attempt {
    struct local *local;
    int64_t job;
    int64_t attempt;
    int64_t step; /* the last that was carried out */
    int64_t port; /* MASTER_PORT */
    uid_t uid;    /* of the account */
    gid_t gid;
    int64_t made_ms;
    bool done_told;            /* the job said that it is done */
    bool unwanted;             /* nobody knows it: end it and remove it, tell nothing */
    char name[LOCAL_NAME_MAX]; /* "J.A" */
    char salt[40];             /* makes the marks of its processes unlike any other's */
    int dir_fd;
    json_t *rows; /* of MUSTER_TASKS_FILE */
    VEC(struct local_task *) tasks;
    bool begun; /* a task was told to run, or to have ended */
    struct local_checkpoints checkpoints;
};

/* Make it, with all its directories, for the account; master_port and token are chosen here.  Its
 * files are on the disk when this returns.  ERR_IO. */
MUST_CHECK int local_attempt_new(struct local *l, const struct backend_job *job,
                                 const struct osaccount *account, struct local_attempt **ret,
                                 struct err *err);

/* Read what an earlier musterd left; no tasks yet.  ERR_NOT_FOUND, ERR_SYNTAX, ERR_IO. */
MUST_CHECK int local_attempt_load(struct local *l, int64_t job, int64_t attempt,
                                  struct local_attempt **ret, struct err *err);

/* Frees the tasks too; nothing on the disk changes and no process hears of it. */
void local_attempt_free(struct local_attempt *a);

/* Remove its directory; logs and checkpoints stay.  Its tasks must be gone. */
void local_attempt_remove(struct local_attempt *a);

/* The task as it was started last, NULL if it never was. */
struct local_task *local_attempt_task(const struct local_attempt *a, int64_t task);

/* Take the wanted set of a step into MUSTER_TASKS_FILE. */
MUST_CHECK int local_attempt_want(struct local_attempt *a, const struct backend_job *job,
                                  struct err *err);
/* A task leaves: the others see it in MUSTER_TASKS_FILE. */
void local_attempt_leave(struct local_attempt *a, int64_t task);

/* Path of a file of the attempt ("job/tasks.json"); free with mem_free. */
char *local_attempt_path(const struct local_attempt *a, const char *below);
char *local_attempt_log_dir(const struct local_attempt *a);

/* The owner of what the tasks may write. */
struct safedir_owner local_attempt_owner(const struct local_attempt *a, mode_t mode);

/* Have the directory watched: that of a task for its status file, -1 for the checkpoints.  Where it
 * cannot be, the operator is told; the status file is read at the end in any case. */
void local_attempt_watch(struct local_attempt *a, int dir, int64_t task);

/* A task runs or has ended: what its files said before is told now, in the order in which it is
 * true. */
void local_attempt_begin(struct local_attempt *a);

/* The status file of a task may say "done". */
void local_attempt_look_done(struct local_attempt *a, int64_t task);

#endif
