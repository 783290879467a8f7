/* random_value - structs filled at random by the tables of core/schema.h, for tests that must hold
 * for every kind of record. */
#ifndef MUSTER_TESTS_UNIT_CORE_RANDOM_VALUE_H
#define MUSTER_TESTS_UNIT_CORE_RANDOM_VALUE_H

#include "base/arena.h"
#include "base/rng.h"
#include "core/schema.h"

/* A new struct in the arena; about a third of the fields stay zero, lists hold up to six items. */
void *random_value(const struct schema *schema, struct rng *rng, struct arena *arena);
/* The same with numbers from 0 to 9 most of the time, so that ids often exist. */
void *random_small_value(const struct schema *schema, struct rng *rng, struct arena *arena);

#endif
