#include "journal/lockfile.h"

#include "journal_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void the_lock_has_one_owner_at_a_time(void **state)
{
    struct fixture f;
    struct err err = {0};
    int first = -1;
    int second = -1;

    (void)state;
    fixture_init(&f);
    assert_int_equal(lockfile_take(f.path, &first, &err), 0);
    assert_true(first >= 0);
    assert_int_equal(lockfile_take(f.path, &second, &err), ERR_LOCKED);
    assert_int_equal(second, -1);
    lockfile_drop(first);
    assert_int_equal(lockfile_take(f.path, &second, &err), 0);
    lockfile_drop(second);
    lockfile_drop(-1);
    fixture_fini(&f);
}

static void only_the_last_directory_is_made(void **state)
{
    struct fixture f;
    struct err err = {0};
    char path[128];
    int fd = -1;

    (void)state;
    fixture_init(&f);
    fixture_name(&f, "a/b/journal.db", path);
    assert_int_equal(lockfile_take(path, &fd, &err), ERR_IO);
    assert_non_null(strstr(err.text, "a/b"));
    fixture_name(&f, "journal.db.lock", path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(lockfile_take(f.path, &fd, &err), ERR_IO);
    assert_int_equal(rmdir(path), 0);
    fixture_fini(&f);
}

static void a_path_without_a_directory_means_here(void **state)
{
    struct fixture f;
    char old[4096];
    int fd = -1;

    (void)state;
    fixture_init(&f);
    assert_non_null(getcwd(old, sizeof(old)));
    assert_int_equal(chdir(f.dir), 0);
    assert_int_equal(lockfile_take("journal.db", &fd, NULL), 0);
    lockfile_drop(fd);
    assert_int_equal(access("journal.db.lock", F_OK), 0);
    assert_int_equal(chdir(old), 0);
    fixture_fini(&f);
}

static void a_lock_file_without_a_number_is_a_lock_too(void **state)
{
    struct fixture f;
    struct err err = {0};
    char lock[128];
    int fd = -1;
    int second = -1;

    (void)state;
    fixture_init(&f);
    fixture_name(&f, "journal.db.lock", lock);
    assert_int_equal(lockfile_take(f.path, &fd, NULL), 0);
    fixture_spit(lock, "", 0);
    assert_int_equal(lockfile_take(f.path, &second, &err), ERR_LOCKED);
    fixture_spit(lock, "what\n", 5);
    assert_int_equal(lockfile_take(f.path, &second, &err), ERR_LOCKED);
    lockfile_drop(fd);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_lock_has_one_owner_at_a_time),
        cmocka_unit_test(only_the_last_directory_is_made),
        cmocka_unit_test(a_path_without_a_directory_means_here),
        cmocka_unit_test(a_lock_file_without_a_number_is_a_lock_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
