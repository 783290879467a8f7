#include "journal/logmove.h"

#include "fault_vfs.h"
#include "journal_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/stat.h>

#define SMALL "INSERT INTO t VALUES(1)"

struct bench {
    struct fixture fixture;
    struct fault_vfs *vfs;
    sqlite3 *writer;
    sqlite3 *reader;
    struct logmove move;
    int64_t changes; /* of the disk by a small commit */
};

static void run(sqlite3 *db, const char *sql)
{
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
}

/* The log is long enough to be moved, and nothing of it is. */
static void bench_init(struct bench *b)
{
    *b = (struct bench){.vfs = fault_vfs_install()};
    *b->vfs = (struct fault_vfs){0};
    fixture_init(&b->fixture);
    assert_int_equal(sqlite3_open(b->fixture.path, &b->writer), SQLITE_OK);
    run(b->writer, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
                   "PRAGMA wal_autocheckpoint=0; CREATE TABLE t(x);"
                   "INSERT INTO t VALUES(zeroblob(5000000));" SMALL);
    b->vfs->count = 0;
    run(b->writer, SMALL);
    b->changes = b->vfs->count;
    assert_int_equal(sqlite3_open(b->fixture.path, &b->reader), SQLITE_OK);
    logmove_init(&b->move, b->writer);
}

static void bench_fini(struct bench *b)
{
    assert_int_equal(sqlite3_close(b->reader), SQLITE_OK);
    assert_int_equal(sqlite3_close(b->writer), SQLITE_OK);
    fixture_fini(&b->fixture);
}

static int64_t bytes_of(const struct bench *b, const char *name)
{
    char path[128];
    struct stat st;

    fixture_name(&b->fixture, name, path);
    return stat(path, &st) == 0 ? (int64_t)st.st_size : 0;
}

/* A commit that works, and the move behind it does not. */
static void commit_and_fail_to_move(const struct bench *b)
{
    *b->vfs = (struct fault_vfs){.fail_at = b->changes + 1};
    run(b->writer, SMALL);
    assert_true(b->vfs->failed);
    *b->vfs = (struct fault_vfs){0};
}

static void hold_up(struct bench *b)
{
    run(b->reader, "BEGIN; SELECT count(*) FROM t");
    run(b->writer, SMALL);
    assert_true(b->move.held_up);
    run(b->reader, "COMMIT");
}

static void a_failed_move_is_made_again(void **state)
{
    struct bench b;

    (void)state;
    bench_init(&b);
    commit_and_fail_to_move(&b);
    assert_false(b.move.ended);
    assert_true(bytes_of(&b, "journal.db") < 100000);
    run(b.writer, SMALL);
    assert_false(b.move.ended);
    assert_false(b.move.held_up);
    assert_true(bytes_of(&b, "journal.db") > 5000000);
    bench_fini(&b);
}

static void a_move_that_is_held_up_is_finished_later(void **state)
{
    struct bench b;

    (void)state;
    bench_init(&b);
    hold_up(&b);
    run(b.writer, SMALL);
    assert_false(b.move.held_up);
    assert_false(b.move.ended);
    assert_true(bytes_of(&b, "journal.db") > 5000000);
    bench_fini(&b);
}

static void after_a_failed_move_behind_one_held_up_the_log_keeps_all(void **state)
{
    struct bench b;
    int64_t had;
    int i;

    (void)state;
    bench_init(&b);
    hold_up(&b);
    commit_and_fail_to_move(&b);
    assert_true(b.move.ended);
    had = bytes_of(&b, "journal.db-wal");
    for (i = 0; i < 10; i++) {
        run(b.writer, SMALL);
    }
    assert_true(bytes_of(&b, "journal.db-wal") >= had + 10 * (int64_t)4096);
    assert_int_equal(sqlite3_close(b.reader), SQLITE_OK);
    assert_int_equal(sqlite3_close(b.writer), SQLITE_OK);
    assert_true(bytes_of(&b, "journal.db-wal") > had);
    /* Whoever opens it next begins from nothing. */
    assert_int_equal(sqlite3_open(b.fixture.path, &b.reader), SQLITE_OK);
    assert_int_equal(sqlite3_open(b.fixture.path, &b.writer), SQLITE_OK);
    logmove_init(&b.move, b.writer);
    run(b.writer, SMALL);
    assert_false(b.move.held_up);
    run(b.writer, SMALL);
    assert_true(bytes_of(&b, "journal.db") > 5000000);
    bench_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failed_move_is_made_again),
        cmocka_unit_test(a_move_that_is_held_up_is_finished_later),
        cmocka_unit_test(after_a_failed_move_behind_one_held_up_the_log_keeps_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
