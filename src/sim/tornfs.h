/* tornfs - a torndisk as a SQLite VFS, so that the real journal runs on it.
 *
 * Every connection of the process sees the same files, locks and shared memory.  What a crash
 * leaves of shared memory and locks is nothing.  It makes the promises of SQLite's own VFS and no
 * more: a write does not touch what lies beside it, nothing else is atomic or in order.
 */
#ifndef MUSTER_SIM_TORNFS_H
#define MUSTER_SIM_TORNFS_H

#include "sim/torndisk.h"

struct tornfs;

/* Register it under this name; the disk is lent and must live longer. */
struct tornfs *tornfs_new(const char *name, struct torndisk *disk);
/* No file may be open. */
void tornfs_free(struct tornfs *fs);

#endif
