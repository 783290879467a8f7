/* local - the backend of this machine: every task is a process group below a supervisor of its own.
 *
 * The supervisors (muster-shepherd) outlive musterd, kill -9 included; a new backend object adopts
 * them.  What is kept below the state directory:
 *
 *      attempts/J.A/             one attempt: token, attempt.json
 *      attempts/J.A/T.S/         control of task T started in step S: spec, supervisor, exit record
 *      attempts/J.A/job/         of the account: MUSTER_TOKEN_FILE, MUSTER_TASKS_FILE
 *      attempts/J.A/task.T/      of the account: MUSTER_STATUS_FILE, MUSTER_PREEMPT_FILE, script
 *      logs/J/A.T.stdout .stderr rings of log files (.1, .2 … are older); kept
 *      checkpoints/J/            MUSTER_CHECKPOINT_DIR, of the account, over all attempts; kept
 *
 * and sockets of the supervisors in the runtime directory, which is closed to other accounts.
 *
 * Start tells task_running or task_refused; an end is told when no process of the task is left.
 * Facts of an adopted task may repeat task_running; they bear true_at_ms.
 */
#ifndef MUSTER_LOCAL_LOCAL_H
#define MUSTER_LOCAL_LOCAL_H

#include "backend/backend.h"

#include <event2/event.h>

struct local_card { /* what is known of a kind of card */
    const char *model;
    int64_t memory_bytes;
};

struct local_hooks {
    void *ctx;
    /* One line for the operator; NULL = standard error. */
    void (*warn)(void *ctx, const char *text);
    /* What is known of a card, by model id or NVML product name; false = nothing.  May be NULL. */
    bool (*card)(void *ctx, const char *name, struct local_card *ret);
};

struct local_config {        /* texts are copied */
    const char *state_dir;   /* as root it is opened for search by others (mode 0711) */
    const char *runtime_dir; /* made if it is not there, closed to others (0700) */
    const char *shepherd;    /* path of muster-shepherd */
    const char *socket;      /* of musterd, for MUSTER_SOCKET */
    const char *account;     /* of jobs that name none; "" = that of musterd */
    int64_t log_file_bytes;  /* 0 = 16 MiB */
    int64_t log_files;       /* per stream and task; 0 = 4 */
    int64_t port_first;      /* range for MASTER_PORT; 0 = 20000 … 29999 */
    int64_t port_last;
    int64_t pids_max;        /* processes and threads a task; 0 = 16,384 or half of what the host
                                can number, whichever is less; -1 = no limit */
    bool cpu_hard;           /* a task's CPUs are a ceiling, not only a weight */
    bool simulate;           /* nodes with simulated GPUs are taken */
    const char *cgroup;      /* directory of our groups; NULL = "muster", "" = use none */
    const char *nvml;        /* NULL = libnvidia-ml.so.1, "" = look for no card */
    const char *bwrap;       /* NULL = /usr/bin/bwrap: makes the sandboxes */
    const char *systemd_run; /* NULL = if this host runs systemd and we are root; "" = never */
    struct local_hooks hooks;
};

/* base is lent for the life of the backend.  The sink must be set before the first call, and must
 * not call the backend: it queues.  The process ignores SIGPIPE (a supervisor may die while it is
 * spoken to) and nobody else waits for its children at large (waitpid(-1)).  NULL: the
 * state or runtime directory cannot be used (ERR_IO), the supervisor is missing (ERR_NOT_FOUND),
 * the default account is (ERR_JOB_ACCOUNT). */
struct backend *local_new(const struct local_config *config, struct event_base *base,
                          struct err *err);

/* What this host can hold tasks to and what not, in words, one sentence a line; lent. */
const char *local_capabilities(const struct backend *b);

/* May a job of this account ("" = the default) run here?  ERR_JOB_ACCOUNT. */
MUST_CHECK int local_account_check(const struct backend *b, const char *account, struct err *err);

struct local_log {
    int64_t job;
    int64_t attempt;
    int64_t task;
    bool error;  /* standard error */
    int64_t age; /* 0 = the newest file of the ring, 1 the one before … */
};

/* Path of a log file, there or not; free with mem_free. */
char *local_log_path(const struct backend *b, const struct local_log *which);

/* Path of the job's checkpoint directory, there or not; free with mem_free. */
char *local_checkpoint_dir(const struct backend *b, int64_t job);

/* Is this the token of an attempt that is not forgotten (MUSTER_TOKEN_FILE)? */
bool local_token_check(const struct backend *b, const char *token, int64_t *ret_job,
                       int64_t *ret_attempt);

#endif
