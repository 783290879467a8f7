/* node - nodes, their devices and what lies on them.
 *
 * What a device carries is counted in three ledgers: held (by attempts that may go on), leaving
 * (held by attempts that were told to stop) and promised (nominated).  Leaving and promised may be
 * the same units, so above the top a device counts held + max(leaving, promised).
 */
#ifndef MUSTER_CORE_NODE_H
#define MUSTER_CORE_NODE_H

#include "base/vec.h"
#include "core/fact.h"
#include "core/slice.h"

enum ledger { LEDGER_HELD, LEDGER_LEAVING, LEDGER_PROMISED, LEDGER_COUNT };

enum node_health { HEALTH_UP, HEALTH_UNKNOWN, HEALTH_LOST };
extern const char *const NODE_HEALTH_NAMES[]; /* up unknown lost */

struct device { /* what a whole card's coming and going looks at comes first, and lies together */
    int64_t size_gu;          /* 126,000, or the charge of a static slice */
    int64_t gu[LEDGER_COUNT]; /* what lies on it */
    int count[LEDGER_COUNT];  /* tasks */
    int whole;                /* tasks that hold or were promised the whole card */
    /* planner: planned starts and drains that want it */
    int soft;
    int vacated; /* tasks that a trial took off it: somebody would have to leave first */
    bool mig;    /* cut as work asks */
    bool out;    /* out of service */
    /* cached contributions to the sums of the pool */
    bool free_whole;
    int64_t capacity_gu;
    int64_t taken_gu;
    int64_t held_gu;
    int64_t memory[LEDGER_COUNT]; /* of shares */
    const char *profile;          /* static slice, "" = whole card */
    const char *model;
    const struct slice_table *table; /* NULL = not to be cut */
    int64_t slot;
    const char *uuid;
    int64_t memory_bytes;
    const char *out_reason;
    struct slice layout;   /* held and leaving */
    struct slice promised; /* nominated; may lie over what is leaving */
    int share_count;       /* tasks with a share of it */
    /* whose they are, as sums and sums of squares: all alike if both are those of one value so many
     * times */
    int64_t share_tops, share_tops_sq; /* index of the top queue + 1 */
    uint64_t share_subjects, share_subjects_sq;
    int share_mps; /* how many of them ask for MPS */
};

struct node {
    int64_t id;
    int index; /* in the core's list, by id */
    int64_t pool_id;
    int pool;  /* pool index, -1 = in none */
    int place; /* position in the pool's list */
    const char *name;
    const char *cluster;
    bool simulated;
    int64_t cpu_milli;
    int64_t memory_bytes;
    struct policy_label *labels;
    size_t label_count;
    int *domains; /* domain index by level, -1 = none */
    struct policy_label *domain_names;
    size_t domain_count;
    enum node_health health;
    int64_t unknown_since_ms;
    bool gone; /* the engine's word */
    const char *reason;
    bool drain;
    int64_t drain_by_ms;
    struct device *devices;
    int device_count;
    /* what lies on it */
    int64_t cpu[LEDGER_COUNT];
    int64_t memory[LEDGER_COUNT];
    int task_count;
    int free_whole;      /* whole cards that a task could take now */
    int vacated;         /* of its devices, by a trial */
    int64_t timer_ms;    /* its entry in the core's timers, 0 = none */
    struct arena *arena; /* its texts and tables */
};

/* CPU and memory that nothing holds or was promised. */
int64_t node_cpu_free(const struct node *n);
int64_t node_memory_free(const struct node *n);
/* Units of its devices that nothing holds or was promised, in pieces perhaps. */
int64_t node_idle_gu(const struct node *n);

/* No new task may start on a node that is not usable. */
static inline bool node_usable(const struct node *n)
{
    return n->health == HEALTH_UP && !n->drain;
}

#endif
