#include "sim/tornfs.h"

#include "journal/journal.h"
#include "journal/vfsfile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#define BATCHES 6
#define ROWS    3

struct place {
    struct torndisk *disk;
    struct tornfs *fs;
    struct journal *journal;
};

static int open_journal(struct place *p)
{
    const struct journal_sqlite_options options = {.vfs = "torn"};

    return journal_open_sqlite_with("journal.db", &options, &p->journal, NULL);
}

static void place_init(struct place *p, uint64_t seed)
{
    *p = (struct place){.disk = torndisk_new(seed)};
    p->fs = tornfs_new("torn", p->disk);
    assert_int_equal(open_journal(p), 0);
    torndisk_flush(p->disk); /* on a real disk it is made aside and renamed */
}

static void place_fini(struct place *p)
{
    journal_close(p->journal);
    tornfs_free(p->fs);
    torndisk_free(p->disk);
}

static int append(struct place *p, int batch)
{
    struct journal_record rows[ROWS];
    char text[64];
    int i;

    (void)snprintf(text, sizeof(text), "{\"batch\":%d,\"of\":\"%.30s\"}", batch,
                   "a text of some length here");
    for (i = 0; i < ROWS; i++) {
        rows[i] = (struct journal_record){
            .at_ms = batch, .kind = "test", .version = 1, .bytes = text, .len = strlen(text)};
    }
    return journal_append(p->journal, rows, ROWS, NULL);
}

static void lose_power(struct place *p)
{
    torndisk_crash(p->disk);
    journal_close(p->journal);
    p->journal = NULL;
    torndisk_revive(p->disk);
}

static void check_whole(struct place *p)
{
    struct journal_verdict verdict;

    assert_int_equal(journal_verify(p->journal, &verdict, NULL), 0);
    assert_int_equal(verdict.records, journal_last_seq(p->journal));
}

/* Crash at every change of the disk in turn; five ends of each. */
static void what_was_appended_survives_a_crash_anywhere(void **state)
{
    int64_t at;
    bool died = true;

    (void)state;
    for (at = 1; died; at++) {
        uint64_t seed;

        for (seed = 1; seed <= 5; seed++) {
            struct place p;
            int64_t acked = 0;
            int i;

            place_init(&p, seed * 1000 + (uint64_t)at);
            torndisk_arm(p.disk, TORNDISK_CRASH, at, 1);
            for (i = 0; i < BATCHES && !torndisk_is_dead(p.disk); i++) {
                acked += append(&p, i) == 0 ? ROWS : 0;
            }
            died = torndisk_is_dead(p.disk);
            assert_true(died || acked == (int64_t)BATCHES * ROWS);
            lose_power(&p);
            assert_int_equal(open_journal(&p), 0);
            check_whole(&p);
            assert_true(journal_last_seq(p.journal) == acked ||
                        journal_last_seq(p.journal) == acked + ROWS);
            assert_int_equal(append(&p, 99), 0);
            check_whole(&p);
            place_fini(&p);
        }
    }
    assert_true(at > BATCHES * 3);
}

static void a_failed_change_loses_nothing_that_was_appended(void **state)
{
    static const enum torndisk_fault FAULTS[] = {TORNDISK_EIO, TORNDISK_SYNC};
    size_t k;
    int64_t at;

    (void)state;
    for (k = 0; k < 2; k++) {
        for (at = 1; at < 40; at++) {
            struct place p;
            int64_t acked = 0;
            int64_t failed = 0;
            int i;

            place_init(&p, (uint64_t)at);
            torndisk_arm(p.disk, FAULTS[k], at, 1 + at % 3);
            for (i = 0; i < BATCHES; i++) {
                int rc = append(&p, i);

                assert_true(rc == 0 || rc == ERR_IO);
                acked += rc == 0 ? ROWS : 0;
                failed += rc == 0 ? 0 : ROWS;
            }
            torndisk_disarm(p.disk);
            check_whole(&p);
            lose_power(&p);
            assert_int_equal(open_journal(&p), 0);
            check_whole(&p);
            assert_true(journal_last_seq(p.journal) >= acked &&
                        journal_last_seq(p.journal) <= acked + failed);
            place_fini(&p);
        }
    }
}

/* The failed batch is found by whoever opens the file while the machine lives on, but the disk may
 * never get it; what is appended behind it must not hang on it. */
static void what_a_failed_sync_left_carries_what_follows(void **state)
{
    uint64_t seed;
    int found = 0;

    (void)state;
    for (seed = 1; seed <= 30; seed++) {
        struct place p;
        int64_t acked;

        place_init(&p, seed);
        assert_int_equal(append(&p, 1), 0);
        torndisk_arm(p.disk, TORNDISK_SYNC, 1, 3);
        assert_int_equal(append(&p, 2), ERR_IO);
        journal_close(p.journal); /* moving the log fails too, so it stays */
        torndisk_disarm(p.disk);
        assert_int_equal(open_journal(&p), 0);
        found += journal_last_seq(p.journal) > ROWS;
        assert_int_equal(append(&p, 3), 0);
        acked = journal_last_seq(p.journal);
        lose_power(&p);
        assert_int_equal(open_journal(&p), 0);
        check_whole(&p);
        assert_int_equal(journal_last_seq(p.journal), acked);
        place_fini(&p);
    }
    assert_true(found > 0);
}

