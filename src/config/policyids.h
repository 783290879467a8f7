/* policyids - the immutable ids of pools, queues and nodes, by name, against the policy before. */
#ifndef MUSTER_CONFIG_POLICYIDS_H
#define MUSTER_CONFIG_POLICYIDS_H

#include "core/policy.h"

#include "base/arena.h"

struct policyids { /* the next free ids */
    int64_t pool;
    int64_t queue;
    int64_t node;
};

/* Replace the ids of policy: a name that previous has (NULL = there is none) keeps its id, others
 * get the next free ones.  Changes everything in policy that holds an id; its arrays are its own.
 */
void policyids_assign(struct policy *policy, const struct policy *previous,
                      const struct policyids *next);

#endif
