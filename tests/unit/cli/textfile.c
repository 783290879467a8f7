/* Whole files, and the ways they cannot be had. */
#include "cli/textfile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct err err;

static void a_file_is_read_whole(void **state)
{
    char path[] = "/tmp/muster-text-XXXXXX";
    int fd = mkstemp(path);
    struct str text = {0};
    char block[5000];

    (void)state;
    assert_true(fd >= 0);
    memset(block, 'a', sizeof(block));
    for (int i = 0; i < 10; i++) {
        assert_int_equal(write(fd, block, sizeof(block)), (ssize_t)sizeof(block));
    }
    assert_int_equal(textfile_read(path, &text, &err), 0);
    assert_int_equal(text.len, 50000);
    str_clear(&text);
    assert_int_equal(ftruncate(fd, 17 << 20), 0);
    assert_int_equal(textfile_read(path, &text, &err), ERR_TOO_LARGE);
    str_fini(&text);
    close(fd);
    unlink(path);
}

static void what_is_no_file_is_named(void **state)
{
    struct str text = {0};

    (void)state;
    assert_int_equal(textfile_read("/none/such", &text, &err), ERR_NOT_FOUND);
    assert_non_null(strstr(err.text, "/none/such"));
    assert_int_equal(textfile_read("/tmp", &text, &err), ERR_IO);
    str_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_read_whole),
        cmocka_unit_test(what_is_no_file_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
