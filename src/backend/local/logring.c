/* Files are renamed, not cut: a reader that follows FILE keeps its descriptor and reads on to the
 * end of what became FILE.1, then opens FILE anew. */
#include "backend/local/logring.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct logring {
    int dir;
    int fd;
    int64_t size;
    int64_t dropped;
    int64_t overwritten;
    struct logring_limits limits;
    char name[128];
};

static int open_file(struct logring *r, struct err *err)
{
    struct stat st;
    int fd = openat(r->dir, r->name, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (fd < 0) {
        return err_set(err, ERR_IO, "cannot open log %s: %s", r->name, strerror(errno));
    }
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) ||
        (geteuid() == 0 && fchown(fd, r->limits.uid, r->limits.gid) != 0)) {
        close(fd);
        return err_set(err, ERR_IO, "log %s is not a file that can be used", r->name);
    }
    r->fd = fd;
    r->size = st.st_size;
    return 0;
}

int logring_open(int dir, const char *name, const struct logring_limits *limits,
                 struct logring **ret, struct err *err)
{
    struct logring *r = mem_new(1, sizeof(*r));
    int rc;

    r->dir = dir;
    r->fd = -1;
    r->limits = *limits;
    snprintf(r->name, sizeof(r->name), "%s", name);
    rc = open_file(r, err);
    if (rc != 0) {
        logring_close(r);
        return rc;
    }
    *ret = r;
    return 0;
}

/* The oldest file is about to go: FILE.(files - 1), or FILE itself where there is but one. */
static void count_oldest(struct logring *r)
{
    struct stat st;
    char name[160];

    if (r->limits.files <= 1) {
        snprintf(name, sizeof(name), "%s", r->name);
    } else {
        snprintf(name, sizeof(name), "%s.%lld", r->name, (long long)r->limits.files - 1);
    }
    if (fstatat(r->dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        r->overwritten += st.st_size;
    }
}

static void rotate(struct logring *r)
{
    char from[160];
    char to[160];

    close(r->fd);
    r->fd = -1;
    count_oldest(r);
    for (int64_t i = r->limits.files - 1; i >= 1; i--) {
        snprintf(to, sizeof(to), "%s.%lld", r->name, (long long)i);
        if (i == 1) {
            snprintf(from, sizeof(from), "%s", r->name);
        } else {
            snprintf(from, sizeof(from), "%s.%lld", r->name, (long long)(i - 1));
        }
        (void)renameat(r->dir, from, r->dir, to);
    }
    if (r->limits.files <= 1) {
        (void)unlinkat(r->dir, r->name, 0);
    }
    (void)open_file(r, NULL);
}

void logring_write(struct logring *r, const char *data, size_t len)
{
    while (len > 0) {
        int64_t room = r->limits.file_bytes - r->size;
        size_t part;
        ssize_t n;

        if (r->fd < 0) {
            (void)open_file(r, NULL); /* it was rotated away while the disk was full */
        } else if (room <= 0) {
            rotate(r);
        }
        room = r->limits.file_bytes - r->size;
        if (r->fd < 0 || room <= 0) {
            break;
        }
        part = len < (size_t)room ? len : (size_t)room;
        n = write(r->fd, data, part);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            break;
        }
        r->size += n;
        data += n;
        len -= (size_t)n;
    }
    r->dropped += (int64_t)len;
}

int64_t logring_dropped(const struct logring *r)
{
    return r->dropped;
}

int64_t logring_overwritten(const struct logring *r)
{
    return r->overwritten;
}

void logring_close(struct logring *r)
{
    if (r == NULL) {
        return;
    }
    if (r->fd >= 0) {
        close(r->fd);
    }
    mem_free(r);
}
