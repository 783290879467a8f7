/* forecast - planned starts and drains (rule 10): the first job of a leaf that cannot start now,
 * when it could because running jobs end by a known time, and what it wants then.
 *
 * What a head wants is `soft` on its devices: not free for others.  A job may pass a head if it
 * ends before the planned start, or is preemptible (it is a lawful victim for that head alone,
 * then), or if the head still can start in time elsewhere.  A head beyond its reserve does not bind
 * work of other queues that is within reserve.
 */
#ifndef MUSTER_CORE_FORECAST_H
#define MUSTER_CORE_FORECAST_H

#include "core/claim.h"

struct core;

struct head {
    struct job *job;
    struct pool *pool;
    int64_t need_gu;
    int64_t start_ms; /* planned start; 0 = it drains, no time is known */
    int64_t slack_gu; /* what its queue could still use beside it at the planned start */
    bool entitled;    /* within reserve on some level */
    bool lifted;
    bool saved;
    bool binding;
    bool on; /* its devices are soft now */
    struct lease_task *tasks;
    size_t task_count;
};

/* Its planned start is now. */
static inline bool forecast_is_due(const struct head *h, int64_t now_ms)
{
    return h != NULL && h->job != NULL && h->start_ms > 0 && h->start_ms <= now_ms;
}

/* Find the heads of all leaves on the ledgers as they are and set what they want.  Nothing to do,
 * and cheap, where no time is known and nothing has waited long enough to drain. */
void forecast_heads(struct core *c, int64_t now_ms);
/* This job turned out not to be able to start: if it is its leaf's first, make it a head.  True: it
 * became one now. */
bool forecast_blocked(struct core *c, struct job *j, int64_t now_ms);
/* The head of this job, NULL if it is none. */
struct head *forecast_head(struct core *c, const struct job *j);
void forecast_drop(struct core *c, struct head *h); /* no longer wants anything */

/* Remember which wishes are on, and put that back once the log was undone: for a trial that is not
 * meant. */
void forecast_save(struct core *c);
void forecast_load(struct core *c);

/* For a claim: take the wishes that do not bind it, its own too, off the ledgers.  After the log
 * was undone forecast_lifted, after a success forecast_settled puts the others' back. */
void forecast_lift(struct core *c, const struct ask *ask);
void forecast_lifted(struct core *c);
void forecast_settled(struct core *c, const struct job *j);

/* Place the ask past the heads it may pass; those that it may delay are appended to t->passes.  The
 * ledgers hold the tasks afterwards, not the quota. */
bool forecast_place(struct core *c, const struct ask *ask, int64_t now_ms, struct trial *t);

/* When could this job start, as far as limits and predictions say?  0 = unknown. */
int64_t forecast_start(struct core *c, struct job *j, struct pool *pool, int64_t now_ms);

#endif
