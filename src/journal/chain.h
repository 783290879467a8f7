/* chain - the bytes that are hashed for a record, and SHA-256 over them.
 *
 * What is hashed, in this order, every integer as 8 bytes, big-endian, two's complement:
 *
 *     previous hash (32 bytes), seq, epoch, at_ms, true_at_ms, precision_ms,
 *     length of kind, kind, version, length of bytes, bytes
 *
 * Lengths stand before what varies, so no two records share an encoding.  It never changes: a new
 * one would be a new JOURNAL_FORMAT.
 */
#ifndef MUSTER_JOURNAL_CHAIN_H
#define MUSTER_JOURNAL_CHAIN_H

#include "journal/journal.h"

struct chain;

/* A hasher, for one thread at a time; never NULL. */
struct chain *chain_new(void);
void chain_free(struct chain *c);
void chain_freep(struct chain **c);

/* The hash of r after a record with hash prev.  r->hash is not looked at; ret may be prev. */
void chain_next(struct chain *c, const unsigned char prev[JOURNAL_HASH_BYTES],
                const struct journal_record *r, unsigned char ret[JOURNAL_HASH_BYTES]);

#endif
