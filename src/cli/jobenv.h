/* jobenv - which variables of the caller's environment a job gets: an allowlist, since what is
 * submitted is kept with the journal; and never a name that says "secret". */
#ifndef MUSTER_CLI_JOBENV_H
#define MUSTER_CLI_JOBENV_H

#include "cli/jobspec.h"

/* Is it passed on without being asked for? */
bool jobenv_allowed(const char *name);
/* Does the name say that its value is a secret? */
bool jobenv_secret(const char *name);
/* Put the allowed variables of environ into the body's env, where it has none of that name. */
void jobenv_add(struct jobspec *s, char *const *environ_list);

#endif
