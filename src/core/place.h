/* place - where the tasks of a job would go: fit, fewest topology domains, tightest node, lowest
 * id.
 *
 * Placing puts each task on the ledger given as it goes, so that the next sees it; a failure puts
 * everything back.  Devices of the result live in the core's plan arena.
 */
#ifndef MUSTER_CORE_PLACE_H
#define MUSTER_CORE_PLACE_H

#include "base/err.h"
#include "core/job.h"
#include "core/load.h"

struct place_ask { /* count tasks of a group, with the numbers they get */
    const struct job *job;
    struct pool *pool;
    int group;
    const int64_t *numbers;
    int64_t count;
};

/* Place them; append to ret.  False: they do not fit. */
bool place_group(struct core *c, struct place_ask ask, enum ledger ledger, lease_tasks *ret);

/* Place the minimum of every group, for a start.  ret is empty on failure. */
bool place_start(struct core *c, const struct job *job, struct pool *pool, enum ledger ledger,
                 lease_tasks *ret);

/* Why a single node of the pool cannot take a task of this group, whatever runs: false and a code
 * of base/err.h (no model, no profile, no node with the labels, no domain, too large). */
bool place_possible(const struct core *c, const struct pool *pool,
                    const struct fact_job_submitted *ask, int group, struct err *err);

/* Index of a topology level by name: 0 … level_count-1, level_count for "node", -1 = unknown. */
int place_level(const struct core *c, const char *name);

/* What a task of the group charges in the pool, GPU units; -1: no card of the pool has the profile.
 */
int64_t place_task_gu(const struct core *c, const struct pool *pool, const struct fact_group *g);

/* Charge of the minimum of all groups, -1 as above. */
int64_t place_need_gu(const struct core *c, const struct pool *pool,
                      const struct fact_job_submitted *ask);

/* First number of the tasks of a group. */
int64_t place_first_task(const struct fact_job_submitted *ask, int group);

#endif
