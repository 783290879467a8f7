/* empty - a pool as if nothing ran in it and all its nodes were well. */
#ifndef MUSTER_CORE_EMPTY_H
#define MUSTER_CORE_EMPTY_H

#include "core/fact.h"
#include "core/pool.h"

#include <stdbool.h>

struct core;

/* Could the minimum of all groups be placed together?  Everything is as before afterwards. */
bool empty_places(struct core *c, struct pool *pool, int leaf,
                  const struct fact_job_submitted *ask);

#endif
