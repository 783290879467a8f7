/* virtual - a backend of simulated nodes in virtual time, for tests, demo and simulation.
 *
 * Nothing runs.  Tasks start, save, end and fail as the caller says (struct virtual_behaviour), and
 * the caller moves the time.  A delay of 0 is told within the call that caused it, all else when
 * virtual_run_until passes it.  Reports carry true_at_ms.
 *
 * The world checks the scheduler from outside: virtual_complaint names the first device that was
 * given to more tasks than it holds.
 */
#ifndef MUSTER_BACKEND_VIRTUAL_VIRTUAL_H
#define MUSTER_BACKEND_VIRTUAL_VIRTUAL_H

#include "backend/backend.h"

#define VIRTUAL_FOREVER ((int64_t)-1)

enum virtual_on_signal {
    VIRTUAL_STOPS,   /* ends stop_ms after the signal */
    VIRTUAL_IGNORES, /* goes on until it is killed */
    VIRTUAL_STUCK,   /* not even a kill can be proven */
};

struct virtual_behaviour {
    int64_t start_ms; /* from the call to task_running; VIRTUAL_FOREVER = never told */
    int64_t run_ms;   /* from running to the end; VIRTUAL_FOREVER = until it is stopped */
    int64_t status;   /* exit status of that end */
    int on_signal;    /* enum virtual_on_signal */
    int64_t stop_ms;
    int64_t stop_status;         /* exit status of an end after the signal */
    bool says_done;              /* says `muster done` before it ends after the signal */
    bool saves_on_signal;        /* a checkpoint before it ends after the signal */
    int64_t kill_ms;             /* from the kill to the proof */
    int64_t checkpoint_every_ms; /* while it runs; 0 = never */
    bool refuses;                /* starts are refused */
    bool node_fault;             /* and the node is named as the cause */
};

/* Chances of a report, in millionths, drawn from a seeded generator. */
struct virtual_faults {
    uint64_t seed;
    int64_t late_ppm; /* comes up to late_ms later */
    int64_t late_ms;
    int64_t double_ppm;  /* comes a second time, up to late_ms later */
    int64_t missing_ppm; /* task_running is never told */
    int64_t refuse_ppm;  /* a task cannot be started */
};

/* A backend for all nodes of the policy in this cluster; ends with ops->free. */
struct backend *virtual_new(const char *cluster);

/* How jobs behave that have no behaviour of their own, and one job's own; both hold for what
 * starts, is signalled or killed from now on. */
void virtual_set_default(struct backend *b, const struct virtual_behaviour *how);
void virtual_set_job(struct backend *b, int64_t job, const struct virtual_behaviour *how);
void virtual_set_faults(struct backend *b, const struct virtual_faults *faults);
/* What holds for a job now. */
struct virtual_behaviour virtual_behaviour_of(struct backend *b, int64_t job);

/* When something happens next; INT64_MAX = never. */
int64_t virtual_next_ms(struct backend *b);
/* Let the time be now_ms and tell what has happened until then. */
void virtual_run_until(struct backend *b, int64_t now_ms);

/* All tasks of the job's running attempt end now with this status. */
void virtual_end_job(struct backend *b, int64_t job, int64_t status);
/* One task ends now by a fault. */
void virtual_fail_task(struct backend *b, int64_t job, int64_t task, int64_t signal);

/* The node can no longer be reached: what happens on it is told when it is back.  dies: its tasks
 * are gone when it comes back. */
void virtual_node_dark(struct backend *b, int64_t node, bool dies);
void virtual_node_back(struct backend *b, int64_t node);
/* The node is gone for good and so is all that ran on it. */
void virtual_node_gone(struct backend *b, int64_t node);

/* Tasks that are on nodes now, dark ones included. */
size_t virtual_task_count(struct backend *b);
/* The first broken promise of the scheduler, in words, or NULL. */
const char *virtual_complaint(struct backend *b);

#endif
