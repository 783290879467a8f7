/* rng - a seeded generator (splitmix64): the same numbers on every machine.  For tests, simulation
 * and sampling that must be repeatable; never for secrets. */
#ifndef MUSTER_BASE_RNG_H
#define MUSTER_BASE_RNG_H

#include <stdint.h>

struct rng {
    uint64_t state;
};

static inline struct rng rng_init(uint64_t seed)
{
    return (struct rng){seed};
}

static inline uint64_t rng_next(struct rng *r)
{
    uint64_t z = (r->state += 0x9e3779b97f4a7c15U);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

/* A number in [0, below); below > 0.  The bias is below 2^-32 for below < 2^32, which tests accept.
 */
static inline uint64_t rng_below(struct rng *r, uint64_t below)
{
    return rng_next(r) % below;
}

/* A number in [from, to], both included. */
static inline int64_t rng_range(struct rng *r, int64_t from, int64_t to)
{
    return from + (int64_t)rng_below(r, (uint64_t)(to - from) + 1);
}

#endif
