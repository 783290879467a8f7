#include "demo/scorecard.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void checks_are_counted(void **state)
{
    struct scorecard *s = scorecard_new();

    (void)state;
    assert_int_equal(scorecard_count(s), 0);
    scorecard_add(s, true, "%d GPUs", 32);
    scorecard_add(s, false, "%s", "as it must not be");
    scorecard_add(s, true, "and on");
    assert_int_equal(scorecard_count(s), 3);
    assert_int_equal(scorecard_bad(s), 1);
    scorecard_free(s);
    scorecard_free(NULL);
}

static void a_long_text_is_cut(void **state)
{
    struct scorecard *s = scorecard_new();
    char text[4096];

    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    scorecard_add(s, true, "%s", text);
    assert_int_equal(scorecard_count(s), 1);
    scorecard_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checks_are_counted),
        cmocka_unit_test(a_long_text_is_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
