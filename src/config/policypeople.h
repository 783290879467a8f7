/* policypeople - who may do what: users, their roles and queues, and the members that queues name.
 */
#ifndef MUSTER_CONFIG_POLICYPEOPLE_H
#define MUSTER_CONFIG_POLICYPEOPLE_H

#include "config/policyfile.h"

/* Fill the users of the policy (its queues are there).  Subjects that the file does not name are
 * "": the daemon has a table of them. */
void policypeople_build(const struct site *site, struct complaints *c, struct policyfile *ret);

/* Index of a queue by name, or -1. */
int64_t policypeople_queue(const struct policy *policy, const char *name);

#endif
