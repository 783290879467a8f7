/* trial - what a waiting job can do now, by all ways that the rules give it, in their order. */
#ifndef MUSTER_CORE_TRIAL_H
#define MUSTER_CORE_TRIAL_H

#include "core/claim.h"

/* Try the job over its pools: entitled without eviction, entitled with eviction, borrow, priority
 * in its queue, take. On success the effect is on the planner's ledgers and ret says what to
 * decide. */
bool trial_job(struct core *c, struct job *j, int64_t now_ms, struct trial *ret);

/* Start what was promised, where it was promised or on anything else that is free. */
bool trial_nominated(struct core *c, struct job *j, int64_t now_ms, struct trial *ret);

struct more { /* tasks that an active job misses */
    int group;
    int64_t count;
    bool repair; /* below its minimum by a fault; else growth, which reclaims only inside reserve */
};

bool trial_more(struct core *c, struct job *j, struct more more, int64_t now_ms, struct trial *ret);

/* Promise a stopping victim its return to what it leaves, if that fits again. */
bool trial_return(struct core *c, struct job *j, int64_t now_ms, struct trial *ret);

#endif
