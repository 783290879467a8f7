/* act_gang - a gang of research borrows, gives back what applied-ml needs, and goes on from its
 * checkpoint ahead of what research queued later. */
#ifndef MUSTER_DEMO_ACT_GANG_H
#define MUSTER_DEMO_ACT_GANG_H

#include "demo/story.h"

MUST_CHECK int act_gang(struct story *s, int64_t step_ms, struct err *err);

#endif
