/* slice - the MIG layout of one card: which placements are cut, and which of them are held.
 *
 * A placement covers memory slices [start, start + size) of the card's grid.  Layouts are plain
 * values, so that a planner can try and put back.  Charges are GPU units from the card's table.
 *
 * Invariants (slice_check):
 *   1. cut placements are disjoint, inside the grid and start where the table allows;
 *   2. no profile is cut more often than the table allows, and engine sums stay within the card's
 * totals;
 *   3. cuts are sorted by start.
 */
#ifndef MUSTER_CORE_SLICE_H
#define MUSTER_CORE_SLICE_H

#include <stdbool.h>
#include <stdint.h>

#define SLICE_CUT_MAX 12 /* the widest grid in the field has 12 memory slices */

struct slice_profile {
    const char *name;
    uint8_t size;      /* memory slices */
    uint8_t compute;   /* compute slices */
    uint8_t count_max; /* instances a card */
    uint16_t starts;   /* bit i: may start at memory slice i */
    int32_t memory_mib;
    int16_t sm, copy_engines, decoders, encoders, jpeg, ofa; /* -1 = unknown */
};

struct slice_table {   /* one model of card */
    const char *model; /* "h100-80gb" */
    uint8_t grid;      /* memory slices of the card */
    const struct slice_profile *profiles;
    uint8_t profile_count;
    int32_t memory_mib;
    int16_t sm, copy_engines, decoders, encoders, jpeg, ofa; /* totals, -1 = unknown */
};

struct slice_cut {
    uint8_t profile;
    uint8_t start;
    bool held;
};

struct slice {
    uint8_t count;
    struct slice_cut cuts[SLICE_CUT_MAX];
};

/* The table of a model id or of an NVML product name; NULL = this card cannot be cut (or is not
 * known). */
const struct slice_table *slice_table_of(const char *model);

/* Index of a profile by exact name, -1 if the card has none of it. */
int slice_profile_of(const struct slice_table *table, const char *name);

/* memory slices of the profile / memory slices of the card, in GPU units. */
int64_t slice_charge_gu(const struct slice_table *table, int profile);

/* The most that a legal layout of the card costs when an instance of profile i costs charge_gu[i]
 * (>= 0): a site's own charges are refused where this exceeds one GPU. */
int64_t slice_dearest_gu(const struct slice_table *table, const int64_t *charge_gu);

/* Where one more instance of the profile would go: an idle cut one first, then room that needs no
 * re-cut, then over idle ones (*ret_recut).  Among equals the start that leaves the most instances
 * placeable, then the highest (so that 0 stays free for large profiles).  False: no placement,
 * whatever is re-cut. */
bool slice_choose(const struct slice_table *table, const struct slice *s, int profile,
                  int *ret_start, bool *ret_recut);

/* Would slice_hold be legal? */
bool slice_may_hold(const struct slice_table *table, const struct slice *s, int profile, int start);
/* Hold the profile at start: idle placements that overlap go.  CHECKs that it is legal. */
void slice_hold(const struct slice_table *table, struct slice *s, int profile, int start);
/* Give back: the placement stays cut and idle.  CHECKs that it is held. */
void slice_release(struct slice *s, int start);
/* Un-cut everything idle. */
void slice_clear_idle(struct slice *s);

bool slice_any_held(const struct slice *s);
/* How many instances of the profile could be held besides what is held now (idle cuts may go). */
int slice_room(const struct slice_table *table, const struct slice *s, int profile);
/* Units that no profile can reach any more beside what is held: memory slices that no legal
 * placement covers, as charge of the card. */
int64_t slice_stranded_gu(const struct slice_table *table, const struct slice *s);
/* Σ charge of what is held. */
int64_t slice_held_gu(const struct slice_table *table, const struct slice *s);

/* The first invariant that does not hold, in words, or NULL. */
const char *slice_check(const struct slice_table *table, const struct slice *s);

#endif
