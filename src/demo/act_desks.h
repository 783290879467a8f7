/* act_desks - twenty people share development's cards in MIG slices. */
#ifndef MUSTER_DEMO_ACT_DESKS_H
#define MUSTER_DEMO_ACT_DESKS_H

#include "demo/story.h"

#define ACT_DESKS OWNMUSTERD_PEOPLE

struct act_desks {
    int64_t jobs[ACT_DESKS];
};

/* All come. */
MUST_CHECK int act_desks_come(struct story *s, struct act_desks *d, struct err *err);
/* Some leave a card, and somebody asks for another profile there: it is cut anew around those who
 * stay. */
MUST_CHECK int act_desks_recut(struct story *s, const struct act_desks *d, struct err *err);
/* All leave. */
MUST_CHECK int act_desks_leave(struct story *s, const struct act_desks *d, struct err *err);

#endif
