/* A run of opening, appending, taking a snapshot and closing, with its n-th write, sync or
 * truncation failing, for every n: what was acknowledged is there, and nothing else but, where
 * outcomes were called unknown since, the whole of one such batch. */
#include "fault_vfs.h"
#include "journal_fixture.h"

#include "base/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#define BATCHES   8
#define BATCH_MAX 5

static size_t batch_size(int batch)
{
    return (size_t)(batch * batch % BATCH_MAX + 1);
}

struct run {
    struct fixture fixture;
    struct fault_vfs *vfs;
    int64_t acked;               /* records that append returned 0 for */
    bool unknown[BATCH_MAX + 1]; /* a batch of so many records has an unknown outcome */
    bool done;                   /* nothing failed */
};

static void check_opened(struct run *run, const char *path)
{
    struct journal *j = NULL;
    struct journal_verdict verdict;
    struct err err = {0};
    int64_t last;

    if (journal_open_sqlite(path, false, &j, &err) != 0) {
        fail_msg("fault at %lld: cannot open: %s", (long long)run->vfs->count, err.text);
    }
    last = journal_last_seq(j);
    if (last < run->acked || last > run->acked + BATCH_MAX ||
        (last > run->acked && !run->unknown[last - run->acked])) {
        fail_msg("%lld records, %lld were acknowledged", (long long)last, (long long)run->acked);
    }
    assert_true(fixture_holds(j, last));
    assert_int_equal(journal_verify(j, &verdict, &err), 0);
    assert_int_equal(fixture_append(j, 1, false, &err), 0);
    assert_true(fixture_holds(j, last + 1));
    journal_close(j);
}

/* What another process would find, had ours been killed now. */
static void check_killed(struct run *run)
{
    static const char *const SUFFIXES[] = {"", "-wal", "-journal"};
    struct fault_vfs now = *run->vfs;
    char copy[128];
    char from[160];
    char to[160];

    fixture_name(&run->fixture, "copy.db", copy);
    for (size_t i = 0; i < sizeof(SUFFIXES) / sizeof(SUFFIXES[0]); i++) {
        snprintf(from, sizeof(from), "%s%s", run->fixture.path, SUFFIXES[i]);
        snprintf(to, sizeof(to), "%s%s", copy, SUFFIXES[i]);
        fixture_copy(from, to);
    }
    *run->vfs = (struct fault_vfs){0};
    check_opened(run, copy);
    for (size_t i = 0; i < sizeof(SUFFIXES) / sizeof(SUFFIXES[0]); i++) {
        snprintf(to, sizeof(to), "%s%s", copy, SUFFIXES[i]);
        remove(to);
    }
    *run->vfs = now;
}

static void append_batch(struct run *run, struct journal *j, int batch)
{
    struct err err = {0};
    size_t count = batch_size(batch);
    int rc = fixture_append(j, count, batch % 2 == 0, &err);

    if (rc == 0) {
        run->acked += (int64_t)count;
        memset(run->unknown, 0, sizeof(run->unknown));
        return;
    }
    assert_true(run->vfs->failed);
    assert_true(rc == ERR_IO || rc == ERR_DISK_FULL);
    assert_int_equal(err.code, rc);
    assert_int_equal(journal_last_seq(j), run->acked);
    if (rc == ERR_IO) {
        run->unknown[count] = true;
    }
    if (run->vfs->kind == FAULT_CHANGE) {
        assert_true(fixture_holds(j, run->acked)); /* reads go on */
    }
    check_killed(run);
}

static void put_snapshot(struct run *run, struct journal *j)
{
    struct journal_snapshot s = {.seq = journal_last_seq(j), .format = 1, .bytes = "{}", .len = 2};
    struct err err = {0};
    int rc;

    if (s.seq == 0) {
        return;
    }
    journal_last_hash(j, s.hash);
    hash_sha256(s.bytes, s.len, s.state_hash);
    rc = journal_snapshot_put(j, &s, &err);
    assert_true(rc == 0 || (run->vfs->failed && (rc == ERR_IO || rc == ERR_DISK_FULL)));
}

static void play(struct run *run)
{
    struct journal *j = NULL;
    struct err err = {0};
    int rc = journal_open_sqlite(run->fixture.path, false, &j, &err);

    if (rc != 0) {
        assert_true(run->vfs->failed);
        assert_true(rc == ERR_IO || rc == ERR_DISK_FULL);
    } else {
        for (int batch = 0; batch < BATCHES; batch++) {
            append_batch(run, j, batch);
            if (batch == BATCHES / 2) {
                put_snapshot(run, j);
            }
        }
        journal_close(j);
    }
    run->done = !run->vfs->failed;
    *run->vfs = (struct fault_vfs){0};
    check_opened(run, run->fixture.path);
}

