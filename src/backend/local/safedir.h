/* safedir - files in directories that other accounts may write to.
 *
 * musterd works as root in directories that belong to the accounts of jobs.  So nothing here
 * follows a symbolic link, every path is one name below an open directory, and a file appears
 * whole: it is written under a fresh name and renamed.
 */
#ifndef MUSTER_LOCAL_SAFEDIR_H
#define MUSTER_LOCAL_SAFEDIR_H

#include "base/err.h"

#include <stddef.h>
#include <sys/types.h>

struct safedir_owner {
    uid_t uid;
    gid_t gid;
    mode_t mode;
    bool durable; /* files: fsync the file and its directory */
};

void safedir_closep(int *fd);

/* Make the directory if it is not there, give it to the owner, and open it.  ERR_IO: it cannot be
 * made, is no directory, or belongs to another account. */
MUST_CHECK int safedir_make(int at, const char *name, const struct safedir_owner *owner,
                            int *ret_fd, struct err *err);

/* Open a directory that is there.  ERR_NOT_FOUND; ERR_IO. */
MUST_CHECK int safedir_open(int at, const char *name, int *ret_fd, struct err *err);

/* Write a whole file in the place of what had the name. */
MUST_CHECK int safedir_write(int dir, const char *name, const char *text, size_t len,
                             const struct safedir_owner *owner, struct err *err);

/* Read a regular file of at most max bytes; *ret ends with NUL, free with mem_free.
 * ERR_NOT_FOUND; ERR_TOO_LARGE; ERR_IO: no regular file, or it cannot be read. */
MUST_CHECK int safedir_read(int dir, const char *name, size_t max, char **ret, struct err *err);

/* Remove a file or a whole tree.  A name that is not there is fine.  ERR_IO: something stays. */
MUST_CHECK int safedir_remove(int at, const char *name, struct err *err);

#endif
