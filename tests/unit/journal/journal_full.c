/* A disk that is really full: a small tmpfs, where the test may mount one. */
#include "journal_fixture.h"

#include "base/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#define DISK "size=6m"

static struct fixture fixture;
static bool mounted;

static int mount_disk(void **state)
{
    (void)state;
    fixture_init(&fixture);
    /* A mount namespace of our own: nothing is left behind, whatever happens. */
    mounted = unshare(CLONE_NEWNS) == 0 &&
              mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) == 0 &&
              mount("tmpfs", fixture.dir, "tmpfs", 0, DISK) == 0;
    return 0;
}

static int unmount_disk(void **state)
{
    (void)state;
    if (mounted) {
        umount2(fixture.dir, MNT_DETACH);
    }
    fixture_fini(&fixture);
    return 0;
}

static void fill_disk(void)
{
    static const char block[4096];
    char path[128];
    int fd;

    fixture_name(&fixture, "filler", path);
    fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    while (write(fd, block, sizeof(block)) > 0) {
    }
    assert_int_equal(errno, ENOSPC);
    close(fd);
}

static void empty_disk(void)
{
    char path[128];

    fixture_name(&fixture, "filler", path);
    assert_int_equal(unlink(path), 0);
}

static bool has_ballast(void)
{
    char path[128];

    fixture_name(&fixture, "journal.db.ballast", path);
    return access(path, F_OK) == 0;
}

/* The log may still have room that it made earlier. */
static void append_until_full(struct journal *j)
{
    struct err err = {0};
    int rc = 0;

    for (int i = 0; i < 200 && rc == 0; i++) {
        rc = fixture_append(j, 50, false, &err);
    }
    assert_int_equal(rc, ERR_DISK_FULL);
    assert_int_equal(err.code, ERR_DISK_FULL);
}

static void a_full_disk_takes_facts_only_and_recovers(void **state)
{
    struct journal *j = NULL;
    struct err err = {0};
    int64_t last;

    (void)state;
    if (!mounted) {
        skip();
    }
    assert_int_equal(journal_open_sqlite(fixture.path, false, &j, &err), 0);
    assert_int_equal(fixture_append(j, 20, false, &err), 0);
    assert_int_equal(journal_room(j, &err), 0);
    assert_true(has_ballast());
    fill_disk();
    append_until_full(j);
    assert_int_equal(journal_room(j, &err), ERR_DISK_FULL);
    last = journal_last_seq(j);
    assert_true(fixture_holds(j, last)); /* nothing was appended, reads go on */
    assert_int_equal(fixture_append(j, 50, false, &err), ERR_DISK_FULL);
    assert_true(has_ballast());

    assert_int_equal(fixture_append(j, 50, true, &err), 0);
    assert_false(has_ballast());
    assert_true(fixture_holds(j, last + 50));
    fill_disk();
    assert_int_equal(journal_room(j, &err), ERR_DISK_FULL);
    assert_int_equal(fixture_append(j, 1, false, &err), ERR_DISK_FULL);
    while (fixture_append(j, 50, true, &err) == 0) {
    }
    assert_int_equal(err.code, ERR_DISK_FULL);
    last = journal_last_seq(j);
    assert_true(fixture_holds(j, last));

    empty_disk();
    assert_int_equal(journal_room(j, &err), 0);
    assert_true(has_ballast());
    assert_int_equal(fixture_append(j, 1, false, &err), 0);
    assert_true(fixture_holds(j, last + 1));
    journal_close(j);
}

static void a_full_disk_does_not_keep_it_from_opening(void **state)
{
    struct journal *j = NULL;
    struct err err = {0};
    int64_t last;

    (void)state;
    if (!mounted) {
        skip();
    }
    fill_disk();
    assert_int_equal(journal_open_sqlite(fixture.path, false, &j, &err), 0);
    last = journal_last_seq(j);
    assert_true(last > 0 && fixture_holds(j, last));
    assert_int_equal(fixture_append(j, 1, true, &err), 0);
    fill_disk();
    assert_int_equal(fixture_append(j, 1, false, &err), ERR_DISK_FULL);
    journal_close(j);
    empty_disk();
    assert_int_equal(journal_open_sqlite(fixture.path, false, &j, &err), 0);
    assert_true(fixture_holds(j, last + 1));
    journal_close(j);
}

static void a_snapshot_does_not_take_the_last_room(void **state)
{
    static char bytes[3 * 1024 * 1024];
    struct journal_snapshot s = {.format = 1, .bytes = bytes, .len = sizeof(bytes)};
    struct journal *j = NULL;
    struct err err = {0};

    (void)state;
    if (!mounted) {
        skip();
    }
    memset(bytes, 'x', sizeof(bytes));
    assert_int_equal(journal_open_sqlite(fixture.path, false, &j, &err), 0);
    fill_disk();
    s.seq = journal_last_seq(j);
    journal_last_hash(j, s.hash);
    hash_sha256(bytes, sizeof(bytes), s.state_hash);
    assert_int_equal(journal_snapshot_put(j, &s, &err), ERR_DISK_FULL);
    assert_int_equal(journal_snapshot_get(j, &s, &err), ERR_NOT_FOUND);
    assert_int_equal(fixture_append(j, 1, true, &err), 0);
    journal_close(j);
    empty_disk();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_disk_takes_facts_only_and_recovers),
        cmocka_unit_test(a_full_disk_does_not_keep_it_from_opening),
        cmocka_unit_test(a_snapshot_does_not_take_the_last_room),
    };

    return cmocka_run_group_tests(tests, mount_disk, unmount_disk);
}
