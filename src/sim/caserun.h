/* caserun - a case through the real engine, and what came of it as one line of JSON:
 *   {"id":…,"settled":true,"pods":{job:[{"node":…,"gpus":[…]}]},"evicted":[…],"plan_us":…}
 * What runs at the start is journaled as the decisions that would have started it, at its own time;
 * nothing is planned before all is in.  No job ever ends by itself, and a stop takes no time.
 */
#ifndef MUSTER_SIM_CASERUN_H
#define MUSTER_SIM_CASERUN_H

#include "base/str.h"
#include "sim/casefile.h"

/* decisions (may be NULL) gets every decision as a line.
 * ERR_INVALID: the core does not take the case as it is written. */
MUST_CHECK int caserun(struct casefile *c, struct str *ret, struct str *decisions, struct err *err);

#endif
