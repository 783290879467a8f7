/* vfsfile - what a journal asks of its file system beside SQLite, asked of a SQLite VFS by name.
 *
 * A journal on a named VFS has all its files there (a simulated disk): the file, its log, and the
 * ballast.  Only one process can reach such a disk, so there is no lock.  NULL names the system's.
 */
#ifndef MUSTER_JOURNAL_VFSFILE_H
#define MUSTER_JOURNAL_VFSFILE_H

#include "base/err.h"

#include <stdbool.h>

/* Is there such a file? */
bool vfsfile_exists(const char *vfs, const char *path);
/* False: it is still there, or never was. */
bool vfsfile_remove(const char *vfs, const char *path);
/* Make the file, or let it grow, to so many bytes that are really its own.  0, ENOSPC, or another
 * errno; on failure there is no such file. */
int vfsfile_reserve(const char *vfs, const char *path, int64_t bytes);
/* Write the log of the database at path over with what a read of it gives, and sync it: then what
 * was read is safe, even where an earlier sync failed.  The system keeps what that one did not
 * save, shows it, and takes it for saved; only writing it again brings it to the disk.  0 (also
 * when there is no log), ENOSPC, or another errno.  Nobody else may be writing to it. */
int vfsfile_save_log(const char *vfs, const char *path);

#endif
