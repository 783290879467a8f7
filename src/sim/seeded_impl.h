/* seeded_impl - what the files of a seeded life share; nobody else includes it.
 *
 * seeded.c         the life: its beginning, quiet phases and end
 * seeded_event.c   what happens in it
 * seeded_disk.c    the journal, what goes wrong with it, and the way back
 * seeded_check.c   what must hold after every record and every step
 */
#ifndef MUSTER_SIM_SEEDED_IMPL_H
#define MUSTER_SIM_SEEDED_IMPL_H

#include "base/rng.h"
#include "sim/mirror.h"
#include "sim/relay.h"
#include "sim/scene_text.h"
#include "sim/seeded.h"
#include "sim/seeded_site.h"
#include "sim/tornfs.h"
#include "sim/witness.h"
#include "sim/world.h"

#define SEEDED_ZERO_MS   ((int64_t)1000000000)
#define SEEDED_SECOND_MS ((int64_t)1000)
#define SEEDED_JOURNAL   "journal.db"

enum seeded_turn_kind { TURN_DARK, TURN_DIES, TURN_BACK, TURN_ROOM, TURN_THAW };

struct seeded_turn { /* what an event of before has in store */
    int64_t at_ms;
    enum seeded_turn_kind kind;
    int64_t node;
};

struct life {
    const struct seeded_options *options;
    struct seeded_result *result;
    struct rng rng; /* of the event at hand */
    unsigned faults;
    struct seeded_traits traits;
    struct arena *arena;
    struct site site;
    struct world world;
    struct mirror mirror;
    struct scene_text text;
    struct relay relay;
    VEC(struct seeded_turn) turns;
    /* the journal on its disk */
    struct torndisk *disk; /* NULL: a journal in memory */
    struct tornfs *fs;
    struct journal *real; /* NULL while it is closed */
    struct witness witness;
    int64_t durable_seq; /* the last record that hooks told of */
    unsigned char durable_hash[JOURNAL_HASH_BYTES];
    int64_t crash_seq; /* where the last crash was */
    int crashes_there;
    /* counters of the checks */
    VEC(int64_t) started; /* jobs, since the last step */
    int64_t rounds;
    bool planned; /* the round at hand was followed by a plan */
    int64_t steps;
    int64_t idle;     /* steps since the last record */
    int64_t at_ms;    /* of the last record */
    int64_t at_count; /* decisions in that very millisecond */
};

static inline bool life_one_in(struct life *l, uint64_t n)
{
    return rng_below(&l->rng, n) == 0;
}

static inline bool life_failed(const struct life *l)
{
    return l->result->failure.len > 0;
}

static inline bool life_has(const struct life *l, unsigned fault)
{
    return (l->faults & fault) != 0;
}

/* ---- seeded_check.c ---- */
void life_fail(struct life *l, const char *what, const char *detail);
/* Hooks of the world; ctx is the life. */
void life_watch(void *ctx, const struct fact *fact, const struct journal_record *record);
void life_after_step(void *ctx);
void life_check_end(struct life *l);
/* A failure about a job, with what the core says of it. */
void life_fail_job(struct life *l, const char *what, int64_t job);
/* Does anything that could start wait?  Of a world at rest, without faults. */
void life_check_rest(struct life *l);

/* ---- seeded_event.c ---- */
void life_put(struct life *l, enum fact_kind kind, const void *body);
void life_set_policy(struct life *l);
/* Event number `event` happens. */
void life_event(struct life *l, int64_t event);
/* Time passes, with what is in store. */
void life_pass(struct life *l, int64_t until_ms);
/* All that is in store happens now. */
void life_end_turns(struct life *l);

/* ---- seeded_disk.c ---- */
MUST_CHECK int life_open_disk(struct life *l, struct err *err);
void life_close_disk(struct life *l);
/* The power may have gone: begin again from what is left, until a start goes well. */
void life_recover(struct life *l);
void life_arm_crash(struct life *l);
void life_arm_disk(struct life *l);
void life_fill_disk(struct life *l);
/* The batch on its way is on disk, if there is one, and all comes to rest. */
void life_finish_writing(struct life *l);
/* A clean stop and start. */
void life_restart(struct life *l);
/* The same, with bits turned while the daemon is down. */
void life_flip(struct life *l);
/* No fault of the disk from now on. */
void life_mend_disk(struct life *l);

#endif
