#include "daemon/contentpack.h"

#include "base/mem.h"
#include "tempdir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD_BYTES 48

static struct contentpack *open_it(void **state)
{
    struct contentpack *p = NULL;
    struct err err = {0};
    int dir = open(*state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    assert_true(dir >= 0);
    if (contentpack_open(dir, "pack", *state, &p, &err) != 0) {
        fail_msg("%s", err.text);
    }
    close(dir);
    return p;
}

static void put(struct contentpack *p, const char *text, bool is_new)
{
    unsigned char digest[HASH_BYTES];
    bool added = !is_new;

    hash_sha256(text, strlen(text), digest);
    assert_int_equal(contentpack_put(p, digest, text, strlen(text), &added, NULL), 0);
    assert_int_equal(added, is_new);
}

static int get(struct contentpack *p, const char *text)
{
    unsigned char digest[HASH_BYTES];
    struct str got = {0};
    struct err err;
    int rc;

    hash_sha256(text, strlen(text), digest);
    rc = contentpack_get(p, digest, &got, &err);
    assert_string_equal(str_text(&got), rc == 0 ? text : "");
    str_fini(&got);
    return rc;
}

static void many_entries_are_found_after_a_new_start(void **state)
{
    struct contentpack *p = open_it(state);
    char text[32];

    for (int i = 0; i < 5000; i++) {
        snprintf(text, sizeof(text), "entry %d", i);
        put(p, text, true);
    }
    put(p, "", true);
    put(p, "entry 17", false);
    contentpack_close(p);
    p = open_it(state);
    for (int i = 0; i < 5000; i++) {
        snprintf(text, sizeof(text), "entry %d", i);
        assert_int_equal(get(p, text), 0);
    }
    put(p, "entry 4711", false);
    assert_int_equal(get(p, ""), 0);
    assert_int_equal(get(p, "another"), ERR_NOT_FOUND);
    contentpack_close(p);
}

static off_t file_bytes(void **state)
{
    struct stat st;
    char path[512];

    snprintf(path, sizeof(path), "%s/pack", (const char *)*state);
    assert_int_equal(stat(path, &st), 0);
    return st.st_size;
}

static void entries_are_written_together(void **state)
{
    struct contentpack *p = open_it(state);
    CLEANUP(mem_freep) char *large = mem_new(1200001, 1);

    memset(large, 'x', 1200000);
    put(p, "one", true);
    put(p, "two", true);
    put(p, "one", false);
    assert_int_equal(file_bytes(state), 0);
    assert_int_equal(get(p, "two"), 0);
    assert_int_equal(contentpack_flush(p, NULL), 0);
    assert_int_equal(file_bytes(state), 2 * (HEAD_BYTES + 3));
    assert_int_equal(get(p, "two"), 0);
    put(p, "three", true);
    put(p, large, true); /* does not stay in memory together with it */
    assert_int_equal(file_bytes(state), 3 * (HEAD_BYTES + 3) + 2);
    assert_int_equal(get(p, "three"), 0);
    assert_int_equal(get(p, large), 0);
    contentpack_close(p);
    p = open_it(state);
    assert_int_equal(get(p, large), 0);
    put(p, "two", false);
    contentpack_close(p);
}

/* The limit on the size of files stands for the disk: what is over it is refused at once. */
static void what_has_no_room_is_not_put(void **state)
{
    const struct rlimit few = {HEAD_BYTES + 20, RLIM_INFINITY};
    struct contentpack *p = open_it(state);
    unsigned char digest[HASH_BYTES] = {1};
    struct rlimit before;
    bool added = false;
    struct err err;
    int rc;

    put(p, "there is room", true);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &few), 0);
    rc = contentpack_put(p, digest, "and here", 8, &added, &err);
    if (rc == 0) { /* it was reserved before; then writing fails, and nothing is lost by it */
        rc = contentpack_flush(p, &err);
    }
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_true(rc == ERR_IO || rc == ERR_DISK_FULL);
    assert_int_equal(contentpack_flush(p, &err), 0);
    assert_int_equal(get(p, "there is room"), 0);
    contentpack_close(p);
    p = open_it(state);
    assert_int_equal(get(p, "there is room"), 0);
    contentpack_close(p);
}

/* Overwrite bytes of the file, or cut it where text is NULL. */
static void harm(void **state, off_t at, const char *text)
{
    char path[512];
    int fd;

    snprintf(path, sizeof(path), "%s/pack", (const char *)*state);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    if (text == NULL) {
        assert_int_equal(ftruncate(fd, at), 0);
    } else {
        assert_int_equal(pwrite(fd, text, strlen(text), at), strlen(text));
    }
    close(fd);
}

static void what_a_crash_left_half_is_passed_over(void **state)
{
    for (off_t cut = 1; cut < 2 * HEAD_BYTES; cut += 7) {
        struct contentpack *p = open_it(state);

        put(p, "whole", true);
        contentpack_close(p);
        p = open_it(state);
        put(p, "this one is cut somewhere in its head or in the text behind it, as it is long",
            true);
        contentpack_close(p);
        harm(state, HEAD_BYTES + 5 + cut, NULL);
        p = open_it(state);
        assert_int_equal(get(p, "whole"), 0);
        put(p, "what comes later", true);
        contentpack_close(p);
        p = open_it(state);
        assert_int_equal(get(p, "whole"), 0);
        assert_int_equal(get(p, "what comes later"), 0);
        contentpack_close(p);
        harm(state, 0, NULL);
    }
}

static void damage_costs_one_entry(void **state)
{
    struct contentpack *p = open_it(state);

    put(p, "first", true);
    put(p, "second", true);
    put(p, "third", true);
    contentpack_close(p);
    harm(state, HEAD_BYTES + 5, "M");
    p = open_it(state);
    assert_int_equal(get(p, "first"), 0);
    assert_int_equal(get(p, "second"), ERR_NOT_FOUND);
    assert_int_equal(get(p, "third"), 0);
    harm(state, HEAD_BYTES, "F");
    assert_int_equal(get(p, "first"), ERR_IO);
    assert_int_equal(get(p, "third"), 0);
    contentpack_close(p);
    contentpack_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(many_entries_are_found_after_a_new_start, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(entries_are_written_together, tempdir_make, tempdir_drop),
        cmocka_unit_test_setup_teardown(what_has_no_room_is_not_put, tempdir_make, tempdir_drop),
        cmocka_unit_test_setup_teardown(what_a_crash_left_half_is_passed_over, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(damage_costs_one_entry, tempdir_make, tempdir_drop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
