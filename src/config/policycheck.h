/* policycheck - what a policy may not say although each of its values is well formed: reserves
 * within the parent's and the capacity, one model a pool, MIG tables, levels.  Each with its place.
 */
#ifndef MUSTER_CONFIG_POLICYCHECK_H
#define MUSTER_CONFIG_POLICYCHECK_H

#include "config/policyfile.h"

void policycheck_run(const struct site *site, const struct policyfile *f, struct complaints *c);

#endif
