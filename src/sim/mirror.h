/* mirror - a second core that knows nothing but the journal, held against the first.
 *
 * It takes every durable record as bytes, decodes and applies it.  So the two cores must always be
 * the same state; and since the mirror stands before a batch when the batch arrives, it can be
 * asked for a full plan (a clone without any memo) of the same facts: the decisions must be the
 * same text.
 */
#ifndef MUSTER_SIM_MIRROR_H
#define MUSTER_SIM_MIRROR_H

#include "base/arena.h"
#include "base/str.h"
#include "base/vec.h"
#include "core/core.h"
#include "journal/journal.h"

struct mirror_record {
    enum fact_kind kind;
    int64_t seq;
    int64_t at_ms;
    int64_t true_at_ms;
    size_t offset; /* of its text */
    size_t len;
};

struct mirror {
    struct core *core;
    struct arena *arena;
    int64_t round; /* of the records that wait */
    VEC(struct mirror_record) waiting;
    struct str text;
    int64_t compared;   /* plans */
    struct str failure; /* the first; empty = none */
};

void mirror_init(struct mirror *m);
void mirror_fini(struct mirror *m);

/* A record of a round of the engine; records of one round come together. */
void mirror_add(struct mirror *m, int64_t round, const struct journal_record *r);
/* The engine begins anew, and counts its rounds from the start. */
void mirror_restart(struct mirror *m);
/* The round is over.  compare: hold its decisions against a full plan. */
void mirror_flush(struct mirror *m, bool compare);
/* Is this the same state? */
void mirror_compare(struct mirror *m, const struct core *c);

#endif
