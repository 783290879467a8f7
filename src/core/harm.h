/* harm - the order among lawful sufficient sets of victims (rule 6), as a value that can be
 * compared. */
#ifndef MUSTER_CORE_HARM_H
#define MUSTER_CORE_HARM_H

#include "core/claim.h"

struct harm {
    const struct claim_unit *const *units;
    int count;
    bool whole; /* takes a whole job, not only elastic surplus */
    bool below; /* takes another queue below its reserve */
    bool own;   /* takes jobs of the claimant's own queue */
    int64_t cost_gu_ms;
    int jobs;
    int64_t oldest_start_ms;
};

/* Of the units taken off the ledgers just now; the ledgers tell which queues are below their
 * reserve. */
struct harm harm_of(const struct core *c, const struct ask *ask,
                    const struct claim_unit *const *units, int count);

/* Equal in all that comes before priorities, and a evicts lower ones inside the queues that both
 * take from. */
bool harm_beats_by_priority(const struct harm *a, const struct harm *b);

/* Is a less harm than b, priorities apart?  Equal sets are told apart by the ids of their jobs. */
bool harm_less(const struct harm *a, const struct harm *b);

#endif
