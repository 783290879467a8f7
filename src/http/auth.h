/* auth - who asks, and whether a row's least role is theirs.
 *
 * A bearer token goes before the peer's uid, so that a job's own token works on the unix socket.
 * Roles imply others: admin all, operator submit and read, submit read, auditor read.
 */
#ifndef MUSTER_HTTP_AUTH_H
#define MUSTER_HTTP_AUTH_H

#include "base/err.h"
#include "http/service.h"

#include <stdbool.h>
#include <stddef.h>

#define AUTH_TOKEN_MAX 512

struct auth_peer {
    bool local;   /* unix socket: uid is the kernel's word */
    uint32_t uid; /* (uint32_t)-1 over TCP */
};

/* authorization is the header's value or NULL.  subject is copied: the caller ends the result with
 * auth_caller_fini.  ERR_UNAUTHENTICATED: nobody, or a scheme that is not Bearer. */
MUST_CHECK int auth_caller(const struct service *service, const struct auth_peer *peer,
                           const char *authorization, struct service_caller *ret, struct err *err);
void auth_caller_fini(struct service_caller *c);

/* roles with all that they imply. */
unsigned auth_implied(unsigned roles);
/* May the caller use a row of least role role on target?  A row of ROLE_TASK is for the job's own
 * token, or for a submitter, whose ownership the daemon checks.  ERR_FORBIDDEN. */
MUST_CHECK int auth_check(const struct service_caller *caller, unsigned role, const char *target,
                          struct err *err);

/* Against DNS rebinding: host is the Host header (or NULL) of a TCP request.  localhost, 127.0.0.1
 * and [::1] are right, with any port; so are the names given.  ERR_FORBIDDEN. */
MUST_CHECK int auth_host(const char *host, const char *const *names, size_t name_count,
                         struct err *err);

#endif
