/* world - the real engine over a journal in memory and the virtual backend, in virtual time.
 *
 * What the daemon is to a cluster the world is to a simulation: it queues facts, steps the engine
 * and lets the time pass.  It holds no policy.
 */
#ifndef MUSTER_SIM_WORLD_H
#define MUSTER_SIM_WORLD_H

#include "backend/virtual/virtual.h"
#include "engine/engine.h"
#include "sim/roll.h"
#include "sim/site.h"

/* Every durable record, in order. */
typedef void world_watch(void *ctx, const struct fact *fact, const struct journal_record *record);

struct world {
    struct journal *journal;
    struct engine *engine;
    struct backend *backend; /* virtual */
    struct roll roll;
    int64_t now_ms;
    int plans_max;          /* plans in one commit, 0 = as many as there are */
    int64_t engine_next_ms; /* what the last step asked for */
    bool stopped;           /* nothing happens any more: set by who watches */
    world_watch *watch;
    void (*after_step)(void *ctx); /* may be NULL */
    void *watch_ctx;               /* of both */
};

/* The outcome of a fact that was put with world_ask. */
struct world_answer {
    int rc;
    int64_t seq;
    struct err err;
};

void world_init(struct world *w, int64_t now_ms, int plans_max);
void world_fini(struct world *w);

struct core *world_core(struct world *w);

/* Queue a fact; it is applied by the next step. */
void world_put(struct world *w, const struct fact *fact);
/* Queue a fact, step, and say what became of it. */
MUST_CHECK int world_ask(struct world *w, const struct fact *fact, struct err *err);

/* One step of the engine at the present time. */
void world_step(struct world *w);
/* Steps until nothing more happens at the present time. */
void world_settle(struct world *w);
/* Let the time pass until now_ms, stepping whenever the backend or the engine has something. */
void world_run_until(struct world *w, int64_t now_ms);
/* When something happens next; INT64_MAX = never. */
int64_t world_next_ms(struct world *w);

/* The daemon dies and a new one starts over the same journal and the same running tasks. */
MUST_CHECK int world_restart(struct world *w, struct err *err);

/* Set the policy of a site. */
MUST_CHECK int world_set_policy(struct world *w, struct site *site, struct err *err);

#endif
