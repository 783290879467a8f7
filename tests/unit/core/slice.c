#include "core/slice.h"

#include "base/check.h"
#include "base/quantity.h"
#include "base/rng.h"
#include "core/mig_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define PLACEMENT_MAX 64
#define MULTISET_MAX  4096

/* ---- every legal set of a card, by trying them all; shares no code with the module ---- */

struct placement {
    int profile;
    int start;
    uint32_t mask;
};

struct census {
    const struct slice_table *table;
    struct placement all[PLACEMENT_MAX];
    int placement_count;
    int chosen[PLACEMENT_MAX];
    int chosen_count;
    int legal, maximal;
    uint64_t multisets[MULTISET_MAX], maximal_multisets[MULTISET_MAX]; /* four bits a profile */
    int multiset_count, maximal_multiset_count;
    void (*visit)(const struct census *c);
};

static bool within(int total, int sum)
{
    return total < 0 || sum <= total;
}

#define SUM_OF(field)                                                                              \
    static int sum_##field(const struct census *c)                                                 \
    {                                                                                              \
        int sum = 0;                                                                               \
                                                                                                   \
        for (int i = 0; i < c->chosen_count; i++) {                                                \
            int one = c->table->profiles[c->all[c->chosen[i]].profile].field;                      \
                                                                                                   \
            sum += one > 0 ? one : 0;                                                              \
        }                                                                                          \
        return sum;                                                                                \
    }
SUM_OF(memory_mib)
SUM_OF(sm)
SUM_OF(copy_engines)
SUM_OF(decoders)
SUM_OF(encoders)
SUM_OF(jpeg)
SUM_OF(ofa)

static bool chosen_is_legal(const struct census *c)
{
    const struct slice_table *t = c->table;
    int counts[32] = {0};
    uint32_t mask = 0;

    for (int i = 0; i < c->chosen_count; i++) {
        const struct placement *p = &c->all[c->chosen[i]];

        if ((mask & p->mask) != 0 || ++counts[p->profile] > t->profiles[p->profile].count_max) {
            return false;
        }
        mask |= p->mask;
    }
    return within(t->memory_mib, sum_memory_mib(c)) && within(t->sm, sum_sm(c)) &&
           within(t->copy_engines, sum_copy_engines(c)) && within(t->decoders, sum_decoders(c)) &&
           within(t->encoders, sum_encoders(c)) && within(t->jpeg, sum_jpeg(c)) &&
           within(t->ofa, sum_ofa(c));
}

static bool may_add(struct census *c, int placement)
{
    bool legal;

    c->chosen[c->chosen_count++] = placement;
    legal = chosen_is_legal(c);
    c->chosen_count--;
    return legal;
}

static void count_multiset(const struct census *c, uint64_t *multisets, int *count)
{
    uint64_t key = 0;

    for (int i = 0; i < c->chosen_count; i++) {
        key += (uint64_t)1 << (4 * c->all[c->chosen[i]].profile);
    }
    for (int i = 0; i < *count; i++) {
        if (multisets[i] == key) {
            return;
        }
    }
    assert_true(*count < MULTISET_MAX);
    multisets[(*count)++] = key;
}

static void walk(struct census *c, int from)
{
    bool maximal = true;

    c->legal++;
    count_multiset(c, c->multisets, &c->multiset_count);
    if (c->visit != NULL) {
        c->visit(c);
    }
    for (int i = 0; i < c->placement_count; i++) {
        if (may_add(c, i)) {
            maximal = false;
            if (i >= from) {
                c->chosen[c->chosen_count++] = i;
                walk(c, i + 1);
                c->chosen_count--;
            }
        }
    }
    if (maximal) {
        c->maximal++;
        count_multiset(c, c->maximal_multisets, &c->maximal_multiset_count);
    }
}

static bool is_plain(const struct slice_table *t, int profile)
{
    const struct slice_profile *p = &t->profiles[profile];

    if (strpbrk(p->name, "+-") != NULL) {
        return false;
    }
    return !(t->grid == 8 && p->size == 2 && p->compute == 1); /* double memory */
}

