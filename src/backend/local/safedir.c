/* Names are resolved one component at a time from open directories (openat with O_NOFOLLOW), so
 * that an account that swaps a directory for a link while we work gains nothing.  openat2 with
 * RESOLVE_BENEATH would do the same for whole paths, but nothing here needs whole paths. */
#include "backend/local/safedir.h"

#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH_MAX 128 /* of a tree that is removed: each level keeps one descriptor open */

void safedir_closep(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
        *fd = -1;
    }
}

int safedir_open(int at, const char *name, int *ret_fd, struct err *err)
{
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0) {
        return err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "directory %s: %s", name,
                       strerror(errno));
    }
    *ret_fd = fd;
    return 0;
}

/* A directory of ours that a crash left before it was given away is given away now; one of a third
 * account is refused. */
static int own(int fd, const char *name, const struct safedir_owner *owner, struct err *err)
{
    struct stat st;

    if (fstat(fd, &st) != 0) {
        return err_set(err, ERR_IO, "directory %s: %s", name, strerror(errno));
    }
    if (st.st_uid != owner->uid && st.st_uid != geteuid()) {
        return err_set(err, ERR_IO, "directory %s belongs to uid %u, expected uid %u", name,
                       (unsigned)st.st_uid, (unsigned)owner->uid);
    }
    if ((st.st_uid != owner->uid || st.st_gid != owner->gid) &&
        fchown(fd, owner->uid, owner->gid) != 0) {
        return err_set(err, ERR_IO, "cannot give directory %s to uid %u: %s", name,
                       (unsigned)owner->uid, strerror(errno));
    }
    if ((st.st_mode & 07777) != owner->mode && fchmod(fd, owner->mode) != 0) {
        return err_set(err, ERR_IO, "cannot set the mode of directory %s: %s", name,
                       strerror(errno));
    }
    return 0;
}

int safedir_make(int at, const char *name, const struct safedir_owner *owner, int *ret_fd,
                 struct err *err)
{
    int fd;
    int rc;

    if (mkdirat(at, name, 0700) != 0 && errno != EEXIST) {
        return err_set(err, ERR_IO, "cannot make directory %s: %s", name, strerror(errno));
    }
    rc = safedir_open(at, name, &fd, err);
    if (rc != 0) {
        return rc;
    }
    rc = own(fd, name, owner, err);
    if (rc != 0) {
        close(fd);
        return rc;
    }
    *ret_fd = fd;
    return 0;
}

static int write_all(int fd, const char *text, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, text, len);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return -1;
        }
        text += n;
        len -= (size_t)n;
    }
    return 0;
}

int safedir_write(int dir, const char *name, const char *text, size_t len,
                  const struct safedir_owner *owner, struct err *err)
{
    char temp[64];
    uint64_t salt;
    int fd;
    bool ok;

    if (getrandom(&salt, sizeof(salt), 0) != (ssize_t)sizeof(salt)) {
        return err_set(err, ERR_IO, "no random bytes: %s", strerror(errno));
    }
    snprintf(temp, sizeof(temp), ".new-%016llx", (unsigned long long)salt);
    fd = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        return err_set(err, ERR_IO, "cannot write %s: %s", name, strerror(errno));
    }
    ok = write_all(fd, text, len) == 0 && fchmod(fd, owner->mode) == 0 &&
         (geteuid() != 0 || fchown(fd, owner->uid, owner->gid) == 0) &&
         (!owner->durable || fsync(fd) == 0) && renameat(dir, temp, dir, name) == 0 &&
         (!owner->durable || fsync(dir) == 0);
    if (!ok) {
        err_set(err, ERR_IO, "cannot write %s: %s", name, strerror(errno));
        unlinkat(dir, temp, 0);
    }
    close(fd);
    return ok ? 0 : ERR_IO;
}

int safedir_read(int dir, const char *name, size_t max, char **ret, struct err *err)
{
    CLEANUP(safedir_closep)
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    CLEANUP(mem_freep) char *text = NULL;
    struct stat st;
    size_t have = 0;
    ssize_t n = 1;

    if (fd < 0) {
        return err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "cannot read %s: %s", name,
                       strerror(errno));
    }
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        return err_set(err, ERR_IO, "%s is not a regular file", name);
    }
    if (st.st_size > (off_t)max) {
        return err_set(err, ERR_TOO_LARGE, "%s has more than %zu bytes", name, max);
    }
    text = mem_new(max + 1, 1);
    while (have < max && n > 0) {
        n = read(fd, text + have, max - have);
        have += n > 0 ? (size_t)n : 0;
    }
    if (n < 0) {
        return err_set(err, ERR_IO, "cannot read %s: %s", name, strerror(errno));
    }
    *ret = text;
    text = NULL;
    return 0;
}

static int remove_tree(int at, const char *name, int depth, struct err *err);

static int remove_entries(int fd, int depth, struct err *err)
{
    DIR *dir = fdopendir(fd); /* takes fd */
    struct dirent *entry;
    int rc = 0;

    if (dir == NULL) {
        close(fd);
        return err_set(err, ERR_IO, "cannot list a directory: %s", strerror(errno));
    }
    while (rc == 0 && (entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            rc = remove_tree(dirfd(dir), entry->d_name, depth + 1, err);
        }
    }
    closedir(dir);
    return rc;
}

static int remove_tree(int at, const char *name, int depth, struct err *err)
{
    int fd;
    int rc;

    if (unlinkat(at, name, 0) == 0 || errno == ENOENT) {
        return 0;
    }
    if (errno != EISDIR && errno != EPERM) {
        return err_set(err, ERR_IO, "cannot remove %s: %s", name, strerror(errno));
    }
    if (depth >= DEPTH_MAX) {
        return err_set(err, ERR_IO, "cannot remove %s: deeper than %d directories", name,
                       DEPTH_MAX);
    }
    fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return err_set(err, ERR_IO, "cannot remove %s: %s", name, strerror(errno));
    }
    rc = remove_entries(fd, depth, err);
    if (rc == 0 && unlinkat(at, name, AT_REMOVEDIR) != 0 && errno != ENOENT) {
        rc = err_set(err, ERR_IO, "cannot remove %s: %s", name, strerror(errno));
    }
    return rc;
}

int safedir_remove(int at, const char *name, struct err *err)
{
    return remove_tree(at, name, 0, err);
}
