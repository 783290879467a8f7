/* units - who could be a victim of an ask at all, before any set of them is tried. */
#ifndef MUSTER_CORE_UNITS_H
#define MUSTER_CORE_UNITS_H

#include "core/claim.h"

typedef VEC(struct claim_unit) claim_units;

/* Candidates on the ledgers as they are, in order of the queues and ids.  ret is the caller's. */
void units_gather(struct core *c, const struct ask *ask, int64_t now_ms, claim_units *ret);

/* Tasks of a group beyond its minimum that could still be told to go. */
int64_t units_surplus(const struct job *j, int group);
/* Units of an elastic job's tasks beyond its minimum. */
int64_t units_surplus_gu(const struct job *j);

/* Could a job of the claimant's own queue go for it?  (May say true wrongly.) */
bool units_own_any(struct core *c, const struct job *claimant);

/* Could a search find anything, cheaply told?  (May say true wrongly.) */
bool units_any(struct core *c, const struct ask *ask, bool entitled);

#endif
