/* quotacheck - what a start does to limits, lends, borrow limits and reserves, at every level, from
 * the policy and the roll of the journal alone: the core's own sums are not asked.
 *
 * Decisions may break none of these, or make a breach that facts left any deeper (the quota rules
 * of the design, section 4).  What is asked for is the planned end: who was told to stop is gone,
 * and promises are kept.
 */
#ifndef MUSTER_SIM_QUOTACHECK_H
#define MUSTER_SIM_QUOTACHECK_H

#include "base/arena.h"
#include "core/policy.h"
#include "sim/roll.h"

/* The job has just started or grown, in a pool of this capacity; what it broke, or NULL. */
const char *quotacheck(const struct policy *policy, const struct roll *roll, int64_t job,
                       int64_t capacity_gu, struct arena *arena);

#endif
