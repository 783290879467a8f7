#include "journal/lockfile.h"

#include "base/mem.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static char *directory_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    if (slash == NULL) {
        return mem_text(".");
    }
    return slash == path ? mem_text("/") : mem_text_n(path, (size_t)(slash - path));
}

static int check_directory(const char *path, struct err *err)
{
    CLEANUP(mem_freep) char *dir = directory_of(path);
    int error;

    if (mkdir(dir, 0700) != 0 && errno != EEXIST) {
        error = errno;
        return err_set(err, error == ENOSPC ? ERR_DISK_FULL : ERR_IO,
                       "cannot make the directory %s: %s", dir, strerror(error));
    }
    if (faccessat(AT_FDCWD, dir, R_OK | W_OK | X_OK, AT_EACCESS) != 0) {
        return err_set(err, ERR_IO,
                       "cannot use the directory %s: %s; user id %u needs to read, write and "
                       "search it (chown it, or chmod u+rwx)",
                       dir, strerror(errno), (unsigned)geteuid());
    }
    return 0;
}

/* The number that the owner wrote, 0 if there is none to read. */
static int64_t read_owner(int fd)
{
    char text[24];
    ssize_t len = pread(fd, text, sizeof(text) - 1, 0);
    int64_t pid;

    if (len <= 0) {
        return 0;
    }
    text[len] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return str_to_int(text, &pid) ? pid : 0;
}

/* For people only, so a full disk is no reason to fail. */
static void write_owner(int fd)
{
    char text[24];
    int len = snprintf(text, sizeof(text), "%d\n", (int)getpid());

    if (ftruncate(fd, 0) != 0 || pwrite(fd, text, (size_t)len, 0) != len) {
        return;
    }
}

int lockfile_take(const char *path, int *ret_fd, struct err *err)
{
    struct str lock = {0};
    int rc = check_directory(path, err);
    int error;
    int fd;

    if (rc != 0) {
        return rc;
    }
    str_addf(&lock, "%s.lock", path);
    fd = open(lock.text, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    error = errno;
    if (fd < 0) {
        rc = err_set(err, error == ENOSPC || error == EDQUOT ? ERR_DISK_FULL : ERR_IO,
                     "cannot open %s: %s", lock.text, strerror(error));
    } else if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        rc = err_set(err, ERR_LOCKED,
                     "%s belongs to a running process (pid %lld): stop that one first", path,
                     (long long)read_owner(fd));
        close(fd);
    } else {
        write_owner(fd);
        *ret_fd = fd;
    }
    str_fini(&lock);
    return rc;
}

void lockfile_drop(int fd)
{
    if (fd >= 0) {
        close(fd);
    }
}
