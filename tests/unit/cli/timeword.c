/* Points in time as people write them. */
#include "cli/timeword.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static int64_t at_ms;
static struct err err;

static int take(const char *text)
{
    return timeword_read(text, 1000, &at_ms, &err);
}

static void spans_count_from_now(void **state)
{
    (void)state;
    assert_int_equal(take("2h"), 0);
    assert_int_equal(at_ms, 7201000);
}

static void dates_are_utc_unless_they_say_more(void **state)
{
    (void)state;
    assert_int_equal(take("2026-11-30T15:56:07Z"), 0);
    assert_int_equal(at_ms, 1796054167000);
    assert_int_equal(take("2026-11-30T15:56:07"), 0);
    assert_int_equal(at_ms, 1796054167000);
    assert_int_equal(take("2026-11-30T21:26:07+05:30"), 0);
    assert_int_equal(at_ms, 1796054167000);
    assert_int_equal(take("2026-11-30T15:56Z"), 0);
    assert_int_equal(at_ms, 1796054160000);
}

static void what_is_no_time_is_refused(void **state)
{
    static const char *const WRONG[] = {"",
                                        "tomorrow",
                                        "12",
                                        "2026-02-30T00:00:00Z",
                                        "-2h",
                                        "2026-11-30T15:56:07+5",
                                        "2026-11-30T15:56:07Zx",
                                        "2026-11-30"};

    (void)state;
    for (size_t i = 0; i < sizeof(WRONG) / sizeof(WRONG[0]); i++) {
        assert_int_equal(take(WRONG[i]), ERR_INVALID);
    }
    assert_non_null(strstr(err.text, "2026-11-30"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_count_from_now),
        cmocka_unit_test(dates_are_utc_unless_they_say_more),
        cmocka_unit_test(what_is_no_time_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
