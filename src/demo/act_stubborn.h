/* act_stubborn - a gang that ignores the signal is killed when its grace is over; what it lost is
 * priced beforehand, and metered. */
#ifndef MUSTER_DEMO_ACT_STUBBORN_H
#define MUSTER_DEMO_ACT_STUBBORN_H

#include "demo/story.h"

MUST_CHECK int act_stubborn(struct story *s, int64_t step_ms, struct err *err);

#endif
