#include "daemon/crashmark.h"

#include "tempdir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* A child that is ended by the signal at this seq. */
static void end_by(const char *state, int64_t seq, int number)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        if (crashmark_open(state, NULL) != 0) {
            _exit(9);
        }
        crashmark_at(seq);
        raise(number);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
}

static int count(const char *state, int64_t seq)
{
    int n;

    assert_int_equal(crashmark_open(state, NULL), 0);
    n = crashmark_count(seq);
    crashmark_close();
    return n;
}

static void crashes_in_a_row_are_counted(void **state)
{
    assert_int_equal(count(*state, 0), 0);
    end_by(*state, 1234567890123, SIGABRT);
    assert_int_equal(count(*state, 1234567890123), 1);
    assert_int_equal(count(*state, 1234567890124), 0);
    end_by(*state, 1234567890123, SIGSEGV);
    assert_int_equal(count(*state, 1234567890123), 2);
    end_by(*state, 7, SIGABRT);
    assert_int_equal(count(*state, 1234567890123), 0);
    assert_int_equal(count(*state, 7), 1);
}

static void a_kill_is_no_crash(void **state)
{
    end_by(*state, 5, SIGKILL);
    end_by(*state, 5, SIGTERM);
    assert_int_equal(count(*state, 5), 0);
}

static void what_is_cleared_is_forgotten(void **state)
{
    end_by(*state, 5, SIGABRT);
    assert_int_equal(crashmark_open(*state, NULL), 0);
    crashmark_clear();
    assert_int_equal(crashmark_count(5), 0);
    crashmark_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(crashes_in_a_row_are_counted, tempdir_make, tempdir_drop),
        cmocka_unit_test_setup_teardown(a_kill_is_no_crash, tempdir_make, tempdir_drop),
        cmocka_unit_test_setup_teardown(what_is_cleared_is_forgotten, tempdir_make, tempdir_drop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
