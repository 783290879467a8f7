/* recordview - a record of the journal as the API shows it. */
#ifndef MUSTER_DAEMON_RECORDVIEW_H
#define MUSTER_DAEMON_RECORDVIEW_H

#include "daemon/daemon.h"
#include "journal/journal.h"

/* A new object: seq, at_ms, true_at_ms, kind, version, body, hash, text. */
json_t *recordview_json(struct daemon *d, const struct journal_record *r);
/* The one line of a record; "" where this program does not know the kind. */
void recordview_text(struct daemon *d, const struct journal_record *r, struct str *ret);
/* Does the record speak of the job, as its own or as another's victim? */
bool recordview_names_job(const struct journal_record *r, int64_t job);

#endif
