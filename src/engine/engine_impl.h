/* engine_impl - what the files of the engine share; nobody else includes it.
 *
 * A step is a number of rounds.  A round takes the queue (engine_take), applies its facts and
 * encodes them (engine_apply), plans and applies the decisions (engine_plan), appends everything as
 * one batch (engine_commit) and only then answers and acts (engine_act).  What backends report
 * during the calls is the queue of the next round.
 */
#ifndef MUSTER_ENGINE_ENGINE_IMPL_H
#define MUSTER_ENGINE_ENGINE_IMPL_H

#include "base/arena.h"
#include "base/str.h"
#include "base/vec.h"
#include "engine/engine.h"

/* Of what is written; fields that are added make a new one, which older releases refuse. */
#define ENGINE_RECORD_VERSION 1

struct engine_backend {
    char *cluster;
    struct backend *backend;
};

struct engine_item {
    struct fact fact;
    void *body; /* the fact's own copy, so that ids can be filled in */
    bool world; /* told by a backend: never lost, kept until it is durable */
    engine_done *done;
    void *arg;
    int rc; /* of core_apply */
    struct err err;
    size_t at; /* its index in the batch, when rc is 0 */
};

struct engine_queue {
    struct arena *arena; /* of the bodies */
    size_t asked;        /* items with somebody who waits for their outcome */
    VEC(struct engine_item) items;
};

struct engine_batch {
    VEC(struct fact) facts; /* the applied items, then the decisions */
    VEC(struct journal_record) records;
    VEC(size_t) offsets; /* of each record in bytes */
    struct str bytes;
    int64_t base_seq; /* of the journal before this batch */
};

struct engine {
    struct engine_config config;
    struct engine_committer committer; /* append NULL = the engine itself */
    bool in_flight;                    /* batch is with the committer */
    struct core *core;
    VEC(struct engine_backend) backends;
    struct engine_queue queue; /* what comes in */
    struct engine_queue taken; /* what this round works on */
    struct engine_batch batch;
    VEC(struct backend_held) lost; /* tasks on nodes that this batch gives up */
    struct arena *act_arena;       /* what one call of a backend needs */
    int64_t next_plan_ms;          /* of the last plan */
    int64_t retry_ms;              /* disk full: try again then */
    int64_t snapshot_seq;          /* of the newest snapshot */
    size_t snapshot_bytes;         /* its size, 0 = it was written before this start */
    size_t bytes_since_snapshot;   /* of records, since it or the start */
    bool snapshot_wanted;
    bool disk_full;
    bool frozen;
    char *frozen_why;
    struct engine_stats stats;
};

/* ---- engine.c ---- */
void engine_queue_put(struct engine_queue *q, const struct fact *fact, bool world,
                      engine_done *done, void *arg);
void engine_queue_clear(struct engine_queue *q);
/* A fact that the engine itself reports in a backend's place. */
void engine_put_world(struct engine *e, const struct fact *fact);

/* ---- engine_apply.c ---- */
/* Apply what was taken; refused items keep their error, the others join the batch. */
void engine_apply(struct engine *e, int64_t now_ms);
/* core_apply, measured. */
MUST_CHECK int engine_core_apply(struct engine *e, const struct fact *fact, struct err *err);
int64_t engine_call_us(const struct engine *e);
/* Append one applied fact to the batch. */
void engine_batch_add(struct engine *e, const struct fact *fact);
void engine_batch_clear(struct engine *e);
int64_t engine_batch_next_seq(const struct engine *e);

/* ---- engine_plan.c ---- */
void engine_plan(struct engine *e, int64_t now_ms);

/* ---- engine_commit.c ---- */
/* Append the batch; on failure the core is a replay of the journal again.  urgent: it holds facts
 * of the world only and may use what the journal keeps back for a full disk. */
MUST_CHECK int engine_commit(struct engine *e, bool urgent, struct err *err);
/* The same in two: give the batch to the committer; take its outcome. */
void engine_commit_begin(struct engine *e);
MUST_CHECK int engine_commit_end(struct engine *e, int rc, const struct err *why, struct err *err);
/* The core as the journal says. */
MUST_CHECK int engine_replay(struct engine *e, struct err *err);
/* Write a snapshot if enough records have come since the last or somebody wants one; a failure only
 * means a longer restart. */
void engine_snapshot_due(struct engine *e);
MUST_CHECK int engine_snapshot_put(struct engine *e, struct err *err);

/* ---- engine_act.c ---- */
/* Have the durable batch carried out. */
void engine_act(struct engine *e);
/* Have every backend tell its nodes under the present policy. */
MUST_CHECK int engine_observe(struct engine *e, struct err *err);

#endif
