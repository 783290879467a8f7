/* jsonin - the JSON of a request, read into one arena: a tree that costs no allocation a value.
 *
 * What is taken is RFC 8259 and stricter: one value, UTF-8, no name twice in an object, no \u0000,
 * whole numbers within int64, others within a double's range.  It is what jansson takes with
 * JSON_REJECT_DUPLICATES | JSON_DECODE_ANY (a test compares the two), which costs five times as
 * much a submission.
 *
 * All functions that take a value take NULL too: as a value that is not there.
 */
#ifndef MUSTER_HTTP_JSONIN_H
#define MUSTER_HTTP_JSONIN_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum jsonin_kind {
    JSONIN_NULL,
    JSONIN_FALSE,
    JSONIN_TRUE,
    JSONIN_INT,
    JSONIN_REAL, /* its value is not kept: nothing in the API is one */
    JSONIN_TEXT,
    JSONIN_ARRAY,
    JSONIN_OBJECT,
};

struct jsonin { /* all of it lives in the arena */
    enum jsonin_kind kind;
    uint32_t key_len;
    const char *key; /* in an object */
    const struct jsonin *next;
    union {
        int64_t number;
        struct {
            const char *text; /* ended by NUL, and without one inside */
            size_t len;
        };
        struct {
            const struct jsonin *first; /* then by next */
            size_t count;
        };
    };
};

enum jsonin_outcome { JSONIN_GOOD, JSONIN_WRONG, JSONIN_TOO_DEEP };

/* ret is written for JSONIN_GOOD only.  depth_max bounds the recursion: arrays and objects within
 * one another. */
enum jsonin_outcome jsonin_read(const char *bytes, size_t len, int depth_max, struct arena *arena,
                                const struct jsonin **ret);

bool jsonin_is(const struct jsonin *v, enum jsonin_kind kind);
/* Of an array or an object, else 0. */
size_t jsonin_count(const struct jsonin *v);
/* The first value of an array or an object; go on by next. */
const struct jsonin *jsonin_first(const struct jsonin *v);
/* NULL: no object, or it has no such name. */
const struct jsonin *jsonin_get(const struct jsonin *o, const char *name);

#endif
