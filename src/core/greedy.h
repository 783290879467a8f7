/* greedy - sets of victims where there are too many candidates to try all sets: take in an order
 * until the claimant fits, give back what turns out not to be needed. */
#ifndef MUSTER_CORE_GREEDY_H
#define MUSTER_CORE_GREEDY_H

#include "core/hunt.h"

/* Try several orders; what works is kept in the hunt. */
void greedy_try(struct hunt *h, const unit_set *from);
/* Try this order. */
void greedy_in_order(struct hunt *h, unit_set *order);

/* Cheapest a GPU first: surplus before whole jobs, other queues before the own. */
int greedy_by_cost(const void *a, const void *b);

#endif
