#include "sim/shrink.h"

#include "sim/replay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

struct story { /* fails at the last of two events, if both happen under a fault, with queue 1 */
    int64_t first;
    int64_t last;
    int64_t tries;
};

static int tell(void *ctx, const struct seeded_options *o, struct shrink_end *ret, struct err *err)
{
    struct story *s = ctx;

    (void)err;
    s->tries++;
    *ret = (struct shrink_end){.event = o->events};
    if (o->events > s->last && !o->cut->events[s->first] && !o->cut->events[s->last] &&
        (o->faults & SEEDED_FAULT(DISK)) != 0 && (o->cut->queues & 2U) == 0) {
        ret->failed = true;
        ret->event = s->last + 1;
        (void)snprintf(ret->what, sizeof(ret->what), "the two met");
    } else if (!o->cut->events[5]) { /* another failure, which must not be taken for ours */
        ret->failed = true;
        ret->event = 6;
        (void)snprintf(ret->what, sizeof(ret->what), "the fifth alone");
    }
    return 0;
}

static void the_events_that_matter_are_left(void **state)
{
    struct story story = {.first = 123, .last = 777};
    struct seeded_options options = {.seed = 4, .events = 1000, .faults = SEEDED_ALL_FAULTS};
    struct seeded_cut cut;
    const struct shrink_job job = {
        .options = &options, .cut = &cut, .budget_s = 60, .try_life = tell, .ctx = &story};
    struct shrink_end end;
    int64_t i;
    int left = 0;

    (void)state;
    replay_cut_init(&cut, options.events);
    options.cut = &cut;
    assert_int_equal(shrink_run(&job, &end, NULL), 0);
    assert_true(end.failed);
    assert_string_equal(end.what, "the two met");
    assert_int_equal(options.events, 778);
    for (i = 0; i < options.events; i++) {
        left += !cut.events[i];
    }
    assert_int_equal(left, 2);
    assert_false(cut.events[123] || cut.events[777]);
    assert_int_equal(options.faults, SEEDED_FAULT(DISK));
    assert_true(cut.nodes != 0 && cut.queues != 0 && (cut.queues & 2U) == 0);
    assert_true(story.tries < 200);
    replay_cut_fini(&cut);
}

static void a_life_that_is_well_is_not_shrunk(void **state)
{
    struct seeded_options options = {.seed = 4, .events = 20};
    struct seeded_cut cut;
    const struct shrink_job job = {.options = &options,
                                   .cut = &cut,
                                   .budget_s = 60,
                                   .try_life = shrink_try_life};
    struct shrink_end end;
    struct err err;

    (void)state;
    replay_cut_init(&cut, options.events);
    options.cut = &cut;
    assert_int_equal(shrink_run(&job, &end, &err), ERR_INVALID);
    replay_cut_fini(&cut);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_events_that_matter_are_left),
        cmocka_unit_test(a_life_that_is_well_is_not_shrunk),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
