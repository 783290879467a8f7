/* The programs that muster runs are found, or named as missing. */
#include "cli/program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct err err;

static void the_folder_of_the_environment_goes_first(void **state)
{
    struct str path = {0};

    (void)state;
    setenv("MUSTER_LIBEXEC", "/bin", 1);
    assert_int_equal(program_find("sh", &path, &err), 0);
    assert_string_equal(str_text(&path), "/bin/sh");
    setenv("MUSTER_LIBEXEC", "bin", 1); /* not absolute: not taken */
    assert_int_equal(program_find("sh", &path, &err), ERR_NOT_FOUND);
    unsetenv("MUSTER_LIBEXEC");
    str_fini(&path);
}

static void what_lies_beside_is_found(void **state)
{
    struct str path = {0};

    (void)state;
    assert_int_equal(program_find("unit-cli-program", &path, &err), 0);
    assert_non_null(strstr(str_text(&path), "/unit-cli-program"));
    str_fini(&path);
}

static void a_missing_program_is_named(void **state)
{
    char *argv[] = {NULL, NULL};

    (void)state;
    assert_int_equal(program_exec("muster-none", argv, &err), ERR_NOT_FOUND);
    assert_non_null(strstr(err.text, "muster-none"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_folder_of_the_environment_goes_first),
        cmocka_unit_test(what_lies_beside_is_found),
        cmocka_unit_test(a_missing_program_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
