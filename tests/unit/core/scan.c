#include "core/scan.h"

#include "base/arena.h"
#include "base/check.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct scan scan_of(const char *text, struct arena *arena, struct err *err)
{
    return (struct scan){
        .start = text, .at = text, .end = text + strlen(text), .arena = arena, .err = err};
}

static void white_space_is_skipped_and_the_end_is_zero(void **state)
{
    struct scan r = scan_of(" \t\r\n7 ", NULL, NULL);

    (void)state;
    assert_int_equal(scan_peek(&r), '7');
    r.at++;
    assert_int_equal(scan_peek(&r), '\0');
    assert_ptr_equal(r.at, r.end);
}

static void a_plain_string_is_lent_and_an_escaped_one_is_made(void **state)
{
    struct arena *arena = arena_make();
    struct scan plain = scan_of("\"abc\",", arena, NULL);
    struct scan escaped = scan_of("\"a\\tc\",", arena, NULL);
    struct scan_string string;

    (void)state;
    assert_int_equal(scan_string(&plain, &string), 0);
    assert_ptr_equal(string.text, plain.start + 1);
    assert_int_equal(string.len, 3);
    assert_false(string.unescaped);
    assert_int_equal(scan_peek(&plain), ',');
    assert_int_equal(scan_string(&escaped, &string), 0);
    assert_string_equal(string.text, "a\tc");
    assert_true(string.unescaped);
    assert_int_equal(scan_peek(&escaped), ',');
    arena_free(arena);
}

static void an_error_names_the_line_or_the_path(void **state)
{
    struct err err;
    struct scan r = scan_of("{\n  x", NULL, &err);
    bool truth;

    (void)state;
    r.at += 4;
    assert_int_equal(scan_bool(&r, &truth), ERR_SYNTAX);
    assert_string_equal(err.text, "2:3: a value should begin here");
    r = scan_of("[]", NULL, &err);
    r.steps[r.depth++] = (struct scan_step){"tasks", 3};
    r.steps[r.depth++] = (struct scan_step){"held", SCAN_NO_INDEX};
    assert_int_equal(scan_bool(&r, &truth), ERR_INVALID);
    assert_string_equal(err.text, "tasks[3].held: true or false is expected, not a list");
}

static void whole_numbers_keep_every_bit(void **state)
{
    static const struct {
        const char *text;
        int64_t value;
    } CASES[] = {
        {"0", 0},
        {"-0", 0},
        {"126000", 126000},
        {"922337203685477580", 922337203685477580},
        {"9223372036854775807", INT64_MAX},
        {"-9223372036854775808", INT64_MIN},
        {"-922337203685477580", -922337203685477580},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct scan r = scan_of(CASES[i].text, NULL, NULL);
        int64_t value = 1;

        assert_int_equal(scan_int(&r, &value), 0);
        assert_true(value == CASES[i].value);
        assert_ptr_equal(r.at, r.end);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(white_space_is_skipped_and_the_end_is_zero),
        cmocka_unit_test(a_plain_string_is_lent_and_an_escaped_one_is_made),
        cmocka_unit_test(an_error_names_the_line_or_the_path),
        cmocka_unit_test(whole_numbers_keep_every_bit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
