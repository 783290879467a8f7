#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The reference values of splitmix64 for seed 1234567. */
static void the_numbers_are_the_same_everywhere(void **state)
{
    static const uint64_t WANT[] = {6457827717110365317U, 3203168211198807973U,
                                    9817491932198370423U, 4593380528125082431U,
                                    16408922859458223821U};
    struct rng r = rng_init(1234567);

    (void)state;
    for (size_t i = 0; i < sizeof(WANT) / sizeof(WANT[0]); i++) {
        assert_true(rng_next(&r) == WANT[i]);
    }
}

static void bounds_hold(void **state)
{
    struct rng r = rng_init(1);
    int seen[5] = {0};

    (void)state;
    for (int i = 0; i < 1000; i++) {
        int64_t n = rng_range(&r, -2, 2);

        assert_true(n >= -2 && n <= 2);
        seen[n + 2]++;
        assert_true(rng_below(&r, 3) < 3);
        assert_int_equal(rng_range(&r, 7, 7), 7);
    }
    for (size_t i = 0; i < 5; i++) {
        assert_true(seen[i] > 100);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_numbers_are_the_same_everywhere),
        cmocka_unit_test(bounds_hold),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
