/* What is zero, empty or false is not in the text, so it is not hashed either: most fields of most
 * structs are. */
#include "core/alike.h"

#include <string.h>

#define MIX_FACTOR 0x9e3779b97f4a7c15U /* 2^64 over the golden ratio: odd, its bits well spread */

static const void *part_of(const void *base, size_t offset)
{
    return (const char *)base + offset;
}

static size_t item_size(const struct schema_field *f)
{
    if (f->kind == FIELD_LIST) {
        return f->sub->size;
    }
    if (f->kind == FIELD_INTS) {
        return sizeof(int64_t);
    }
    return sizeof(const char *);
}

static uint64_t mix(uint64_t h, uint64_t value)
{
    h = (h ^ value) * MIX_FACTOR;
    return h ^ (h >> 32);
}

static uint64_t mix_text(uint64_t h, const char *text)
{
    for (; text != NULL && *text != '\0'; text++) {
        h = (h ^ (unsigned char)*text) * MIX_FACTOR;
    }
    return mix(h, 0xff); /* ends it: no text has this byte */
}

static uint64_t hash_object(uint64_t h, const struct schema *schema, const void *value);

static uint64_t hash_items(uint64_t h, const struct schema_field *f, const void *base)
{
    size_t count = *(const size_t *)part_of(base, f->count_offset);
    const void *items = *(const void *const *)part_of(base, f->offset);

    h = mix(h, count);
    for (size_t i = 0; i < count; i++) {
        const void *item = part_of(items, i * item_size(f));

        if (f->kind == FIELD_LIST) {
            h = hash_object(h, f->sub, item);
        } else if (f->kind == FIELD_INTS) {
            h = mix(h, *(const uint64_t *)item);
        } else {
            h = mix_text(h, *(const char *const *)item);
        }
    }
    return h;
}

/* A number that is not 0 where the field is not left out. */
static uint64_t number_of(const struct schema_field *f, const void *base)
{
    const void *part = part_of(base, f->offset);

    switch (f->kind) {
    case FIELD_INT:
        return *(const uint64_t *)part;
    case FIELD_BOOL:
        return *(const bool *)part;
    case FIELD_ENUM:
        return (uint64_t)(*(const int *)part);
    case FIELD_TEXT: {
        const char *text = *(const char *const *)part;

        return text != NULL && *text != '\0';
    }
    case FIELD_STRUCT:
        return 1;
    case FIELD_LIST:
    case FIELD_INTS:
    case FIELD_TEXTS:
        break;
    }
    return *(const size_t *)part_of(base, f->count_offset);
}

static uint64_t hash_object(uint64_t h, const struct schema *schema, const void *value)
{
    for (size_t i = 0; i < schema->field_count; i++) {
        const struct schema_field *f = &schema->fields[i];
        uint64_t number = number_of(f, value);

        if (number == 0) {
            continue;
        }
        h = mix(h, number + (i << 56)); /* which field it is counts too */
        if (f->kind == FIELD_TEXT) {
            h = mix_text(h, *(const char *const *)part_of(value, f->offset));
        } else if (f->kind == FIELD_STRUCT) {
            h = hash_object(h, f->sub, part_of(value, f->offset));
        } else if (f->kind >= FIELD_LIST) {
            h = hash_items(h, f, value);
        }
    }
    return h;
}

int64_t alike_hash(const struct schema *schema, const void *value)
{
    return (int64_t)(hash_object(0, schema, value) >> 1);
}

/* NULL is "". */
static bool same_text(const char *a, const char *b)
{
    return a == b || strcmp(a != NULL ? a : "", b != NULL ? b : "") == 0;
}

static bool same_items(const struct schema_field *f, const void *a, const void *b)
{
    size_t count = *(const size_t *)part_of(a, f->count_offset);
    const void *as = *(const void *const *)part_of(a, f->offset);
    const void *bs = *(const void *const *)part_of(b, f->offset);
    bool same = count == *(const size_t *)part_of(b, f->count_offset);

    for (size_t i = 0; same && i < count; i++) {
        const void *x = part_of(as, i * item_size(f));
        const void *y = part_of(bs, i * item_size(f));

        if (f->kind == FIELD_LIST) {
            same = alike_same(f->sub, x, y);
        } else if (f->kind == FIELD_INTS) {
            same = *(const int64_t *)x == *(const int64_t *)y;
        } else {
            same = same_text(*(const char *const *)x, *(const char *const *)y);
        }
    }
    return same;
}

static bool same_field(const struct schema_field *f, const void *a, const void *b)
{
    switch (f->kind) {
    case FIELD_TEXT:
        return same_text(*(const char *const *)part_of(a, f->offset),
                         *(const char *const *)part_of(b, f->offset));
    case FIELD_STRUCT:
        return alike_same(f->sub, part_of(a, f->offset), part_of(b, f->offset));
    case FIELD_LIST:
    case FIELD_INTS:
    case FIELD_TEXTS:
        return same_items(f, a, b);
    case FIELD_INT:
    case FIELD_BOOL:
    case FIELD_ENUM:
        break;
    }
    return number_of(f, a) == number_of(f, b);
}

bool alike_same(const struct schema *schema, const void *a, const void *b)
{
    for (size_t i = 0; i < schema->field_count; i++) {
        if (!same_field(&schema->fields[i], a, b)) {
            return false;
        }
    }
    return true;
}
