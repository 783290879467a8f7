/* The proof that no step was lost or done twice: what the ledger must notice. */
#include "demo/stepledger.h"

#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define RANKS 4

static char path[64];

static int setup(void **state)
{
    int fd;

    (void)state;
    snprintf(path, sizeof(path), "/tmp/stepledger-XXXXXX");
    fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

static void add(int64_t from, int64_t to, int64_t attempt)
{
    struct err err;

    for (int64_t step = from; step <= to; step++) {
        assert_int_equal(stepledger_add(path, step, attempt, stepledger_total(step, RANKS), &err),
                         0);
    }
}

static struct stepledger_sum sum(void)
{
    struct stepledger_sum s;
    struct err err;

    assert_int_equal(stepledger_read(path, RANKS, &s, &err), 0);
    return s;
}

static void a_counter_is_what_all_ranks_gave(void **state)
{
    (void)state;
    assert_int_equal(stepledger_total(0, 32), 0);
    assert_int_equal(stepledger_total(1, 4), 1 + 2 + 3 + 4);
    assert_int_equal(stepledger_total(3, 2), (1 + 2 + 3) * (1 + 2));
}

static void steps_of_two_attempts_are_there_once_each(void **state)
{
    struct stepledger_sum s;

    (void)state;
    add(1, 10, 1);
    add(11, 25, 2);
    s = sum();
    assert_int_equal(s.lines, 25);
    assert_int_equal(s.last, 25);
    assert_int_equal(s.missing + s.again + s.wrong, 0);
    assert_int_equal(s.attempts, 2);
    assert_int_equal(s.resumed, 11);
}

static void a_lost_step_is_missing(void **state)
{
    (void)state;
    add(1, 4, 1);
    add(6, 8, 2);
    assert_int_equal(sum().missing, 1);
}

static void a_step_done_again_is_counted(void **state)
{
    struct stepledger_sum s;

    (void)state;
    add(1, 30, 1);
    add(11, 32, 2);
    s = sum();
    assert_int_equal(s.again, 20);
    assert_int_equal(s.missing, 0);
    assert_int_equal(s.resumed, 11);
}

static void a_rank_that_gave_nothing_is_seen_in_the_counter(void **state)
{
    struct err err;

    (void)state;
    add(1, 3, 1);
    assert_int_equal(stepledger_add(path, 4, 1, stepledger_total(4, RANKS) - 4, &err), 0);
    assert_int_equal(sum().wrong, 1);
}

static void no_file_is_an_empty_ledger(void **state)
{
    (void)state;
    unlink(path);
    assert_int_equal(sum().lines, 0);
    assert_int_equal(sum().last, 0);
}

static void what_is_no_line_is_refused(void **state)
{
    static const char *const TEXTS[] = {"1 1\n",         "one 1 10\n", "0 1 0\n",
                                        "1 1 10 more\n", "1 1 10",     "2000000 1 1\n"};
    struct stepledger_sum s;
    struct err err;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(TEXTS); i++) {
        FILE *file = fopen(path, "we");

        assert_non_null(file);
        fputs(TEXTS[i], file);
        fclose(file);
        assert_int_equal(stepledger_read(path, RANKS, &s, &err), ERR_SYNTAX);
    }
}

static void a_place_that_cannot_be_written_is_an_error(void **state)
{
    struct stepledger_sum s;
    struct err err;

    (void)state;
    assert_int_equal(stepledger_add("/nowhere/ledger", 1, 1, 10, &err), ERR_IO);
    assert_int_equal(stepledger_read("/proc/self/mem/ledger", RANKS, &s, &err), ERR_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_counter_is_what_all_ranks_gave),
        cmocka_unit_test_setup_teardown(steps_of_two_attempts_are_there_once_each, setup, teardown),
        cmocka_unit_test_setup_teardown(a_lost_step_is_missing, setup, teardown),
        cmocka_unit_test_setup_teardown(a_step_done_again_is_counted, setup, teardown),
        cmocka_unit_test_setup_teardown(a_rank_that_gave_nothing_is_seen_in_the_counter, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(no_file_is_an_empty_ledger, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_no_line_is_refused, setup, teardown),
        cmocka_unit_test(a_place_that_cannot_be_written_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
