/* Where the server is, and to whom a token may go. */
#include "cli/address.h"

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

static struct err err;

static int clean(void **state)
{
    static const char *const NAMES[] = {"MUSTER_SERVER", "MUSTER_SOCKET", "MUSTER_TOKEN",
                                        "XDG_CONFIG_HOME"};

    (void)state;
    for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
        unsetenv(NAMES[i]);
    }
    return 0;
}

static int find(const char *server, const char *token_file)
{
    struct address a = {0};
    int rc;

    setenv("MUSTER_SERVER", server, 1);
    rc = address_find(&a, NULL, token_file, &err);
    address_fini(&a);
    return rc;
}

static void tokens_go_to_this_machine_or_by_tls_only(void **state)
{
    (void)state;
    assert_int_equal(find("http://127.0.0.1:8080", NULL), 0);
    assert_int_equal(find("http://localhost:8080/", NULL), 0);
    assert_int_equal(find("http://[::1]:8080", NULL), 0);
    assert_int_equal(find("https://muster.example", NULL), 0);
    assert_int_equal(find("http://muster.example", NULL), ERR_INVALID);
    assert_int_equal(find("http://127.0.0.1.example", NULL), ERR_INVALID);
    assert_int_equal(find("http://127.0.0.1@evil.example", NULL), ERR_INVALID);
    assert_int_equal(find("ftp://127.0.0.1", NULL), ERR_INVALID);
    assert_int_equal(find("127.0.0.1:80", NULL), ERR_INVALID);
    assert_int_equal(find("http://", NULL), ERR_INVALID);
}

static void a_token_is_one_word_of_its_owner(void **state)
{
    char path[] = "/tmp/muster-token-XXXXXX";
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(dprintf(fd, "mst_abc\n"), 8);
    close(fd);
    assert_int_equal(find("http://127.0.0.1", path), 0);
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(find("http://127.0.0.1", path), ERR_TOKEN);
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(find("http://127.0.0.1", path), ERR_TOKEN);
    unlink(path);
    assert_int_equal(find("http://127.0.0.1", path), ERR_TOKEN);
    setenv("MUSTER_TOKEN", "a\r\nX-Evil: 1", 1);
    assert_int_equal(find("http://127.0.0.1", NULL), ERR_TOKEN);
    assert_null(strstr(err.text, "Evil"));
}

static void the_socket_of_the_environment_is_taken(void **state)
{
    struct address a = {0};
    char longest[200];

    (void)state;
    setenv("MUSTER_SOCKET", "/x/s", 1);
    assert_int_equal(address_find(&a, NULL, NULL, &err), 0);
    assert_string_equal(a.socket, "/x/s");
    assert_string_equal(a.words, "/x/s");
    assert_null(a.bearer);
    assert_true(a.loopback);
    address_fini(&a);
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    setenv("MUSTER_SOCKET", longest, 1);
    assert_int_equal(address_find(&a, NULL, NULL, &err), ERR_INVALID);
    address_fini(&a);
}

static void a_server_goes_before_a_socket(void **state)
{
    struct address a = {0};

    (void)state;
    setenv("MUSTER_SOCKET", "/x/s", 1);
    setenv("MUSTER_SERVER", "https://muster.example//", 1);
    setenv("MUSTER_TOKEN", "mst_a", 1);
    assert_int_equal(address_find(&a, NULL, NULL, &err), 0);
    assert_null(a.socket);
    assert_string_equal(a.base, "https://muster.example");
    assert_string_equal(a.bearer, "Authorization: Bearer mst_a");
    assert_false(a.loopback);
    address_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(tokens_go_to_this_machine_or_by_tls_only, clean),
        cmocka_unit_test_setup(a_token_is_one_word_of_its_owner, clean),
        cmocka_unit_test_setup(the_socket_of_the_environment_is_taken, clean),
        cmocka_unit_test_setup(a_server_goes_before_a_socket, clean),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
