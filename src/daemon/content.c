/* One file an entry: equal entries (an array of jobs, a script that is sent again) cost nothing but
 * a look.  Waiting for each file would bound submissions by the disk's few hundred syncs a second,
 * so one syncfs goes before each batch of the journal. */
#include "daemon/content.h"

#include "base/check.h"
#include "base/mem.h"
#include "daemon/statefile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct content {
    int dir;
    char *path;
    bool dirty;
};

static int io_error(const struct content *c, const char *name, struct err *err)
{
    bool full = errno == ENOSPC || errno == EDQUOT;

    return err_set(err, full ? ERR_DISK_FULL : ERR_IO, "%s/%s: %s", c->path, name, strerror(errno));
}

int content_open(const char *dir, struct content **ret, struct err *err)
{
    struct content *c;
    int fd;

    if (mkdir(dir, 0700) != 0 && errno != EEXIST) {
        return err_set(err, ERR_IO, "%s: cannot be made: %s", dir, strerror(errno));
    }
    fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        return err_set(err, ERR_IO, "%s: cannot be opened: %s", dir, strerror(errno));
    }
    c = mem_new(1, sizeof(*c));
    c->dir = fd;
    c->path = mem_text(dir);
    *ret = c;
    return 0;
}

void content_close(struct content *c)
{
    if (c == NULL) {
        return;
    }
    close(c->dir);
    mem_free(c->path);
    mem_free(c);
}

static void name_of(const char *digest, char ret[HASH_TEXT_MAX + 4])
{
    snprintf(ret, HASH_TEXT_MAX + 4, "%.2s/%s", digest, digest);
}

static int write_file(struct content *c, const char *name, const char *bytes, size_t len,
                      struct err *err)
{
    const char *temporary = "new"; /* one thread writes, and a rest of a crash is written over */
    int fd = openat(c->dir, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    int rc;

    if (fd < 0) {
        return io_error(c, temporary, err);
    }
    rc = statefile_write_all(fd, bytes, len);
    if (rc != 0 || close(fd) != 0) {
        rc = io_error(c, temporary, err);
        unlinkat(c->dir, temporary, 0);
        return rc;
    }
    if (renameat(c->dir, temporary, c->dir, name) != 0) {
        return io_error(c, name, err);
    }
    c->dirty = true;
    return 0;
}

int content_put(struct content *c, const char *bytes, size_t len, char ret[HASH_TEXT_MAX],
                struct err *err)
{
    char name[HASH_TEXT_MAX + 4];
    char sub[3] = {0};
    struct stat st;
    int rc = 0;

    hash_sha256_text(bytes, len, ret);
    name_of(ret, name);
    memcpy(sub, ret, 2);
    if (fstatat(c->dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_size == (off_t)len) {
        return 0;
    }
    if (mkdirat(c->dir, sub, 0700) != 0 && errno != EEXIST) {
        return io_error(c, sub, err);
    }
    rc = write_file(c, name, bytes, len, err);
    return rc;
}

int content_sync(struct content *c, struct err *err)
{
    if (!c->dirty) {
        return 0;
    }
    if (syncfs(c->dir) != 0) {
        return io_error(c, "", err);
    }
    c->dirty = false;
    return 0;
}

static bool is_digest(const char *digest)
{
    unsigned char bytes[HASH_BYTES];

    return strlen(digest) == HASH_TEXT_MAX - 1 && hash_of_hex(digest, bytes, HASH_BYTES);
}

int content_get(struct content *c, const char *digest, struct str *ret, struct err *err)
{
    CLEANUP(str_fini) struct str text = {0};
    char name[HASH_TEXT_MAX + 4];
    char found[HASH_TEXT_MAX];
    char chunk[16384];
    ssize_t n;
    int fd;

    if (!is_digest(digest)) {
        return err_set(err, ERR_NOT_FOUND, "\"%.70s\" is no digest", digest);
    }
    name_of(digest, name);
    fd = openat(c->dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        return err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "%s/%s: %s", c->path, name,
                       strerror(errno));
    }
    while ((n = read(fd, chunk, sizeof(chunk))) > 0) {
        str_add_n(&text, chunk, (size_t)n);
    }
    close(fd);
    hash_sha256_text(str_text(&text), text.len, found);
    if (n < 0 || strcmp(found, digest) != 0) {
        return err_set(err, ERR_IO, "%s/%s: the file is damaged", c->path, name);
    }
    str_add_n(ret, str_text(&text), text.len);
    return 0;
}
