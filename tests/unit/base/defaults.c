#include "base/defaults.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"

#include <stdlib.h>

static int without_variables(void **state)
{
    (void)state;
    unsetenv("XDG_RUNTIME_DIR");
    unsetenv("XDG_STATE_HOME");
    return unsetenv("HOME");
}

static void is(char *path, const char *want)
{
    assert_string_equal(path, want);
    mem_free(path);
}

static void root_has_the_folders_of_the_system(void **state)
{
    (void)state;
    setenv("XDG_RUNTIME_DIR", "/run/user/0", 1);
    setenv("XDG_STATE_HOME", "/root/state", 1);
    is(defaults_socket(0), "/run/muster/muster.sock");
    is(defaults_state(0), "/var/lib/muster");
}

static void others_have_their_own(void **state)
{
    (void)state;
    is(defaults_socket(1000), "/tmp/muster-1000/muster.sock");
    is(defaults_state(1000), "/tmp/muster-1000/state");
    setenv("XDG_RUNTIME_DIR", "/run/user/1000", 1);
    setenv("HOME", "/home/rosa", 1);
    is(defaults_socket(1000), "/run/user/1000/muster/muster.sock");
    is(defaults_state(1000), "/home/rosa/.local/state/muster");
    setenv("XDG_STATE_HOME", "/home/rosa/state", 1);
    is(defaults_state(1000), "/home/rosa/state/muster");
}

static void a_relative_folder_does_not_count(void **state)
{
    (void)state;
    setenv("XDG_RUNTIME_DIR", "here", 1);
    setenv("XDG_STATE_HOME", "", 1);
    setenv("HOME", "there", 1);
    is(defaults_socket(7), "/tmp/muster-7/muster.sock");
    is(defaults_state(7), "/tmp/muster-7/state");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(root_has_the_folders_of_the_system, without_variables),
        cmocka_unit_test_setup(others_have_their_own, without_variables),
        cmocka_unit_test_setup(a_relative_folder_does_not_count, without_variables),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
