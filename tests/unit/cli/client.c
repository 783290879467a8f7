/* Paths, problems and addresses; what needs a server is tested end to end. */
#include "cli/client.h"

#include "cli/address.h"

#include <setjmp.h>
#include <stdarg.h>
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

static void what_stands_in_a_path_is_encoded(void **state)
{
    struct str path = {0};

    (void)state;
    str_add(&path, "/v1/nodes");
    path_add(&path, "local/n1 ?");
    path_add_query(&path, "a", "b&c");
    path_add_query(&path, "d", "\xc3\xa9");
    assert_string_equal(str_text(&path), "/v1/nodes/local%2Fn1%20%3F?a=b%26c&d=%C3%A9");
    str_fini(&path);
}

static int problem(long http, const char *text, char *field)
{
    return client_problem(http, text, strlen(text), field, 64, &err);
}

static void a_problem_gives_code_text_and_field(void **state)
{
    char field[64];

    (void)state;
    assert_int_equal(problem(422,
                             "{\"code\":\"quota.over_limit\",\"detail\":\"asks for 65 of 64\","
                             "\"field\":\"groups[0].gpus\"}",
                             field),
                     ERR_OVER_LIMIT);
    assert_string_equal(err.text, "asks for 65 of 64");
    assert_string_equal(field, "groups[0].gpus");
    assert_int_equal(err_exit(err.code), 4);
}

static void a_code_of_tomorrow_keeps_its_name_and_class(void **state)
{
    char field[64];

    (void)state;
    assert_int_equal(problem(409, "{\"code\":\"lease.gone\",\"detail\":\"it went\"}", field),
                     ERR_CONFLICT);
    assert_string_equal(err.text, "lease.gone: it went");
    assert_int_equal(problem(404, "<html>", field), ERR_NOT_FOUND);
    assert_int_equal(problem(502, "", field), ERR_BUSY);
    assert_int_equal(problem(418, "[]", field), ERR_INTERNAL);
    assert_string_equal(field, "");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_stands_in_a_path_is_encoded),
        cmocka_unit_test(a_problem_gives_code_text_and_field),
        cmocka_unit_test(a_code_of_tomorrow_keeps_its_name_and_class),
        cmocka_unit_test_setup(tokens_go_to_this_machine_or_by_tls_only, clean),
        cmocka_unit_test_setup(a_token_is_one_word_of_its_owner, clean),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
