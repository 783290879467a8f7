/* newsite - a configuration on its way into force: read, people and machine filled in, ids given.
 */
#ifndef MUSTER_DAEMON_NEWSITE_H
#define MUSTER_DAEMON_NEWSITE_H

#include "daemon/command.h"
#include "daemon/daemon.h"

/* From text; file names it in messages.  The caller owns *ret (daemon_site_free).  ERR_POLICY … */
MUST_CHECK int newsite_read(const char *text, size_t len, const char *file,
                            struct daemon_site **ret, struct err *err);
MUST_CHECK int newsite_load(const char *path, struct daemon_site **ret, struct err *err);

/* Subjects, simulated GPUs, CPUs and memory of this machine, ids against the policy in force; then
 * the core's own check.  keep: people who are new are written down, as it is to be applied. */
MUST_CHECK int newsite_prepare(struct daemon *d, struct daemon_site *site, bool keep,
                               struct err *err);

/* Put the prepared site to the engine: it is in force once durable.  Takes site.  command (done,
 * arg, answer) may be zero. */
MUST_CHECK int newsite_apply(struct daemon *d, struct daemon_site *taken, const char *subject,
                             const struct command *command, struct err *err);

/* After a start: the site of the journaled policy, from the content store.  ERR_NOT_FOUND: there is
 * no policy yet, or its text is not kept. */
MUST_CHECK int newsite_restore(struct daemon *d, struct daemon_site **ret, struct err *err);

#endif
