#include "sim/seeded.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void the_same_seed_is_the_same_life(void **state)
{
    const struct seeded_options options = {.seed = 42, .events = 120, .faults = SEEDED_ALL_FAULTS};
    struct seeded_result one, two;

    (void)state;
    seeded_run(&options, NULL, &one);
    seeded_run(&options, NULL, &two);
    if (one.failure.len > 0) {
        fail_msg("%s", one.failure.text);
    }
    assert_true(one.records > 100);
    assert_true(one.starts > 0);
    assert_int_equal(one.records, two.records);
    assert_int_equal(one.starts, two.starts);
    assert_int_equal(one.evictions, two.evictions);
    assert_int_equal(one.refused, two.refused);
    assert_int_equal(one.crashes, two.crashes);
    assert_int_equal(one.disk_faults, two.disk_faults);
    assert_string_equal(one.chain, two.chain);
    assert_string_equal(one.state, two.state);
    seeded_result_fini(&one);
    seeded_result_fini(&two);
}

static void progress_names_the_event(void **state)
{
    const struct seeded_options options = {.seed = 3, .events = 10};
    volatile int64_t progress = 0;
    struct seeded_result r;

    (void)state;
    seeded_run(&options, &progress, &r);
    assert_int_equal(progress, 10);
    assert_int_equal(r.events, 10);
    seeded_result_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_seed_is_the_same_life),
        cmocka_unit_test(progress_names_the_event),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
