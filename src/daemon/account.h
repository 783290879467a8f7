/* account - who asks: local accounts and tokens to subjects, roles and queues.
 *
 * root and the account that musterd runs as have all roles: they can read and end it anyway.  Other
 * local accounts are those of the policy, by user name or by account, or unknown ones where the
 * policy lets them in.
 */
#ifndef MUSTER_DAEMON_ACCOUNT_H
#define MUSTER_DAEMON_ACCOUNT_H

#include "daemon/daemon.h"

/* For the table of http/service.h; ctx is the daemon.  ERR_UNAUTHENTICATED, ERR_IO. */
MUST_CHECK int account_of_uid(void *ctx, uint32_t uid, struct service_caller *ret, struct err *err);
MUST_CHECK int account_of_token(void *ctx, const char *token, struct service_caller *ret,
                                struct err *err);

/* Roles of a subject by the policy, with all they imply. */
unsigned account_roles(struct daemon *d, const char *subject);
/* The OS account that the subject's tasks run as; "" = musterd's own. */
const char *account_os(struct daemon *d, const char *subject);
/* May tasks run as the account here?  The last good answer is kept for some seconds.
 * ERR_JOB_ACCOUNT. */
MUST_CHECK int account_runs_here(struct daemon *d, const char *account, struct err *err);
/* May the subject submit to this leaf (by index)? */
bool account_may_submit(struct daemon *d, const char *subject, int queue);
/* Words of a set of roles. */
json_t *account_roles_json(unsigned roles);
/* The bit of a word, 0 = none. */
unsigned account_role_of(const char *word);

/* Is the caller the owner of the job, or allowed to act for others?  ERR_FORBIDDEN. */
MUST_CHECK int account_owns(const struct service_caller *caller, const struct job *j,
                            struct err *err);

/* Subjects for all users of a freshly read site.  keep: those who are new are written down, else
 * they get one for the trial only.  ERR_CONFLICT, ERR_IO. */
MUST_CHECK int account_bind(struct daemon *d, struct daemon_site *site, bool keep, struct err *err);

/* When a token was used last, 0 = not since the start. */
int64_t account_token_used_ms(struct daemon *d, int64_t token);
#endif
