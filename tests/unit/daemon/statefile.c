#include "daemon/statefile.h"

#include "base/mem.h"
#include "tempdir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void a_file_is_written_whole(void **state)
{
    CLEANUP(mem_freep) char *path = tempdir_file(state, "f");
    struct str got = {0};
    struct err err;
    struct stat st;

    assert_int_equal(statefile_read(path, &got, &err), ERR_NOT_FOUND);
    assert_int_equal(statefile_write(path, "one", 3, &err), 0);
    assert_int_equal(statefile_write(path, "second", 6, &err), 0);
    assert_int_equal(statefile_read(path, &got, &err), 0);
    assert_string_equal(str_text(&got), "second");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    str_fini(&got);
}

static void a_directory_is_made_and_closed(void **state)
{
    CLEANUP(mem_freep) char *path = tempdir_file(state, "a/b/state");
    struct err err;
    struct stat st;

    assert_int_equal(statefile_dir(path, &err), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    chmod(path, 0711);
    assert_int_equal(statefile_dir(path, &err), 0);
    chmod(path, 0750);
    assert_int_equal(statefile_dir(path, &err), ERR_IO);
    assert_non_null(strstr(err.text, "others may read or write it (mode 0750): chmod 0700"));
}

static void what_is_no_directory_is_refused(void **state)
{
    CLEANUP(mem_freep) char *file = tempdir_file(state, "file");
    CLEANUP(mem_freep) char *link = tempdir_file(state, "link");
    struct err err;

    assert_int_equal(statefile_write(file, "", 0, &err), 0);
    assert_int_equal(statefile_dir(file, &err), ERR_IO);
    assert_int_equal(symlink(*state, link), 0);
    assert_int_equal(statefile_dir(link, &err), ERR_IO);
    assert_int_equal(statefile_dir("relative", &err), ERR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_file_is_written_whole, tempdir_make, tempdir_drop),
        cmocka_unit_test_setup_teardown(a_directory_is_made_and_closed, tempdir_make, tempdir_drop),
        cmocka_unit_test_setup_teardown(what_is_no_directory_is_refused, tempdir_make,
                                        tempdir_drop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
