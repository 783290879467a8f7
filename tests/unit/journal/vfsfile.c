#include "journal/vfsfile.h"

#include "journal_fixture.h"

#include "base/mem.h"

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

#define LOG_BYTES 150001 /* some parts and a rest */

static void make_log(const char *path)
{
    char *bytes = mem_new(LOG_BYTES, 1);
    int i;

    for (i = 0; i < LOG_BYTES; i++) {
        bytes[i] = (char)(i % 251);
    }
    fixture_spit(path, bytes, LOG_BYTES);
    mem_free(bytes);
}

static bool is_that_log(const char *path)
{
    size_t len;
    char *bytes = fixture_slurp(path, &len);
    bool same = len == LOG_BYTES;
    size_t i;

    for (i = 0; i < len && same; i++) {
        same = bytes[i] == (char)(i % 251);
    }
    mem_free(bytes);
    return same;
}

static void a_log_is_saved_again_as_it_was(void **state)
{
    struct fixture f;
    char log[128];

    (void)state;
    fixture_init(&f);
    fixture_name(&f, "journal.db-wal", log);
    assert_int_equal(vfsfile_save_log(NULL, f.path), 0); /* there is none */
    assert_false(vfsfile_exists(NULL, log));
    fixture_spit(f.path, "x", 1);
    make_log(log);
    assert_int_equal(vfsfile_save_log(NULL, f.path), 0);
    assert_true(is_that_log(log));
    fixture_fini(&f);
}

static void the_log_is_beside_what_a_link_leads_to(void **state)
{
    struct fixture f;
    char real[128];
    char log[128];

    (void)state;
    fixture_init(&f);
    fixture_name(&f, "real.db", real);
    fixture_name(&f, "real.db-wal", log);
    fixture_spit(real, "x", 1);
    assert_int_equal(symlink(real, f.path), 0);
    assert_int_equal(mkdir(log, 0700), 0); /* what cannot be a log shows where it looks */
    assert_int_equal(vfsfile_save_log(NULL, f.path), EISDIR);
    assert_int_equal(rmdir(log), 0);
    make_log(log);
    assert_int_equal(vfsfile_save_log(NULL, f.path), 0);
    assert_true(is_that_log(log));
    fixture_fini(&f);
}

static void a_vfs_that_is_not_there_is_told(void **state)
{
    (void)state;
    assert_int_equal(vfsfile_save_log("no such one", "journal.db"), ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_log_is_saved_again_as_it_was),
        cmocka_unit_test(the_log_is_beside_what_a_link_leads_to),
        cmocka_unit_test(a_vfs_that_is_not_there_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
