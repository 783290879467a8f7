#include "journal/journal.h"

#include "journal_fixture.h"

#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534

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

static struct journal *open_journal(const struct fixture *f, bool read_only)
{
    struct journal *j = NULL;
    struct err err = {0};

    if (journal_open_sqlite(f->path, read_only, &j, &err) != 0) {
        fail_msg("%s", err.text);
    }
    return j;
}

/* The code with which path does not open; the text goes to err. */
static int refusal(const char *path, bool read_only, struct err *err)
{
    struct journal *j = NULL;
    int rc = journal_open_sqlite(path, read_only, &j, err);

    if (rc != 0) {
        assert_null(j);
        assert_int_equal(err->code, rc);
        assert_null(strchr(err->text, '\n'));
    }
    journal_close(j);
    return rc;
}

static void what_was_appended_is_there_after_opening_again(void **state)
{
    struct fixture *f = *state;
    unsigned char hash[JOURNAL_HASH_BYTES];
    unsigned char again[JOURNAL_HASH_BYTES];
    struct err err;

    for (int64_t count = 0; count < 250; count += 50) {
        struct journal *j = open_journal(f, false);

        assert_true(fixture_holds(j, count));
        journal_last_hash(j, again);
        assert_true(count == 0 || memcmp(hash, again, sizeof(hash)) == 0);
        assert_int_equal(fixture_append(j, 49, false, &err), 0);
        assert_int_equal(fixture_append(j, 1, true, &err), 0);
        journal_last_hash(j, hash);
        journal_close(j);
    }
}

