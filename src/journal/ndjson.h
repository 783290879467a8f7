/* ndjson - the export of a journal: one line a record, and the check of such lines by an outsider.
 *
 * A line is exactly
 *   {"seq":N,"epoch":N,"at_ms":N,"true_at_ms":N,"precision_ms":N,"kind":"K","version":N,"body":B,
 *    "prev":"HEX","hash":"HEX"}
 * without the break, B being the bytes as stored.  prev and hash have a fixed length, so B is what
 * stands between, whatever it holds: no JSON parser is needed to check a chain.
 */
#ifndef MUSTER_JOURNAL_NDJSON_H
#define MUSTER_JOURNAL_NDJSON_H

#include "base/str.h"
#include "journal/journal.h"

/* Append the line of r, with its line end. */
void ndjson_add(struct str *s, const struct journal_record *r,
                const unsigned char prev[JOURNAL_HASH_BYTES]);

struct ndjson_line {
    struct journal_record record; /* kind points into kind below, bytes into the text read */
    unsigned char prev[JOURNAL_HASH_BYTES];
    char kind[JOURNAL_KIND_MAX + 1];
};

/* Read one line without its line end.  ret points into itself and text: do not copy it.
 * ERR_SYNTAX: not such a line; the text names the column. */
MUST_CHECK int ndjson_read(const char *text, size_t len, struct ndjson_line *ret, struct err *err);

struct ndjson_check;

struct ndjson_check *ndjson_check_new(void);
void ndjson_check_free(struct ndjson_check *c);
void ndjson_check_freep(struct ndjson_check **c);

/* Check the next line.  The first may have any seq; if it is 1, its prev must be zero.
 * ERR_SYNTAX as above; ERR_JOURNAL_DAMAGED: seq, prev or hash do not follow.  After a failure all
 * further lines fail alike. */
MUST_CHECK int ndjson_check_line(struct ndjson_check *c, const char *text, size_t len,
                                 struct err *err);
/* The line that was just found good; lent until the next, and its text with it. */
const struct ndjson_line *ndjson_check_last(const struct ndjson_check *c);
/* What was found so far; first_seq is 0 before the first line. */
void ndjson_check_verdict(const struct ndjson_check *c, int64_t *ret_first_seq,
                          struct journal_verdict *ret);

#endif
