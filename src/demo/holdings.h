/* holdings - who holds which GPUs, folded from the journal's records by the demo itself: a second
 * reckoning beside that of musterd, so that the two can be compared.
 *
 * It is simple on purpose: every lease is a row, and every rule is looked up in all rows after each
 * record.  What is wrong is counted and the first fault is kept in words.
 */
#ifndef MUSTER_DEMO_HOLDINGS_H
#define MUSTER_DEMO_HOLDINGS_H

#include "base/vec.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define HOLDINGS_NAME_MAX 64

struct holding { /* a device, or a slice of one, that a task holds */
    int64_t job;
    int64_t task;
    int64_t node;
    int64_t slot;
    int64_t gu;
    int64_t start; /* of a slice: first memory slice */
    int64_t size;  /* of a slice: how many of them; 0 = the whole card */
};

enum holdings_state { HOLDINGS_WAITS, HOLDINGS_STARTED, HOLDINGS_STOPPING, HOLDINGS_ENDED };

struct holdings_job {
    int64_t id;
    char name[HOLDINGS_NAME_MAX];
    int64_t queue;
    enum holdings_state state;
    int64_t tasks;   /* of the gang */
    int64_t attempt; /* the last that was started */
    int64_t running; /* tasks of it that run */
    int64_t started_seq, started_ms;
    int64_t reserved_gu, borrowed_gu;       /* as the start decided */
    int64_t older_gu;                       /* what else its queue held then */
    bool recut;                             /* the start cut slices anew */
    int64_t saved;                          /* checkpoints, over all attempts */
    int64_t saved_seq, saved_ms;            /* the last one */
    int64_t told_seq, told_ms, deadline_ms; /* the last time it was told to stop for a claim */
    int64_t told_for;                       /* the claimant */
    int64_t priced_gu_ms, cost_gu_ms;       /* what the claim said of its loss */
    int64_t killed_seq, killed_ms;
    int64_t gone_seq, gone_ms; /* the last task of its last attempt was proven gone */
    int64_t unsaved_gu_ms;     /* our own sum of what the attempt lost */
    int64_t lost_gu_ms;        /* what the journal says of it */
    int64_t preemptions;
    char outcome[16]; /* of the last attempt that ended */
};

struct holdings_name {
    int64_t id;
    int64_t pool; /* of a node */
    char name[HOLDINGS_NAME_MAX];
};

struct holdings {
    VEC(struct holding) rows;
    VEC(struct holdings_job) jobs;
    VEC(struct holdings_name) pools;
    VEC(struct holdings_name) queues;
    VEC(struct holdings_name) nodes;
    int64_t gpus;           /* devices of all nodes that were seen */
    int64_t simulated_gpus; /* of these */
    int64_t seq;            /* of the last record */
    int64_t begin_ms;       /* of the first */
    int64_t kept_gu;        /* what inference keeps: nobody else may come near */
    int64_t lent_most_gu;   /* the most of pool h100 that others than inference held at once */
    int64_t inference_gu;   /* the most that jobs of inference held */
    int64_t faults;
    char fault[256]; /* the first one */
};

void holdings_fini(struct holdings *h);
/* Take one record of the journal, as /v1/events gives it. */
void holdings_take(struct holdings *h, const json_t *record);

/* NULL = no such job. */
const struct holdings_job *holdings_of(const struct holdings *h, int64_t job);
const char *holdings_queue(const struct holdings *h, int64_t queue);
const char *holdings_node(const struct holdings *h, int64_t node);
/* What the jobs of a queue hold of a pool; NULL = of all. */
int64_t holdings_gu(const struct holdings *h, const char *pool, const char *queue);
int64_t holdings_job_gu(const struct holdings *h, int64_t job);
/* How many cards of a pool have a holder. */
int64_t holdings_cards(const struct holdings *h, const char *pool);
/* The first row of a job, NULL = it holds nothing. */
const struct holding *holdings_row(const struct holdings *h, int64_t job);

#endif
