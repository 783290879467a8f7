/* submitgroup - the task groups of a submission, or the short form with one group. */
#ifndef MUSTER_DAEMON_SUBMITGROUP_H
#define MUSTER_DAEMON_SUBMITGROUP_H

#include "core/fact.h"
#include "daemon/bodyread.h"

/* What may stand at the top level where there are no groups; "name" is the job's there. */
#define SUBMITGROUP_FIELDS                                                                         \
    "tasks", "min_tasks", "gpus", "mig", "slices", "share", "share_memory", "mps", "cpus",         \
        "memory", "model", "topology", "labels", "nodes"

void submitgroup_read(struct bodyread *r, const struct jsonin *body,
                      struct fact_job_submitted *ret);

#endif
