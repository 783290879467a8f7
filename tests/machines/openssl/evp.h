/* A SHA-256 with the few names of OpenSSL that base/hash.c uses, for machines that have no OpenSSL
 * here.  Tests only: the product uses the real one. */
#ifndef MUSTER_MACHINES_OPENSSL_EVP_H
#define MUSTER_MACHINES_OPENSSL_EVP_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    uint32_t h[8];
    uint8_t block[64];
    uint64_t len;
} EVP_MD_CTX;

static inline uint32_t evp_turn(uint32_t x, int by)
{
    return x >> by | x << (32 - by);
}

static inline void evp_block(uint32_t h[8], const uint8_t *p)
{
    static const uint32_t K[64] = {0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b,
                                   0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01,
                                   0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7,
                                   0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc,
                                   0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152,
                                   0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
                                   0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
                                   0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
                                   0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819,
                                   0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08,
                                   0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
                                   0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
                                   0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
    uint32_t w[64], v[8];

    for (int i = 0; i < 16; i++) {
        w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 |
               (uint32_t)p[4 * i + 2] << 8 | p[4 * i + 3];
    }
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];

        w[i] = w[i - 16] + (evp_turn(a, 7) ^ evp_turn(a, 18) ^ a >> 3) + w[i - 7] +
               (evp_turn(b, 17) ^ evp_turn(b, 19) ^ b >> 10);
    }
    memcpy(v, h, sizeof(v));
    for (int i = 0; i < 64; i++) {
        uint32_t s1 = evp_turn(v[4], 6) ^ evp_turn(v[4], 11) ^ evp_turn(v[4], 25);
        uint32_t t1 = v[7] + s1 + ((v[4] & v[5]) ^ (~v[4] & v[6])) + K[i] + w[i];
        uint32_t s0 = evp_turn(v[0], 2) ^ evp_turn(v[0], 13) ^ evp_turn(v[0], 22);
        uint32_t t2 = s0 + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));

        memmove(&v[1], &v[0], 7 * sizeof(v[0]));
        v[4] += t1;
        v[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++) {
        h[i] += v[i];
    }
}

static inline EVP_MD_CTX *EVP_MD_CTX_new(void)
{
    return calloc(1, sizeof(EVP_MD_CTX));
}

static inline void EVP_MD_CTX_free(EVP_MD_CTX *c)
{
    free(c);
}

static inline const void *EVP_sha256(void)
{
    return NULL;
}

static inline int EVP_DigestInit_ex(EVP_MD_CTX *c, const void *kind, void *engine)
{
    static const uint32_t H[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                  0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

    (void)kind;
    (void)engine;
    memcpy(c->h, H, sizeof(H));
    c->len = 0;
    return 1;
}

static inline int EVP_DigestUpdate(EVP_MD_CTX *c, const void *data, size_t len)
{
    const uint8_t *p = data;

    for (size_t i = 0; i < len; i++) {
        c->block[c->len++ % 64] = p[i];
        if (c->len % 64 == 0) {
            evp_block(c->h, c->block);
        }
    }
    return 1;
}

static inline int EVP_DigestFinal_ex(EVP_MD_CTX *c, unsigned char *ret, unsigned *count)
{
    uint64_t bits = c->len * 8;
    uint8_t one = 0x80, zero = 0, end[8];

    EVP_DigestUpdate(c, &one, 1);
    while (c->len % 64 != 56) {
        EVP_DigestUpdate(c, &zero, 1);
    }
    for (int i = 0; i < 8; i++) {
        end[i] = (uint8_t)(bits >> (56 - 8 * i));
    }
    EVP_DigestUpdate(c, end, 8);
    for (int i = 0; i < 32; i++) {
        ret[i] = (uint8_t)(c->h[i / 4] >> (24 - 8 * (i % 4)));
    }
    *count = 32;
    return 1;
}

static inline int EVP_Digest(const void *data, size_t len, unsigned char *ret, unsigned *count,
                             const void *kind, void *engine)
{
    EVP_MD_CTX c;

    return EVP_DigestInit_ex(&c, kind, engine) && EVP_DigestUpdate(&c, data, len) &&
           EVP_DigestFinal_ex(&c, ret, count);
}

#endif
