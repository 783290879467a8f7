#include "daemon/content.h"

#include "base/mem.h"
#include "tempdir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct content *open_it(void **state)
{
    CLEANUP(mem_freep) char *path = tempdir_file(state, "content");
    struct content *c = NULL;
    struct err err = {0};

    if (content_open(path, &c, &err) != 0) {
        fail_msg("%s", err.text);
    }
    return c;
}

static void what_is_put_is_got(void **state)
{
    struct content *c = open_it(state);
    char digest[HASH_TEXT_MAX];
    char again[HASH_TEXT_MAX];
    struct str got = {0};
    struct err err;

    assert_int_equal(content_put(c, "hello", 5, digest, &err), 0);
    assert_int_equal(content_put(c, "hello", 5, again, &err), 0);
    assert_string_equal(digest, again);
    assert_string_equal(digest, "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824");
    assert_int_equal(content_sync(c, &err), 0);
    assert_int_equal(content_get(c, digest, &got, &err), 0);
    assert_string_equal(str_text(&got), "hello");
    str_fini(&got);
    content_close(c);
    c = open_it(state);
    assert_int_equal(content_get(c, digest, &got, &err), 0);
    assert_int_equal(got.len, 5);
    str_fini(&got);
    content_close(c);
    content_close(NULL);
}

static void files_are_closed_to_others(void **state)
{
    struct content *c = open_it(state);
    char digest[HASH_TEXT_MAX];
    char path[512];
    struct stat st;

    assert_int_equal(content_put(c, "secret", 6, digest, NULL), 0);
    snprintf(path, sizeof(path), "%s/content/pack", (const char *)*state);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    content_close(c);
}

static void what_is_not_there_is_said(void **state)
{
    struct content *c = open_it(state);
    struct str got = {0};
    struct err err;

    assert_int_equal(content_get(c, "../../etc/passwd", &got, &err), ERR_NOT_FOUND);
    assert_int_equal(content_get(c,
                                 "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9825",
                                 &got, &err),
                     ERR_NOT_FOUND);
    assert_int_equal(got.len, 0);
    content_close(c);
}

static void files_of_the_first_release_are_read(void **state)
{
    static const char DIGEST[] = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
    struct content *c = open_it(state);
    char path[512];
    struct str got = {0};
    struct err err;
    FILE *f;

    snprintf(path, sizeof(path), "%s/content/2c", (const char *)*state);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof(path), "%s/content/2c/%s", (const char *)*state, DIGEST);
    f = fopen(path, "w");
    assert_non_null(f);
    fputs("hello", f);
    fclose(f);
    assert_int_equal(content_get(c, DIGEST, &got, &err), 0);
    assert_string_equal(str_text(&got), "hello");
    f = fopen(path, "w");
    assert_non_null(f);
    fputs("evil", f);
    fclose(f);
    str_clear(&got);
    assert_int_equal(content_get(c, DIGEST, &got, &err), ERR_IO);
    assert_non_null(strstr(err.text, "the file is damaged"));
    assert_int_equal(got.len, 0);
    str_fini(&got);
    content_close(c);
}

static int unsynced(struct content *c)
{
    int fd = -2;

    assert_int_equal(content_take_unsynced(c, &fd, NULL), 0);
    return fd;
}

static void only_what_is_new_is_to_be_synced(void **state)
{
    struct content *c = open_it(state);
    char digest[HASH_TEXT_MAX];

    assert_int_equal(unsynced(c), -1);
    assert_int_equal(content_put(c, "new", 3, digest, NULL), 0);
    assert_true(unsynced(c) >= 0);
    assert_int_equal(content_put(c, "new", 3, digest, NULL), 0);
    assert_int_equal(unsynced(c), -1);
    content_sync_failed(c);
    assert_true(unsynced(c) >= 0);
    content_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_put_is_got, tempdir_make, tempdir_drop),
        cmocka_unit_test_setup_teardown(files_are_closed_to_others, tempdir_make, tempdir_drop),
        cmocka_unit_test_setup_teardown(what_is_not_there_is_said, tempdir_make, tempdir_drop),
        cmocka_unit_test_setup_teardown(files_of_the_first_release_are_read, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(only_what_is_new_is_to_be_synced, tempdir_make,
                                        tempdir_drop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