static void take_census(struct census *c, const struct slice_table *table, bool plain,
                        void (*visit)(const struct census *c))
{
    *c = (struct census){.table = table, .visit = visit};
    for (int p = 0; p < table->profile_count; p++) {
        for (int start = 0; start < table->grid && (!plain || is_plain(table, p)); start++) {
            uint32_t mask = ((1U << table->profiles[p].size) - 1) << start;

            if (table->profiles[p].starts >> start & 1) {
                assert_true(c->placement_count < PLACEMENT_MAX);
                c->all[c->placement_count++] = (struct placement){p, start, mask};
            }
        }
    }
    walk(c, 0);
}

/* The set as the module would see it, held or idle by the bits of held. */
static struct slice chosen_slice(const struct census *c, uint32_t held)
{
    struct slice s = {0};

    for (int start = 0; start < c->table->grid; start++) {
        for (int i = 0; i < c->chosen_count; i++) {
            const struct placement *p = &c->all[c->chosen[i]];

            if (p->start == start) {
                s.cuts[s.count] = (struct slice_cut){(uint8_t)p->profile, (uint8_t)start,
                                                     (held >> s.count & 1) != 0};
                s.count++;
            }
        }
    }
    return s;
}

/* Most instances of one profile that can be added, by trying every subset of its placements. */
static int room_by_trying(struct census *c, int profile, int from)
{
    int most = 0;

    for (int i = from; i < c->placement_count; i++) {
        if (c->all[i].profile == profile && may_add(c, i)) {
            int room;

            c->chosen[c->chosen_count++] = i;
            room = 1 + room_by_trying(c, profile, i + 1);
            c->chosen_count--;
            most = room > most ? room : most;
        }
    }
    return most;
}

static int room_of_all_by_trying(struct census *c)
{
    int sum = 0;

    for (int p = 0; p < c->table->profile_count; p++) {
        sum += room_by_trying(c, p, 0);
    }
    return sum;
}

/* ---- the stories ---- */

static void the_counts_of_an_eight_wide_card_are_known(void **state)
{
    static struct census c;

    (void)state;
    for (size_t i = 0; i < MIG_MODEL_COUNT; i++) {
        const struct slice_table *table = &MIG_MODELS[i].table;

        if (table->grid != 8) {
            continue;
        }
        take_census(&c, table, true, NULL);
        assert_int_equal(c.maximal, 19);
        assert_int_equal(c.maximal_multiset_count, 14);
        take_census(&c, table, false, NULL);
        assert_int_equal(c.legal, 2319);
        assert_int_equal(c.maximal, 239);
        assert_int_equal(c.multiset_count, 128);
    }
}

static void the_counts_of_the_other_grids_are_known(void **state)
{
    static struct census c;

    (void)state;
    take_census(&c, slice_table_of("a30-24gb"), true, NULL);
    assert_int_equal(c.maximal, 5);
    assert_int_equal(c.maximal_multiset_count, 4);
    take_census(&c, slice_table_of("rtx-pro-6000-96gb"), true, NULL);
    assert_int_equal(c.maximal, 5);
    assert_int_equal(c.maximal_multiset_count, 4);
}

static void check_one_set(const struct census *c)
{
    struct slice s = chosen_slice(c, UINT32_MAX);
    int64_t held = slice_held_gu(c->table, &s), stranded = slice_stranded_gu(c->table, &s);
    struct census copy = *c;
    uint32_t reached = 0;
    int unreached = 0;

    assert_null(slice_check(c->table, &s));
    for (int p = 0; p < c->table->profile_count; p++) {
        assert_int_equal(slice_room(c->table, &s, p), room_by_trying(&copy, p, 0));
    }
    for (int i = 0; i < c->placement_count; i++) {
        reached |= may_add(&copy, i) ? c->all[i].mask : 0;
    }
    for (int i = 0; i < c->chosen_count; i++) {
        reached |= c->all[c->chosen[i]].mask;
    }
    for (int i = 0; i < c->table->grid; i++) {
        unreached += (reached >> i & 1) == 0;
    }
    assert_int_equal(stranded, unreached * GU_PER_GPU / c->table->grid);
    assert_in_range(held + stranded, 0, GU_PER_GPU);
}

