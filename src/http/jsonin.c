#include "http/jsonin.h"

#include <jansson.h>
#include <string.h>

static void copy(struct jsonin *to, const json_t *from, struct arena *arena);

static struct jsonin *add(struct jsonin *to, struct jsonin *last, const json_t *from,
                          struct arena *arena)
{
    struct jsonin *item = arena_new(arena, 1, sizeof(*item));

    *(last == NULL ? &to->first : &last->next) = item;
    to->count++;
    copy(item, from, arena);
    return item;
}

static void copy_items(struct jsonin *to, const json_t *from, struct arena *arena)
{
    struct jsonin *last = NULL;

    if (json_is_array(from)) {
        for (size_t i = 0; i < json_array_size(from); i++) {
            last = add(to, last, json_array_get(from, i), arena);
        }
        return;
    }
    for (void *i = json_object_iter((json_t *)(uintptr_t)from); i != NULL;
         i = json_object_iter_next((json_t *)(uintptr_t)from, i)) {
        last = add(to, last, json_object_iter_value(i), arena);
        last->key_len = strlen(json_object_iter_key(i));
        last->key = arena_text_n(arena, json_object_iter_key(i), last->key_len);
    }
}

static void copy(struct jsonin *to, const json_t *from, struct arena *arena)
{
    switch (json_typeof(from)) {
    case JSON_NULL:
        to->kind = JSONIN_NULL;
        break;
    case JSON_FALSE:
        to->kind = JSONIN_FALSE;
        break;
    case JSON_TRUE:
        to->kind = JSONIN_TRUE;
        break;
    case JSON_INTEGER:
        to->kind = JSONIN_INT;
        to->number = json_integer_value(from);
        break;
    case JSON_REAL:
        to->kind = JSONIN_REAL;
        break;
    case JSON_STRING:
        to->kind = JSONIN_TEXT;
        to->len = json_string_length(from);
        to->text = arena_text_n(arena, json_string_value(from), to->len);
        break;
    case JSON_ARRAY:
    case JSON_OBJECT:
        to->kind = json_is_array(from) ? JSONIN_ARRAY : JSONIN_OBJECT;
        copy_items(to, from, arena);
        break;
    }
}

const struct jsonin *jsonin_of(const json_t *json, struct arena *arena)
{
    struct jsonin *v = arena_new(arena, 1, sizeof(*v));

    copy(v, json, arena);
    return v;
}

/* ---- what is asked of it ---- */

bool jsonin_is(const struct jsonin *v, enum jsonin_kind kind)
{
    return v != NULL && v->kind == kind;
}

size_t jsonin_count(const struct jsonin *v)
{
    return jsonin_is(v, JSONIN_ARRAY) || jsonin_is(v, JSONIN_OBJECT) ? v->count : 0;
}

const struct jsonin *jsonin_first(const struct jsonin *v)
{
    return jsonin_count(v) > 0 ? v->first : NULL;
}

const struct jsonin *jsonin_get(const struct jsonin *o, const char *name)
{
    const struct jsonin *v = jsonin_is(o, JSONIN_OBJECT) ? jsonin_first(o) : NULL;

    while (v != NULL && strcmp(v->key, name) != 0) {
        v = v->next;
    }
    return v;
}
