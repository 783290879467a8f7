/* jobview - a job as the API shows it. */
#ifndef MUSTER_DAEMON_JOBVIEW_H
#define MUSTER_DAEMON_JOBVIEW_H

#include "core/why.h"
#include "daemon/daemon.h"

/* One row of a list. */
/* info: say why it waits, which may take some milliseconds where very much does; else "". */
json_t *jobview_row(struct daemon *d, const struct job *j, bool info);
/* The row with groups, tasks, history and command. */
json_t *jobview_full(struct daemon *d, const struct job *j);
json_t *jobview_why(struct daemon *d, const struct why *w);
/* What all tasks of a group ask for together, in GPU units. */
int64_t jobview_group_gu(struct daemon *d, const struct fact_group *g);
/* Names by index; "" where there is none. */
const char *jobview_pool_name(struct daemon *d, int pool);
const char *jobview_pool_of_id(struct daemon *d, int64_t pool_id);
const char *jobview_queue_name(struct daemon *d, int64_t queue_id);

#endif