static void check_choices(const struct census *c)
{
    struct slice s = chosen_slice(c, UINT32_MAX);
    struct census copy = *c;

    for (int p = 0; p < c->table->profile_count; p++) {
        int start = -1, best = -1, best_room = -1;
        bool recut = true;
        bool found = slice_choose(c->table, &s, p, &start, &recut);

        for (int i = 0; i < c->placement_count; i++) {
            int room;

            if (c->all[i].profile != p || !may_add(&copy, i)) {
                continue;
            }
            copy.chosen[copy.chosen_count++] = i;
            room = room_of_all_by_trying(&copy);
            copy.chosen_count--;
            if (room >= best_room) {
                best = c->all[i].start;
                best_room = room;
            }
        }
        assert_int_equal(found, best >= 0);
        if (found) {
            assert_int_equal(start, best);
            assert_false(recut);
        }
    }
}

static void every_legal_set_passes_and_its_rooms_are_exact(void **state)
{
    static struct census c;

    (void)state;
    take_census(&c, slice_table_of("h100-80gb"), false, check_one_set);
    take_census(&c, slice_table_of("a30-24gb"), false, check_one_set);
    take_census(&c, slice_table_of("rtx-pro-6000-96gb"), false, check_one_set);
}

static void the_choice_leaves_the_most_placeable(void **state)
{
    static struct census c;

    (void)state;
    take_census(&c, slice_table_of("h100-80gb"), false, check_choices);
    take_census(&c, slice_table_of("a30-24gb"), false, check_choices);
}

static int name_of(const char *name)
{
    int profile = slice_profile_of(slice_table_of("h100-80gb"), name);

    assert_true(profile >= 0);
    return profile;
}

/* Story 21: one seventh is held at 0, idle ones are cut at 1 to 6. */
static void idle_cuts_make_way_for_a_half_card(void **state)
{
    const struct slice_table *h100 = slice_table_of("h100-80gb");
    int seventh = name_of("1g.10gb"), half = name_of("3g.40gb"), whole = name_of("7g.80gb");
    struct slice s = {0};
    int start;
    bool recut;

    (void)state;
    for (int i = 0; i <= 6; i++) {
        slice_hold(h100, &s, seventh, i);
    }
    for (int i = 1; i <= 6; i++) {
        slice_release(&s, i);
    }
    assert_int_equal(s.count, 7);
    assert_true(slice_choose(h100, &s, half, &start, &recut));
    assert_int_equal(start, 4);
    assert_true(recut);
    slice_hold(h100, &s, half, start);
    assert_null(slice_check(h100, &s));
    assert_int_equal(slice_charge_gu(h100, half), 63000);
    assert_int_equal(slice_held_gu(h100, &s), 63000 + 15750);
    assert_int_equal(s.count, 5); /* 0 held, 1 to 3 idle, the half at 4 */
    assert_true(s.cuts[0].held && s.cuts[0].profile == seventh && s.cuts[0].start == 0);
    assert_false(slice_choose(h100, &s, whole, &start, &recut)); /* waits for the holder of 0 */
    assert_int_equal(slice_stranded_gu(h100, &s), 0);            /* 1 to 3 are idle, not stranded */
    assert_true(slice_choose(h100, &s, seventh, &start, &recut));
    assert_false(recut); /* an idle one is there */
    slice_release(&s, 0);
    slice_release(&s, 4);
    slice_clear_idle(&s);
    assert_int_equal(s.count, 0);
}

static void seven_sevenths_strand_the_eighth(void **state)
{
    const struct slice_table *h100 = slice_table_of("h100-80gb");
    struct slice s = {0};
    int start;
    bool recut;

    (void)state;
    assert_false(slice_any_held(&s));
    for (int i = 0; i < 7; i++) {
        assert_true(slice_choose(h100, &s, name_of("1g.10gb"), &start, &recut));
        assert_int_equal(start, 6 - i); /* from the high end, so that 0 stays for large ones */
        slice_hold(h100, &s, name_of("1g.10gb"), start);
    }
    assert_true(slice_any_held(&s));
    assert_int_equal(slice_stranded_gu(h100, &s), 15750);
    assert_false(slice_choose(h100, &s, name_of("1g.10gb"), &start, &recut));
    assert_false(slice_choose(h100, &s, name_of("1g.20gb"), &start, &recut));
}

static void the_first_half_leaves_room_for_four_sevenths(void **state)
{
    const struct slice_table *h100 = slice_table_of("h100-80gb");
    struct slice s = {0};
    int start;
    bool recut;

    (void)state;
    assert_true(slice_choose(h100, &s, name_of("3g.40gb"), &start, &recut));
    assert_int_equal(start, 4);
    slice_hold(h100, &s, name_of("3g.40gb"), start);
    assert_true(slice_choose(h100, &s, name_of("4g.40gb"), &start, &recut));
    assert_int_equal(start, 0);
}

