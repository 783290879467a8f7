/* The exit code that a job's end stands for; the rest of follow is tested end to end. */
#include "cli/follow.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static int status(const char *state, int code, int signal)
{
    json_t *job =
        json_pack("{s:s, s:{s:i, s:i}}", "state", state, "exit", "status", code, "signal", signal);
    int value = follow_exit_status(job);

    json_decref(job);
    return value;
}

static void the_jobs_own_code_is_given(void **state)
{
    (void)state;
    assert_int_equal(status("succeeded", 0, 0), 0);
    assert_int_equal(status("failed", 3, 0), 3);
    assert_int_equal(status("failed", 0, 9), 137);
    assert_int_equal(status("cancelled", 0, 15), 143);
}

/* It succeeded by `muster done`, whatever its last process returned. */
static void success_is_success(void **state)
{
    (void)state;
    assert_int_equal(status("succeeded", 1, 0), 0);
    assert_int_equal(status("succeeded", 0, 15), 0);
}

static void an_end_without_a_code_is_no_success(void **state)
{
    (void)state;
    assert_int_equal(status("failed", 0, 0), 1);
    assert_int_equal(status("cancelled", 0, 0), 130);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_jobs_own_code_is_given),
        cmocka_unit_test(success_is_success),
        cmocka_unit_test(an_end_without_a_code_is_no_success),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
