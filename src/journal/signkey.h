/* signkey - Ed25519 keys: the one musterd signs the journal with, and those an auditor trusts.
 *
 * Ed25519 by OpenSSL: small keys, no parameters to get wrong, a signature that depends on nothing
 * but key and text.  A key is known by its id, the first 16 hexadecimal digits of SHA-256 over the
 * public key in DER (SubjectPublicKeyInfo):
 *
 *     openssl pkey -pubin -in KEY.pem -outform DER | sha256sum | cut -c1-16
 */
#ifndef MUSTER_JOURNAL_SIGNKEY_H
#define MUSTER_JOURNAL_SIGNKEY_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

#define SIGNKEY_ID_MAX          17 /* 16 hexadecimal digits and a NUL */
#define SIGNKEY_PUBLIC_BYTES    32
#define SIGNKEY_SIGNATURE_BYTES 64

struct signkey;

/* A new pair from the system's randomness; never NULL. */
struct signkey *signkey_make(void);
void signkey_free(struct signkey *k);
void signkey_freep(struct signkey **k);

/* The private or the public key in a PEM text (PKCS #8, SubjectPublicKeyInfo).
 * ERR_INVALID: it is none, has a passphrase or is of another kind than Ed25519. */
MUST_CHECK int signkey_of_private(const char *pem, size_t len, struct signkey **ret,
                                  struct err *err);
MUST_CHECK int signkey_of_public(const char *pem, size_t len, struct signkey **ret,
                                 struct err *err);
/* NULL if the bytes are no key. */
struct signkey *signkey_of_bytes(const unsigned char bytes[SIGNKEY_PUBLIC_BYTES]);

/* The key's PEM text is added to ret; what holds a private one is the caller's to wipe. */
void signkey_private_pem(const struct signkey *k, struct str *ret);
void signkey_public_pem(const struct signkey *k, struct str *ret);
void signkey_public_bytes(const struct signkey *k, unsigned char ret[SIGNKEY_PUBLIC_BYTES]);
/* Lent for the life of k. */
const char *signkey_id(const struct signkey *k);
bool signkey_is_id(const char *text);

/* k must hold the private key. */
void signkey_sign(const struct signkey *k, const char *text, size_t len,
                  unsigned char ret[SIGNKEY_SIGNATURE_BYTES]);
bool signkey_verify(const struct signkey *k, const char *text, size_t len,
                    const unsigned char signature[SIGNKEY_SIGNATURE_BYTES]);

#endif
