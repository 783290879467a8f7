/* content - what is too long or too private for the journal, by the SHA-256 of its bytes: commands,
 * scripts, environments, texts of policies.
 *
 * STATE/content/pack, 0600 (contentpack.h); entries of release 0.1.0 are files xx/DIGEST beside it
 * and are read as well.  content_put does not wait for the disk: content_sync does, once for all
 * that was put since, and must be called before a record with such a digest is appended to the
 * journal.
 */
#ifndef MUSTER_DAEMON_CONTENT_H
#define MUSTER_DAEMON_CONTENT_H

#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"

struct content;

/* In the directory, which is made if it is not there.  ERR_IO. */
MUST_CHECK int content_open(const char *dir, struct content **ret, struct err *err);
void content_close(struct content *c);

/* ret gets the digest as text.  ERR_DISK_FULL, ERR_IO: also for what was put before. */
MUST_CHECK int content_put(struct content *c, const char *bytes, size_t len,
                           char ret[HASH_TEXT_MAX], struct err *err);
/* All that was put is on the disk. */
MUST_CHECK int content_sync(struct content *c, struct err *err);
/* The same by somebody else: it is written, and *ret is the descriptor to fdatasync, -1 = nothing
 * was put since.  If that fails, say so.  ERR_DISK_FULL, ERR_IO: it could not be written. */
MUST_CHECK int content_take_unsynced(struct content *c, int *ret, struct err *err);
void content_sync_failed(struct content *c);
/* ERR_NOT_FOUND; ERR_IO, also for bytes that are not those of the digest. */
MUST_CHECK int content_get(struct content *c, const char *digest, struct str *ret, struct err *err);

#endif
