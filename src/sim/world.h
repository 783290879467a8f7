/* world - the real engine over a journal and the virtual backend, in virtual time.
 *
 * What the daemon is to a cluster the world is to a simulation: it queues facts, steps the engine
 * and lets the time pass.  It holds no policy.
 *
 * The world's time never stands still or goes back.  The daemon's is the same, unless it has a
 * clock of its own (clocked) that somebody sets: then now_ms is what a good clock would show and
 * the engine is told what the daemon's shows.
 */
#ifndef MUSTER_SIM_WORLD_H
#define MUSTER_SIM_WORLD_H

#include "backend/virtual/virtual.h"
#include "base/clock.h"
#include "base/rng.h"
#include "engine/engine.h"
#include "sim/relay.h"
#include "sim/roll.h"
#include "sim/site.h"
#include "sim/torndisk.h"

/* Every durable record, in order. */
typedef void world_watch(void *ctx, const struct fact *fact, const struct journal_record *record);

struct world {
    struct journal *journal;
    struct engine *engine;
    struct backend *backend;     /* virtual */
    struct relay *relay;         /* between the two, NULL = none; the caller's */
    const struct torndisk *disk; /* of the journal: once it is dead nobody hears of anything */
    struct roll roll;
    int64_t now_ms;
    bool clocked;
    int64_t wall_ms; /* what the daemon's wall clock is ahead of now_ms */
    struct clock clock;
    int64_t snapshot_every; /* records */
    int plans_max;          /* plans in one commit, 0 = as many as there are */
    bool alone;             /* measure the calls of the core: stats.call_us */
    int64_t clock_ns;       /* what it costs to ask for the time, and how often it was asked */
    int64_t clock_reads;
    int64_t engine_next_ms; /* what the last step asked for, in the world's time */
    /* Appends that take time, as by musterd's thread: the engine goes on only when the batch is on
     * disk, and what comes in meanwhile waits.  write_ms 0 = no time at all. */
    bool threaded;
    int64_t write_ms; /* at most */
    struct rng rng;
    struct journal_record *writing; /* lent by the engine */
    size_t writing_count;
    int64_t written_ms; /* when it will be on disk */
    bool stopped;       /* nothing happens any more: set by who watches */
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

/* The world without journal and engine: the caller sets journal, relay and clocked, and opens it.
 */
void world_prepare(struct world *w, int64_t now_ms, int plans_max);
/* A new engine over the journal. */
MUST_CHECK int world_open(struct world *w, struct err *err);
/* Prepared, over a journal in memory, and opened. */
void world_init(struct world *w, int64_t now_ms, int plans_max);
/* Close what is open; the journal too. */
void world_fini(struct world *w);

struct core *world_core(struct world *w);

/* A record is durable: the roll and whoever watches hear of it. */
void world_tell(struct world *w, const struct fact *fact, const struct journal_record *record);

/* Queue a fact; it is applied by the next step. */
void world_put(struct world *w, const struct fact *fact);
/* Queue a fact, step, and say what became of it. */
MUST_CHECK int world_ask(struct world *w, const struct fact *fact, struct err *err);

/* One step of the engine at the present time. */
void world_step(struct world *w);
/* Have the new engine take up what runs. */
MUST_CHECK int world_adopt(struct world *w, struct err *err);
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
