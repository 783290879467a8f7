/* engine - one step of muster: facts in, journal, apply, plan, journal, apply, act.
 *
 * The engine owns the core and drives the interfaces of journal and backend; it has no clock, no
 * threads and no event loop, so the simulator runs the real one.  The caller gives it facts and the
 * time, and calls engine_step.
 *
 * A step: all queued facts are checked and applied, then plans are made and their decisions applied
 * until nothing more is decided, and everything is appended to the journal as one batch.  Only when
 * that is durable do answers leave and backends hear of it.  A batch that cannot be appended
 * discards the core, which is replayed.
 *
 * With a committer the append goes on elsewhere: a step ends where it begins, what comes in
 * meanwhile is queued for the next batch, and engine_committed does the rest.  At most one batch is
 * on its way, so the core is never further ahead of the journal than by that one.
 */
#ifndef MUSTER_ENGINE_ENGINE_H
#define MUSTER_ENGINE_ENGINE_H

#include "backend/backend.h"
#include "base/err.h"
#include "core/core.h"
#include "journal/journal.h"

/* Plans made for one batch at most; what is left comes with the next. */
#define ENGINE_PLANS_MAX 64

struct engine;

/* The outcome of one fact: rc 0 and its seq once durable, or why it was refused (nothing
 * journaled). */
typedef void engine_done(void *arg, int rc, int64_t seq, const struct err *err);

struct engine_hooks {
    void *ctx;
    /* Fill the processes of a job (content store), or an error: the attempt's tasks are refused. */
    int (*spec)(void *ctx, const struct fact_job_submitted *job, struct backend_spec *ret,
                struct err *err);
    /* A durable record, in order: streams, waiting callers.  fact is lent. */
    void (*durable)(void *ctx, const struct fact *fact, const struct journal_record *record);
    /* A snapshot was made (lent), of a state that is durable, and is being kept.  NULL = nobody
     * wants to know. */
    void (*snapshot)(void *ctx, const struct journal_snapshot *snapshot);
    /* The disk is full (true) or well again (false). */
    void (*disk_full)(void *ctx, bool full, const struct err *err);
    /* Thread CPU time in microseconds, to measure the core; NULL = not measured.  No decision
     * depends on it. */
    int64_t (*cpu_us)(void *ctx);
    /* The same, but around each call of the core, which costs two readings a fact. */
    int64_t (*call_us)(void *ctx);
};

/* Who appends, if not the engine itself.  All calls come from the engine's thread. */
struct engine_committer {
    void *ctx;
    /* Begin to append these records, lent until engine_committed, which is called later and never
     * within. */
    void (*append)(void *ctx, struct journal_record *records, size_t count);
    /* Begin to keep a snapshot; its bytes are taken (mem_free).  One that fails is only missed. */
    void (*snapshot)(void *ctx, const struct journal_snapshot *taken);
    /* Return when nothing is being written any more: the engine is about to write itself. */
    void (*wait)(void *ctx);
};

struct engine_stats {
    int64_t core_us; /* spent to apply and to plan, and to write what the records say */
    int64_t call_us; /* in core_apply and core_plan alone, by the hook of that name */
    int64_t rounds;
    int64_t plans;
    int64_t batch_plans; /* made for the batch at hand; 0 = it holds facts alone */
    int64_t records;
    int64_t refused;         /* facts of people that the core did not take */
    int64_t stale;           /* reports of backends that said nothing new: dropped */
    int64_t backend_errors;  /* calls that failed */
    int64_t append_failures; /* batches that were discarded */
};

struct engine_config {
    struct journal *journal; /* lent */
    struct engine_hooks hooks;
    int64_t snapshot_every; /* records between snapshots, 0 = never */
    int64_t epoch;
    int plans_max; /* plans in one commit; 0 = ENGINE_PLANS_MAX.  1: backends act between any two
                      plans */
};

/* Replays the journal (newest snapshot + tail).  ERR_JOURNAL_DAMAGED …; frozen: see engine_frozen.
 */
MUST_CHECK int engine_open(const struct engine_config *config, struct engine **ret,
                           struct err *err);
void engine_close(struct engine *e);

/* The backend that serves a cluster by name ("local").  Lent; its sink is set to the engine. */
void engine_add_backend(struct engine *e, const char *cluster, struct backend *b);

/* Queue a fact (copied).  done (may be NULL) is called once.  Facts of people are checked by the
 * core when applied.  at_ms is set by the step, and so are the ids of jobs, tokens and nodes that
 * are 0. */
void engine_put(struct engine *e, const struct fact *fact, engine_done *done, void *arg);

/* Apply what is queued, plan, commit, act.  Without a committer all is synchronous: at the return
 * everything is durable and answered, or failed.  Returns the time of the next step wanted
 * (INT64_MAX = never). */
int64_t engine_step(struct engine *e, int64_t now_ms);

/* From now on append by this one (copied); NULL = by the engine, as at first.  No batch may be on
 * its way. */
void engine_set_committer(struct engine *e, const struct engine_committer *committer);
/* A batch is on its way: what the core says may not be durable yet.  engine_step does nothing. */
bool engine_in_flight(const struct engine *e);
/* The outcome of the append, as of journal_append: answers leave and backends hear of it, or the
 * core is replayed.  Step again afterwards. */
void engine_committed(struct engine *e, int64_t now_ms, int rc, const struct err *err);

/* Tell backends what the core believes runs (after opening), and have them observe nodes. */
MUST_CHECK int engine_adopt(struct engine *e, struct err *err);

/* Does somebody wait for the outcome of a fact that is queued?  Not so backends. */
bool engine_is_asked(const struct engine *e);

/* Have the next step make a snapshot, as soon as nothing is on its way: hooks.snapshot hears of it.
 */
void engine_want_snapshot(struct engine *e);

/* Two crashes at the same seq: adopt and answer, no plan. */
void engine_set_frozen(struct engine *e, bool frozen, const char *why);
bool engine_frozen(const struct engine *e);
bool engine_disk_full(const struct engine *e);

struct core *engine_core(struct engine *e);
void engine_stats(const struct engine *e, struct engine_stats *ret);

#endif