/* Opening writes the log over: while that fails it says so, and it can be tried again. */
static void a_log_that_cannot_be_saved_again_is_told(void **state)
{
    static const enum torndisk_fault FAULTS[] = {TORNDISK_EIO, TORNDISK_SYNC};
    size_t k;

    (void)state;
    for (k = 0; k < 2; k++) {
        struct place p;

        place_init(&p, k);
        assert_int_equal(append(&p, 1), 0);
        lose_power(&p);
        torndisk_arm(p.disk, FAULTS[k], 1, 2);
        assert_int_equal(open_journal(&p), ERR_IO);
        assert_int_equal(open_journal(&p), ERR_IO);
        assert_int_equal(open_journal(&p), 0);
        assert_int_equal(journal_last_seq(p.journal), ROWS);
        assert_int_equal(append(&p, 2), 0);
        lose_power(&p);
        assert_int_equal(open_journal(&p), 0);
        check_whole(&p);
        place_fini(&p);
    }
}

struct long_read {
    struct place *place;
    int left;
};

static bool append_meanwhile(void *ctx, const struct journal_record *r)
{
    struct long_read *l = ctx;

    (void)r;
    assert_int_equal(append(l->place, l->left), 0);
    return --l->left > 0;
}

/* What is moved while a reader is in the way is not synced yet; when the sync behind the rest
 * fails, all of it must be moved again. */
static void a_failed_sync_behind_a_long_read_loses_nothing(void **state)
{
    int64_t at;

    (void)state;
    for (at = 1; at <= 6; at++) {
        struct place p;
        struct long_read l = {&p, 500};
        int64_t acked;
        int i;

        place_init(&p, (uint64_t)at);
        for (i = 0; i < 400; i++) {
            assert_int_equal(append(&p, i), 0);
        }
        assert_int_equal(journal_read(p.journal, 1, INT64_MAX, append_meanwhile, &l, NULL), 0);
        torndisk_arm(p.disk, TORNDISK_SYNC, at, 1);
        for (i = 0; i < 4; i++) {
            int rc = append(&p, i);

            assert_true(rc == 0 || rc == ERR_IO);
        }
        assert_int_equal(torndisk_faults(p.disk), 1);
        for (i = 0; i < 50; i++) {
            assert_int_equal(append(&p, i), 0);
        }
        acked = journal_last_seq(p.journal);
        lose_power(&p);
        assert_int_equal(open_journal(&p), 0);
        check_whole(&p);
        assert_int_equal(journal_last_seq(p.journal), acked);
        place_fini(&p);
    }
}

static void a_full_disk_is_told_and_room_helps(void **state)
{
    struct place p;
    int refused = 0;
    int i;

    (void)state;
    place_init(&p, 7);
    assert_true(vfsfile_exists("torn", "journal.db.ballast"));
    assert_int_equal(append(&p, 0), 0);
    torndisk_set_room(p.disk, torndisk_used_bytes(p.disk) + 40000);
    for (i = 0; i < 50; i++) {
        int rc = append(&p, i);

        assert_true(rc == 0 || rc == ERR_DISK_FULL);
        refused += rc != 0;
    }
    assert_true(refused > 0 && refused < 50);
    assert_int_equal(journal_room(p.journal, NULL), ERR_DISK_FULL);
    torndisk_set_room(p.disk, -1);
    assert_int_equal(journal_room(p.journal, NULL), 0);
    assert_int_equal(append(&p, 99), 0);
    check_whole(&p);
    place_fini(&p);
}

static void a_flipped_bit_is_damage_or_nowhere(void **state)
{
    struct place p;
    unsigned char hash[JOURNAL_HASH_BYTES], got[JOURNAL_HASH_BYTES];
    int64_t size;
    int64_t byte;
    int found = 0;
    int i;

    (void)state;
    place_init(&p, 3);
    for (i = 0; i < 40; i++) {
        assert_int_equal(append(&p, i), 0);
    }
    journal_last_hash(p.journal, hash);
    journal_close(p.journal);
    torndisk_flush(p.disk); /* the log stays away, which has all of it too */
    size = torndisk_size(torndisk_open(p.disk, "journal.db", false));
    for (byte = 0; byte < size; byte += 37) {
        struct torndisk_file *f = torndisk_open(p.disk, "journal.db", false);
        struct journal_verdict verdict;
        int rc;

        torndisk_flip(f, byte, (int)(byte % 8));
        rc = open_journal(&p);
        if (rc == 0) {
            rc = journal_verify(p.journal, &verdict, NULL);
            journal_last_hash(p.journal, got);
            assert_true(rc != 0 || (journal_last_seq(p.journal) == (int64_t)40 * ROWS &&
                                    memcmp(hash, got, sizeof(hash)) == 0));
            torndisk_crash(p.disk); /* or closing it might write */
            journal_close(p.journal);
            torndisk_revive(p.disk);
        }
        found += rc != 0;
        torndisk_flip(torndisk_open(p.disk, "journal.db", false), byte, (int)(byte % 8));
    }
    assert_true(found > 200); /* the rest of the file is room that nothing uses */
    assert_int_equal(open_journal(&p), 0);
    check_whole(&p);
    place_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_appended_survives_a_crash_anywhere),
        cmocka_unit_test(a_failed_change_loses_nothing_that_was_appended),
        cmocka_unit_test(what_a_failed_sync_left_carries_what_follows),
        cmocka_unit_test(a_log_that_cannot_be_saved_again_is_told),
        cmocka_unit_test(a_failed_sync_behind_a_long_read_loses_nothing),
        cmocka_unit_test(a_full_disk_is_told_and_room_helps),
        cmocka_unit_test(a_flipped_bit_is_damage_or_nowhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
