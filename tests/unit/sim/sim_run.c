#include "sim/sim_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

/* The words, in memory that may be written to, as main has them. */
static int call(int command(int argc, char **argv), const char *one, const char *two)
{
    char text[2][64] = {{0}};
    char *words[2] = {text[0], text[1]};

    (void)snprintf(text[0], sizeof(text[0]), "%s", one);
    (void)snprintf(text[1], sizeof(text[1]), "%s", two != NULL ? two : "");
    return command(two != NULL ? 2 : 1, words);
}

static void a_wrong_option_is_refused(void **state)
{
    (void)state;
    assert_int_equal(call(sim_run, "--frob", "1"), 2);
    assert_int_equal(call(sim_run, "--seed", NULL), 2);
    assert_int_equal(call(sim_run, "--seed", "x"), 2);
    assert_int_equal(call(sim_run, "--seeds", "0"), 2);
    assert_int_equal(call(sim_run, "--events", "-1"), 2);
    assert_int_equal(call(sim_run, "--faults", "rain"), 2);
    assert_int_equal(call(sim_run, "--replay", "/no/such/file"), 2);
}

/* What means nothing to a command is no option of it. */
static void each_command_has_its_options(void **state)
{
    (void)state;
    assert_int_equal(call(sim_run, "--budget", "1"), 2);
    assert_int_equal(call(sim_run, "--output", "file"), 2);
    assert_int_equal(call(sim_shrink, "--seeds", "2"), 2);
    assert_int_equal(call(sim_shrink, "--verbose", NULL), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_option_is_refused),
        cmocka_unit_test(each_command_has_its_options),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
