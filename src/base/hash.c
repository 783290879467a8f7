/* OpenSSL's EVP picks the processor's SHA instructions; that is why no SHA-256 is written here.  It
 * can only fail for want of memory or of the algorithm itself, and then the journal cannot go on:
 * a CHECK. */
#include "base/hash.h"

#include "base/check.h"
#include "base/mem.h"

#include <openssl/evp.h>

struct hash {
    EVP_MD_CTX *ctx;
};

void hash_sha256(const void *data, size_t len, unsigned char ret[HASH_BYTES])
{
    unsigned count = 0;

    CHECK(EVP_Digest(data, len, ret, &count, EVP_sha256(), NULL) == 1 && count == HASH_BYTES);
}

void hash_sha256_text(const void *data, size_t len, char ret[HASH_TEXT_MAX])
{
    unsigned char bytes[HASH_BYTES];

    hash_sha256(data, len, bytes);
    hash_hex(bytes, HASH_BYTES, ret);
}

struct hash *hash_new(void)
{
    struct hash *h = mem_new(1, sizeof(*h));

    h->ctx = EVP_MD_CTX_new();
    CHECK(h->ctx != NULL && EVP_DigestInit_ex(h->ctx, EVP_sha256(), NULL) == 1);
    return h;
}

void hash_add(struct hash *h, const void *data, size_t len)
{
    CHECK(EVP_DigestUpdate(h->ctx, data, len) == 1);
}

void hash_whole(struct hash *h, const void *data, size_t len, unsigned char ret[HASH_BYTES])
{
    unsigned count = 0;

    hash_add(h, data, len);
    CHECK(EVP_DigestFinal_ex(h->ctx, ret, &count) == 1 && count == HASH_BYTES);
    CHECK(EVP_DigestInit_ex(h->ctx, NULL, NULL) == 1);
}

void hash_end(struct hash *h, unsigned char ret[HASH_BYTES])
{
    unsigned count = 0;

    CHECK(EVP_DigestFinal_ex(h->ctx, ret, &count) == 1 && count == HASH_BYTES);
    hash_free(h);
}

void hash_free(struct hash *h)
{
    if (h != NULL) {
        EVP_MD_CTX_free(h->ctx);
        mem_free(h);
    }
}

void hash_hex(const unsigned char *bytes, size_t count, char *ret)
{
    static const char HEX[] = "0123456789abcdef";

    for (size_t i = 0; i < count; i++) {
        ret[2 * i] = HEX[bytes[i] >> 4];
        ret[2 * i + 1] = HEX[bytes[i] & 15];
    }
    ret[2 * count] = '\0';
}

/* The worth of a digit, or 16 if it is none. */
static unsigned digit_of(char c)
{
    if (c >= '0' && c <= '9') {
        return (unsigned)(c - '0');
    }
    if (c >= 'a' && c <= 'f') {
        return (unsigned)(c - 'a') + 10;
    }
    if (c >= 'A' && c <= 'F') {
        return (unsigned)(c - 'A') + 10;
    }
    return 16;
}

bool hash_of_hex(const char *text, unsigned char *ret, size_t count)
{
    for (size_t i = 0; i < 2 * count; i++) {
        if (digit_of(text[i]) == 16) {
            return false;
        }
    }
    if (text[2 * count] != '\0') {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        ret[i] = (unsigned char)(digit_of(text[2 * i]) << 4 | digit_of(text[2 * i + 1]));
    }
    return true;
}
