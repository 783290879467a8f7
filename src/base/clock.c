/* Readings come in from outside (clock_read), so every step and every sleep can be tested.
 *
 * After a step backwards the time could also stand still until the wall has caught up: rejected,
 * as no timer would fire for as long.  Running an eighth slower costs a wait of 8 s for each
 * second, and a job's minutes are at most an eighth short meanwhile. */
#include "base/clock.h"

#include "base/check.h"

#include <stddef.h>
#include <time.h>

#define NS_PER_MS ((int64_t)1000000)
#define NS_PER_S  ((int64_t)1000000000)
#define SLEW      8 /* one part in so many is given up or won */

static int64_t read_ns(clockid_t id)
{
    struct timespec t;

    CHECK(clock_gettime(id, &t) == 0);
    return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

struct clock_reading clock_read(void)
{
    return (struct clock_reading){.wall_ns = read_ns(CLOCK_REALTIME),
                                  .boot_ns = read_ns(CLOCK_BOOTTIME)};
}

void clock_start(struct clock *c, struct clock_reading r, int64_t not_before_ms)
{
    int64_t least_ns = not_before_ms * NS_PER_MS;

    c->now_ns = r.wall_ns > least_ns ? r.wall_ns : least_ns;
    c->boot_ns = r.boot_ns;
    c->ahead_ns = c->now_ns - r.wall_ns;
}

/* What of the lead (or the lag, below 0) is made up for in passed_ns. */
static int64_t made_up(int64_t ahead_ns, int64_t passed_ns)
{
    int64_t most = passed_ns / SLEW;

    if (ahead_ns > most) {
        return most;
    }
    return ahead_ns < -most ? -most : ahead_ns;
}

int64_t clock_advance(struct clock *c, struct clock_reading r, int64_t *ret_step_ms)
{
    int64_t passed_ns = r.boot_ns > c->boot_ns ? r.boot_ns - c->boot_ns : 0;
    int64_t step_ns = r.wall_ns - (c->now_ns - c->ahead_ns) - passed_ns;
    int64_t step_ms = step_ns / NS_PER_MS;

    if (step_ms <= CLOCK_STEP_MS && step_ms >= -CLOCK_STEP_MS) {
        step_ms = 0;
    }
    c->now_ns += passed_ns - made_up(c->ahead_ns, passed_ns);
    if (step_ms > 0 && r.wall_ns > c->now_ns) {
        c->now_ns = r.wall_ns;
    }
    c->boot_ns = r.boot_ns;
    c->ahead_ns = c->now_ns - r.wall_ns;
    if (ret_step_ms != NULL) {
        *ret_step_ms = step_ms;
    }
    return c->now_ns / NS_PER_MS;
}

int64_t clock_now_ms(struct clock *c, int64_t *ret_step_ms)
{
    return clock_advance(c, clock_read(), ret_step_ms);
}
