/* units - who could be a victim of an ask at all, before any set of them is tried. */
#ifndef MUSTER_CORE_UNITS_H
#define MUSTER_CORE_UNITS_H

#include "core/claim.h"

typedef VEC(struct claim_unit) claim_units;

/* Candidates on the ledgers as they are, in order of the queues and ids.  ret is the caller's. */
void units_gather(struct core *c, const struct ask *ask, int64_t now_ms, claim_units *ret);

/* Those of the claimant's own queue only. */
void units_gather_own(struct core *c, const struct ask *ask, int64_t now_ms, claim_units *ret);

/* Could this job of another queue, which is over its reserve, go for the ask? */
bool units_may_go(struct core *c, const struct ask *ask, const struct job *j, int64_t now_ms);
/* Append what could go of a job of another queue: its surplus, task by task, and the whole. */
void units_add(struct core *c, struct job *j, int64_t now_ms, claim_units *ret);

/* The tasks of its job that the unit is about: all of them, or the one at u->at. */
const lease_tasks *units_tasks(const struct claim_unit *u);

/* Tasks of a group beyond its minimum that could still be told to go. */
int64_t units_surplus(const struct job *j, int group);
/* Units of an elastic job's tasks beyond its minimum. */
int64_t units_surplus_gu(const struct job *j);

/* Could a job of the claimant's own queue go for it?  (May say true wrongly.) */
bool units_own_any(struct core *c, const struct job *claimant);
/* The same for any claimant of so high a priority. */
bool units_own_below(struct core *c, int leaf, int64_t priority);

/* May a job that passed the planned start of the ask's go for it, on the ledgers as they are?  A
 * planned start beyond its reserve makes no victims of work of other queues that is within reserve,
 * and none that would take the place back by its rank. */
bool units_passer_may_go(struct core *c, const struct ask *ask, const struct job *j);
/* Could the job take the victim, of its own queue, by rule 4 alone? */
bool units_could_evict(const struct core *c, const struct job *j, const struct job *victim);

/* Could a search find anything, cheaply told?  (May say true wrongly.) */
bool units_any(struct core *c, const struct ask *ask, bool entitled);

#endif
