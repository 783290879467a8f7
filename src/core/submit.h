/* submit - is this ask well formed, and could it ever run?  core_submit_check of core.h is here. */
#ifndef MUSTER_CORE_SUBMIT_H
#define MUSTER_CORE_SUBMIT_H

#include "core/core.h"
#include "core/pool.h"

#define SUBMIT_TASKS_MAX  100000
#define SUBMIT_GROUPS_MAX 64

/* The form alone: numbers in range, one kind of GPU request a group. */
MUST_CHECK int submit_check_form(const struct fact_job_submitted *ask, struct err *err);

/* Could it ever run in this pool under the present policy, were the pool empty and well? */
MUST_CHECK int submit_check_pool(struct core *c, struct pool *p, int leaf,
                                 const struct fact_job_submitted *ask, struct err *err);

#endif