static void media_engines_decide_where_placements_would_not(void **state)
{
    const struct slice_table *rtx = slice_table_of("NVIDIA RTX PRO 6000 Blackwell Server Edition");
    int all, plain, none, start;
    struct slice s = {0};
    bool recut;

    (void)state;
    assert_non_null(rtx);
    all = slice_profile_of(rtx, "1g.24gb+me.all");
    plain = slice_profile_of(rtx, "1g.24gb");
    none = slice_profile_of(rtx, "1g.24gb-me");
    slice_hold(rtx, &s, all, 9);
    assert_false(slice_choose(rtx, &s, plain, &start, &recut));
    assert_true(slice_choose(rtx, &s, none, &start, &recut));
    assert_false(recut);
    slice_hold(rtx, &s, none, 0);
    slice_release(&s, 9); /* all engines lie idle in a cut: it makes way, though nothing overlaps */
    assert_true(slice_choose(rtx, &s, plain, &start, &recut));
    assert_true(recut);
    slice_hold(rtx, &s, plain, 3);
    assert_null(slice_check(rtx, &s));
    assert_int_equal(s.count, 2);
    assert_int_equal(slice_charge_gu(rtx, plain), 31500);
}

static bool has_cut(const struct slice *s, const struct slice_cut *cut)
{
    for (int i = 0; i < s->count; i++) {
        if (s->cuts[i].start == cut->start && s->cuts[i].profile == cut->profile) {
            return true;
        }
    }
    return false;
}

/* A start or an end at random; what was held before a start is held and cut as it was. */
static void one_step(const struct slice_table *table, struct slice *s, struct rng *rng)
{
    int profile = (int)rng_below(rng, table->profile_count), start;
    struct slice before = *s;
    bool recut;

    if (rng_below(rng, 2) == 0 && s->count > 0) {
        int i = (int)rng_below(rng, s->count);

        if (s->cuts[i].held) {
            slice_release(s, s->cuts[i].start);
        }
        return;
    }
    if (!slice_choose(table, s, profile, &start, &recut)) {
        assert_int_equal(slice_room(table, s, profile), 0);
        return;
    }
    slice_hold(table, s, profile, start);
    assert_int_equal(slice_held_gu(table, s),
                     slice_held_gu(table, &before) + slice_charge_gu(table, profile));
    for (int i = 0; i < before.count; i++) {
        assert_true(has_cut(s, &before.cuts[i]) || (recut && !before.cuts[i].held));
    }
}

static void a_held_slice_is_never_touched(void **state)
{
    struct rng rng = rng_init(7);

    (void)state;
    for (size_t m = 0; m < MIG_MODEL_COUNT; m++) {
        const struct slice_table *table = &MIG_MODELS[m].table;
        struct slice s = {0};

        for (int step = 0; step < 3000; step++) {
            one_step(table, &s, &rng);
            assert_null(slice_check(table, &s));
        }
    }
}

static void broken_layouts_are_named(void **state)
{
    const struct slice_table *h100 = slice_table_of("h100-80gb");
    const struct slice_table *rtx = slice_table_of("rtx-pro-6000-96gb");
    uint8_t seventh = (uint8_t)name_of("1g.10gb"), half = (uint8_t)name_of("3g.40gb");
    uint8_t me = (uint8_t)name_of("1g.10gb+me");
    uint8_t all = (uint8_t)slice_profile_of(rtx, "1g.24gb+me.all");

    (void)state;
    assert_non_null(slice_check(h100, &(struct slice){13, {{0}}}));
    assert_non_null(slice_check(h100, &(struct slice){1, {{99, 0, true}}}));
    assert_non_null(slice_check(h100, &(struct slice){1, {{seventh, 7, true}}}));
    assert_non_null(slice_check(h100, &(struct slice){1, {{half, 2, true}}}));
    assert_non_null(slice_check(h100, &(struct slice){1, {{seventh, 40, true}}}));
    assert_non_null(slice_check(h100, &(struct slice){2, {{half, 0, true}, {seventh, 3, true}}}));
    assert_non_null(
        slice_check(h100, &(struct slice){2, {{seventh, 2, true}, {seventh, 1, true}}}));
    assert_non_null(slice_check(h100, &(struct slice){2, {{me, 1, true}, {me, 2, true}}}));
    assert_non_null(slice_check(rtx, &(struct slice){2, {{0, 0, true}, {all, 3, true}}}));
    assert_null(slice_check(h100, &(struct slice){0}));
}

