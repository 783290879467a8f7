/* relay - stands between the engine and a backend, and holds the engine to its word.
 *
 * Told of every durable record, it complains of a call for which no decision is durable: a start
 * that no job_started says so, a signal before a claim or a stop, a kill before job_killed or the
 * loss of a node.  While the daemon is down it lets nothing through in either direction; and calls
 * may fail, as the calls of a real engine do.
 */
#ifndef MUSTER_SIM_RELAY_H
#define MUSTER_SIM_RELAY_H

#include "backend/backend.h"
#include "base/omap.h"
#include "base/rng.h"
#include "sim/torndisk.h"

#define RELAY_COMPLAINT_MAX 200

struct relay {
    struct backend base;   /* what the engine sees */
    struct backend *inner; /* lent */
    bool down;
    const struct torndisk *disk; /* once it is dead the daemon is down; NULL = none */
    int64_t skew_ms;             /* what the daemon's clock is ahead of the world's */
    int64_t fail_ppm;            /* chance of a start or a signal to fail */
    struct rng rng;
    struct omap starts; /* (job, attempt, step) -> hash of what is wanted, + 1 */
    struct omap told;   /* (job, attempt) told to stop, by a durable decision */
    struct omap killed;
    int64_t nodes_lost; /* durable */
    int64_t calls;
    char complaint[RELAY_COMPLAINT_MAX]; /* the first; "" = none */
};

void relay_init(struct relay *r, struct backend *inner);
void relay_fini(struct relay *r);
/* A record is durable. */
void relay_note(struct relay *r, const struct fact *fact);

#endif
