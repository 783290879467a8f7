/* Every row is found by its own path, and nothing else is. */
#include "http/route.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void every_row_is_reached(void **state)
{
    (void)state;
    for (int row = 0; row < ROUTE_COUNT; row++) {
        const struct route_row *r = route_row(row);
        const char *brace = strchr(r->path, '{');
        struct route found;
        struct err err;
        char path[128];

        if (brace == NULL) {
            snprintf(path, sizeof(path), "%s", r->path);
        } else {
            snprintf(path, sizeof(path), "%.*sx7%s", (int)(brace - r->path), r->path,
                     strchr(brace, '}') + 1);
        }
        assert_int_equal(route_find(r->method, path, &found, &err), 0);
        assert_int_equal(found.row, row);
        assert_string_equal(found.target, brace != NULL ? "x7" : "");
    }
}

static void a_parameter_is_one_decoded_segment(void **state)
{
    struct route found;
    struct err err;

    (void)state;
    assert_int_equal(route_find("GET", "/v1/nodes/local%2Fn1", &found, &err), 0);
    assert_string_equal(found.target, "local/n1");
    assert_int_equal(found.row, SERVICE_NODE_SHOW);
    assert_int_equal(route_find("GET", "/v1/nodes/local/n1", &found, &err), ERR_NOT_FOUND);
    assert_int_equal(route_find("GET", "/v1/nodes//drain", &found, &err), ERR_NOT_FOUND);
    assert_int_equal(route_find("GET", "/v1/nodes/%0a", &found, &err), ERR_SYNTAX);
    assert_int_equal(route_find("GET", "/v1/jobs/%2", &found, &err), ERR_SYNTAX);
}

static void a_parameter_has_a_limit(void **state)
{
    char path[600] = "/v1/jobs/";
    struct route found;
    struct err err;

    (void)state;
    memset(path + strlen(path), 'a', ROUTE_TARGET_MAX);
    assert_int_equal(route_find("GET", path, &found, &err), 0);
    strncat(path, "a", sizeof(path) - strlen(path) - 1);
    assert_int_equal(route_find("GET", path, &found, &err), ERR_RANGE);
}

static void a_fixed_path_hides_a_pattern(void **state)
{
    struct route found;
    struct err err;
    char allow[ROUTE_ALLOW_MAX];

    (void)state;
    assert_int_equal(route_find("POST", "/v1/journal/verify", &found, &err), 0);
    assert_int_equal(found.row, SERVICE_JOURNAL_VERIFY);
    assert_int_equal(route_find("GET", "/v1/journal/verify", &found, &err), ERR_METHOD);
    route_allow("/v1/journal/verify", allow);
    assert_string_equal(allow, "POST");
    assert_int_equal(route_find("GET", "/v1/journal/12", &found, &err), 0);
    assert_int_equal(found.row, SERVICE_JOURNAL_SHOW);
}

static void other_paths_are_not_found(void **state)
{
    static const char *const PATHS[] = {"",          "/",
                                        "/v1",       "/v1/",
                                        "/v1/job",   "/v1/jobs/",
                                        "//v1/jobs", "/v1/jobs/1/",
                                        "*",         "/v1/jobs/1/why/x",
                                        "/V1/jobs",  "/v1/jobs/1/whyx"};
    struct route found;
    struct err err;

    (void)state;
    for (size_t i = 0; i < sizeof(PATHS) / sizeof(PATHS[0]); i++) {
        assert_int_equal(route_find("GET", PATHS[i], &found, &err), ERR_NOT_FOUND);
    }
}

static void allow_lists_all_methods(void **state)
{
    char allow[ROUTE_ALLOW_MAX];
    struct route found;
    struct err err;

    (void)state;
    assert_int_equal(route_find("DELETE", "/v1/jobs", &found, &err), ERR_METHOD);
    route_allow("/v1/jobs", allow);
    assert_string_equal(allow, "GET, POST");
    route_allow("/v1/tokens/x", allow);
    assert_string_equal(allow, "DELETE");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_reached),
        cmocka_unit_test(a_parameter_is_one_decoded_segment),
        cmocka_unit_test(a_parameter_has_a_limit),
        cmocka_unit_test(a_fixed_path_hides_a_pattern),
        cmocka_unit_test(other_paths_are_not_found),
        cmocka_unit_test(allow_lists_all_methods),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
