/* contentpack - many small entries in one file, appended, found by their SHA-256.
 *
 *     entry: "muster1\n", 8 bytes length (low byte first), 32 bytes digest, the bytes
 *
 * The index is in memory (16 to 48 bytes an entry) and made by walking the file when it is opened.
 * What a crash left half written at the end is passed over and stays; so is damage in the middle,
 * up to the next entry that is whole.
 *
 * New entries are gathered in memory and written together, by contentpack_flush or once they are a
 * mebibyte: a write a batch instead of one an entry.
 */
#ifndef MUSTER_DAEMON_CONTENTPACK_H
#define MUSTER_DAEMON_CONTENTPACK_H

#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

struct contentpack;

/* The file `name` in an open directory, made if it is not there; path is of the messages.  ERR_IO,
 * ERR_DISK_FULL. */
MUST_CHECK int contentpack_open(int dir, const char *name, const char *path,
                                struct contentpack **ret, struct err *err);
void contentpack_close(struct contentpack *p);

/* Neither written nor synced; *ret_new: it was not there.  ERR_DISK_FULL, ERR_IO: nothing was
 * added. */
MUST_CHECK int contentpack_put(struct contentpack *p, const unsigned char digest[HASH_BYTES],
                               const char *bytes, size_t len, bool *ret_new, struct err *err);
/* Append the bytes to ret.  ERR_NOT_FOUND; ERR_IO, also for bytes that are not those of the digest.
 */
MUST_CHECK int contentpack_get(struct contentpack *p, const unsigned char digest[HASH_BYTES],
                               struct str *ret, struct err *err);
/* Write what was put; what cannot be written is kept for the next time.  ERR_DISK_FULL, ERR_IO. */
MUST_CHECK int contentpack_flush(struct contentpack *p, struct err *err);
/* To be synced by fdatasync, from any thread. */
int contentpack_fd(const struct contentpack *p);

#endif
