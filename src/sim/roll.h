/* roll - who holds what, read from the journal alone.
 *
 * It follows the records one by one and never asks the core, so that what the core says about
 * itself can be held against it, and so that a report needs nothing but a journal.
 */
#ifndef MUSTER_SIM_ROLL_H
#define MUSTER_SIM_ROLL_H

#include "base/omap.h"
#include "base/vec.h"
#include "core/fact.h"

enum roll_state { ROLL_WAITING, ROLL_HOLDING, ROLL_ENDED };

struct roll_device {
    int64_t slot;
    int64_t gu;
    int64_t start;
    char *profile; /* "" = none */
};

struct roll_task {
    int64_t task;
    int64_t node;
    bool running;
    bool stopping; /* told to make room, or with the whole job */
    VEC(struct roll_device) devices;
};

struct roll_job {
    int64_t id;
    char *name;
    int64_t queue;
    int64_t pool;        /* of the last attempt, 0 = none */
    int64_t promised_gu; /* to it, 0 = nothing */
    int64_t promised_pool;
    int64_t attempt; /* the last one started */
    int64_t needed;  /* Σ min_tasks */
    bool preemptible;
    enum roll_state state;
    int outcome;       /* of the last attempt that ended, enum attempt_outcome */
    int64_t evictions; /* times it was told to stop or to shrink for others */
    int64_t stops;     /* times it was told to stop for no claim */
    VEC(struct roll_task) tasks;
};

struct roll_node {
    int64_t id;
    char *name;
};

struct roll_load { /* on one device */
    int64_t gu;
    int64_t tasks;
    int64_t whole; /* tasks that hold all of it */
};

#define ROLL_COMPLAINT_MAX 160

struct roll {
    struct omap jobs;     /* id -> struct roll_job */
    struct omap holding;  /* those that hold, or held and have not ended */
    struct omap nodes;    /* id -> struct roll_node */
    struct omap promised; /* those with a promise */
    struct omap loads;    /* (node, slot) -> struct roll_load */
    int64_t decisions;    /* records that are decisions */
    int64_t records;
    /* The first decision that broke a rule which needs no more than the journal to see: a device
     * above 100 % or shared with a whole-GPU task, a gang below its minimum, a victim that may not
     * be one, an eviction for nobody.  "" = none. */
    char complaint[ROLL_COMPLAINT_MAX];
};

void roll_fini(struct roll *f);
void roll_add(struct roll *f, const struct fact *fact);

struct roll_job *roll_job(const struct roll *f, int64_t id);
/* The job of that name that was submitted last, or NULL. */
struct roll_job *roll_job_of_name(const struct roll *f, const char *name);
const char *roll_node_name(const struct roll *f, int64_t id); /* "" if it is not known */
int64_t roll_job_gu(const struct roll_job *j);

#endif
