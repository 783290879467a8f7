/* The store was one file an entry up to release 0.1.0.  Those are read where they lie and never
 * moved: a state directory stays readable, whatever was begun in it. */
#include "daemon/content.h"

#include "base/check.h"
#include "base/mem.h"
#include "daemon/contentpack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct content {
    int dir;
    char *path;
    struct contentpack *pack;
    struct hash *hash;
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
    int rc;

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
    c->hash = hash_new();
    rc = contentpack_open(fd, "pack", dir, &c->pack, err);
    if (rc != 0) {
        content_close(c);
        return rc;
    }
    *ret = c;
    return 0;
}

void content_close(struct content *c)
{
    if (c == NULL) {
        return;
    }
    contentpack_close(c->pack);
    hash_free(c->hash);
    close(c->dir);
    mem_free(c->path);
    mem_free(c);
}

int content_put(struct content *c, const char *bytes, size_t len, char ret[HASH_TEXT_MAX],
                struct err *err)
{
    unsigned char digest[HASH_BYTES];
    bool added = false;
    int rc;

    hash_whole(c->hash, bytes, len, digest);
    rc = contentpack_put(c->pack, digest, bytes, len, &added, err);
    if (rc == 0) {
        hash_hex(digest, HASH_BYTES, ret);
        c->dirty = c->dirty || added;
    }
    return rc;
}

int content_take_unsynced(struct content *c, int *ret, struct err *err)
{
    int rc = contentpack_flush(c->pack, err);

    if (rc == 0) {
        *ret = c->dirty ? contentpack_fd(c->pack) : -1;
        c->dirty = false;
    }
    return rc;
}

void content_sync_failed(struct content *c)
{
    c->dirty = true;
}

int content_sync(struct content *c, struct err *err)
{
    int rc = contentpack_flush(c->pack, err);

    if (rc != 0) {
        return rc;
    }
    if (c->dirty && fdatasync(contentpack_fd(c->pack)) != 0) {
        return io_error(c, "pack", err);
    }
    c->dirty = false;
    return 0;
}

/* An entry of its own file. */
static int get_file(const struct content *c, const char *digest, struct str *ret, struct err *err)
{
    CLEANUP(str_fini) struct str text = {0};
    char name[HASH_TEXT_MAX + 4];
    char found[HASH_TEXT_MAX];
    char chunk[16384];
    ssize_t n;
    int fd;

    snprintf(name, sizeof(name), "%.2s/%s", digest, digest);
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

int content_get(struct content *c, const char *digest, struct str *ret, struct err *err)
{
    unsigned char bytes[HASH_BYTES];
    char lower[HASH_TEXT_MAX];
    int rc;

    if (strlen(digest) != HASH_TEXT_MAX - 1 || !hash_of_hex(digest, bytes, HASH_BYTES)) {
        return err_set(err, ERR_NOT_FOUND, "\"%.70s\" is no digest", digest);
    }
    rc = contentpack_get(c->pack, bytes, ret, err);
    if (rc != ERR_NOT_FOUND) {
        return rc;
    }
    hash_hex(bytes, HASH_BYTES, lower);
    return get_file(c, lower, ret, err);
}
