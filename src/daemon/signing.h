/* signing - the key that musterd signs the journal with, and the checkpoints it makes.
 *
 * The key lies in the state directory, journal.key (0600, PEM).  The journal says which key is in
 * force (journal_key); journal.key.id remembers what it said last, so that a key that was lost or
 * put in another's place is told in the journal, and is not taken for the first one.
 *
 * Signed is each snapshot of the engine, as its state's hash is known then: every so many records,
 * once an hour if there is something new, and when somebody asks.  The key itself never leaves
 * journal.key: it is in no answer, no record and no message.
 */
#ifndef MUSTER_DAEMON_SIGNING_H
#define MUSTER_DAEMON_SIGNING_H

#include "daemon/daemon.h"
#include "journal/signkey.h"

struct signing;

/* Read the key, or make the first one; what the journal must hear of it is put to the engine.
 * ERR_INVALID, ERR_IO: the file is no key, or others may read it; the text says what to do. */
MUST_CHECK int signing_open(struct daemon *d, struct err *err);
void signing_free(struct signing *s);

const struct signkey *signing_key(const struct daemon *d);

/* A snapshot was written: sign it. */
void signing_snapshot(struct daemon *d, const struct journal_snapshot *snapshot);
/* Once a second. */
void signing_tick(struct daemon *d, int64_t now_ms);

/* Make and sign a snapshot now, for a caller. */
void signing_checkpoint(struct daemon *d, const struct asked *a);
/* A new key takes over, signed by the one in force. */
void signing_rotate(struct daemon *d, const struct asked *a);

#endif
