/* attest - what a key of the journal signs: a checkpoint, or the key that takes over from it.
 *
 * Signed are lines of text, so that an outsider needs no code of ours (doc/audit.md):
 *
 *     muster journal checkpoint 1         muster journal key 1
 *     seq 17                              public_key 64 hexadecimal digits
 *     hash 64 hexadecimal digits          previous id of the key that signs
 *     state_hash 64 hexadecimal digits
 *     format 2
 *     key id of the key that signs
 *
 * each line ended by \n.  A checkpoint says that the record seq of the chain has this hash, and
 * with it all before it are what they are, and that the canonical snapshot after it, in this
 * format, has this hash.  A document is the signed lines and a last one, "signature" and 128
 * hexadecimal digits: what is kept elsewhere as a witness.
 *
 * In the journal both are records, of the kinds below, whose bodies core/fact.h describes.
 */
#ifndef MUSTER_JOURNAL_ATTEST_H
#define MUSTER_JOURNAL_ATTEST_H

#include "journal/journal.h"
#include "journal/signkey.h"

#define ATTEST_KIND_KEY        "journal_key"
#define ATTEST_KIND_CHECKPOINT "journal_checkpoint"

struct attest_checkpoint {
    int64_t seq;
    unsigned char hash[JOURNAL_HASH_BYTES];
    unsigned char state_hash[JOURNAL_HASH_BYTES];
    int64_t format;
    char key[SIGNKEY_ID_MAX];
    unsigned char signature[SIGNKEY_SIGNATURE_BYTES];
};

struct attest_key {
    char key[SIGNKEY_ID_MAX];
    unsigned char public_key[SIGNKEY_PUBLIC_BYTES];
    char previous[SIGNKEY_ID_MAX]; /* "" = the first */
    bool is_signed;                /* by previous */
    unsigned char signature[SIGNKEY_SIGNATURE_BYTES];
};

/* The lines that are signed. */
void attest_checkpoint_text(const struct attest_checkpoint *a, struct str *ret);
void attest_key_text(const struct attest_key *a, struct str *ret);

/* Fill in key and signature, or previous and signature. */
void attest_checkpoint_sign(struct attest_checkpoint *a, const struct signkey *key);
void attest_key_sign(struct attest_key *a, const struct signkey *previous);
/* Whether the signature is that of key. */
bool attest_checkpoint_verify(const struct attest_checkpoint *a, const struct signkey *key);
bool attest_key_verify(const struct attest_key *a, const struct signkey *previous);

/* The lines with their signature, and back.  ERR_SYNTAX: the text is no such document. */
void attest_checkpoint_document(const struct attest_checkpoint *a, struct str *ret);
MUST_CHECK int attest_checkpoint_of_document(const char *text, size_t len,
                                             struct attest_checkpoint *ret, struct err *err);

/* The body of a record of this kind.  ERR_SYNTAX: it is none. */
MUST_CHECK int attest_checkpoint_of_body(const char *bytes, size_t len,
                                         struct attest_checkpoint *ret, struct err *err);
MUST_CHECK int attest_key_of_body(const char *bytes, size_t len, struct attest_key *ret,
                                  struct err *err);

#endif
