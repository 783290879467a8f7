/* logmove - when what the write-ahead log holds is moved into the file.
 *
 * SQLite's own way can lose a page.  A move that a reader holds up ends without a sync, and what it
 * moved is never moved again; if the sync of a later move fails, the system takes pages of both for
 * saved that are not, and only the later move is made again.  Then the log is begun anew, and after
 * a power cut the file lacks what the first had moved.  So after a failed move behind one that was
 * held up nothing is moved any more: the log keeps everything, and whoever opens the file next
 * moves all of it from the beginning.
 */
#ifndef MUSTER_JOURNAL_LOGMOVE_H
#define MUSTER_JOURNAL_LOGMOVE_H

#include <sqlite3.h>
#include <stdbool.h>

/* The pages in the log from which on a commit moves them; SQLite's own default. */
#define LOGMOVE_PAGES 1000

struct logmove {
    bool held_up; /* a move was, and none has reached the end of the log since */
    bool ended;   /* nothing is moved any more */
};

/* From now on the commits of this connection move the log, and m, which is lent, says how it went.
 */
void logmove_init(struct logmove *m, sqlite3 *writer);

#endif
