/* Error documents are always whole JSON, whatever the message holds. */
#include "http/problem.h"

#include "base/mem.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static json_t *parsed(const struct problem *p)
{
    CLEANUP(mem_freep) char *text = problem_text(p);
    json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);

    assert_non_null(json);
    return json;
}

static const char *member(const json_t *json, const char *name)
{
    return json_string_value(json_object_get(json, name));
}

static void a_problem_names_code_and_place(void **state)
{
    struct problem p = {.field = "groups[0].gpus", .request_id = "r1"};
    json_t *json;

    (void)state;
    err_set(&p.err, ERR_OVER_LIMIT, "9 is more than \"8\"");
    json = parsed(&p);
    assert_int_equal(problem_status(&p), 422);
    assert_int_equal(json_integer_value(json_object_get(json, "status")), 422);
    assert_string_equal(member(json, "code"), "quota.over_limit");
    assert_string_equal(member(json, "detail"), "9 is more than \"8\"");
    assert_string_equal(member(json, "field"), "groups[0].gpus");
    assert_string_equal(member(json, "request_id"), "r1");
    json_decref(json);
}

static void a_status_may_be_given(void **state)
{
    struct problem p = {.status = 415, .request_id = "r1"};
    json_t *json;

    (void)state;
    err_set(&p.err, ERR_UNSUPPORTED, "no");
    json = parsed(&p);
    assert_int_equal(json_integer_value(json_object_get(json, "status")), 415);
    assert_string_equal(member(json, "title"), "Unsupported Media Type");
    assert_null(json_object_get(json, "field"));
    json_decref(json);
}

static void cut_text_stays_utf8(void **state)
{
    struct problem p = {.request_id = "r1"};
    json_t *json;

    (void)state;
    err_set(&p.err, ERR_INVALID, "J\xc3");
    json = parsed(&p);
    assert_string_equal(member(json, "detail"), "J?");
    json_decref(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_problem_names_code_and_place),
        cmocka_unit_test(a_status_may_be_given),
        cmocka_unit_test(cut_text_stays_utf8),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
