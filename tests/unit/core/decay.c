/* Usage decay in fixed point. */
#include "core/decay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define HOUR ((int64_t)3600 * 1000)

static void a_half_life_leaves_half(void **state)
{
    int128 amount = (int128)1 << 90;

    (void)state;
    assert_true(decay_of(amount, 0, HOUR) == amount);
    assert_true(decay_of(amount, HOUR, HOUR) == amount / 2);
    assert_true(decay_of(amount, 3 * HOUR, HOUR) == amount / 8);
    assert_true(decay_of(amount, 200 * HOUR, HOUR) == 0);
}

static void two_quarters_are_a_half(void **state)
{
    int128 amount = (int128)1 << 60;
    int128 twice = decay_of(decay_of(amount, HOUR / 2, HOUR), HOUR / 2, HOUR);
    int128 off = amount / 2 - twice;

    (void)state;
    assert_true(off >= 0 && off <= 4);
}

static void it_only_falls(void **state)
{
    int128 last = (int128)1 << 70;

    (void)state;
    for (int64_t ms = 0; ms < 5 * HOUR; ms += 7919) {
        int128 now = decay_of((int128)1 << 70, ms, HOUR);

        assert_true(now <= last && now >= 0);
        last = now;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_half_life_leaves_half),
        cmocka_unit_test(two_quarters_are_a_half),
        cmocka_unit_test(it_only_falls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
