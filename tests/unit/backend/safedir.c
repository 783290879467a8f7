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
#include <sys/stat.h>
#include <unistd.h>

struct place {
    char dir[64];
    int fd;
    struct safedir_owner owner;
};

static int setup(void **state)
{
    struct place *p = mem_new(1, sizeof(*p));

    snprintf(p->dir, sizeof(p->dir), "/tmp/muster-safedir-XXXXXX");
    if (mkdtemp(p->dir) == NULL) {
        return -1;
    }
    p->fd = open(p->dir, O_RDONLY | O_DIRECTORY);
    p->owner = (struct safedir_owner){.uid = geteuid(), .gid = getegid(), .mode = 0600};
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

static void a_file_is_written_whole_and_read_back(void **state)
{
    struct place *p = *state;
    CLEANUP(mem_freep) char *text = NULL;
    struct stat st;

    p->owner.durable = true;
    assert_int_equal(safedir_write(p->fd, "a", "old", 3, &p->owner, NULL), 0);
    assert_int_equal(safedir_write(p->fd, "a", "new text", 8, &p->owner, NULL), 0);
    assert_int_equal(safedir_read(p->fd, "a", 100, &text, NULL), 0);
    assert_string_equal(text, "new text");
    assert_int_equal(fstatat(p->fd, "a", &st, 0), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
}

static void a_link_is_replaced_and_never_followed(void **state)
{
    struct place *p = *state;
    char *text = NULL;
    struct stat st;
    int fd;

    assert_int_equal(safedir_write(p->fd, "target", "secret", 6, &p->owner, NULL), 0);
    assert_int_equal(symlinkat("target", p->fd, "link"), 0);
    assert_int_equal(safedir_read(p->fd, "link", 100, &text, NULL), ERR_IO);
    assert_int_equal(safedir_write(p->fd, "link", "mine", 4, &p->owner, NULL), 0);
    assert_int_equal(fstatat(p->fd, "link", &st, AT_SYMLINK_NOFOLLOW), 0);
    assert_true(S_ISREG(st.st_mode));
    assert_int_equal(safedir_read(p->fd, "target", 100, &text, NULL), 0);
    assert_string_equal(text, "secret");
    mem_free(text);
    assert_int_equal(symlinkat("/tmp", p->fd, "dir"), 0);
    assert_int_equal(safedir_open(p->fd, "dir", &fd, NULL), ERR_IO);
    assert_int_equal(safedir_make(p->fd, "dir", &p->owner, &fd, NULL), ERR_IO);
}

static void what_is_no_file_or_too_long_is_not_read(void **state)
{
    struct place *p = *state;
    char *text = NULL;

    assert_int_equal(mkfifoat(p->fd, "fifo", 0600), 0);
    assert_int_equal(safedir_read(p->fd, "fifo", 100, &text, NULL), ERR_IO);
    assert_int_equal(safedir_read(p->fd, "none", 100, &text, NULL), ERR_NOT_FOUND);
    assert_int_equal(safedir_write(p->fd, "long", "123456", 6, &p->owner, NULL), 0);
    assert_int_equal(safedir_read(p->fd, "long", 5, &text, NULL), ERR_TOO_LARGE);
    assert_null(text);
}

static void a_directory_of_another_account_is_refused(void **state)
{
    struct place *p = *state;
    struct safedir_owner theirs = {.uid = 65534, .gid = 65534, .mode = 0700};
    struct stat st;
    int fd;

    if (geteuid() != 0) {
        skip();
    }
    assert_int_equal(safedir_make(p->fd, "theirs", &theirs, &fd, NULL), 0);
    assert_int_equal(fstat(fd, &st), 0);
    close(fd);
    assert_int_equal(st.st_uid, 65534);
    assert_int_equal(st.st_mode & 07777, 0700);
    theirs.uid = 65533;
    assert_int_equal(safedir_make(p->fd, "theirs", &theirs, &fd, NULL), ERR_IO);
}

static void a_tree_is_removed_and_what_it_links_to_stays(void **state)
{
    struct place *p = *state;
    struct safedir_owner dir = p->owner;
    int fd;

    dir.mode = 0700;
    assert_int_equal(safedir_write(p->fd, "stays", "x", 1, &p->owner, NULL), 0);
    assert_int_equal(safedir_make(p->fd, "tree", &dir, &fd, NULL), 0);
    assert_int_equal(safedir_write(fd, "file", "x", 1, &p->owner, NULL), 0);
    assert_int_equal(symlinkat("../stays", fd, "link"), 0);
    assert_int_equal(mkdirat(fd, "deep", 0700), 0);
    assert_int_equal(mkdirat(fd, "deep/deeper", 0700), 0);
    close(fd);
    assert_int_equal(safedir_remove(p->fd, "tree", NULL), 0);
    assert_int_equal(faccessat(p->fd, "tree", F_OK, 0), -1);
    assert_int_equal(faccessat(p->fd, "stays", F_OK, 0), 0);
    assert_int_equal(safedir_remove(p->fd, "tree", NULL), 0);
}

#define SAFEDIR_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SAFEDIR_TEST(a_file_is_written_whole_and_read_back),
        SAFEDIR_TEST(a_link_is_replaced_and_never_followed),
        SAFEDIR_TEST(what_is_no_file_or_too_long_is_not_read),
        SAFEDIR_TEST(a_directory_of_another_account_is_refused),
        SAFEDIR_TEST(a_tree_is_removed_and_what_it_links_to_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
