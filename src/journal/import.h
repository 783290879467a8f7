/* import - a journal made of the lines of an export, so that one can be carried to another file,
 * machine or kind of store.
 *
 * The journal is the same in all that counts: every record, its bytes and its hash.  It has no
 * snapshots, so the first start on it replays everything.
 */
#ifndef MUSTER_JOURNAL_IMPORT_H
#define MUSTER_JOURNAL_IMPORT_H

#include "journal/journal.h"

/* Make the journal `to` (0600) of the lines of the file from ("-" = standard input), all or
 * nothing: it is written beside as `to`.part, verified, and only then gets its name. ERR_CONFLICT:
 * `to` is there already, or `to`.part of an import that was killed.  ERR_NOT_FOUND: no such file.
 * ERR_SYNTAX, ERR_JOURNAL_DAMAGED, ERR_INVALID: a line, named as FROM:LINE.  ERR_IO, ERR_DISK_FULL.
 */
MUST_CHECK int import_export(const char *from, const char *to, struct journal_verdict *ret,
                             struct err *err);

#endif
