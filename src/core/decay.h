/* decay - how much a queue has used lately: units × ms, halved every half-life.  Orders equals
 * between queues where the policy says so.  Fixed point, the same on every machine: 2^(-dt /
 * half-life) is a product of constants. */
#ifndef MUSTER_CORE_DECAY_H
#define MUSTER_CORE_DECAY_H

#include "base/int128.h"

#include <stdint.h>

struct core;

/* amount × 2^(-dt / half_life), rounded down; amount >= 0, dt >= 0, half_life > 0. */
int128 decay_of(int128 amount, int64_t dt_ms, int64_t half_life_ms);

/* A fact is about to change the usage of this leaf: bring it and all above it up to the fact's
 * time. */
void decay_touch(struct core *c, int leaf);

/* What the queue has used lately, at now. */
int128 decay_used(const struct core *c, int queue, int64_t now_ms);

#endif
