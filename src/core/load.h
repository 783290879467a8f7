/* load - what lies on devices and nodes, put and taken task by task, with a log to put everything
 * back.
 *
 * Every change of a ledger, of a layout or of a queue's usage in planning goes through here, so
 * that the planner can try a set of victims and a placement on the real indices and undo both.
 * Appliers of facts use the same functions and forget the log.
 */
#ifndef MUSTER_CORE_LOAD_H
#define MUSTER_CORE_LOAD_H

#include "core/job.h"
#include "core/node.h"
#include "core/pool.h"
#include "core/quota.h"

struct core;

enum undo_kind { UNDO_TASK, UNDO_QUOTA, UNDO_LAYOUT, UNDO_SOFT, UNDO_VACATE };

struct undo {
    enum undo_kind kind;
    int sign; /* what was done: 1 put, -1 taken */
    enum ledger ledger;
    int node;
    const struct lease_task *task;
    const struct job *job;
    int leaf;
    int pool;
    struct quota_use use;
    struct device *device;
};

struct undo_layout { /* of the device of an UNDO_LAYOUT, as it was */
    struct slice layout;
    struct slice promised;
};

struct undo_log {
    VEC(struct undo) items;
    VEC(struct undo_layout) layouts; /* one for each UNDO_LAYOUT, in their order */
    bool off;                        /* appliers: nothing is put back */
};

/* Put a task of a job on its node's and devices' ledger, or take it off again. */
void load_put(struct core *c, const struct job *job, const struct lease_task *task, enum ledger l);
void load_take(struct core *c, const struct job *job, const struct lease_task *task, enum ledger l);

/* Count a job's units in its queues. */
void load_quota(struct core *c, const struct job *job, int pool, int64_t gu, bool stopping,
                int sign);

/* A planned start or a drain wants the device: not free for others, but counted nowhere. */
void load_soft(struct core *c, struct device *d, struct node *n, int sign);

/* A trial takes the task off: its devices are free only once somebody has left. */
void load_vacate(struct core *c, const struct lease_task *task);

/* Where we are, and back to there. */
size_t load_mark(const struct core *c);
void load_undo(struct core *c, size_t mark);

/* Recompute what the device or all devices of a node add to the sums and indices of its pool. */
void load_refresh(struct core *c, struct node *n, struct device *d);
void load_refresh_node(struct core *c, struct node *n);

/* Units that the whole task charges. */
int64_t load_task_gu(const struct lease_task *task);

/* The ledger that a task of a lease is on. */
enum ledger load_ledger(const struct lease_task *task);

/* Could the card be cut and held by shares or slices besides what lies on it? */
bool load_pending_overlap(const struct device *d);

#endif
