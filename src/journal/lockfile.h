/* lockfile - one owner of a file: flock on FILE.lock, which holds the owner's process id.
 *
 * The lock goes with the process, so a crash leaves nothing to clean up; FILE.lock stays and is
 * never removed, as removing it would let two processes lock two files of one name.
 */
#ifndef MUSTER_JOURNAL_LOCKFILE_H
#define MUSTER_JOURNAL_LOCKFILE_H

#include "base/err.h"

/* Lock path.lock; makes the directory (0700) if only that is missing.  *ret_fd is ended with
 * lockfile_drop.  ERR_LOCKED: another process (named in the text) has it; ERR_IO: no rights, with
 * the directory and what is needed; ERR_DISK_FULL: the lock file cannot be made. */
MUST_CHECK int lockfile_take(const char *path, int *ret_fd, struct err *err);
/* -1 is fine. */
void lockfile_drop(int fd);

#endif
