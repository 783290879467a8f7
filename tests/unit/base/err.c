#include "base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/str.h"

#include <string.h>

static void a_failure_is_one_line(void **state)
{
    struct err err = {0};

    (void)state;
    assert_int_equal(err_set(&err, ERR_CONFLICT, "job %d", 7), ERR_CONFLICT);
    assert_int_equal(err.code, ERR_CONFLICT);
    assert_string_equal(err.text, "job 7");
    assert_int_equal(err_set(NULL, ERR_INVALID, "nobody listens"), ERR_INVALID);
    (void)err_set(&err, ERR_INVALID, "%s", "two\nlines\r\tand a \x7f");
    assert_string_equal(err.text, "two lines  and a  ");
}

static void a_long_text_is_cut_between_characters(void **state)
{
    struct err err;
    char text[2 * ERR_TEXT_MAX + 2];

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        memset(text, 'x', i);
        for (size_t k = i; k + 1 < sizeof(text); k += 2) {
            memcpy(text + k, "\xc3\xa4", 2);
        }
        text[sizeof(text) - 2 + i] = '\0';
        (void)err_set(&err, ERR_INVALID, "%s", text);
        assert_int_equal(strlen(err.text), ERR_TEXT_MAX - 1);
        assert_true(str_is_utf8(err.text, strlen(err.text)));
    }
}

static void bytes_that_are_no_text_are_marked(void **state)
{
    struct err err;

    (void)state;
    (void)err_set(&err, ERR_INVALID, "%s",
                  "\xff"
                  "a\xc3"
                  "b\xe2\x82\xac\xe2\x82");
    assert_string_equal(err.text, "?a?b\xe2\x82\xac??");
}

static void codes_names_and_statuses_belong_together(void **state)
{
    (void)state;
    assert_string_equal(err_name(ERR_OVER_LIMIT), "quota.over_limit");
    assert_int_equal(err_http(ERR_OVER_LIMIT), 422);
    assert_int_equal(err_exit(ERR_OVER_LIMIT), 4);
    assert_int_equal(err_of_name("quota.over_limit"), ERR_OVER_LIMIT);
    assert_int_equal(err_of_name("no.such"), ERR_INTERNAL);
    assert_string_equal(err_name(-9999), "server.internal");
    assert_int_equal(err_http(-9999), 500);
    assert_int_equal(err_exit(-9999), 1);
}

static void no_code_and_no_name_stands_twice(void **state)
{
    static const struct {
        int code;
        const char *name;
        int http;
        int exit;
    } ROWS[] = {
#define ROW(sym, num, name, http, exit) {sym, name, http, exit},
        ERR_TABLE(ROW)
#undef ROW
    };
    size_t count = sizeof(ROWS) / sizeof(ROWS[0]);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        assert_true(ROWS[i].code < 0);
        assert_non_null(strchr(ROWS[i].name, '.'));
        assert_true(ROWS[i].http == 200 || (ROWS[i].http >= 400 && ROWS[i].http < 600));
        assert_true(ROWS[i].exit > 0 && ROWS[i].exit < 126);
        for (size_t k = 0; k < i; k++) {
            assert_int_not_equal(ROWS[i].code, ROWS[k].code);
            assert_string_not_equal(ROWS[i].name, ROWS[k].name);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_is_one_line),
        cmocka_unit_test(a_long_text_is_cut_between_characters),
        cmocka_unit_test(bytes_that_are_no_text_are_marked),
        cmocka_unit_test(codes_names_and_statuses_belong_together),
        cmocka_unit_test(no_code_and_no_name_stands_twice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
