/* stepledger - the list of steps that a trainer has done, one line a step, for proving that none
 * was lost or done twice.
 *
 * A line is "STEP ATTEMPT TOTAL": the step, the attempt of the job that did it, and the counter
 * after it.  Step s of a gang of W ranks adds s × (1 + 2 + … + W) to the counter, so a counter is
 * right only if every rank did its part of every step exactly once.
 */
#ifndef MUSTER_DEMO_STEPLEDGER_H
#define MUSTER_DEMO_STEPLEDGER_H

#include "base/err.h"

#include <stdint.h>

struct stepledger_sum {
    int64_t lines;    /* steps done, again included */
    int64_t last;     /* highest step */
    int64_t missing;  /* of 1 … last */
    int64_t again;    /* lines whose step was there before: work done twice */
    int64_t wrong;    /* lines whose counter is not what the step must give */
    int64_t attempts; /* highest attempt */
    int64_t resumed;  /* first step of the highest attempt, 0 = none */
};

/* The counter after step steps of a gang of ranks. */
int64_t stepledger_total(int64_t steps, int64_t ranks);

/* Append one line; it is one write, so that a kill leaves whole lines. */
MUST_CHECK int stepledger_add(const char *path, int64_t step, int64_t attempt, int64_t total,
                              struct err *err);
/* Read it all.  A step that is done again must have the same counter.  A file that is not there is
 * an empty list. */
MUST_CHECK int stepledger_read(const char *path, int64_t ranks, struct stepledger_sum *ret,
                               struct err *err);

#endif
