/* statefile - small files of the state directory: read whole, written whole and renamed, 0600. */
#ifndef MUSTER_DAEMON_STATEFILE_H
#define MUSTER_DAEMON_STATEFILE_H

#include "base/err.h"
#include "base/str.h"

#define STATEFILE_BYTES_MAX ((size_t)64 << 20)

/* ERR_NOT_FOUND, ERR_IO, ERR_TOO_LARGE. */
MUST_CHECK int statefile_read(const char *path, struct str *ret, struct err *err);
/* All of it, whatever a signal interrupts: 0, or -1 with errno. */
MUST_CHECK int statefile_write_all(int fd, const char *bytes, size_t len);
/* Durable at return; the old file stays on failure.  ERR_DISK_FULL, ERR_IO. */
MUST_CHECK int statefile_write(const char *path, const char *bytes, size_t len, struct err *err);

/* The directory is there (made with its parents if not), belongs to us and is closed to others
 * (search by others is allowed: tasks of other accounts live below).  ERR_IO with what to do. */
MUST_CHECK int statefile_dir(const char *path, struct err *err);

#endif