static void no_layout_costs_more_than_its_card(void **state)
{
    (void)state;
    for (size_t m = 0; m < MIG_MODEL_COUNT; m++) {
        const struct slice_table *t = &MIG_MODELS[m].table;
        int64_t charge_gu[32];

        for (int p = 0; p < t->profile_count; p++) {
            charge_gu[p] = slice_charge_gu(t, p);
        }
        assert_int_equal(slice_dearest_gu(t, charge_gu), GU_PER_GPU);
    }
    {
        /* By compute slices: 4g and 3g fill the card, so do seven 1g. */
        const int64_t charge_gu[] = {18000, 18000, 18000, 36000, 54000, 72000, 126000};

        assert_int_equal(slice_dearest_gu(slice_table_of("h100-80gb"), charge_gu), GU_PER_GPU);
    }
    {
        /* A mixture of the two ways: three 2g by compute and a 1g.20gb by memory. */
        const int64_t charge_gu[] = {18000, 18000, 31500, 36000, 63000, 72000, 126000};

        assert_int_equal(slice_dearest_gu(slice_table_of("h100-80gb"), charge_gu), 139500);
    }
}

static void cards_are_known_by_id_and_by_product_name(void **state)
{
    (void)state;
    assert_int_equal(MIG_MODEL_COUNT, 14);
    assert_ptr_equal(slice_table_of("h100-80gb"), slice_table_of("NVIDIA H100 80GB HBM3"));
    assert_ptr_equal(slice_table_of("h100-80gb"), slice_table_of("h100-80gb-sxm"));
    assert_ptr_not_equal(slice_table_of("h100-80gb"), slice_table_of("NVIDIA H100 PCIe"));
    assert_null(slice_table_of("NVIDIA L40S"));
    assert_null(slice_table_of(""));
    assert_null(slice_table_of(NULL));
    assert_int_equal(slice_profile_of(slice_table_of("h100-80gb"), "1g.5gb"), -1);
    assert_int_equal(slice_profile_of(slice_table_of("h100-80gb"), NULL), -1);
}

static void the_tables_are_sound(void **state)
{
    int profiles = 0;

    (void)state;
    for (size_t m = 0; m < MIG_MODEL_COUNT; m++) {
        const struct slice_table *t = &MIG_MODELS[m].table;

        profiles += t->profile_count;
        assert_in_range(t->grid, 1, SLICE_CUT_MAX);
        for (int p = 0; p < t->profile_count; p++) {
            const struct slice_profile *pr = &t->profiles[p];
            struct slice s = {0};

            assert_int_equal(GU_PER_GPU * pr->size % t->grid, 0); /* the charge is exact */
            assert_int_equal(slice_room(t, &s, p), pr->count_max);
            assert_ptr_equal(slice_table_of(t->model), t);
            assert_int_equal(slice_profile_of(t, pr->name), p);
            for (int i = 0; i < 16; i++) {
                assert_true((pr->starts >> i & 1) == 0 || i + pr->size <= t->grid);
            }
        }
        for (size_t k = 0; MIG_MODELS[m].names[k] != NULL; k++) {
            assert_ptr_equal(slice_table_of(MIG_MODELS[m].names[k]), t);
        }
    }
    assert_int_equal(profiles, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_counts_of_an_eight_wide_card_are_known),
        cmocka_unit_test(the_counts_of_the_other_grids_are_known),
        cmocka_unit_test(every_legal_set_passes_and_its_rooms_are_exact),
        cmocka_unit_test(the_choice_leaves_the_most_placeable),
        cmocka_unit_test(idle_cuts_make_way_for_a_half_card),
        cmocka_unit_test(seven_sevenths_strand_the_eighth),
        cmocka_unit_test(the_first_half_leaves_room_for_four_sevenths),
        cmocka_unit_test(media_engines_decide_where_placements_would_not),
        cmocka_unit_test(a_held_slice_is_never_touched),
        cmocka_unit_test(broken_layouts_are_named),
        cmocka_unit_test(no_layout_costs_more_than_its_card),
        cmocka_unit_test(cards_are_known_by_id_and_by_product_name),
        cmocka_unit_test(the_tables_are_sound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
