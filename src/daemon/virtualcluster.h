/* virtualcluster - the nodes of the policy, played in real time (musterd --virtual): nothing is
 * started on this machine.  For trying policies and for benchmarks.
 *
 * A job whose command is `sleep SECONDS` runs that long (0.25 is a quarter of a second), every
 * other one ends at once with status 0.  A task that is told to stop stops at once.  What ran is
 * lost when musterd ends, and is started again by it as after a lost node.
 */
#ifndef MUSTER_DAEMON_VIRTUALCLUSTER_H
#define MUSTER_DAEMON_VIRTUALCLUSTER_H

#include "backend/backend.h"

struct event_base;

struct virtualcluster_clock {
    void *ctx;
    int64_t (*now_ms)(void *ctx);
};

/* Serves the nodes of cluster; ends with ops->free.  base is lent for its life. */
struct backend *virtualcluster_new(const char *cluster, struct event_base *base,
                                   const struct virtualcluster_clock *clock);

/* How long a command runs, in ms. */
int64_t virtualcluster_run_ms(const struct backend_spec *spec);

#endif
