/* fold - how each kind of fact changes the state.  core_apply dispatches here; nothing else changes
 * state. Each checks that the fact can follow before it changes anything. */
#ifndef MUSTER_CORE_FOLD_H
#define MUSTER_CORE_FOLD_H

#include "core/state.h"
#include "core/submit.h"

MUST_CHECK int fold_policy(struct core *c, const struct fact *f, struct err *err);
MUST_CHECK int fold_node_seen(struct core *c, const struct fact *f, struct err *err);
MUST_CHECK int fold_node_state(struct core *c, const struct fact *f, struct err *err);
MUST_CHECK int fold_node_drain(struct core *c, const struct fact *f, struct err *err);
MUST_CHECK int fold_device_state(struct core *c, const struct fact *f, struct err *err);
MUST_CHECK int fold_node_lost(struct core *c, const struct fact *f, struct err *err);

MUST_CHECK int fold_submitted(struct core *c, const struct fact *f, struct err *err);
MUST_CHECK int fold_asked(struct core *c, const struct fact *f, struct err *err);
MUST_CHECK int fold_checkpointed(struct core *c, const struct fact *f, struct err *err);
MUST_CHECK int fold_task(struct core *c, const struct fact *f, struct err *err);

MUST_CHECK int fold_started(struct core *c, const struct fact *f, struct err *err);
MUST_CHECK int fold_claimed(struct core *c, const struct fact *f, struct err *err);
MUST_CHECK int fold_stopped(struct core *c, const struct fact *f, struct err *err);
MUST_CHECK int fold_killed(struct core *c, const struct fact *f, struct err *err);
MUST_CHECK int fold_nomination_ended(struct core *c, const struct fact *f, struct err *err);
MUST_CHECK int fold_attempt_ended(struct core *c, const struct fact *f, struct err *err);
MUST_CHECK int fold_device_stuck(struct core *c, const struct fact *f, struct err *err);

MUST_CHECK int fold_token(struct core *c, const struct fact *f, struct err *err);

/* ---- shared by the fold_*.c ---- */

/* A waiting job of this pool (-1 = of all) might start now that could not before. */
void fold_wake(struct core *c, int pool);
/* The job's entries in the core's sets and its timer follow from its state; called after each
 * change. */
void fold_index_job(struct core *c, struct job *j);
/* A timer was set; the planner's memo of what it has seen follows. */
void fold_timer_set(struct core *c, int64_t due_ms);
/* Take one task off a lease: proven gone.  Its ledgers and quota follow. */
void fold_drop_task(struct core *c, struct job *j, size_t at);
/* End a nomination: what was promised is free again. */
void fold_drop_nomination(struct core *c, struct job *j);
/* All that is derived, anew from the canonical state: after a policy or odd nodes, and for a
 * snapshot. */
void fold_rebuild(struct core *c);
/* Place a node in its pool's indices. */
void fold_enter_pool(struct core *c, struct node *n);
/* The nominal size of a pool changed: reserves that nobody wrote follow it. */
void fold_nominal(struct core *c);
/* The timer of a node follows from its state. */
void fold_index_node(struct core *c, struct node *n);
/* Keep the reason of a decision with its job. */
void fold_reason(struct job *j, const struct fact_reason *why, int64_t seq);
/* A lease task from what a decision granted, devices in new memory; ERR_INVALID if there is no such
 * device. */
MUST_CHECK int fold_grant(const struct core *c, const struct fact_grant *g, struct lease_task *ret,
                          struct err *err);
/* A fault took tasks away: is the attempt below its minimum now? */
void fold_broken(struct core *c, struct job *j, int64_t now_ms);
void fold_free_tasks(lease_tasks *tasks);
/* A job with what was asked, known by id, in no set yet. */
struct job *fold_job_new(struct core *c, const struct fact_job_submitted *ask);
void fold_job_free(struct core *c, struct job *j);
void fold_node_free(struct node *n);

#endif