static void files_are_for_the_owner_only(void **state)
{
    struct fixture *f = *state;
    struct stat st;
    char dir[160];
    char path[200];
    struct journal *j = NULL;
    mode_t old = umask(0);

    snprintf(dir, sizeof(dir), "%s/state", f->dir);
    snprintf(path, sizeof(path), "%s/journal.db", dir);
    assert_int_equal(journal_open_sqlite(path, false, &j, NULL), 0);
    umask(old);
    assert_int_equal(stat(dir, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    for (size_t i = 0; i < 4; i++) {
        static const char *const SUFFIXES[] = {"", ".lock", ".ballast", "-wal"};
        char name[240];

        snprintf(name, sizeof(name), "%s%s", path, SUFFIXES[i]);
        assert_int_equal(stat(name, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0600);
    }
    journal_close(j);
    snprintf(path, sizeof(path), "rm -r '%s'", dir);
    assert_int_equal(system(path), 0);
}

static void a_second_owner_is_refused_and_told_of_the_first(void **state)
{
    struct fixture *f = *state;
    struct journal *j = open_journal(f, false);
    struct err err;
    char pid[32];

    assert_int_equal(refusal(f->path, false, &err), ERR_LOCKED);
    snprintf(pid, sizeof(pid), "pid %d", (int)getpid());
    assert_non_null(strstr(err.text, pid));
    journal_close(j);
    assert_int_equal(refusal(f->path, false, &err), 0);
}

static void a_killed_owner_leaves_no_lock(void **state)
{
    struct fixture *f = *state;
    struct journal *j = NULL;
    struct err err;
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        _exit(journal_open_sqlite(f->path, false, &j, NULL) == 0 &&
                      fixture_append(j, 10, false, NULL) == 0
                  ? 0
                  : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(refusal(f->path, false, &err), 0);
    j = open_journal(f, false);
    assert_true(fixture_holds(j, 10));
    journal_close(j);
}

static void a_newer_format_is_refused(void **state)
{
    struct fixture *f = *state;
    struct err err;

    fixture_make(f, 3);
    fixture_sql(f->path, "PRAGMA user_version=2");
    assert_int_equal(refusal(f->path, false, &err), ERR_JOURNAL_NEWER);
    assert_int_equal(refusal(f->path, true, &err), ERR_JOURNAL_NEWER);
    assert_non_null(strstr(err.text, "format 2"));
}

static void what_is_no_journal_is_refused(void **state)
{
    static const char *const SPOILERS[] = {
        "PRAGMA application_id=7",
        "PRAGMA user_version=0; UPDATE meta SET value=0 WHERE key='format'",
        "DROP TABLE meta",
        "DELETE FROM meta WHERE key='epoch'",
        "DROP TABLE journal",
        "ALTER TABLE journal RENAME COLUMN hash TO digest",
    };
    struct fixture *f = *state;
    struct err err;

    for (size_t i = 0; i < ARRAY_LEN(SPOILERS); i++) {
        unlink(f->path);
        fixture_make(f, 3);
        fixture_sql(f->path, SPOILERS[i]);
        assert_int_equal(refusal(f->path, false, &err), ERR_JOURNAL_DAMAGED);
    }
    fixture_spit(f->path, "cluster: muster\n", 16);
    assert_int_equal(refusal(f->path, false, &err), ERR_JOURNAL_DAMAGED);
    fixture_spit(f->path, "", 0);
    assert_int_equal(refusal(f->path, false, &err), ERR_JOURNAL_DAMAGED);
}

static void a_lone_log_is_not_taken_for_a_new_journal(void **state)
{
    struct fixture *f = *state;
    struct err err;
    char wal[128];

    fixture_make(f, 3);
    fixture_name(f, "journal.db-wal", wal);
    assert_int_equal(rename(f->path, wal), 0);
    assert_int_equal(refusal(f->path, false, &err), ERR_JOURNAL_DAMAGED);
    assert_int_equal(access(wal, F_OK), 0);
}

static void looking_needs_a_file(void **state)
{
    struct fixture *f = *state;
    struct err err;

    assert_int_equal(refusal(f->path, true, &err), ERR_NOT_FOUND);
    assert_int_equal(access(f->path, F_OK), -1);
}

static void an_older_epoch_is_refused_for_good(void **state)
{
    struct fixture *f = *state;
    struct journal *j = open_journal(f, false);
    char text[FIXTURE_TEXT_MAX];
    struct journal_record r = fixture_record(1, text);
    struct err err;

    r.epoch = 7;
    assert_int_equal(journal_append(j, &r, 1, &err), 0);
    journal_close(j);
    j = open_journal(f, false);
    r.epoch = 6;
    r.seq = -1;
    assert_int_equal(journal_append(j, &r, 1, &err), ERR_JOURNAL_EPOCH);
    assert_int_equal(r.seq, -1);
    assert_int_equal(journal_append_urgent(j, &r, 1, &err), ERR_JOURNAL_EPOCH);
    assert_int_equal(journal_last_seq(j), 1);
    r.epoch = 7;
    assert_int_equal(journal_append(j, &r, 1, &err), 0);
    assert_int_equal(r.seq, 2);
    journal_close(j);
}

static void a_writer_from_elsewhere_is_noticed(void **state)
{
    struct fixture *f = *state;
    struct journal *j = open_journal(f, false);
    struct err err;

    assert_int_equal(fixture_append(j, 2, false, &err), 0);
    fixture_sql(f->path, "UPDATE meta SET value=9 WHERE key='last_seq'");
    assert_int_equal(fixture_append(j, 1, false, &err), ERR_IO);
    assert_non_null(strstr(err.text, "something else has written"));
    fixture_sql(f->path, "UPDATE meta SET value=2 WHERE key='last_seq'");
    assert_int_equal(fixture_append(j, 1, false, &err), 0);
    journal_close(j);
}

static void the_tables_themselves_refuse_changes(void **state)
{
    struct fixture *f = *state;
    sqlite3 *db = NULL;

    fixture_make(f, 3);
    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "UPDATE journal SET kind='x'", NULL, NULL, NULL),
                     SQLITE_CONSTRAINT);
    assert_int_equal(sqlite3_exec(db, "DELETE FROM journal", NULL, NULL, NULL), SQLITE_CONSTRAINT);
    sqlite3_close(db);
}

static void a_look_beside_the_writer_sees_what_is_new(void **state)
{
    struct fixture *f = *state;
    struct journal *j = open_journal(f, false);
    struct journal *look = open_journal(f, true);
    struct journal_verdict verdict;
    unsigned char hash[JOURNAL_HASH_BYTES];
    struct err err;

    assert_int_equal(journal_last_seq(look), 0);
    assert_int_equal(fixture_append(j, 5, false, &err), 0);
    assert_int_equal(journal_last_seq(look), 5);
    assert_true(fixture_holds(look, 5));
    journal_last_hash(look, hash);
    assert_int_equal(journal_verify(look, &verdict, &err), 0);
    assert_memory_equal(verdict.hash, hash, sizeof(hash));
    assert_int_equal(fixture_append(look, 1, false, &err), ERR_UNSUPPORTED);
    assert_int_equal(journal_room(look, &err), ERR_UNSUPPORTED);
    journal_close(j);
    assert_int_equal(journal_last_seq(look), 5);
    journal_close(look);
}

struct appending {
    struct journal *j;
    int64_t seen;
};

static bool append_meanwhile(void *ctx, const struct journal_record *r)
{
    struct appending *a = ctx;
    struct err err;

    (void)r;
    a->seen++;
    return fixture_append(a->j, 1, false, &err) == 0;
}

static void a_long_read_does_not_hold_up_appends(void **state)
{
    struct fixture *f = *state;
    struct appending a = {open_journal(f, false), 0};
    struct err err;

    assert_int_equal(fixture_append(a.j, 20, false, &err), 0);
    assert_int_equal(journal_read(a.j, 1, INT64_MAX, append_meanwhile, &a, &err), 0);
    assert_int_equal(a.seen, 20);
    assert_true(fixture_holds(a.j, 40));
    journal_close(a.j);
}

#define THREAD_APPENDS 60

static void *append_often(void *arg)
{
    struct err err;

    for (int i = 0; i < THREAD_APPENDS; i++) {
        if (fixture_append(arg, 3, i % 2 == 0, &err) != 0) {
            return arg;
        }
    }
    return NULL;
}

static void one_thread_writes_while_another_reads(void **state)
{
    struct fixture *f = *state;
    struct journal *j = open_journal(f, false);
    pthread_t thread;
    void *failed = NULL;
    int64_t last = 0;

    assert_int_equal(pthread_create(&thread, NULL, append_often, j), 0);
    while (last < (int64_t)3 * THREAD_APPENDS) {
        unsigned char hash[JOURNAL_HASH_BYTES];

        journal_last_hash(j, hash);
        last = journal_last_seq(j);
        assert_int_equal(journal_read(j, last - 9, 10, NULL, NULL, NULL), 0);
        usleep(1000);
    }
    assert_int_equal(pthread_join(thread, &failed), 0);
    assert_null(failed);
    assert_true(fixture_holds(j, last));
    journal_close(j);
}

/* ---- rights ---- */

/* For as long as a check takes, be an account without rights. */
static void become(uid_t id)
{
    if (id == 0) {
        assert_int_equal(seteuid(id), 0);
    }
    assert_int_equal(setegid(id), 0);
    assert_int_equal(seteuid(id), 0);
}

static void a_directory_without_rights_is_named(void **state)
{
    struct fixture *f = *state;
    struct err err = {0};
    char path[160];
    int rc;
    int rc_made;

    if (geteuid() != 0) {
        skip();
    }
    assert_int_equal(chmod(f->dir, 0755), 0);
    fixture_name(f, "state/journal.db", path);
    become(NOBODY);
    rc_made = refusal(path, false, &err);
    rc = refusal(f->path, false, &err);
    become(0);
    assert_int_equal(rc_made, ERR_IO);
    assert_int_equal(rc, ERR_IO);
    assert_non_null(strstr(err.text, f->dir));
    assert_non_null(strstr(err.text, "65534"));
}

static void a_file_without_rights_is_named(void **state)
{
    struct fixture *f = *state;
    struct err err = {0};
    int rc;
    int rc_looking;

    if (geteuid() != 0) {
        skip();
    }
    fixture_make(f, 4);
    assert_int_equal(chmod(f->dir, 0777), 0);
    become(NOBODY);
    rc_looking = refusal(f->path, true, &err);
    rc = refusal(f->path, false, &err);
    become(0);
    assert_int_equal(rc_looking, ERR_IO);
    assert_int_equal(rc, ERR_IO);
    assert_non_null(strstr(err.text, "Permission denied"));
}

static void looking_needs_no_right_to_write(void **state)
{
    struct fixture *f = *state;
    struct journal *j = NULL;
    char odd[160];
    int rc;

    if (geteuid() != 0) {
        skip();
    }
    fixture_make(f, 4);
    fixture_name(f, "a%20b?c#d.db", odd); /* each means something in a URI */
    assert_int_equal(rename(f->path, odd), 0);
    assert_int_equal(chmod(f->dir, 0755), 0);
    assert_int_equal(chmod(odd, 0644), 0);
    become(NOBODY);
    rc = journal_open_sqlite(odd, true, &j, NULL);
    become(0);
    assert_int_equal(rc, 0);
    assert_true(fixture_holds(j, 4));
    journal_close(j);
}

static void a_path_through_a_file_is_refused(void **state)
{
    struct fixture *f = *state;
    struct err err;
    char path[160];

    fixture_make(f, 1);
    fixture_name(f, "journal.db/journal.db", path);
    assert_int_equal(refusal(path, true, &err), ERR_IO);
    assert_int_equal(refusal(path, false, &err), ERR_IO);
    fixture_name(f, "folder", path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(refusal(path, true, &err), ERR_IO);
    assert_int_equal(rmdir(path), 0);
}

int main(void)
{
#define STORY(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        STORY(what_was_appended_is_there_after_opening_again),
        STORY(files_are_for_the_owner_only),
        STORY(a_second_owner_is_refused_and_told_of_the_first),
        STORY(a_killed_owner_leaves_no_lock),
        STORY(a_newer_format_is_refused),
        STORY(what_is_no_journal_is_refused),
        STORY(a_lone_log_is_not_taken_for_a_new_journal),
        STORY(looking_needs_a_file),
        STORY(an_older_epoch_is_refused_for_good),
        STORY(a_writer_from_elsewhere_is_noticed),
        STORY(the_tables_themselves_refuse_changes),
        STORY(a_look_beside_the_writer_sees_what_is_new),
        STORY(a_long_read_does_not_hold_up_appends),
        STORY(one_thread_writes_while_another_reads),
        STORY(a_directory_without_rights_is_named),
        STORY(a_file_without_rights_is_named),
        STORY(looking_needs_no_right_to_write),
        STORY(a_path_through_a_file_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
