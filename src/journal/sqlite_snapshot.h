/* sqlite_snapshot - the snapshots in the SQLite file of a journal: the last two, each tied to the
 * record that it stands after by the chain's hash there, and to its bytes by theirs.
 *
 * A snapshot only saves the time of a replay, so one that is damaged is passed over and the one
 * before it is given; it is never a reason to call the journal damaged.
 */
#ifndef MUSTER_JOURNAL_SQLITE_SNAPSHOT_H
#define MUSTER_JOURNAL_SQLITE_SNAPSHOT_H

#include "journal/journal.h"

#include <sqlite3.h>

/* Whether s stands after record s->seq of this chain.  ERR_INVALID: it does not. */
MUST_CHECK int sqlite_snapshot_check(sqlite3 *db, const char *path,
                                     const struct journal_snapshot *s, struct err *err);
/* Add s and drop all but the last two, in one transaction, which after a failure may still have to
 * be rolled back. */
MUST_CHECK int sqlite_snapshot_put(sqlite3 *db, const char *path, const struct journal_snapshot *s,
                                   struct err *err);
/* The newest good one.  Its bytes replace what *bytes owned (mem_free) and ret lends them.
 * ERR_NOT_FOUND: none. */
MUST_CHECK int sqlite_snapshot_get(sqlite3 *db, const char *path, char **bytes,
                                   struct journal_snapshot *ret, struct err *err);

#endif
