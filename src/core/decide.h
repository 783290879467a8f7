/* decide - the decisions of a plan as facts, with the numbers they rest on.  All of it lives in the
 * plan arena. */
#ifndef MUSTER_CORE_DECIDE_H
#define MUSTER_CORE_DECIDE_H

#include "base/quantity.h"
#include "core/claim.h"
#include "core/state.h"

/* Append a decision and return its body, zeroed, to be filled; ERR texts are "" until set. */
void *decide_new(struct core *c, enum fact_kind kind);

/* A reason with room for numbers; that for jobs is made with the first of them. */
struct fact_reason decide_reason(struct core *c, const char *rule, const char *text);
void decide_number(struct fact_reason *why, const char *name, int64_t value);
void decide_job(struct core *c, struct fact_reason *why, int64_t job);
#define DECIDE_NUMBERS_MAX 8
#define DECIDE_JOBS_MAX    64

/* Lease tasks as grants, in the arena. */
struct fact_grant *decide_grants(const struct core *c, const lease_tasks *tasks, struct arena *a);

/* A start (step 1) or a growth; tasks is what is new. */
void decide_start(struct core *c, struct job *j, const struct trial *t, int64_t now_ms);
/* When a victim that is told now is killed: its queue's grace, or what the job asked within the
 * queue's most. */
int64_t decide_deadline(const struct core *c, const struct job *victim, int64_t now_ms);
/* A claim. */
void decide_claim(struct core *c, struct job *j, const struct trial *t, int64_t now_ms);

#endif
