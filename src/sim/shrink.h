/* shrink - a failing life made short: the fewest events, nodes, queues and faults with which the
 * same thing still fails.
 *
 * Delta debugging (Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input",
 * 2002) over the events, then over the site.  Each try is a process of its own, so that a broken
 * CHECK can be shrunk as well.
 */
#ifndef MUSTER_SIM_SHRINK_H
#define MUSTER_SIM_SHRINK_H

#include "sim/seeded.h"

struct shrink_end { /* of one life */
    bool failed;
    bool ran_out;   /* it had come to its end, see seeded_result */
    int64_t event;  /* at which it ended */
    char what[200]; /* did not hold, or which signal ended it */
    char text[400]; /* in full */
};

/* Run a life and say how it ended. */
typedef int shrink_try(void *ctx, const struct seeded_options *options, struct shrink_end *ret,
                       struct err *err);

/* In a process of its own; ctx is not used.  ERR_IO: it could not be begun. */
MUST_CHECK int shrink_try_life(void *ctx, const struct seeded_options *options,
                               struct shrink_end *ret, struct err *err);

struct shrink_job {
    struct seeded_options *options; /* events and faults are left at the fewest found */
    struct seeded_cut *cut;         /* of the options; what is cut is added to it */
    int64_t budget_s;               /* begin no further try after so many seconds */
    shrink_try *try_life;
    void *ctx;
};

/* ret: how the smallest ends.  ERR_INVALID: the life does not fail. */
MUST_CHECK int shrink_run(const struct shrink_job *job, struct shrink_end *ret, struct err *err);

#endif
