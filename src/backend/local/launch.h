/* launch - the files and the process that a task begins with. */
#ifndef MUSTER_LOCAL_LAUNCH_H
#define MUSTER_LOCAL_LAUNCH_H

#include "backend/local/local_task.h"

/* Make the directories of the task, its script, and spec.json. */
MUST_CHECK int launch_prepare(const struct local_task *t, const struct backend_job *job,
                              size_t index, const struct osaccount *account, struct err *err);

/* Start muster-shepherd.  *ret_link is our end of its first connection, -1 when it starts elsewhere
 * (as a unit of systemd) and must be connected to. */
MUST_CHECK int launch_shepherd(struct local_task *t, int *ret_link, struct err *err);

/* Connect to the supervisor's socket.  ERR_UNREACHABLE. */
MUST_CHECK int launch_connect(const struct local_task *t, int *ret_link, struct err *err);

#endif
