/* verify_run - muster-journal's verify: a chain walked, its signatures checked, the result printed.
 */
#ifndef MUSTER_JOURNAL_VERIFY_RUN_H
#define MUSTER_JOURNAL_VERIFY_RUN_H

#include "journal/journal.h"

#define VERIFY_FILES_MAX 16

struct verify_run {
    const char *path;                       /* "-" = standard input, of an export */
    const char *keys[VERIFY_FILES_MAX + 1]; /* files of public keys, NULL ends */
    const char *witnesses[VERIFY_FILES_MAX + 1];
    bool expects;
    int64_t expect_seq;
    unsigned char expect_hash[JOURNAL_HASH_BYTES];
};

/* Whether path looks like an export and not like a journal. */
bool verify_run_is_export(const char *path);

/* ERR_JOURNAL_DAMAGED, ERR_SYNTAX: with the line or record; ERR_INVALID: a key or witness is none.
 */
MUST_CHECK int verify_run_journal(struct journal *j, const struct verify_run *v, struct err *err);
MUST_CHECK int verify_run_export(const struct verify_run *v, struct err *err);

#endif
