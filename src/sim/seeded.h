/* seeded - a whole life of a cluster from one number: a random policy, random jobs and random
 * trouble, with the invariants checked after every step.
 *
 * Checked: the core's own invariants, what the virtual world saw (no device given twice), that the
 * roll of the journal and the core agree on who holds what, that the journal leads to the same
 * state, that a full plan decides the same, that core_plan changes nothing, and in quiet phases
 * that an entitled job starts in bounded time.  The same seed is the same life, bit for bit.
 */
#ifndef MUSTER_SIM_SEEDED_H
#define MUSTER_SIM_SEEDED_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct seeded_options {
    uint64_t seed;
    int64_t events;
    bool verbose; /* every decision as a line on stdout */
};

struct seeded_result {
    int64_t events; /* done */
    int64_t records;
    int64_t steps; /* each with all checks */
    int64_t starts;
    int64_t evictions;
    int64_t restarts;
    int64_t refused; /* submits and policies that were not taken */
    int64_t compared;
    int64_t probes; /* entitled jobs that were timed */
    int64_t core_us;
    struct str failure; /* the first thing that did not hold; empty = all well */
};

/* progress (may be NULL) is set to the number of the event at hand: a caller that shares it with
 * another process knows where this one died. */
void seeded_run(const struct seeded_options *options, volatile int64_t *progress,
                struct seeded_result *ret);
void seeded_result_fini(struct seeded_result *r);

#endif
