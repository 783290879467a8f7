/* hash - SHA-256, at once or piece by piece, and its text in hexadecimal. */
#ifndef MUSTER_BASE_HASH_H
#define MUSTER_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>

#define HASH_BYTES    32
#define HASH_TEXT_MAX (2 * HASH_BYTES + 1)

struct hash;

/* The digest of all bytes at once. */
void hash_sha256(const void *data, size_t len, unsigned char ret[HASH_BYTES]);
/* The same as 64 hexadecimal digits and a NUL. */
void hash_sha256_text(const void *data, size_t len, char ret[HASH_TEXT_MAX]);

/* The same with what hash_new made (and nothing was added to), which can be used again: half of the
 * time of a short text is to find SHA-256 in the library. */
void hash_whole(struct hash *h, const void *data, size_t len, unsigned char ret[HASH_BYTES]);

/* Piece by piece: hash_end gives the digest and frees h. */
struct hash *hash_new(void);
void hash_add(struct hash *h, const void *data, size_t len);
void hash_end(struct hash *h, unsigned char ret[HASH_BYTES]);
void hash_free(struct hash *h);

/* count bytes as lower-case hexadecimal; ret has room for 2 * count + 1. */
void hash_hex(const unsigned char *bytes, size_t count, char *ret);
/* Exactly 2 * count hexadecimal digits, either case, as bytes; false on anything else. */
bool hash_of_hex(const char *text, unsigned char *ret, size_t count);

#endif
