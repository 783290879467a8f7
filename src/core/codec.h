/* codec - facts, policies and snapshots as canonical JSON text, by the tables of core/schema.h.
 *
 * encode(decode(text)) == text for every text that encode made; decode refuses unknown fields and
 * values, duplicate keys, floats, numbers outside int64 and text that is not UTF-8.
 *
 * Cost (bench/codec.c, two busy cores of 2026): a job_submitted of 305 bytes 0.9 us to read and 1.1
 * us to write, a job_started of 8 GPUs 0.9 and 1.5 us; jansson's parse alone 11 and 16 us.
 */
#ifndef MUSTER_CORE_CODEC_H
#define MUSTER_CORE_CODEC_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/fact.h"

/* Append the struct as JSON text. */
void codec_encode(const struct schema *schema, const void *value, struct str *ret);

/* Read one object.  *ret is a new struct in the arena; a text that is left out is "", never NULL.
 * On failure what was read so far stays in the arena.  ERR_SYNTAX: not JSON (the text says where);
 * ERR_UNKNOWN_FIELD; ERR_RANGE; ERR_INVALID: wrong type or unknown enum name (the text names the
 * field path). */
MUST_CHECK int codec_decode(const struct schema *schema, const char *text, size_t len,
                            struct arena *arena, void **ret, struct err *err);

/* The body of a fact; seq, at_ms and kind belong to the record. */
void codec_encode_fact(const struct fact *fact, struct str *ret);
MUST_CHECK int codec_decode_fact(enum fact_kind kind, const char *text, size_t len,
                                 struct arena *arena, struct fact *ret, struct err *err);

/* A deep copy into the arena. */
void *codec_copy(const struct schema *schema, const void *value, struct arena *arena);

#endif
