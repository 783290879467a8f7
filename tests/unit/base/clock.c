#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define S        ((int64_t)1000000000) /* in ns */
#define START_MS ((int64_t)1800000000000)

/* Both clocks, seconds after the start; the wall may be off by step_ns. */
static struct clock_reading at(int64_t passed_ns, int64_t step_ns)
{
    return (struct clock_reading){.wall_ns = START_MS * 1000000 + passed_ns + step_ns,
                                  .boot_ns = 5 * S + passed_ns};
}

static void without_steps_it_keeps_to_the_wall(void **state)
{
    struct clock c;
    int64_t step = 7;

    (void)state;
    clock_start(&c, at(0, 0), 0);
    assert_int_equal(clock_advance(&c, at(0, 0), &step), START_MS);
    assert_int_equal(step, 0);
    assert_int_equal(clock_advance(&c, at(90 * S, 0), &step), START_MS + 90000);
    assert_int_equal(clock_advance(&c, at(3600 * S, 0), NULL), START_MS + 3600000);
    assert_int_equal(step, 0);
}

static void a_step_forwards_is_followed_and_told_once(void **state)
{
    struct clock c;
    int64_t step;

    (void)state;
    clock_start(&c, at(0, 0), 0);
    assert_int_equal(clock_advance(&c, at(S, 60 * S), &step), START_MS + 61000);
    assert_int_equal(step, 60000);
    assert_int_equal(clock_advance(&c, at(2 * S, 60 * S), &step), START_MS + 62000);
    assert_int_equal(step, 0);
}

static void a_step_backwards_never_turns_time_back(void **state)
{
    struct clock c;
    int64_t step;

    (void)state;
    clock_start(&c, at(0, 0), 0);
    assert_int_equal(clock_advance(&c, at(S, -16 * S), &step), START_MS + 1000);
    assert_int_equal(step, -16000);
    assert_int_equal(clock_advance(&c, at(9 * S, -16 * S), &step), START_MS + 8000);
    assert_int_equal(step, 0);
    /* 16 s behind at an eighth: 128 s later the wall has caught up, and stays. */
    assert_int_equal(clock_advance(&c, at(129 * S, -16 * S), &step), START_MS + 113000);
    assert_int_equal(clock_advance(&c, at(200 * S, -16 * S), &step), START_MS + 184000);
    assert_int_equal(step, 0);
}

static void a_small_difference_is_made_up_for_quietly(void **state)
{
    struct clock c;
    int64_t step;

    (void)state;
    clock_start(&c, at(0, 0), 0);
    assert_int_equal(clock_advance(&c, at(S, S / 2), &step), START_MS + 1000);
    assert_int_equal(step, 0);
    assert_int_equal(clock_advance(&c, at(3 * S, S / 2), &step), START_MS + 3250);
    assert_int_equal(clock_advance(&c, at(60 * S, S / 2), &step), START_MS + 60500);
    assert_int_equal(step, 0);
}

static void sleep_is_no_step(void **state)
{
    struct clock c;
    int64_t step;

    (void)state;
    clock_start(&c, at(0, 0), 0);
    assert_int_equal(clock_advance(&c, at(86400 * S, 0), &step), START_MS + 86400000);
    assert_int_equal(step, 0);
}

static void a_wall_behind_the_journal_does_not_turn_time_back(void **state)
{
    struct clock c;
    int64_t step;

    (void)state;
    clock_start(&c, at(0, 0), START_MS + 80000);
    assert_int_equal(clock_advance(&c, at(0, 0), &step), START_MS + 80000);
    assert_int_equal(clock_advance(&c, at(8 * S, 0), &step), START_MS + 87000);
    assert_int_equal(step, 0);
}

static void readings_out_of_order_do_not_turn_time_back(void **state)
{
    struct clock c;
    int64_t first, second;

    (void)state;
    clock_start(&c, at(0, 0), 0);
    first = clock_advance(&c, at(2 * S, 0), NULL);
    second = clock_advance(&c, at(S, 0), NULL);
    assert_true(second >= first);
}

static void the_real_clocks_rise(void **state)
{
    struct clock c;
    int64_t last;

    (void)state;
    clock_start(&c, clock_read(), 0);
    last = clock_now_ms(&c, NULL);
    assert_true(last > 1600000000000);
    for (int i = 0; i < 1000; i++) {
        int64_t now = clock_now_ms(&c, NULL);

        assert_true(now >= last);
        last = now;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_steps_it_keeps_to_the_wall),
        cmocka_unit_test(a_step_forwards_is_followed_and_told_once),
        cmocka_unit_test(a_step_backwards_never_turns_time_back),
        cmocka_unit_test(a_small_difference_is_made_up_for_quietly),
        cmocka_unit_test(sleep_is_no_step),
        cmocka_unit_test(a_wall_behind_the_journal_does_not_turn_time_back),
        cmocka_unit_test(readings_out_of_order_do_not_turn_time_back),
        cmocka_unit_test(the_real_clocks_rise),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
