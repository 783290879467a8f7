/* osaccount - the account of this machine that the tasks of a job run as.
 *
 * Only root may become somebody else: a musterd that is not root runs its own account's jobs only
 * and refuses others.
 */
#ifndef MUSTER_LOCAL_OSACCOUNT_H
#define MUSTER_LOCAL_OSACCOUNT_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define OSACCOUNT_TEXT_MAX   256
#define OSACCOUNT_GROUPS_MAX 256

struct osaccount {
    bool change; /* tasks must become it; false: it is the account of this process */
    uid_t uid;
    gid_t gid;
    gid_t groups[OSACCOUNT_GROUPS_MAX];
    size_t group_count;
    char name[OSACCOUNT_TEXT_MAX];
    char home[OSACCOUNT_TEXT_MAX];
    char shell[OSACCOUNT_TEXT_MAX];
};

/* Look up a name; "" is the account of this process.  ERR_JOB_ACCOUNT: there is none of that name,
 * or this process may not become it. */
MUST_CHECK int osaccount_find(const char *name, struct osaccount *ret, struct err *err);

#endif
