/* seeded - a whole life of a cluster from one number: a random policy, random jobs and random
 * trouble, with the invariants checked after every step.
 *
 * The real core, engine and journal; nodes, tasks, clock and disk are simulated.  The same seed,
 * faults and events of the same commit are the same life, bit for bit (chain and state).
 *
 * Every event draws from a generator of its own, so that events can be left out without changing
 * what the others are: that is how a failing life is made short (sim/shrink.h).
 */
#ifndef MUSTER_SIM_SEEDED_H
#define MUSTER_SIM_SEEDED_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

/* What may go wrong: symbol, name, text. */
#define SEEDED_FAULT_TABLE(X)                                                                      \
    X(CRASH, "crash", "the power goes at a write or a sync of the journal")                        \
    X(DISK, "disk", "writes, syncs and reads of the journal fail")                                 \
    X(FULL, "full", "the disk is full for a while")                                                \
    X(FLIP, "flip", "bits turn in the stored journal")                                             \
    X(NODE, "node", "nodes are lost and come back, one by one and in swarms")                      \
    X(REPLY, "reply", "replies come late, twice or never; calls fail")                             \
    X(TASK, "task", "tasks fail, ignore a stop, or cannot be proven gone")                         \
    X(CLOCK, "clock", "the clock of the machine is set")                                           \
    X(FREEZE, "freeze", "planning is frozen and thawed")

enum seeded_fault_index {
#define SEEDED_FAULT_ENUM(symbol, name, text) SEEDED_AT_##symbol,
    SEEDED_FAULT_TABLE(SEEDED_FAULT_ENUM)
#undef SEEDED_FAULT_ENUM
        SEEDED_FAULT_COUNT
};

#define SEEDED_FAULT(symbol) (1U << SEEDED_AT_##symbol)
#define SEEDED_ALL_FAULTS    ((1U << SEEDED_FAULT_COUNT) - 1U)

/* "all", "none", or names with commas.  ERR_INVALID names the word and what there is. */
MUST_CHECK int seeded_faults_parse(const char *text, unsigned *ret, struct err *err);
void seeded_faults_print(unsigned faults, struct str *ret);

/* What does not happen in a life: events and the quiet phases after them, by number from 0, nodes
 * and queues of the first policy, by id. */
struct seeded_cut {
    bool *events;
    bool *quiets;
    int64_t count;   /* of both */
    uint64_t nodes;  /* a bit each, ids above 63 stay */
    uint64_t queues; /* leaves only */
};

struct seeded_options {
    uint64_t seed;
    int64_t events;
    unsigned faults;              /* that may occur; which of them do is up to the seed */
    bool verbose;                 /* every event and decision as a line on stdout */
    const struct seeded_cut *cut; /* NULL = all happens */
    bool no_end;                  /* do not wait for all work to run out */
};

struct seeded_result {
    int64_t events; /* done */
    int64_t records;
    int64_t steps; /* each with all checks */
    int64_t starts;
    int64_t evictions;
    int64_t restarts; /* clean ones */
    int64_t crashes;
    int64_t carried; /* batches that a crash left, though nobody was told of them */
    int64_t frozen;  /* starts after two crashes at one record */
    int64_t disk_faults;
    int64_t flips;   /* bits turned and found, or where nothing lies */
    int64_t refused; /* submits and policies that were not taken */
    int64_t compared;
    int64_t probes;  /* entitled jobs that were timed */
    int64_t settled; /* lives that were brought to an end with nothing left waiting for nothing */
    int64_t core_us;
    char chain[17];     /* the first digits of the hash of the last record */
    char state[17];     /* and of the state */
    bool ran_out;       /* it came to the end, where all work runs out */
    const char *what;   /* did not hold, in the same words each time; NULL = all well */
    struct str failure; /* the first thing that did not hold; empty = all well */
};

/* progress (may be NULL) is set to the number of the event at hand: a caller that shares it with
 * another process knows where this one died. */
void seeded_run(const struct seeded_options *options, volatile int64_t *progress,
                struct seeded_result *ret);
void seeded_result_fini(struct seeded_result *r);

/* The kind of event number `event` (from 0) of this seed, in a word. */
const char *seeded_event_name(uint64_t seed, int64_t event);

/* The nodes and queues of its first policy, a bit each by id below 64. */
void seeded_site_ids(const struct seeded_options *options, uint64_t *ret_nodes,
                     uint64_t *ret_queues);

#define SEEDED_QUIET_EVERY 250 /* events between two quiet phases */

#endif
