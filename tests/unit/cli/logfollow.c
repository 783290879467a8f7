/* What a follower of a log asks for; that it goes on after a break is tested end to end. */
#include "cli/logfollow.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void assert_path(const struct logfollow *l, bool follow, const char *want)
{
    struct str path = {0};

    logfollow_path(l, follow, &path);
    assert_string_equal(str_text(&path), want);
    str_fini(&path);
}

static void it_asks_for_what_was_not_shown(void **state)
{
    struct logfollow *l = logfollow_new(NULL, "17", 2, 3, "stderr");

    (void)state;
    assert_path(l, false, "/v1/jobs/17/logs?task=3&attempt=2&stream=stderr");
    l->tail = 5;
    assert_path(l, true, "/v1/jobs/17/logs?task=3&attempt=2&stream=stderr&follow=true&tail=5");
    l->shown_bytes = 100;
    assert_path(l, true, "/v1/jobs/17/logs?task=3&attempt=2&stream=stderr&follow=true&from=100");
    logfollow_free(l);
}

static void no_attempt_means_the_last(void **state)
{
    struct logfollow *l = logfollow_new(NULL, "3_4", 0, 0, "stdout");

    (void)state;
    assert_path(l, false, "/v1/jobs/3_4/logs?task=0&stream=stdout");
    assert_ptr_equal(l->out, stdout);
    logfollow_free(l);
    logfollow_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_asks_for_what_was_not_shown),
        cmocka_unit_test(no_attempt_means_the_last),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
