/* scenario - a text file with a site, what happens at which time, and what should come of it.
 *
 *   # Reclaim: the owner gets back what was lent.
 *   node n1 gpus=8
 *   queue a reserved=8
 *   behave * stops=30
 *   t=0 submit A1 queue=a tasks=8
 *   and submit A2 queue=a                    (in the same batch as the line above)
 *   t=100 expect A1 running
 *   t=100 why A2
 *   ---
 *   0 start A1.1 on n1:0-7, 8 reserved + 0 borrowed (…)
 *
 * Above the line of dashes is what is played, below it is every decision as it must come, with the
 * answers of `why` and `show`.  `expect` lines hold whatever is below.  After every event the
 * invariants of the core are checked, and at the end the journal is replayed to the same state.
 *
 * Events: submit, group, behave, cancel, hold, release, requeue, done, checkpoint, end, fail-task,
 * late-end, node-dark, node-back, node-gone, drain, resume, device-out, device-in, policy, restart,
 * freeze, thaw, wait, why, show, expect, expect-queue, expect-node.
 */
#ifndef MUSTER_SIM_SCENARIO_H
#define MUSTER_SIM_SCENARIO_H

#include "base/err.h"
#include "base/str.h"

struct scenario_result {
    struct str got;      /* the lines that came */
    struct str failures; /* what should have been otherwise, a line each; empty = all well */
    struct str head;     /* the file's part above the dashes, as it is */
    struct str want;     /* and below */
};

/* Play the file.  An error is one of the file itself. */
MUST_CHECK int scenario_play(const char *path, struct scenario_result *ret, struct err *err);
void scenario_result_fini(struct scenario_result *r);

/* Write the file again with what came below the dashes. */
MUST_CHECK int scenario_update(const char *path, const struct scenario_result *r, struct err *err);

#endif
