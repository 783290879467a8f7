/* slice - legality is the three rules of the vendor's tools: placements are disjoint, no profile is
 * held more often than its table allows, and the sums of memory, SMs and engines stay within the
 * card's (on 8-wide grids the first rule implies the others; on the RTX PRO the media engines
 * decide).
 *
 * Placements never move, so the choice of the start is all the defragmentation there is: an
 * instance goes where the sum over all profiles of what could still be held beside it is largest.
 * Rejected: fixed rules (1g and 3g from the high end, others from the low end), which are right on
 * the 8-wide grid only, and lists of known layouts, of which the field's miss two.
 */
#include "core/slice.h"

#include "base/check.h"
#include "base/quantity.h"
#include "core/mig_table.h"

#include <stddef.h>
#include <string.h>

#define PROFILE_MAX  32 /* profiles of a card; 11 are the most so far */
#define ENGINE_COUNT 7

/* What a set of placements takes of a card. */
struct load {
    uint16_t slices; /* bit i: memory slice i */
    uint8_t counts[PROFILE_MAX];
    int32_t engines[ENGINE_COUNT];
};

static void engines_of(const struct slice_profile *p, int32_t ret[ENGINE_COUNT])
{
    const int32_t engines[ENGINE_COUNT] = {p->memory_mib, p->sm,   p->copy_engines, p->decoders,
                                           p->encoders,   p->jpeg, p->ofa};

    memcpy(ret, engines, sizeof(engines));
}

static void totals_of(const struct slice_table *t, int32_t ret[ENGINE_COUNT])
{
    const int32_t totals[ENGINE_COUNT] = {t->memory_mib, t->sm,   t->copy_engines, t->decoders,
                                          t->encoders,   t->jpeg, t->ofa};

    memcpy(ret, totals, sizeof(totals));
}

static uint16_t mask_of(const struct slice_profile *p, int start)
{
    return (uint16_t)(((1U << p->size) - 1) << start);
}

static bool may_start(const struct slice_profile *p, int start)
{
    return start >= 0 && start < 16 && (p->starts >> start & 1) != 0;
}

static void load_add(struct load *load, const struct slice_table *table, int profile, int start)
{
    const struct slice_profile *p = &table->profiles[profile];
    int32_t engines[ENGINE_COUNT];

    engines_of(p, engines);
    load->slices |= mask_of(p, start);
    load->counts[profile]++;
    for (int e = 0; e < ENGINE_COUNT; e++) {
        load->engines[e] += engines[e] > 0 ? engines[e] : 0;
    }
}

static struct load load_of(const struct slice_table *table, const struct slice *s, bool idle_too)
{
    struct load load = {0};

    for (int i = 0; i < s->count; i++) {
        if (s->cuts[i].held || idle_too) {
            load_add(&load, table, s->cuts[i].profile, s->cuts[i].start);
        }
    }
    return load;
}

/* How many more instances the counts and the engines allow, placements aside.  A total that is not
 * known allows all. */
static int engine_room(const struct slice_table *table, const struct load *load, int profile)
{
    const struct slice_profile *p = &table->profiles[profile];
    int room = p->count_max - load->counts[profile];
    int32_t engines[ENGINE_COUNT], totals[ENGINE_COUNT];

    engines_of(p, engines);
    totals_of(table, totals);
    for (int e = 0; e < ENGINE_COUNT; e++) {
        if (engines[e] > 0 && totals[e] >= 0) {
            int fit = (totals[e] - load->engines[e]) / engines[e];

            room = fit < room ? fit : room;
        }
    }
    return room > 0 ? room : 0;
}

static bool fits(const struct slice_table *table, const struct load *load, int profile, int start)
{
    const struct slice_profile *p = &table->profiles[profile];

    return may_start(p, start) && (load->slices & mask_of(p, start)) == 0 &&
           engine_room(table, load, profile) > 0;
}

/* Instances of one profile have one size, so taking the lowest start that is free is the most. */
static int room_beside(const struct slice_table *table, const struct load *load, int profile)
{
    const struct slice_profile *p = &table->profiles[profile];
    int most = engine_room(table, load, profile);
    uint16_t taken = load->slices;
    int room = 0;

    for (int start = 0; room < most && start < table->grid; start++) {
        if (may_start(p, start) && (taken & mask_of(p, start)) == 0) {
            taken |= mask_of(p, start);
            room++;
        }
    }
    return room;
}

static int room_of_all(const struct slice_table *table, const struct load *load)
{
    int sum = 0;

    for (int i = 0; i < table->profile_count; i++) {
        sum += room_beside(table, load, i);
    }
    return sum;
}

