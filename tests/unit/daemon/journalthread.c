#include "daemon/journalthread.h"

#include "base/hash.h"
#include "base/mem.h"
#include "tempdir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <event2/event.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

struct fixture {
    struct event_base *base;
    struct journal *journal;
    struct journalthread *thread;
    struct journalthread_result result;
    int done;
};

static void on_done(void *ctx, const struct journalthread_result *result)
{
    struct fixture *f = ctx;

    f->result = *result;
    f->done++;
    event_base_loopbreak(f->base);
}

static void open_all(struct fixture *f, void **state)
{
    CLEANUP(mem_freep) char *path = tempdir_file(state, "journal.db");
    struct err err = {0};

    *f = (struct fixture){.base = event_base_new()};
    assert_non_null(f->base);
    assert_int_equal(journal_open_sqlite(path, false, &f->journal, &err), 0);
    assert_int_equal(journalthread_new(f->journal, f->base, on_done, f, &f->thread, &err), 0);
}

static void close_all(struct fixture *f)
{
    journalthread_free(f->thread);
    journal_close(f->journal);
    event_base_free(f->base);
}

static struct journal_record record_of(const char *text)
{
    return (
        struct journal_record){.kind = "test", .version = 1, .bytes = text, .len = strlen(text)};
}

static void the_loop_hears_of_the_end(void **state)
{
    struct fixture f;
    struct journal_record records[2] = {record_of("{}"), record_of("[]")};

    open_all(&f, state);
    for (int i = 1; i <= 5; i++) {
        journalthread_append(f.thread, -1, records, 2);
        assert_int_equal(event_base_dispatch(f.base), 0);
        assert_int_equal(f.done, i);
        assert_int_equal(f.result.rc, 0);
        assert_int_equal(records[1].seq, 2 * i);
    }
    assert_int_equal(journal_last_seq(f.journal), 10);
    close_all(&f);
}

static void an_end_can_be_collected(void **state)
{
    struct fixture f;
    struct journal_record record = record_of("{}");
    struct journalthread_result result;

    open_all(&f, state);
    assert_false(journalthread_collect(f.thread, &result));
    journalthread_append(f.thread, -1, &record, 1);
    journalthread_wait(f.thread);
    assert_true(journalthread_collect(f.thread, &result));
    assert_int_equal(result.rc, 0);
    assert_false(journalthread_collect(f.thread, &result));
    assert_int_equal(event_base_loop(f.base, EVLOOP_NONBLOCK), 0);
    assert_int_equal(f.done, 0);
    close_all(&f);
}

static void content_that_could_not_be_written_ends_a_batch(void **state)
{
    struct err why = {ERR_DISK_FULL, "no room"};
    struct fixture f;

    open_all(&f, state);
    journalthread_refuse(f.thread, ERR_DISK_FULL, &why);
    event_base_dispatch(f.base);
    assert_int_equal(f.done, 1);
    assert_int_equal(f.result.rc, ERR_DISK_FULL);
    assert_true(f.result.content_failed);
    assert_string_equal(f.result.err.text, "no room");
    close_all(&f);
}

static void content_comes_first(void **state)
{
    CLEANUP(mem_freep) char *path = tempdir_file(state, "content");
    struct fixture f;
    struct journal_record record = record_of("{}");
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    open_all(&f, state);
    journalthread_append(f.thread, fd, &record, 1);
    event_base_dispatch(f.base);
    assert_int_equal(f.result.rc, 0);
    close(fd);
    journalthread_append(f.thread, fd, &record, 1);
    event_base_dispatch(f.base);
    assert_int_equal(f.result.rc, ERR_IO);
    assert_true(f.result.content_failed);
    assert_int_equal(journal_last_seq(f.journal), 1);
    close_all(&f);
}

static void refusals_and_snapshots(void **state)
{
    struct fixture f;
    struct journal_record good = record_of("{}");
    struct journal_record bad = record_of("a\nb");
    struct journal_snapshot snapshot = {.seq = 1, .format = 1, .len = 5};
    struct journal_snapshot found;

    open_all(&f, state);
    journalthread_append(f.thread, -1, &bad, 1);
    event_base_dispatch(f.base);
    assert_int_equal(f.result.rc, ERR_INVALID);
    assert_false(f.result.content_failed);
    journalthread_append(f.thread, -1, &good, 1);
    event_base_dispatch(f.base);
    journal_last_hash(f.journal, snapshot.hash);
    hash_sha256("state", 5, snapshot.state_hash);
    snapshot.bytes = mem_text("state");
    journalthread_snapshot(f.thread, &snapshot);
    journalthread_wait(f.thread);
    assert_int_equal(journal_snapshot_get(f.journal, &found, NULL), 0);
    assert_memory_equal(found.bytes, "state", 5);
    close_all(&f);
    journalthread_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_loop_hears_of_the_end, tempdir_make, tempdir_drop),
        cmocka_unit_test_setup_teardown(an_end_can_be_collected, tempdir_make, tempdir_drop),
        cmocka_unit_test_setup_teardown(content_that_could_not_be_written_ends_a_batch,
                                        tempdir_make, tempdir_drop),
        cmocka_unit_test_setup_teardown(content_comes_first, tempdir_make, tempdir_drop),
        cmocka_unit_test_setup_teardown(refusals_and_snapshots, tempdir_make, tempdir_drop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
