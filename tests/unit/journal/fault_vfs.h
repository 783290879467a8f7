/* fault_vfs - a SQLite VFS for tests that fails the n-th operation of a kind.
 *
 * A failing write leaves half of its bytes, as a torn write would.  Syncs are never passed on, so
 * that many runs are quick: a kill of the process is what these tests play, not a power cut.
 */
#ifndef MUSTER_TESTS_FAULT_VFS_H
#define MUSTER_TESTS_FAULT_VFS_H

#include <stdbool.h>
#include <stdint.h>

enum fault_kind {
    FAULT_CHANGE, /* write, sync or truncation */
    FAULT_READ,
    FAULT_OPEN,
    FAULT_MAP, /* of the log's index */
};

struct fault_vfs {
    enum fault_kind kind;
    int64_t fail_at; /* the operation that fails, counted from 1; 0 = none */
    bool for_ever;   /* and all after it */
    bool full;       /* writes fail with SQLITE_FULL, else an I/O error */
    int64_t count;   /* operations so far */
    bool failed;     /* one has failed */
    bool unsynced;   /* the newest change has no sync after it */
    int64_t syncs;   /* so far */
};

/* Make it SQLite's default; the result is its one setting, and lives for ever. */
struct fault_vfs *fault_vfs_install(void);

#endif
