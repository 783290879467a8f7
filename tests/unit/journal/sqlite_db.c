#include "journal/sqlite_db.h"

#include "journal_fixture.h"

#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int set_up(void **state)
{
    static struct fixture f;

    fixture_init(&f);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    fixture_fini(*state);
    return 0;
}

static void a_new_file_is_whole_and_leaves_nothing_beside_it(void **state)
{
    static const char *const OTHERS[] = {"journal.db.new", "journal.db.new-wal", "journal.db-wal"};
    struct fixture *f = *state;
    struct sqlite_meta meta;
    sqlite3 *db = NULL;
    char path[128];

    fixture_spit(f->path, "", 0);
    fixture_name(f, OTHERS[0], path);
    assert_int_equal(rename(f->path, path), 0); /* what a crash while making it left */
    assert_int_equal(sqlite_db_create(f->path, NULL), 0);
    for (size_t i = 0; i < ARRAY_LEN(OTHERS); i++) {
        fixture_name(f, OTHERS[i], path);
        assert_int_equal(access(path, F_OK), -1);
    }
    assert_int_equal(sqlite_db_open(f->path, false, &db, NULL), 0);
    assert_int_equal(sqlite_db_check(db, f->path, &meta, NULL), 0);
    assert_true(meta.epoch == 0 && meta.last_seq == 0);
    sqlite_db_close(db);
}

static void a_file_that_cannot_be_made_is_told(void **state)
{
    struct fixture *f = *state;
    struct err err;
    char path[128];

    fixture_name(f, "none/journal.db", path);
    assert_int_equal(sqlite_db_create(path, &err), ERR_IO);
    fixture_name(f, "journal.db/", path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(sqlite_db_create(f->path, &err), ERR_IO); /* a folder has the name */
    assert_int_equal(rmdir(path), 0);
}

static void the_writer_syncs_each_commit_of_its_log(void **state)
{
    struct fixture *f = *state;
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;

    assert_int_equal(sqlite_db_create(f->path, NULL), 0);
    assert_int_equal(sqlite_db_open(f->path, true, &db, NULL), 0);
    assert_int_equal(sqlite_db_prepare(db, f->path, "PRAGMA synchronous", &stmt, NULL), 0);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(stmt, 0), 2); /* FULL */
    sqlite_db_endp(&stmt);
    assert_int_equal(sqlite_db_prepare(db, f->path, "PRAGMA journal_mode", &stmt, NULL), 0);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(stmt, 0), "wal");
    sqlite_db_endp(&stmt);
    sqlite_db_close(db);
}

static void a_reader_cannot_write(void **state)
{
    struct fixture *f = *state;
    sqlite3 *db = NULL;
    struct err err;

    assert_int_equal(sqlite_db_create(f->path, NULL), 0);
    assert_int_equal(sqlite_db_open(f->path, false, &db, NULL), 0);
    assert_int_equal(sqlite_db_run(db, f->path, "DELETE FROM meta", &err), ERR_IO);
    assert_int_equal(sqlite_db_run(db, f->path, "DELETE FROM mete", &err), ERR_JOURNAL_DAMAGED);
    sqlite_db_close(db);
}

static void a_copy_is_a_file_of_its_own(void **state)
{
    struct fixture *f = *state;
    struct sqlite_meta meta;
    struct err err;
    sqlite3 *db = NULL;
    char path[128];

    fixture_make(f, 30);
    fixture_name(f, "copy.db", path);
    assert_int_equal(sqlite_db_open(f->path, false, &db, NULL), 0);
    assert_int_equal(sqlite_db_copy(db, path, &err), 0);
    assert_int_equal(sqlite_db_copy(db, path, &err), ERR_CONFLICT);
    assert_non_null(strstr(err.text, "copy.db"));
    sqlite_db_close(db);
    assert_int_equal(unlink(f->path), 0);
    assert_int_equal(sqlite_db_open(path, false, &db, NULL), 0);
    assert_int_equal(sqlite_db_check(db, path, &meta, NULL), 0);
    assert_int_equal(meta.last_seq, 30);
    sqlite_db_close(db);
}

int main(void)
{
#define STORY(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        STORY(a_new_file_is_whole_and_leaves_nothing_beside_it),
        STORY(a_file_that_cannot_be_made_is_told),
        STORY(the_writer_syncs_each_commit_of_its_log),
        STORY(a_reader_cannot_write),
        STORY(a_copy_is_a_file_of_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
