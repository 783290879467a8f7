/* seeded_site - a random policy and random changes of it. */
#ifndef MUSTER_SIM_SEEDED_SITE_H
#define MUSTER_SIM_SEEDED_SITE_H

#include "base/rng.h"
#include "core/core.h"
#include "sim/site.h"

struct seeded_traits { /* what this life has in it */
    bool slices;       /* cards that are cut */
    bool shares;
    bool trouble; /* faults of backends and nodes */
};

/* A site whose reserves fit its cards. */
void seeded_site_make(struct site *s, struct rng *rng, const struct seeded_traits *traits);

/* Change one row at random; a change that the core would refuse is taken back.  False: refused. */
bool seeded_site_change(struct site *s, struct rng *rng, const struct core *c);

/* A leaf at random. */
struct policy_queue *seeded_site_leaf(struct site *s, struct rng *rng);

#endif
