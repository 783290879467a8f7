/* ballast - room on the disk kept for the worst day: FILE.ballast, given up so that what has
 * already happened can still be written down when the disk is full.
 *
 * 1 MiB is some 250 pages of SQLite: the ends of every task of a large cluster in a few batches.
 */
#ifndef MUSTER_JOURNAL_BALLAST_H
#define MUSTER_JOURNAL_BALLAST_H

#include "base/err.h"

#define BALLAST_BYTES (1024 * 1024)

enum ballast_state { BALLAST_MISSING, BALLAST_HELD, BALLAST_IMPOSSIBLE /* not on this system */ };

struct ballast {
    char *path;
    const char *vfs; /* SQLite VFS that it lies on, lent; NULL = a file of the system */
    enum ballast_state state;
};

/* Names the file only, one of the system. */
void ballast_init(struct ballast *b, const char *journal_path);
void ballast_fini(struct ballast *b);

/* Hold the room.  ERR_DISK_FULL: there is none.  A file system that cannot reserve room is no
 * failure: then there is no ballast. */
MUST_CHECK int ballast_make(struct ballast *b, struct err *err);
/* ERR_DISK_FULL: there is not as much room again beside the ballast. */
MUST_CHECK int ballast_probe(const struct ballast *b, struct err *err);
/* Give the room up; false if none was held. */
bool ballast_drop(struct ballast *b);

#endif
