/* moves - consolidation: smaller preemptible jobs are stopped and restarted elsewhere in the same
 * plan, so that a claim that fits by count fits by place too (DESIGN section 5).  Off unless the
 * policy says so. */
#ifndef MUSTER_CORE_MOVES_H
#define MUSTER_CORE_MOVES_H

#include "core/claim.h"

bool moves_search(struct core *c, const struct ask *ask, int64_t now_ms, struct trial *ret);

#endif
