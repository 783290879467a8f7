/* core - all policy of muster as a pure state machine.
 *
 * core_apply is the only thing that changes state; core_plan lists what should happen and changes
 * only the planner's scratch.  No I/O, clock, threads, floats, entropy: time comes in with the
 * facts.
 */
#ifndef MUSTER_CORE_CORE_H
#define MUSTER_CORE_CORE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/fact.h"

#define CORE_SNAPSHOT_FORMAT 2

struct core;

/* What should happen now, in order.  The facts and all they point to live until the next core_plan.
 */
struct decisions {
    const struct fact *items; /* at_ms = now, seq 0 */
    size_t count;
    int64_t next_plan_ms; /* plan again then even if nothing happens; INT64_MAX = never */
};

struct core *core_new(void);
void core_free(struct core *c);

/* Change the state by one fact; fact->at_ms is the only clock.
 * ERR_INVALID: the fact cannot follow this state; nothing was changed. */
MUST_CHECK int core_apply(struct core *c, const struct fact *fact, struct err *err);

/* List what should happen now.  What it lists becomes true once it is applied as facts; all of it
 * must be applied, in order, before the next plan.  core_hash is the same before and after. */
void core_plan(struct core *c, int64_t now_ms, struct decisions *ret);

/* Forget every memo, so that the next plan is a full one (the same decisions: a property test). */
void core_forget(struct core *c);

/* May this job ever run under the present policy?  Also checks that it is well formed.  The error
 * names the limit.  The fact's id need not be set. */
MUST_CHECK int core_submit_check(const struct core *c, const struct fact_job_submitted *job,
                                 struct err *err);

/* Would this policy be accepted in this state?  (Removed queues must be empty, ids must match
 * names, reserves within capacity unless overcommit.) */
MUST_CHECK int core_policy_check(const struct core *c, const struct policy *policy,
                                 struct err *err);

/* Canonical snapshot: JSON text by id, no caches; equal states give equal bytes. */
void core_snapshot(const struct core *c, struct str *ret);
/* A core from a snapshot; ret is written on success only. */
MUST_CHECK int core_restore(const char *text, size_t len, struct core **ret, struct err *err);

/* The first invariant of DESIGN section 10 that does not hold, in words, or NULL.  Cost grows with
 * the state. */
const char *core_check(const struct core *c, struct arena *arena);

int64_t core_now_ms(const struct core *c);   /* at_ms of the last fact */
int64_t core_next_job(const struct core *c); /* the next free ids */
int64_t core_next_node(const struct core *c);
int64_t core_next_token(const struct core *c);
int64_t core_next_pool(const struct core *c);
int64_t core_next_queue(const struct core *c);

#endif