static void fail_each(bool for_ever, bool full)
{
    for (int64_t n = 1;; n++) {
        struct run run = {.vfs = fault_vfs_install()};

        fixture_init(&run.fixture);
        *run.vfs = (struct fault_vfs){.fail_at = n, .for_ever = for_ever, .full = full};
        play(&run);
        fixture_fini(&run.fixture);
        if (run.done) {
            assert_true(n > 50);
            return;
        }
    }
}

static void one_io_error_loses_nothing(void **state)
{
    (void)state;
    fail_each(false, false);
}

static void a_dying_disk_loses_nothing(void **state)
{
    (void)state;
    fail_each(true, false);
}

static void one_refusal_for_want_of_room_loses_nothing(void **state)
{
    (void)state;
    fail_each(false, true);
}

static void a_disk_that_stays_full_loses_nothing(void **state)
{
    (void)state;
    fail_each(true, true);
}

static void an_append_is_synced_when_it_returns(void **state)
{
    struct fault_vfs *vfs = fault_vfs_install();
    struct fixture f;
    struct journal *j = NULL;

    (void)state;
    fixture_init(&f);
    assert_int_equal(journal_open_sqlite(f.path, false, &j, NULL), 0);
    for (int i = 0; i < 20; i++) {
        int64_t before = vfs->syncs;

        assert_int_equal(fixture_append(j, batch_size(i), i % 2 == 0, NULL), 0);
        assert_false(vfs->unsynced);
        assert_true(vfs->syncs > before);
    }
    journal_close(j);
    assert_false(vfs->unsynced);
    fixture_fini(&f);
}

/* Open, look at everything and append one record; the n-th operation of the kind fails. */
static void look(struct run *run)
{
    struct journal *j = NULL;
    struct journal_verdict verdict;
    struct journal_snapshot s;
    struct err err = {0};
    int rc = journal_open_sqlite(run->fixture.path, false, &j, &err);

    assert_true(rc == 0 || rc == ERR_IO);
    if (rc == 0) {
        rc = journal_verify(j, &verdict, &err);
        assert_true(rc == 0 || rc == ERR_IO);
        rc = journal_snapshot_get(j, &s, &err); /* without one, replay takes longer */
        assert_true(rc == 0 || rc == ERR_IO || rc == ERR_NOT_FOUND);
        append_batch(run, j, 0);
        put_snapshot(run, j);
        journal_close(j);
    }
    run->done = !run->vfs->failed;
    *run->vfs = (struct fault_vfs){0};
    check_opened(run, run->fixture.path);
}

static void fail_each_look(enum fault_kind kind, bool for_ever)
{
    for (int64_t n = 1;; n++) {
        struct run run = {.vfs = fault_vfs_install(), .acked = 150};
        struct journal *j = NULL;

        fixture_init(&run.fixture);
        fixture_make(&run.fixture, 150);
        assert_int_equal(journal_open_sqlite(run.fixture.path, false, &j, NULL), 0);
        put_snapshot(&run, j);
        journal_close(j);
        *run.vfs = (struct fault_vfs){.kind = kind, .fail_at = n, .for_ever = for_ever};
        look(&run);
        fixture_fini(&run.fixture);
        if (run.done) {
            assert_true(n > 1);
            return;
        }
    }
}

static void a_read_that_fails_is_not_called_damage(void **state)
{
    (void)state;
    fail_each_look(FAULT_READ, false);
}

static void files_that_cannot_be_opened_are_not_called_damage(void **state)
{
    (void)state;
    fail_each_look(FAULT_OPEN, false);
    fail_each_look(FAULT_OPEN, true);
}

static void a_log_index_that_cannot_be_mapped_is_not_called_damage(void **state)
{
    (void)state;
    fail_each_look(FAULT_MAP, false);
    fail_each_look(FAULT_MAP, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_io_error_loses_nothing),
        cmocka_unit_test(a_dying_disk_loses_nothing),
        cmocka_unit_test(one_refusal_for_want_of_room_loses_nothing),
        cmocka_unit_test(a_disk_that_stays_full_loses_nothing),
        cmocka_unit_test(an_append_is_synced_when_it_returns),
        cmocka_unit_test(a_read_that_fails_is_not_called_damage),
        cmocka_unit_test(files_that_cannot_be_opened_are_not_called_damage),
        cmocka_unit_test(a_log_index_that_cannot_be_mapped_is_not_called_damage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