const struct slice_table *slice_table_of(const char *model)
{
    for (size_t i = 0; model != NULL && i < MIG_MODEL_COUNT; i++) {
        const struct mig_model *m = &MIG_MODELS[i];

        if (strcmp(m->table.model, model) == 0) {
            return &m->table;
        }
        for (size_t k = 0; m->names[k] != NULL; k++) {
            if (strcmp(m->names[k], model) == 0) {
                return &m->table;
            }
        }
    }
    return NULL;
}

int slice_profile_of(const struct slice_table *table, const char *name)
{
    for (int i = 0; name != NULL && i < table->profile_count; i++) {
        if (strcmp(table->profiles[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

int64_t slice_charge_gu(const struct slice_table *table, int profile)
{
    CHECK(profile >= 0 && profile < table->profile_count);
    return table->profiles[profile].size * GU_PER_GPU / table->grid;
}

/* From memory slice `from` on, beside what load has.  As deep as the grid is wide. */
static int64_t dearest_from(const struct slice_table *table, const int64_t *charge_gu,
                            const struct load *load, int from)
{
    int64_t dearest = 0;

    for (int start = from; start < table->grid; start++) {
        for (int p = 0; p < table->profile_count; p++) {
            struct load more = *load;
            int64_t sum;

            if (!fits(table, load, p, start)) {
                continue;
            }
            load_add(&more, table, p, start);
            sum = charge_gu[p] +
                  dearest_from(table, charge_gu, &more, start + table->profiles[p].size);
            dearest = sum > dearest ? sum : dearest;
        }
    }
    return dearest;
}

int64_t slice_dearest_gu(const struct slice_table *table, const int64_t *charge_gu)
{
    struct load none = {0};

    CHECK(table->profile_count <= PROFILE_MAX);
    return dearest_from(table, charge_gu, &none, 0);
}

static bool is_idle_cut(const struct slice *s, int profile, int start)
{
    for (int i = 0; i < s->count; i++) {
        if (s->cuts[i].start == start) {
            return s->cuts[i].profile == profile && !s->cuts[i].held;
        }
    }
    return false;
}

/* 0: idle and cut already, 1: room that needs no re-cut, 2: idle ones must go. */
static int effort(const struct slice_table *table, const struct slice *s, const struct load *cut,
                  int profile, int start)
{
    if (is_idle_cut(s, profile, start)) {
        return 0;
    }
    return fits(table, cut, profile, start) ? 1 : 2;
}

bool slice_choose(const struct slice_table *table, const struct slice *s, int profile,
                  int *ret_start, bool *ret_recut)
{
    struct load held = load_of(table, s, false);
    struct load cut = load_of(table, s, true);
    int best = -1, best_effort = 3, best_room = -1;

    CHECK(profile >= 0 && profile < table->profile_count && table->profile_count <= PROFILE_MAX);
    for (int start = 0; start < table->grid; start++) {
        struct load after = held;
        int room, work;

        if (!fits(table, &held, profile, start)) {
            continue;
        }
        load_add(&after, table, profile, start);
        room = room_of_all(table, &after);
        work = effort(table, s, &cut, profile, start);
        if (work < best_effort || (work == best_effort && room >= best_room)) {
            best = start;
            best_effort = work;
            best_room = room;
        }
    }
    if (best < 0) {
        return false;
    }
    *ret_start = best;
    *ret_recut = best_effort == 2;
    return true;
}

static void remove_cut(struct slice *s, int i)
{
    CHECK(!s->cuts[i].held);
    memmove(&s->cuts[i], &s->cuts[i + 1], (size_t)(s->count - i - 1) * sizeof(s->cuts[0]));
    s->count--;
}

/* The idle cut that must go so that the profile can be cut at start, -1 if none: one that overlaps,
 * else, where engines are short, one that is enough alone, else the highest. */
static int idle_in_the_way(const struct slice_table *table, const struct slice *s, int profile,
                           int start)
{
    struct load cut = load_of(table, s, true);
    uint16_t mask = mask_of(&table->profiles[profile], start);
    int highest = -1;

    for (int i = 0; i < s->count; i++) {
        if (mask_of(&table->profiles[s->cuts[i].profile], s->cuts[i].start) & mask) {
            return i;
        }
    }
    if (engine_room(table, &cut, profile) > 0) {
        return -1;
    }
    for (int i = s->count - 1; i >= 0; i--) {
        struct slice without = *s;

        if (s->cuts[i].held) {
            continue;
        }
        highest = highest < 0 ? i : highest;
        remove_cut(&without, i);
        cut = load_of(table, &without, true);
        if (engine_room(table, &cut, profile) > 0) {
            return i;
        }
    }
    return highest;
}

bool slice_may_hold(const struct slice_table *table, const struct slice *s, int profile, int start)
{
    struct load held = load_of(table, s, false);

    return profile >= 0 && profile < table->profile_count && fits(table, &held, profile, start);
}

void slice_hold(const struct slice_table *table, struct slice *s, int profile, int start)
{
    struct load held = load_of(table, s, false);
    int at = 0, gone;

    CHECK(profile >= 0 && profile < table->profile_count && table->profile_count <= PROFILE_MAX);
    CHECK(fits(table, &held, profile, start));
    for (int i = 0; i < s->count; i++) {
        if (s->cuts[i].start == start && s->cuts[i].profile == profile) {
            s->cuts[i].held = true;
            return;
        }
    }
    while ((gone = idle_in_the_way(table, s, profile, start)) >= 0) {
        remove_cut(s, gone);
    }
    CHECK(s->count < SLICE_CUT_MAX);
    while (at < s->count && s->cuts[at].start < start) {
        at++;
    }
    memmove(&s->cuts[at + 1], &s->cuts[at], (size_t)(s->count - at) * sizeof(s->cuts[0]));
    s->cuts[at] = (struct slice_cut){(uint8_t)profile, (uint8_t)start, true};
    s->count++;
    AUDIT(slice_check(table, s) == NULL);
}

void slice_release(struct slice *s, int start)
{
    for (int i = 0; i < s->count; i++) {
        if (s->cuts[i].start == start) {
            CHECK(s->cuts[i].held);
            s->cuts[i].held = false;
            return;
        }
    }
    CHECK(false); /* nothing is cut there */
}

void slice_clear_idle(struct slice *s)
{
    for (int i = s->count - 1; i >= 0; i--) {
        if (!s->cuts[i].held) {
            remove_cut(s, i);
        }
    }
}

bool slice_any_held(const struct slice *s)
{
    for (int i = 0; i < s->count; i++) {
        if (s->cuts[i].held) {
            return true;
        }
    }
    return false;
}

int slice_room(const struct slice_table *table, const struct slice *s, int profile)
{
    struct load held = load_of(table, s, false);

    CHECK(profile >= 0 && profile < table->profile_count && table->profile_count <= PROFILE_MAX);
    return room_beside(table, &held, profile);
}

int64_t slice_stranded_gu(const struct slice_table *table, const struct slice *s)
{
    struct load held = load_of(table, s, false);
    uint16_t reached = held.slices;
    int64_t stranded = 0;

    for (int p = 0; p < table->profile_count; p++) {
        for (int start = 0; start < table->grid; start++) {
            if (fits(table, &held, p, start)) {
                reached |= mask_of(&table->profiles[p], start);
            }
        }
    }
    for (int i = 0; i < table->grid; i++) {
        stranded += (reached >> i & 1) == 0;
    }
    return stranded * GU_PER_GPU / table->grid;
}

int64_t slice_held_gu(const struct slice_table *table, const struct slice *s)
{
    int64_t sum = 0;

    for (int i = 0; i < s->count; i++) {
        sum += s->cuts[i].held ? slice_charge_gu(table, s->cuts[i].profile) : 0;
    }
    return sum;
}

const char *slice_check(const struct slice_table *table, const struct slice *s)
{
    struct load load = {0};

    if (s->count > SLICE_CUT_MAX || table->profile_count > PROFILE_MAX) {
        return "too many placements or profiles";
    }
    for (int i = 0; i < s->count; i++) {
        const struct slice_cut *cut = &s->cuts[i];
        const struct slice_profile *p;

        if (cut->profile >= table->profile_count) {
            return "a placement of a profile that the card does not have";
        }
        p = &table->profiles[cut->profile];
        if (!may_start(p, cut->start) || cut->start + p->size > table->grid) {
            return "a placement that starts where its profile may not";
        }
        if (i > 0 && cut->start <= s->cuts[i - 1].start) {
            return "placements that are not sorted by start";
        }
        if (load.slices & mask_of(p, cut->start)) {
            return "placements that overlap";
        }
        if (load.counts[cut->profile] >= p->count_max) {
            return "more instances of a profile than the card can have";
        }
        if (engine_room(table, &load, cut->profile) == 0) {
            return "placements that take more engines than the card has";
        }
        load_add(&load, table, cut->profile, cut->start);
    }
    return NULL;
}
