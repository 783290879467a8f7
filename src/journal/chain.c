/* One EVP context and one fetched SHA-256 serve all records: making them anew costs more than
 * hashing a usual record.  A failing EVP call means no memory or a broken library, which is a
 * CHECK. */
#include "journal/chain.h"

#include "base/check.h"
#include "base/mem.h"

#include <openssl/evp.h>
#include <string.h>

struct chain {
    EVP_MD *sha256;
    EVP_MD_CTX *ctx;
};

struct chain *chain_new(void)
{
    struct chain *c = mem_new(1, sizeof(*c));

    c->sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
    c->ctx = EVP_MD_CTX_new();
    CHECK(c->sha256 != NULL && c->ctx != NULL);
    CHECK(EVP_DigestInit_ex(c->ctx, c->sha256, NULL) == 1);
    return c;
}

void chain_free(struct chain *c)
{
    if (c != NULL) {
        EVP_MD_CTX_free(c->ctx);
        EVP_MD_free(c->sha256);
        mem_free(c);
    }
}

void chain_freep(struct chain **c)
{
    chain_free(*c);
    *c = NULL;
}

static unsigned char *put_int(unsigned char *at, int64_t value)
{
    uint64_t bits = (uint64_t)value;

    for (int shift = 56; shift >= 0; shift -= 8) {
        *at++ = (unsigned char)(bits >> shift);
    }
    return at;
}

void chain_next(struct chain *c, const unsigned char prev[JOURNAL_HASH_BYTES],
                const struct journal_record *r, unsigned char ret[JOURNAL_HASH_BYTES])
{
    unsigned char head[JOURNAL_HASH_BYTES + 6 * 8];
    unsigned char tail[2 * 8];
    unsigned char *at = head + JOURNAL_HASH_BYTES;
    size_t kind_len = strlen(r->kind);
    unsigned int len = 0;

    memcpy(head, prev, JOURNAL_HASH_BYTES);
    at = put_int(at, r->seq);
    at = put_int(at, r->epoch);
    at = put_int(at, r->at_ms);
    at = put_int(at, r->true_at_ms);
    at = put_int(at, r->precision_ms);
    at = put_int(at, (int64_t)kind_len);
    CHECK(EVP_DigestUpdate(c->ctx, head, (size_t)(at - head)) == 1);
    CHECK(EVP_DigestUpdate(c->ctx, r->kind, kind_len) == 1);
    at = put_int(tail, r->version);
    at = put_int(at, (int64_t)r->len);
    CHECK(EVP_DigestUpdate(c->ctx, tail, (size_t)(at - tail)) == 1);
    CHECK(EVP_DigestUpdate(c->ctx, r->bytes, r->len) == 1);
    CHECK(EVP_DigestFinal_ex(c->ctx, ret, &len) == 1 && len == JOURNAL_HASH_BYTES);
    /* No type: the context keeps its SHA-256 and only starts over. */
    CHECK(EVP_DigestInit_ex(c->ctx, NULL, NULL) == 1);
}
