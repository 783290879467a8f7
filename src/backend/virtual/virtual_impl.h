/* virtual_impl - what the files of the virtual backend share; nobody else includes it. */
#ifndef MUSTER_BACKEND_VIRTUAL_VIRTUAL_IMPL_H
#define MUSTER_BACKEND_VIRTUAL_VIRTUAL_IMPL_H

#include "backend/virtual/virtual.h"
#include "base/omap.h"
#include "base/rng.h"
#include "base/vec.h"

#define VIRTUAL_COMPLAINT_MAX 200

enum virtual_what { WHAT_RUNNING, WHAT_CHECKPOINT, WHAT_DONE, WHAT_ENDED, WHAT_REFUSED };

/* A task number may be started again within its attempt (grown again, repaired), in a later step of
 * the lease: `born` tells the one from the other.  Nothing happens to an older one any more once a
 * newer was started, but what was on its way about it is told, with its step. */
struct virtual_task {
    int64_t born;
    int64_t job;
    int64_t attempt;
    int64_t task;
    int64_t step;
    int64_t node;
    bool running;
    bool ended;
    bool signalled;
    bool killed;
    bool given_up;   /* killed while its node was dark: gone once the node is back */
    bool unprovable; /* killed, and nobody will ever know whether it worked */
    struct fact_grant_device *devices;
    size_t device_count;
};

struct virtual_event {
    int64_t at_ms;
    int64_t born; /* of its task */
    enum virtual_what what;
    int64_t job;
    int64_t attempt;
    int64_t task;
    int64_t step;
    int64_t node;
    int cause; /* enum task_cause */
    int64_t status;
    bool node_fault;
    bool again; /* a second report of what was told: nothing is looked up */
};

struct virtual_place {
    int64_t id;
    char *name;
    bool dark;
    bool stale; /* not in the policy that is being observed */
};

struct virtual_backend {
    struct backend base;
    char *cluster;
    int64_t now_ms;
    int64_t order;
    struct omap timeline;              /* (at, order) -> struct virtual_event */
    struct omap tasks;                 /* (job, attempt, task) -> struct virtual_task */
    struct omap own;                   /* job -> struct virtual_behaviour */
    VEC(struct virtual_event) waiting; /* of dark nodes */
    VEC(struct virtual_place) places;
    struct virtual_behaviour usual;
    struct virtual_faults faults;
    struct rng rng;
    char complaint[VIRTUAL_COMPLAINT_MAX];
};

static inline struct virtual_backend *virtual_self(struct backend *b)
{
    return (struct virtual_backend *)b;
}

/* ---- virtual.c ---- */
struct virtual_event virtual_event_of(const struct virtual_task *t, enum virtual_what what);
/* The event takes place now, or waits until its node is back. */
void virtual_happen(struct virtual_backend *v, const struct virtual_event *ev);

/* ---- virtual_report.c ---- */
void virtual_tell(struct virtual_backend *v, struct fact fact, int64_t at_ms);
void virtual_tell_event(struct virtual_backend *v, const struct virtual_event *ev);

/* ---- virtual_node.c ---- */
bool virtual_is_dark(struct virtual_backend *v, int64_t node);
int virtual_observe(struct backend *b, const struct policy *policy, struct err *err);

#endif
