/* loop - when musterd does what: one thread, timers, signals, and the step of the engine.
 *
 * A step is made once for all that came in during one turn of the loop, so that many submissions
 * share one commit.  SIGTERM and SIGINT stop gracefully, SIGHUP reads the policy again, SIGPIPE is
 * ignored.
 */
#ifndef MUSTER_DAEMON_LOOP_H
#define MUSTER_DAEMON_LOOP_H

#include "base/err.h"

#include <stdint.h>

struct daemon;
struct event_base;
struct loop;

struct loop_hooks {
    struct daemon *d;
    int64_t (*step)(struct daemon *d); /* returns when to step again, ms of the daemon's clock */
    int64_t (*now_ms)(struct daemon *d);
    void (*stop)(struct daemon *d, int signal);
    void (*reload)(struct daemon *d);
    void (*tick)(struct daemon *d); /* once a second */
};

MUST_CHECK int loop_new(struct event_base *base, const struct loop_hooks *hooks, struct loop **ret,
                        struct err *err);
void loop_free(struct loop *l);

/* Step before the loop waits again. */
void loop_step_soon(struct loop *l);
/* The step now, before anything else that is ready. */
void loop_step_now(struct loop *l);
MUST_CHECK int loop_run(struct loop *l, struct err *err);
void loop_end(struct loop *l);

#endif
