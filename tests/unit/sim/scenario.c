#include "sim/scenario.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char path[64];

static void write_file(const char *text)
{
    int fd;

    (void)snprintf(path, sizeof(path), "/tmp/scenario-XXXXXX");
    fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

#define SITE "node n1 gpus=2\nqueue a reserved=2\n"

static void refused(const char *text, int code, const char *words)
{
    struct scenario_result r;
    struct err err = {0};

    write_file(text);
    assert_int_equal(scenario_play(path, &r, &err), code);
    if (strstr(err.text, words) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", err.text, words);
    }
    scenario_result_fini(&r);
    unlink(path);
}

static void mistakes_are_named_with_their_line(void **state)
{
    (void)state;
    refused(SITE "t=0 sumbit A\n", ERR_SYNTAX, ":3: \"sumbit\" is not known");
    refused(SITE "t=0 submit A queue=b\n", ERR_NOT_FOUND, ":3: there is no queue \"b\"");
    refused(SITE "t=5 wait\nt=4 wait\n", ERR_RANGE, ":4: t=4 is before the line above");
    refused(SITE "t=0 cancel A\n", ERR_NOT_FOUND, ":3: there is no job \"A\"");
    refused(SITE "t=0 submit A queue=a gpu=1\n", ERR_UNKNOWN_FIELD, ":3: \"gpu=1\" means nothing");
    refused("node n1 gpus=1\nqueue a reserved=2\n", ERR_POLICY_OVERCOMMIT, "the policy is refused");
}

static void an_expectation_that_fails_is_told(void **state)
{
    struct scenario_result r;
    struct err err = {0};

    (void)state;
    write_file(SITE "t=0 submit A queue=a gpus=2\nt=0 expect A queued attempt=1 nodes=n2\n---\n");
    assert_int_equal(scenario_play(path, &r, &err), 0);
    assert_non_null(strstr(r.failures.text, ":4: A: state should be queued, is running"));
    assert_non_null(strstr(r.failures.text, ":4: A: nodes should be n2, is n1"));
    assert_null(strstr(r.failures.text, "attempt should"));
    assert_non_null(strstr(r.failures.text, "differs"));
    scenario_result_fini(&r);
    unlink(path);
}

static void an_update_makes_it_pass(void **state)
{
    struct scenario_result r;
    struct err err = {0};

    (void)state;
    write_file(SITE "t=0 submit A queue=a gpus=2 run=10\nt=20 expect A succeeded\n");
    assert_int_equal(scenario_play(path, &r, &err), 0);
    assert_int_equal(scenario_update(path, &r, &err), 0);
    scenario_result_fini(&r);
    assert_int_equal(scenario_play(path, &r, &err), 0);
    assert_string_equal(r.failures.len > 0 ? r.failures.text : "", "");
    assert_non_null(strstr(r.want.text, "0 start A.1 on n1:0-1, 2 reserved + 0 borrowed"));
    assert_non_null(strstr(r.want.text, "10 A.1 succeeded"));
    scenario_result_fini(&r);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes_are_named_with_their_line),
        cmocka_unit_test(an_expectation_that_fails_is_told),
        cmocka_unit_test(an_update_makes_it_pass),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
