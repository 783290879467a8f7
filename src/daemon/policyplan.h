/* policyplan - what a policy would do to the jobs that are here, tried on copies of the core.
 * Nothing is ever stopped by a policy; what changes is what may start and when. */
#ifndef MUSTER_DAEMON_POLICYPLAN_H
#define MUSTER_DAEMON_POLICYPLAN_H

#include "daemon/daemon.h"

#define POLICYPLAN_JOBS_MAX 1000 /* waiting jobs that are explained, the oldest first */

/* A list of {"job": ID or null, "text"}.  The policy is prepared (newsite_prepare). */
MUST_CHECK int policyplan_effects(struct daemon *d, const struct policy *policy, json_t **ret,
                                  struct err *err);

#endif
