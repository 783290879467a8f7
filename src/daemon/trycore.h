/* trycore - a copy of the core that takes one more fact and plans: what would happen, while nothing
 * does.  Of a dry run and of `policy plan`. */
#ifndef MUSTER_DAEMON_TRYCORE_H
#define MUSTER_DAEMON_TRYCORE_H

#include "daemon/daemon.h"

struct trycore {
    struct core *core;
    struct decisions decisions; /* of one plan, until they are carried out */
};

/* fact may be NULL: what would be decided as it is.  Its at_ms and seq are set here.
 * ERR_*: the core refuses the fact.  End with trycore_fini, also after a failure. */
MUST_CHECK int trycore_init(struct trycore *t, struct daemon *d, struct fact *fact,
                            struct err *err);
void trycore_fini(struct trycore *t);

/* Does the plan start this job? */
bool trycore_starts(const struct trycore *t, int64_t job);

/* Apply what the plan decided, so that why_job(t->core) speaks of the time after it. */
void trycore_carry_out(struct trycore *t, int64_t seq);

#endif
