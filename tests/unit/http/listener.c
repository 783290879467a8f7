/* Sockets are taken only where nobody is, and left clean. */
#include "http/listener.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[64];
static char path[128];

static int setup(void **state)
{
    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/muster-listener-XXXXXX");
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/run/sock", dir);
    return 0;
}

static int teardown(void **state)
{
    char run[80];

    (void)state;
    snprintf(run, sizeof(run), "%s/run", dir);
    unlink(path);
    rmdir(run);
    return rmdir(dir);
}

static void a_socket_has_its_mode_and_goes(void **state)
{
    struct listener l;
    struct stat st;
    struct err err;

    (void)state;
    assert_int_equal(listener_unix(path, 0660, &l, &err), 0);
    assert_true(l.local);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0660);
    listener_fini(&l);
    assert_int_equal(stat(path, &st), -1);
    listener_fini(&l); /* twice is harmless */
}

static void a_stale_socket_is_replaced(void **state)
{
    struct listener dead;
    struct listener l;
    struct stat st;
    struct err err;

    (void)state;
    assert_int_equal(listener_unix(path, 0666, &dead, &err), 0);
    close(dead.fd); /* as a killed process leaves it */
    assert_int_equal(listener_unix(path, 0666, &l, &err), 0);
    dead.fd = dup(l.fd);
    listener_fini(&dead); /* not its file any more */
    if (dead.ino != l.ino) {
        assert_int_equal(stat(path, &st), 0);
    }
    listener_fini(&l);
}

static void somebody_who_listens_is_left_alone(void **state)
{
    struct listener first;
    struct listener second;
    struct err err;

    (void)state;
    assert_int_equal(listener_unix(path, 0666, &first, &err), 0);
    assert_int_equal(listener_unix(path, 0666, &second, &err), ERR_LOCKED);
    assert_non_null(strstr(err.text, "already listens"));
    listener_fini(&first);
}

static void a_file_in_the_way_is_kept(void **state)
{
    struct listener l;
    struct err err;
    char run[80];
    FILE *f;

    (void)state;
    snprintf(run, sizeof(run), "%s/run", dir);
    assert_int_equal(mkdir(run, 0755), 0);
    f = fopen(path, "w");
    assert_non_null(f);
    fclose(f);
    assert_int_equal(listener_unix(path, 0666, &l, &err), ERR_CONFLICT);
    assert_int_equal(access(path, F_OK), 0);
}

static void bad_paths_are_refused(void **state)
{
    char far[200];
    struct listener l;
    struct err err;

    (void)state;
    memset(far, 'a', sizeof(far));
    far[0] = '/';
    far[150] = '\0';
    assert_int_equal(listener_unix(far, 0666, &l, &err), ERR_RANGE);
    assert_int_equal(listener_unix("", 0666, &l, &err), ERR_RANGE);
    assert_int_equal(listener_unix("/nonexistent/deep/sock", 0666, &l, &err), ERR_IO);
}

static void only_loopback_unless_told(void **state)
{
    struct listener l;
    struct listener again;
    struct err err;
    char same[32];

    (void)state;
    assert_int_equal(listener_tcp("127.0.0.1:0", false, &l, &err), 0);
    assert_int_not_equal(l.port, 0);
    snprintf(same, sizeof(same), "localhost:%u", (unsigned)l.port);
    assert_int_equal(listener_tcp(same, false, &again, &err), ERR_LOCKED);
    listener_fini(&l);
    assert_int_equal(listener_tcp("0.0.0.0:0", false, &l, &err), ERR_FORBIDDEN);
    assert_int_equal(listener_tcp("[::]:0", false, &l, &err), ERR_FORBIDDEN);
    assert_int_equal(listener_tcp("0.0.0.0:0", true, &l, &err), 0);
    listener_fini(&l);
}

static void bad_addresses_are_refused(void **state)
{
    static const char *const BAD[] = {"",        ":80",      "127.0.0.1",       "127.0.0.1:",
                                      "::1:80",  "[::1]",    "127.0.0.1:65536", "127.0.0.1:-1",
                                      "host:80", "[:80",     "127.0.0.1:x",     "[]:80",
                                      "[zz]:80", "1.2.3:x:4"};
    struct listener l;
    struct err err;

    (void)state;
    for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
        assert_int_equal(listener_tcp(BAD[i], false, &l, &err), ERR_INVALID);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(a_socket_has_its_mode_and_goes),
        TEST(a_stale_socket_is_replaced),
        TEST(somebody_who_listens_is_left_alone),
        TEST(a_file_in_the_way_is_kept),
        TEST(bad_paths_are_refused),
        TEST(only_loopback_unless_told),
        TEST(bad_addresses_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
