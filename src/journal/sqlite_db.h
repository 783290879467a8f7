/* sqlite_db - the SQLite file of a journal: how it is made, opened, and known to be ours.
 *
 *   journal(seq, epoch, at_ms, true_at_ms, precision_ms, kind, version, bytes, hash)
 *   snapshot(seq, format, hash, state_hash, bytes)
 *   meta(key, value): format, epoch (the newest seen), created_ms, last_seq
 *
 * application_id is "must" and user_version JOURNAL_FORMAT.  Triggers keep journal from being
 * updated or deleted from by hand.  meta.last_seq is written in the same transaction as the
 * records, so that records missing at the end are noticed.
 */
#ifndef MUSTER_JOURNAL_SQLITE_DB_H
#define MUSTER_JOURNAL_SQLITE_DB_H

#include "base/err.h"

#include <sqlite3.h>

struct sqlite_meta {
    int64_t epoch;
    int64_t last_seq;
};

/* Make an empty journal in path, whole or not at all (made aside and renamed).  ERR_IO,
 * ERR_DISK_FULL. */
MUST_CHECK int sqlite_db_create(const char *path, struct err *err);
/* The same on a VFS by name, where a crash meanwhile may leave a part of it. */
MUST_CHECK int sqlite_db_create_on(const char *vfs, const char *path, struct err *err);
/* A connection to an existing file.  One that reads neither checkpoints nor changes the file, and
 * works where -wal and -shm cannot be made, too. */
MUST_CHECK int sqlite_db_open(const char *path, bool write, sqlite3 **ret, struct err *err);
/* The same on a VFS by name; NULL = the system's. */
MUST_CHECK int sqlite_db_open_on(const char *vfs, const char *path, bool write, sqlite3 **ret,
                                 struct err *err);
void sqlite_db_close(sqlite3 *db);

/* Copy all of db into the new file `to` (0600).  ERR_CONFLICT: it is there already. */
MUST_CHECK int sqlite_db_copy(sqlite3 *db, const char *to, struct err *err);

/* Whether it is a journal that we can read.  ERR_JOURNAL_DAMAGED, ERR_JOURNAL_NEWER, ERR_IO. */
MUST_CHECK int sqlite_db_check(sqlite3 *db, const char *path, struct sqlite_meta *ret,
                               struct err *err);

/* Make the name of path, new or changed, durable.  ERR_IO. */
MUST_CHECK int sqlite_db_sync_directory(const char *path, struct err *err);

/* Turn the last failure of db, SQLite code rc, into ours: ERR_DISK_FULL, ERR_JOURNAL_DAMAGED or
 * ERR_IO.  what completes "cannot ...". */
int sqlite_db_error(sqlite3 *db, int rc, const char *path, const char *what, struct err *err);

/* One statement, no result. */
MUST_CHECK int sqlite_db_run(sqlite3 *db, const char *path, const char *sql, struct err *err);
MUST_CHECK int sqlite_db_prepare(sqlite3 *db, const char *path, const char *sql, sqlite3_stmt **ret,
                                 struct err *err);
/* For CLEANUP. */
void sqlite_db_endp(sqlite3_stmt **stmt);

#endif
