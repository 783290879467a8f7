#include "random_value.h"

#include "base/check.h"

#include <string.h>

#define ITEMS_MAX 6

static int64_t random_int(struct rng *rng)
{
    static const int64_t EDGES[] = {1, -1, 126000, INT64_MAX, INT64_MIN, 1764516000000};

    if (rng_below(rng, 2) == 0) {
        return EDGES[rng_below(rng, ARRAY_LEN(EDGES))];
    }
    return (int64_t)(rng_next(rng) >> rng_below(rng, 64));
}

static const char *random_text(struct rng *rng, struct arena *arena)
{
    static const char *const PIECES[] = {"a",  "node-1", "\"",   "\\",   "/",   "\n",
                                         "\t", "\x01",   "\x1f", "\x7f", "ä",   "€",
                                         "𝄞",  " ",      "é",    "{}",   "[,]", "0"};
    char text[256] = "";

    for (uint64_t left = rng_below(rng, 9); left > 0; left--) {
        const char *piece = PIECES[rng_below(rng, ARRAY_LEN(PIECES))];

        memcpy(text + strlen(text), piece, strlen(piece) + 1);
    }
    return arena_text(arena, text);
}

static int random_name(const char *const *names, struct rng *rng)
{
    uint64_t count = 0;

    while (names[count] != NULL) {
        count++;
    }
    return (int)rng_below(rng, count);
}

static void fill(const struct schema *schema, void *base, struct rng *rng, struct arena *arena);

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

static void fill_list(const struct schema_field *f, char *base, struct rng *rng,
                      struct arena *arena)
{
    size_t count = (size_t)rng_below(rng, ITEMS_MAX + 1);
    size_t size = item_size(f);
    char *items = arena_new(arena, count, size);
    void *slot = base + f->offset;
    void *slot_count = base + f->count_offset;

    for (size_t i = 0; i < count; i++) {
        void *item = items + i * size;

        if (f->kind == FIELD_LIST) {
            fill(f->sub, item, rng, arena);
        } else if (f->kind == FIELD_INTS) {
            *(int64_t *)item = random_int(rng);
        } else {
            *(const char **)item = random_text(rng, arena);
        }
    }
    *(void **)slot = count > 0 ? items : NULL;
    *(size_t *)slot_count = count;
}

static void fill_field(const struct schema_field *f, char *base, struct rng *rng,
                       struct arena *arena)
{
    void *part = base + f->offset;

    switch (f->kind) {
    case FIELD_INT:
        *(int64_t *)part = random_int(rng);
        break;
    case FIELD_BOOL:
        *(bool *)part = true;
        break;
    case FIELD_TEXT:
        *(const char **)part = random_text(rng, arena);
        break;
    case FIELD_ENUM:
        *(int *)part = random_name(f->names, rng);
        break;
    case FIELD_STRUCT:
        fill(f->sub, part, rng, arena);
        break;
    case FIELD_LIST:
    case FIELD_INTS:
    case FIELD_TEXTS:
        fill_list(f, base, rng, arena);
        break;
    }
}

static void fill(const struct schema *schema, void *base, struct rng *rng, struct arena *arena)
{
    for (size_t i = 0; i < schema->field_count; i++) {
        if (rng_below(rng, 3) > 0) {
            fill_field(&schema->fields[i], base, rng, arena);
        }
    }
}

void *random_value(const struct schema *schema, struct rng *rng, struct arena *arena)
{
    void *value = arena_new(arena, 1, schema->size);

    fill(schema, value, rng, arena);
    return value;
}
