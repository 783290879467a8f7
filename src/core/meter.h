/* meter - unit-milliseconds by physical class and pool, and work lost by queue: sums of what the
 * ledgers said between facts.  Exact integers; the sums of a pool's classes are its nominal units
 * times the time. */
#ifndef MUSTER_CORE_METER_H
#define MUSTER_CORE_METER_H

#include "base/int128.h"
#include "base/vec.h"

#include <stdint.h>

struct core;

enum meter_class { METER_USED, METER_IDLE, METER_STRANDED, METER_DOWN, METER_CLASS_COUNT };
extern const char *const METER_CLASS_NAMES[]; /* used idle stranded down */

struct meter_pool {
    int64_t pool; /* id */
    int128 gu_ms[METER_CLASS_COUNT];
    int128 nominal_gu_ms;
};

struct meter_queue {
    int64_t queue; /* id */
    int128 lost_gu_ms;
    int128 decayed_gu_ms; /* used lately, as of decayed_ms; see core/decay.h */
    int64_t decayed_ms;
};

struct meter_sample { /* of a pool before a fact changed it */
    int64_t pool;
    int64_t gu[METER_CLASS_COUNT];
    int64_t nominal_gu;
};

struct meter {
    int64_t since_ms; /* metered up to here */
    VEC(struct meter_pool) pools;
    VEC(struct meter_queue) queues;
    int64_t sample_ms;
    VEC(struct meter_sample) samples;
};

void meter_fini(struct meter *m);
/* Note the ledgers as they are before a fact at now_ms changes them, and count the time up to it
 * once it has. */
void meter_sample(struct core *c, int64_t now_ms);
void meter_commit(struct core *c);
void meter_lost(struct core *c, int64_t queue_id, int64_t gu_ms);
/* The row of a queue, made if it is new. */
struct meter_queue *meter_queue_row(struct meter *m, int64_t queue_id);
/* The first broken sum, in words, or NULL. */
const char *meter_check(const struct core *c);

#endif
