/* inventory - the nodes that this machine stands for under a policy, as facts. */
#ifndef MUSTER_LOCAL_INVENTORY_H
#define MUSTER_LOCAL_INVENTORY_H

#include "backend/local/local_state.h"

/* Tell node_seen for each node of the cluster "local".  Simulated nodes get the devices that the
 * policy lists; the others share the cards of this machine in their order.  A count or model that
 * differs from the policy is a warning, and what is there counts.
 * ERR_UNSUPPORTED: a node is simulated and this backend takes none (the others are told). */
MUST_CHECK int inventory_observe(struct local *l, const struct policy *policy, struct err *err);

#endif
