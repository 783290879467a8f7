/* journal_fixture - what the tests of the journal share: a directory of their own, and records
 * whose content follows from their number. */
#ifndef MUSTER_TESTS_JOURNAL_FIXTURE_H
#define MUSTER_TESTS_JOURNAL_FIXTURE_H

#include "journal/journal.h"

struct fixture {
    char dir[64];
    char path[96]; /* dir/journal.db */
};

void fixture_init(struct fixture *f);
/* Removes the directory and what is in it. */
void fixture_fini(struct fixture *f);
/* path/to/dir/NAME in ret. */
void fixture_name(const struct fixture *f, const char *name, char ret[128]);

#define FIXTURE_TEXT_MAX 400

/* The record with number seq; text is the room for its bytes.  seq of the record is not set. */
struct journal_record fixture_record(int64_t seq, char text[FIXTURE_TEXT_MAX]);
/* Append the count records that follow, in one batch (at most 300). */
int fixture_append(struct journal *j, size_t count, bool urgent, struct err *err);
/* Open (make) path and append count records, then close: all must work. */
void fixture_make(const struct fixture *f, size_t count);

/* Whether exactly the records 1 to count are there and are what fixture_record makes. */
bool fixture_holds(struct journal *j, int64_t count);

void fixture_copy(const char *from, const char *to);
/* Run SQL on the file with the triggers gone, through SQLite itself. */
void fixture_sql(const char *path, const char *sql);
/* The whole file; free with mem_free. */
char *fixture_slurp(const char *path, size_t *ret_len);
void fixture_spit(const char *path, const char *bytes, size_t len);

#endif
