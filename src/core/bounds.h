/* bounds - what victims could give at the most, subtree by subtree: cheap refusals before a job is
 * tried at all.
 *
 * A subtree that is not over its reserve gives nothing; one that is gives what it has over, and one
 * indivisible victim more.  Computed once a plan from sums that each leaf keeps of its jobs; never
 * too low.
 */
#ifndef MUSTER_CORE_BOUNDS_H
#define MUSTER_CORE_BOUNDS_H

#include "core/job.h"

struct core;
struct bounds;

/* Of the ledgers and heads as they are; lives in the plan arena. */
const struct bounds *bounds_make(struct core *c, int64_t now_ms);

/* Surely no pool can start this job now, whoever is told to stop.  (False says nothing.) */
bool bounds_refuse(const struct bounds *b, const struct job *j);
/* The same of all that wait in a leaf, told by the least that any of them asks. */
bool bounds_refuse_leaf(const struct bounds *b, int leaf);

#endif
