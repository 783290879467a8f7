/* due - decisions that need no capacity: what is over, what must stop, be killed or given up. */
#ifndef MUSTER_CORE_DUE_H
#define MUSTER_CORE_DUE_H

#include "core/state.h"

/* True if it decided anything: the plan ends there and is made anew once that is applied. */
bool due_decide(struct core *c, int64_t now_ms);

#endif
