/* local_state - what the parts of the local backend share: the object and its helpers. */
#ifndef MUSTER_LOCAL_LOCAL_STATE_H
#define MUSTER_LOCAL_LOCAL_STATE_H

#include "backend/local/cgroup.h"
#include "backend/local/filewatch.h"
#include "backend/local/local.h"
#include "backend/local/safedir.h"
#include "base/str.h"
#include "base/vec.h"

struct local_attempt;
struct local_task;

struct local_starter { /* a child of musterd that starts a supervisor and ends */
    pid_t pid;
    struct local_task *task;
};

struct local {
    struct backend base;
    struct local_config config; /* texts are owned */
    struct event_base *loop;
    struct event *reaper; /* runs while there are starters */
    struct filewatch *watch;
    struct cgroup_host cgroup;
    struct str capabilities;
    int attempts_fd;
    int logs_fd;
    int checkpoints_fd;
    int runtime_fd;
    mode_t dir_mode; /* of directories that accounts pass through */
    VEC(struct local_attempt *) attempts;
    VEC(struct local_starter) starters;
};

/* Wall clock. */
int64_t local_now_ms(void);
/* Tell a fact; true_at_ms 0 = now. */
void local_tell(struct local *l, enum fact_kind kind, const void *body, int64_t true_at_ms);
void local_warn(const struct local *l, const char *fmt, ...) PRINTF_LIKE(2, 3);
struct local_attempt *local_find(const struct local *l, int64_t job, int64_t attempt);
/* Wait for the starter of a task without blocking; the task hears of a failure. */
void local_add_starter(struct local *l, pid_t pid, struct local_task *task);
/* The task goes: its starter is nobody's. */
void local_drop_starter(struct local *l, const struct local_task *task);

#endif
