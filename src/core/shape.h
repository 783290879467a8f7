/* shape - equal jobs share one: what they ask, without id, name, person and command. */
#ifndef MUSTER_CORE_SHAPE_H
#define MUSTER_CORE_SHAPE_H

#include "core/job.h"
#include "core/queue.h"

struct core;

/* The shape of an ask, made if it is new; one reference is the caller's. */
struct shape *shape_take(struct core *c, const struct fact_job_submitted *ask);
void shape_unref(struct core *c, struct shape *s);

/* Put a waiting job into its shape and queue, or take it out. */
void shape_enter(struct core *c, struct job *j);
void shape_leave(struct core *c, struct job *j);

/* What the minimum of all its groups charges in the pool, GPU units; -1: no card there has the
 * profile.  Kept until the site changes. */
int64_t shape_need_gu(struct core *c, struct shape *s, int pool);

/* Could such a job ever run in the pool under the present policy (submit_check_pool)?  One that
 * could not waits, blocks nobody and says so.  Kept until the site changes. */
bool shape_could_run(struct core *c, struct shape *s, int pool);

/* Fill the leaf's least_gu and highest, of all that wait in it, where they are not known. */
void shape_know_wants(struct core *c, struct queue *leaf);
/* Age of the oldest that waits in the leaf, INT64_MAX = none. */
int64_t shape_oldest_ms(struct queue *leaf);

/* FNV-1a of a text, >= 0: the same on every machine. */
int64_t shape_text_hash(const char *text);

/* Forget that the waiting jobs of this leaf could not start. */
void shape_retry(struct queue *leaf);

#endif
