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

/* Run a life in a process of its own.  ERR_IO: it could not be begun. */
MUST_CHECK int shrink_try(const struct seeded_options *options, struct shrink_end *ret,
                          struct err *err);

/* options->cut must be writable through cut and is left at the smallest found; options->events and
 * faults too.  budget_s: begin no further try after so many seconds.  ERR_INVALID: the life does
 * not fail. */
MUST_CHECK int shrink_run(struct seeded_options *options, struct seeded_cut *cut, int64_t budget_s,
                          struct shrink_end *ret, struct err *err);

#endif
