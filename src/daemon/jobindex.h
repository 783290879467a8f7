/* jobindex - which records of the journal speak of a job, so that its story is told without reading
 * everything.  Built at the first question, kept up to date from then on. */
#ifndef MUSTER_DAEMON_JOBINDEX_H
#define MUSTER_DAEMON_JOBINDEX_H

#include "base/err.h"
#include "journal/journal.h"

#include <stddef.h>

struct jobindex;

struct jobindex *jobindex_new(void);
void jobindex_free(struct jobindex *x);

/* A durable record has come. */
void jobindex_add(struct jobindex *x, const struct journal_record *r);
/* The seqs of a job's records, rising, lent until the next call. */
MUST_CHECK int jobindex_of(struct jobindex *x, struct journal *journal, int64_t job,
                           const int64_t **ret, size_t *ret_count, struct err *err);

#endif
