#include "random_value.h"

#include "base/check.h"

#include <string.h>

#define ITEMS_MAX 6

struct maker {
    struct rng *rng;
    struct arena *arena;
    bool small;
};

static int64_t random_int(const struct maker *m)
{
    static const int64_t EDGES[] = {1, -1, 126000, INT64_MAX, INT64_MIN, 1764516000000};
    struct rng *rng = m->rng;

    if (m->small && rng_below(rng, 8) > 0) {
        return rng_range(rng, 0, 9);
    }
    if (rng_below(rng, 2) == 0) {
        return EDGES[rng_below(rng, ARRAY_LEN(EDGES))];
    }
    return (int64_t)(rng_next(rng) >> rng_below(rng, 64));
}

static const char *random_text(const struct maker *m)
{
    static const char *const PIECES[] = {"a",  "node-1", "\"",   "\\",   "/",   "\n",
                                         "\t", "\x01",   "\x1f", "\x7f", "ä",   "€",
                                         "𝄞",  " ",      "é",    "{}",   "[,]", "0"};
    char text[256] = "";

    for (uint64_t left = rng_below(m->rng, 9); left > 0; left--) {
        const char *piece = PIECES[rng_below(m->rng, ARRAY_LEN(PIECES))];

        memcpy(text + strlen(text), piece, strlen(piece) + 1);
    }
    return arena_text(m->arena, text);
}

static int random_name(const char *const *names, struct rng *rng)
{
    uint64_t count = 0;

    while (names[count] != NULL) {
        count++;
    }
    return (int)rng_below(rng, count);
}

static void fill(const struct schema *schema, void *base, const struct maker *m);

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

static void fill_list(const struct schema_field *f, char *base, const struct maker *m)
{
    size_t count = (size_t)rng_below(m->rng, ITEMS_MAX + 1);
    size_t size = item_size(f);
    char *items = arena_new(m->arena, count, size);
    void *slot = base + f->offset;
    void *slot_count = base + f->count_offset;

    for (size_t i = 0; i < count; i++) {
        void *item = items + i * size;

        if (f->kind == FIELD_LIST) {
            fill(f->sub, item, m);
        } else if (f->kind == FIELD_INTS) {
            *(int64_t *)item = random_int(m);
        } else {
            *(const char **)item = random_text(m);
        }
    }
    *(void **)slot = count > 0 ? items : NULL;
    *(size_t *)slot_count = count;
}

static void fill_field(const struct schema_field *f, char *base, const struct maker *m)
{
    void *part = base + f->offset;

    switch (f->kind) {
    case FIELD_INT:
        *(int64_t *)part = random_int(m);
        break;
    case FIELD_BOOL:
        *(bool *)part = true;
        break;
    case FIELD_TEXT:
        *(const char **)part = random_text(m);
        break;
    case FIELD_ENUM:
        *(int *)part = random_name(f->names, m->rng);
        break;
    case FIELD_STRUCT:
        fill(f->sub, part, m);
        break;
    case FIELD_LIST:
    case FIELD_INTS:
    case FIELD_TEXTS:
        fill_list(f, base, m);
        break;
    }
}

static void fill(const struct schema *schema, void *base, const struct maker *m)
{
    for (size_t i = 0; i < schema->field_count; i++) {
        if (rng_below(m->rng, 3) > 0) {
            fill_field(&schema->fields[i], base, m);
        }
    }
}

static void *make(const struct schema *schema, const struct maker *m)
{
    void *value = arena_new(m->arena, 1, schema->size);

    fill(schema, value, m);
    return value;
}

void *random_value(const struct schema *schema, struct rng *rng, struct arena *arena)
{
    return make(schema, &(struct maker){rng, arena, false});
}

void *random_small_value(const struct schema *schema, struct rng *rng, struct arena *arena)
{
    return make(schema, &(struct maker){rng, arena, true});
}
