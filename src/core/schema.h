/* schema - how a C struct is written as JSON text, as a table of its fields.
 *
 * One table drives the encoder, the decoder, the documents and the tests.  The text is canonical:
 * fields in table order, no white space, integers only, and a field that is zero, empty or false is
 * left out. Fields and enum values are only ever added (at the end, with `since`), never removed or
 * given a new meaning.  A decoder refuses unknown fields.
 */
#ifndef MUSTER_CORE_SCHEMA_H
#define MUSTER_CORE_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum field_kind {
    FIELD_INT,    /* int64_t */
    FIELD_BOOL,   /* bool */
    FIELD_TEXT,   /* const char *, NULL = "" */
    FIELD_ENUM,   /* int (an enum); written by name, `names` ends with NULL, value = index */
    FIELD_STRUCT, /* an embedded struct, `sub` */
    FIELD_LIST,   /* struct x *items; size_t item_count: list of `sub` */
    FIELD_INTS,   /* int64_t *items; size_t item_count */
    FIELD_TEXTS,  /* const char **items; size_t item_count */
};

struct schema;

struct schema_field {
    const char *name;
    const char *key; /* ,"name": as it stands in canonical text */
    size_t key_len;
    enum field_kind kind;
    size_t offset;
    size_t count_offset; /* of the size_t count of a list */
    const struct schema *sub;
    const char *const *names;
};

struct schema {
    const char *name;
    size_t size; /* sizeof the struct */
    const struct schema_field *fields;
    size_t field_count;
};

#define SCHEMA_FIELD(st, m, kind) #m, ",\"" #m "\":", sizeof(#m) + 3, kind, offsetof(struct st, m)

#define SCHEMA_INT(st, m)                                                                          \
    {                                                                                              \
        SCHEMA_FIELD(st, m, FIELD_INT), 0, NULL, NULL                                              \
    }
#define SCHEMA_BOOL(st, m)                                                                         \
    {                                                                                              \
        SCHEMA_FIELD(st, m, FIELD_BOOL), 0, NULL, NULL                                             \
    }
#define SCHEMA_TEXT(st, m)                                                                         \
    {                                                                                              \
        SCHEMA_FIELD(st, m, FIELD_TEXT), 0, NULL, NULL                                             \
    }
#define SCHEMA_ENUM(st, m, n)                                                                      \
    {                                                                                              \
        SCHEMA_FIELD(st, m, FIELD_ENUM), 0, NULL, n                                                \
    }
#define SCHEMA_SUB(st, m, s)                                                                       \
    {                                                                                              \
        SCHEMA_FIELD(st, m, FIELD_STRUCT), 0, s, NULL                                              \
    }
#define SCHEMA_LIST(st, m, c, s)                                                                   \
    {                                                                                              \
        SCHEMA_FIELD(st, m, FIELD_LIST), offsetof(struct st, c), s, NULL                           \
    }
#define SCHEMA_INTS(st, m, c)                                                                      \
    {                                                                                              \
        SCHEMA_FIELD(st, m, FIELD_INTS), offsetof(struct st, c), NULL, NULL                        \
    }
#define SCHEMA_TEXTS(st, m, c)                                                                     \
    {                                                                                              \
        SCHEMA_FIELD(st, m, FIELD_TEXTS), offsetof(struct st, c), NULL, NULL                       \
    }

#define SCHEMA_DEFINE(id, title, st)                                                               \
    const struct schema id = {title, sizeof(struct st), id##_fields,                               \
                              sizeof(id##_fields) / sizeof(id##_fields[0])}

#endif
