/* policyfile - from what is written in the configuration to the policy: names are resolved,
 * inherited settings filled in, node patterns expanded.
 *
 * Ids are provisional: index + 1 of pool, queue and node.  policyids gives the real ones. */
#ifndef MUSTER_CONFIG_POLICYFILE_H
#define MUSTER_CONFIG_POLICYFILE_H

#include "config/siterows.h"

#define POLICYFILE_POOLS_MAX  256
#define POLICYFILE_QUEUES_MAX 10000
#define POLICYFILE_USERS_MAX  100000
#define POLICYFILE_CLUSTER    "local" /* of the nodes that a file lists */

struct policyfile {
    struct policy policy;
    /* what the rows of the policy were made from, by index */
    const struct site_pool **pools;
    const struct site_queue **queues;
    const struct site_node **nodes;
    const struct site_user **users;
};

/* What is wrong is added to c; the result is complete only when nothing was. */
void policyfile_build(const struct site *site, struct complaints *c, struct policyfile *ret);

#endif
