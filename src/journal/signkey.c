/* Failing calls on a good key mean no memory or a broken library, which is a CHECK; what a text
 * holds is the caller's world and an error.  OpenSSL asks the terminal for a passphrase where it
 * needs one: no_passphrase keeps a daemon from waiting there. */
#include "journal/signkey.h"

#include "base/check.h"
#include "base/hash.h"
#include "base/mem.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <string.h>

#define KIND "ED25519"

struct signkey {
    EVP_PKEY *pair;
    char id[SIGNKEY_ID_MAX];
};

static struct signkey *wrap(EVP_PKEY *taken)
{
    struct signkey *k = mem_new(1, sizeof(*k));
    unsigned char digest[HASH_BYTES];
    unsigned char *der = NULL;
    int len = i2d_PUBKEY(taken, &der);

    CHECK(len > 0);
    k->pair = taken;
    hash_sha256(der, (size_t)len, digest);
    hash_hex(digest, (SIGNKEY_ID_MAX - 1) / 2, k->id);
    OPENSSL_free(der);
    return k;
}

struct signkey *signkey_make(void)
{
    EVP_PKEY *pair = EVP_PKEY_Q_keygen(NULL, NULL, KIND);

    CHECK(pair != NULL);
    return wrap(pair);
}

void signkey_free(struct signkey *k)
{
    if (k != NULL) {
        EVP_PKEY_free(k->pair);
        mem_free(k);
    }
}

void signkey_freep(struct signkey **k)
{
    signkey_free(*k);
    *k = NULL;
}

static int no_passphrase(char *buf, int size, int writing, void *arg)
{
    (void)writing;
    (void)arg;
    if (size > 0) {
        buf[0] = '\0';
    }
    return -1;
}

typedef EVP_PKEY *pem_reader(BIO *bio, EVP_PKEY **x, pem_password_cb *cb, void *u);

static int of_pem(pem_reader *reader, const char *what, const char *text, size_t len,
                  struct signkey **ret, struct err *err)
{
    BIO *bio = len <= INT32_MAX ? BIO_new_mem_buf(text, (int)len) : NULL;
    EVP_PKEY *pair = NULL;

    if (bio != NULL) {
        pair = reader(bio, NULL, no_passphrase, NULL);
        BIO_free(bio);
    }
    ERR_clear_error();
    if (pair == NULL || !EVP_PKEY_is_a(pair, KIND)) {
        EVP_PKEY_free(pair);
        return err_set(err, ERR_INVALID, "is no %s Ed25519 key in PEM", what);
    }
    *ret = wrap(pair);
    return 0;
}

int signkey_of_private(const char *pem, size_t len, struct signkey **ret, struct err *err)
{
    return of_pem(PEM_read_bio_PrivateKey, "private", pem, len, ret, err);
}

int signkey_of_public(const char *pem, size_t len, struct signkey **ret, struct err *err)
{
    return of_pem(PEM_read_bio_PUBKEY, "public", pem, len, ret, err);
}

struct signkey *signkey_of_bytes(const unsigned char bytes[SIGNKEY_PUBLIC_BYTES])
{
    EVP_PKEY *pair = EVP_PKEY_new_raw_public_key_ex(NULL, KIND, NULL, bytes, SIGNKEY_PUBLIC_BYTES);

    ERR_clear_error();
    return pair == NULL ? NULL : wrap(pair);
}

static void add_bio(BIO *bio, struct str *ret)
{
    char *text = NULL;
    long len = BIO_get_mem_data(bio, &text);

    CHECK(len > 0);
    str_add_n(ret, text, (size_t)len);
    OPENSSL_cleanse(text, (size_t)len);
    BIO_free(bio);
}

void signkey_private_pem(const struct signkey *k, struct str *ret)
{
    BIO *bio = BIO_new(BIO_s_secmem());

    CHECK(bio != NULL);
    CHECK(PEM_write_bio_PKCS8PrivateKey(bio, k->pair, NULL, NULL, 0, NULL, NULL) == 1);
    add_bio(bio, ret);
}

void signkey_public_pem(const struct signkey *k, struct str *ret)
{
    BIO *bio = BIO_new(BIO_s_mem());

    CHECK(bio != NULL);
    CHECK(PEM_write_bio_PUBKEY(bio, k->pair) == 1);
    add_bio(bio, ret);
}

void signkey_public_bytes(const struct signkey *k, unsigned char ret[SIGNKEY_PUBLIC_BYTES])
{
    size_t len = SIGNKEY_PUBLIC_BYTES;

    CHECK(EVP_PKEY_get_raw_public_key(k->pair, ret, &len) == 1 && len == SIGNKEY_PUBLIC_BYTES);
}

const char *signkey_id(const struct signkey *k)
{
    return k->id;
}

bool signkey_is_id(const char *text)
{
    return strlen(text) == SIGNKEY_ID_MAX - 1 &&
           strspn(text, "0123456789abcdef") == SIGNKEY_ID_MAX - 1;
}

void signkey_sign(const struct signkey *k, const char *text, size_t len,
                  unsigned char ret[SIGNKEY_SIGNATURE_BYTES])
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    size_t room = SIGNKEY_SIGNATURE_BYTES;

    CHECK(ctx != NULL);
    CHECK(EVP_DigestSignInit_ex(ctx, NULL, NULL, NULL, NULL, k->pair, NULL) == 1);
    CHECK(EVP_DigestSign(ctx, ret, &room, (const unsigned char *)text, len) == 1);
    CHECK(room == SIGNKEY_SIGNATURE_BYTES);
    EVP_MD_CTX_free(ctx);
}

bool signkey_verify(const struct signkey *k, const char *text, size_t len,
                    const unsigned char signature[SIGNKEY_SIGNATURE_BYTES])
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    bool good;

    CHECK(ctx != NULL);
    CHECK(EVP_DigestVerifyInit_ex(ctx, NULL, NULL, NULL, NULL, k->pair, NULL) == 1);
    good = EVP_DigestVerify(ctx, signature, SIGNKEY_SIGNATURE_BYTES, (const unsigned char *)text,
                            len) == 1;
    ERR_clear_error();
    EVP_MD_CTX_free(ctx);
    return good;
}
