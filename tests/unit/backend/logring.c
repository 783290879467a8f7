#include "backend/local/logring.h"

#include "backend/local/safedir.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct place {
    char dir[64];
    int fd;
    struct logring_limits limits;
};

static int setup(void **state)
{
    struct place *p = mem_new(1, sizeof(*p));

    snprintf(p->dir, sizeof(p->dir), "/tmp/muster-logring-XXXXXX");
    if (mkdtemp(p->dir) == NULL) {
        return -1;
    }
    p->fd = open(p->dir, O_RDONLY | O_DIRECTORY);
    p->limits =
        (struct logring_limits){.file_bytes = 8, .files = 3, .uid = geteuid(), .gid = getegid()};
    *state = p;
    return 0;
}

static int teardown(void **state)
{
    struct place *p = *state;
    int rc = safedir_remove(AT_FDCWD, p->dir, NULL);

    close(p->fd);
    mem_free(p);
    return rc;
}

static void assert_file(const struct place *p, const char *name, const char *want)
{
    CLEANUP(mem_freep) char *text = NULL;

    assert_int_equal(safedir_read(p->fd, name, 100, &text, NULL), 0);
    assert_string_equal(text, want);
}

static void the_oldest_file_goes(void **state)
{
    struct place *p = *state;
    struct logring *r;

    assert_int_equal(logring_open(p->fd, "log", &p->limits, &r, NULL), 0);
    logring_write(r, "aaaabbbbccccdddd", 16);
    logring_write(r, "eeeeffffgggghh", 14);
    assert_file(p, "log", "gggghh");
    assert_file(p, "log.1", "eeeeffff");
    assert_file(p, "log.2", "ccccdddd");
    assert_int_equal(faccessat(p->fd, "log.3", F_OK, 0), -1);
    assert_int_equal(logring_dropped(r), 0);
    assert_int_equal(logring_overwritten(r), 8); /* aaaabbbb */
    logring_close(r);
}

static void one_file_begins_anew(void **state)
{
    struct place *p = *state;
    struct logring *r;

    p->limits.files = 1;
    assert_int_equal(logring_open(p->fd, "log", &p->limits, &r, NULL), 0);
    logring_write(r, "aaaabbbbcc", 10);
    assert_file(p, "log", "cc");
    assert_int_equal(logring_overwritten(r), 8);
    assert_int_equal(faccessat(p->fd, "log.1", F_OK, 0), -1);
    logring_close(r);
}

static void a_log_is_gone_on_with(void **state)
{
    struct place *p = *state;
    struct logring *r;

    assert_int_equal(logring_open(p->fd, "log", &p->limits, &r, NULL), 0);
    logring_write(r, "aaa", 3);
    logring_close(r);
    assert_int_equal(logring_open(p->fd, "log", &p->limits, &r, NULL), 0);
    logring_write(r, "bbbbbc", 6);
    assert_file(p, "log.1", "aaabbbbb");
    assert_file(p, "log", "c");
    logring_close(r);
}

static void a_link_in_its_place_is_refused(void **state)
{
    struct place *p = *state;
    struct logring *r = NULL;

    assert_int_equal(symlinkat("/tmp/muster-elsewhere", p->fd, "log"), 0);
    assert_int_equal(logring_open(p->fd, "log", &p->limits, &r, NULL), ERR_IO);
    assert_null(r);
}

#define LOGRING_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOGRING_TEST(the_oldest_file_goes),
        LOGRING_TEST(one_file_begins_anew),
        LOGRING_TEST(a_log_is_gone_on_with),
        LOGRING_TEST(a_link_in_its_place_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
