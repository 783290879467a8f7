/* Paths and problems; what needs a server is tested end to end. */
#include "cli/client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct err err;

static void what_stands_in_a_path_is_encoded(void **state)
{
    struct str path = {0};

    (void)state;
    str_add(&path, "/v1/nodes");
    path_add(&path, "local/n1 ?");
    path_add_query(&path, "a", "b&c");
    path_add_query(&path, "d", "\xc3\xa9");
    assert_string_equal(str_text(&path), "/v1/nodes/local%2Fn1%20%3F?a=b%26c&d=%C3%A9");
    str_fini(&path);
}

static int problem(long http, const char *text, char *field)
{
    return client_problem(http, text, strlen(text), field, 64, &err);
}

static void a_problem_gives_code_text_and_field(void **state)
{
    char field[64];

    (void)state;
    assert_int_equal(problem(422,
                             "{\"code\":\"quota.over_limit\",\"detail\":\"asks for 65 of 64\","
                             "\"field\":\"groups[0].gpus\"}",
                             field),
                     ERR_OVER_LIMIT);
    assert_string_equal(err.text, "asks for 65 of 64");
    assert_string_equal(field, "groups[0].gpus");
    assert_int_equal(err_exit(err.code), 4);
}

static void a_code_of_tomorrow_keeps_its_name_and_class(void **state)
{
    char field[64];

    (void)state;
    assert_int_equal(problem(409, "{\"code\":\"lease.gone\",\"detail\":\"it went\"}", field),
                     ERR_CONFLICT);
    assert_string_equal(err.text, "lease.gone: it went");
    assert_int_equal(problem(404, "<html>", field), ERR_NOT_FOUND);
    assert_int_equal(problem(502, "", field), ERR_BUSY);
    assert_int_equal(problem(418, "[]", field), ERR_INTERNAL);
    assert_string_equal(field, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_stands_in_a_path_is_encoded),
        cmocka_unit_test(a_problem_gives_code_text_and_field),
        cmocka_unit_test(a_code_of_tomorrow_keeps_its_name_and_class),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
