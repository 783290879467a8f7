/* jsonin - the JSON of a request, as jansson has read it, in the request's arena: what is read from
 * it is lent as long as the arena, and it costs no allocation a value.
 *
 * All functions that take a value take NULL too: as a value that is not there.
 */
#ifndef MUSTER_HTTP_JSONIN_H
#define MUSTER_HTTP_JSONIN_H

#include "base/arena.h"

#include <jansson.h>
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
    const char *key; /* in an object */
    size_t key_len;
    struct jsonin *next;
    union {
        int64_t number;
        struct {
            const char *text; /* ended by NUL, and without one inside */
            size_t len;
        };
        struct {
            struct jsonin *first; /* then by next */
            size_t count;
        };
    };
};

/* The same values in the arena; json stays the caller's. */
const struct jsonin *jsonin_of(const json_t *json, struct arena *arena);

bool jsonin_is(const struct jsonin *v, enum jsonin_kind kind);
/* Of an array or an object, else 0. */
size_t jsonin_count(const struct jsonin *v);
/* The first value of an array or an object; go on by next. */
const struct jsonin *jsonin_first(const struct jsonin *v);
/* NULL: no object, or it has no such name. */
const struct jsonin *jsonin_get(const struct jsonin *o, const char *name);

#endif
