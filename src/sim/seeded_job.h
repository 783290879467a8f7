/* seeded_job - random jobs and how they behave. */
#ifndef MUSTER_SIM_SEEDED_JOB_H
#define MUSTER_SIM_SEEDED_JOB_H

#include "backend/virtual/virtual.h"
#include "base/arena.h"
#include "sim/seeded_site.h"

/* What a job asks for; lists live in the arena.  id is not set. */
struct fact_job_submitted seeded_job_make(struct site *s, struct rng *rng, struct arena *arena,
                                          const struct seeded_traits *traits);

struct virtual_behaviour seeded_job_behaviour(struct rng *rng, const struct seeded_traits *traits);

#endif
