/* witness - a journal that passes everything on to a real one and remembers what was tried.
 *
 * After a crash the real journal may hold one batch more than anybody was told of: whole, and one
 * of those that were tried since the last that succeeded.  The witness keeps these, with the state
 * that the core was in when it tried.
 */
#ifndef MUSTER_SIM_WITNESS_H
#define MUSTER_SIM_WITNESS_H

#include "base/str.h"
#include "base/vec.h"
#include "journal/journal.h"
#include "sim/torndisk.h"

#define WITNESS_TRIES_MAX 8 /* batches; of more, the newest */

struct witness_try {
    int64_t base_seq; /* the journal's end before it */
    int64_t count;
    struct str text;  /* kinds and bytes, a line each */
    struct str state; /* canonical, after it; empty = not taken */
};

struct witness {
    struct journal base; /* what the engine sees */
    struct journal *real;
    const struct torndisk *disk; /* what is tried while it may fail is remembered */
    bool takes_state;
    void (*state)(void *ctx, struct str *ret); /* the core's, now */
    void *state_ctx;
    VEC(struct witness_try) tries;
};

void witness_init(struct witness *w);
void witness_fini(struct witness *w); /* the real journal is the caller's */

/* Forget the tries: what is on disk is known. */
void witness_settle(struct witness *w);
/* The try that the journal, reopened, has as its records from_seq to its end; NULL = none of them.
 */
const struct witness_try *witness_match(const struct witness *w, struct journal *j,
                                        int64_t from_seq);

#endif
