#include "daemon/statefile.h"

#include "base/check.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int io_error(const char *path, const char *what, struct err *err)
{
    bool full = errno == ENOSPC || errno == EDQUOT;

    return err_set(err, full ? ERR_DISK_FULL : ERR_IO, "%s: %s: %s", path, what, strerror(errno));
}

int statefile_read(const char *path, struct str *ret, struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    char chunk[16384];
    ssize_t n;

    if (fd < 0) {
        return errno == ENOENT ? err_set(err, ERR_NOT_FOUND, "%s: there is no such file", path)
                               : io_error(path, "cannot be opened", err);
    }
    while ((n = read(fd, chunk, sizeof(chunk))) > 0 && ret->len <= STATEFILE_BYTES_MAX) {
        str_add_n(ret, chunk, (size_t)n);
    }
    close(fd);
    if (n > 0) {
        return err_set(err, ERR_TOO_LARGE, "%s: is larger than 64 MiB", path);
    }
    return n < 0 ? io_error(path, "cannot be read", err) : 0;
}

int statefile_write_all(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, bytes, len);

        if (n < 0 && errno != EINTR) {
            return -1;
        }
        if (n > 0) {
            bytes += n;
            len -= (size_t)n;
        }
    }
    return 0;
}

/* A rename is durable once its directory is. */
static int sync_parent(const char *path)
{
    CLEANUP(mem_freep) char *dir = mem_text(path);
    char *slash = strrchr(dir, '/');
    int fd;
    int rc;

    CHECK(slash != NULL);
    *slash = '\0';
    fd = open(dir[0] == '\0' ? "/" : dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return -1;
    }
    rc = fsync(fd);
    close(fd);
    return rc;
}

int statefile_write(const char *path, const char *bytes, size_t len, struct err *err)
{
    CLEANUP(str_fini) struct str temporary = {0};
    int fd;
    int rc;

    str_addf(&temporary, "%s.new", path);
    fd = open(temporary.text, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return io_error(path, "cannot be written", err);
    }
    if (statefile_write_all(fd, bytes, len) != 0 || fsync(fd) != 0) {
        rc = io_error(path, "cannot be written", err);
        close(fd);
        unlink(temporary.text);
        return rc;
    }
    close(fd);
    if (rename(temporary.text, path) != 0 || sync_parent(path) != 0) {
        return io_error(path, "cannot be written", err);
    }
    return 0;
}

static int make_parents(const char *path, struct err *err)
{
    CLEANUP(mem_freep) char *copy = mem_text(path);

    for (char *slash = strchr(copy + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(copy, 0755) != 0 && errno != EEXIST) {
            return io_error(copy, "cannot be made", err);
        }
        *slash = '/';
    }
    return 0;
}

int statefile_dir(const char *path, struct err *err)
{
    struct stat st;
    int rc;

    if (path[0] != '/') {
        return err_set(err, ERR_INVALID, "%s: write the whole path, beginning with /", path);
    }
    if (lstat(path, &st) != 0) {
        rc = make_parents(path, err);
        if (rc != 0) {
            return rc;
        }
        if ((mkdir(path, 0700) != 0 && errno != EEXIST) || lstat(path, &st) != 0) {
            return io_error(path, "cannot be made", err);
        }
    }
    if (!S_ISDIR(st.st_mode)) {
        return err_set(err, ERR_IO, "%s: is not a directory, name one", path);
    }
    if (st.st_uid != geteuid()) {
        return err_set(err, ERR_IO,
                       "%s: belongs to uid %u, musterd runs as %u: chown it or name "
                       "another directory",
                       path, (unsigned)st.st_uid, (unsigned)geteuid());
    }
    if ((st.st_mode & 066) != 0) {
        return err_set(err, ERR_IO, "%s: others may read or write it (mode %04o): chmod 0700", path,
                       (unsigned)st.st_mode & 07777U);
    }
    if (access(path, R_OK | W_OK | X_OK) != 0) {
        return io_error(path, "cannot be written", err);
    }
    return 0;
}
