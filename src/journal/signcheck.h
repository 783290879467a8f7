/* signcheck - what of a chain the signatures prove, to who trusts some keys.
 *
 * Records are given in order, after their hashes were checked.  A checkpoint proves all records up
 * to the one it names, if its key is trusted: it was given, or a trusted key signed it when it took
 * over.  What comes after the last such checkpoint is not proven: whoever can write the file could
 * have made it.
 *
 * A witness is a checkpoint that was kept elsewhere.  Signatures alone cannot show that the end of
 * a chain was cut off, nor that the holder of the key wrote all of it anew; a witness can.
 *
 * Every failure is ERR_JOURNAL_DAMAGED with "record N: …", and is final.
 */
#ifndef MUSTER_JOURNAL_SIGNCHECK_H
#define MUSTER_JOURNAL_SIGNCHECK_H

#include "journal/attest.h"

struct signcheck;

struct signcheck_verdict {
    int64_t first_seq;  /* of the records given, 0 = none */
    int64_t last_seq;   /* the same */
    int64_t signed_seq; /* proven up to here, 0 = nothing */
    int64_t checkpoints;
    int64_t bad_seq;          /* the record that a failure speaks of, 0 = none in particular */
    char key[SIGNKEY_ID_MAX]; /* of the newest good checkpoint */
};

struct signcheck *signcheck_new(void);
void signcheck_free(struct signcheck *c);
void signcheck_freep(struct signcheck **c);

/* Before the first record. */
void signcheck_trust(struct signcheck *c, struct signkey *taken);
void signcheck_witness(struct signcheck *c, const struct attest_checkpoint *witness);

/* prev: the hash of the record before. */
MUST_CHECK int signcheck_record(struct signcheck *c, const struct journal_record *r,
                                const unsigned char prev[JOURNAL_HASH_BYTES], struct err *err);
/* After the last one.  Fails if nothing is proven, if a key came into force that nobody trusts and
 * no later checkpoint proves, or if a witness disagrees. */
MUST_CHECK int signcheck_end(struct signcheck *c, struct err *err);

/* What was found so far, also after a failure. */
void signcheck_verdict(const struct signcheck *c, struct signcheck_verdict *ret);
/* What a reader must know though it is no failure, as lines; "" = nothing.  Lent. */
const char *signcheck_notes(const struct signcheck *c);

#endif
