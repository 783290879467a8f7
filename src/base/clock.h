/* clock - the time of the daemon: ms UTC that never goes back, whatever happens to the wall clock.
 *
 * It is anchored to the wall once and then follows CLOCK_BOOTTIME, which counts sleep and is never
 * set.  A step of the wall beyond CLOCK_STEP_MS is told, so that it can be journaled:
 *   forwards: the time jumps along;
 *   backwards: the time goes on from where it is, one eighth slower until the wall has caught up.
 * Smaller differences are made up for in the same quiet way.
 *
 * Invariants: 1. no reading is below an earlier one; 2. without steps it keeps to the wall.
 * The core never sees it: time comes to it in facts.
 */
#ifndef MUSTER_BASE_CLOCK_H
#define MUSTER_BASE_CLOCK_H

#include <stdint.h>

#define CLOCK_STEP_MS ((int64_t)1000)

struct clock_reading { /* both clocks of the system at one instant, in nanoseconds */
    int64_t wall_ns;
    int64_t boot_ns;
};

struct clock {
    int64_t now_ns;   /* what was told last, UTC */
    int64_t boot_ns;  /* CLOCK_BOOTTIME then */
    int64_t ahead_ns; /* by how much now_ns was ahead of the wall */
};

struct clock_reading clock_read(void);

/* Anchor at the wall, or at not_before_ms (the last time in the journal) if that is later. */
void clock_start(struct clock *c, struct clock_reading r, int64_t not_before_ms);
/* The time at r in ms.  ret_step_ms (may be NULL) gets 0, or by how much the wall was stepped since
 * the last call: > 0 forwards. */
int64_t clock_advance(struct clock *c, struct clock_reading r, int64_t *ret_step_ms);
/* The time now: clock_advance to clock_read. */
int64_t clock_now_ms(struct clock *c, int64_t *ret_step_ms);

#endif
