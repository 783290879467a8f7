/* Times, spans and foreign text. */
#include "cli/display.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static struct str out;

static int end(void **state)
{
    (void)state;
    str_fini(&out);
    return 0;
}

static const char *span(int64_t ms)
{
    str_clear(&out);
    display_span(&out, ms);
    return str_text(&out);
}

static const char *text(const char *raw)
{
    str_clear(&out);
    display_text(&out, raw);
    return str_text(&out);
}

static void spans_keep_two_units(void **state)
{
    (void)state;
    assert_string_equal(span(-5), "0s");
    assert_string_equal(span(999), "0s");
    assert_string_equal(span(59999), "59s");
    assert_string_equal(span(60000), "1m00s");
    assert_string_equal(span(3599999), "59m59s");
    assert_string_equal(span(7500000), "2h05m");
    assert_string_equal(span(86400000), "1d00h");
    assert_string_equal(span(INT64_MAX), "106751991167d07h");
}

static void times_are_utc_or_carry_their_offset(void **state)
{
    (void)state;
    setenv("TZ", "Asia/Kolkata", 1);
    tzset();
    display_time(&out, 1796054167123, false);
    assert_string_equal(str_text(&out), "2026-11-30T15:56:07Z");
    str_clear(&out);
    display_time(&out, 1796054167123, true);
    assert_string_equal(str_text(&out), "2026-11-30T21:26:07+05:30");
    str_clear(&out);
    display_time(&out, 0, false);
    assert_string_equal(str_text(&out), "-");
}

static void foreign_text_cannot_move_the_cursor(void **state)
{
    (void)state;
    assert_string_equal(text("a\x1b[2Jb\n\x7f"), "a?[2Jb??");
    assert_string_equal(text("\xc2\x9b"
                             "x"),
                        "?x");
    assert_string_equal(text("caf\xc3\xa9"), "caf\xc3\xa9");
    assert_string_equal(text("\xc2"), "\xc2");
}

static void members_of_the_wrong_type_are_empty(void **state)
{
    json_t *json =
        json_pack("{s:s, s:i, s:b, s:[s,i]}", "seq", "12", "n", 7, "yes", 1, "list", "a", 3);

    (void)state;
    assert_int_equal(member_int(json, "seq"), 12);
    assert_int_equal(member_int(json, "n"), 7);
    assert_int_equal(member_int(json, "yes"), 0);
    assert_string_equal(member_text(json, "n"), "");
    assert_true(member_flag(json, "yes"));
    assert_false(member_flag(json, "none"));
    member_join(&out, json_object_get(json, "list"));
    assert_string_equal(str_text(&out), "a,3");
    json_decref(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(spans_keep_two_units, end),
        cmocka_unit_test_teardown(times_are_utc_or_carry_their_offset, end),
        cmocka_unit_test_teardown(foreign_text_cannot_move_the_cursor, end),
        cmocka_unit_test_teardown(members_of_the_wrong_type_are_empty, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
