/* mutate_json - a mutator for inputs with JSON in them: a document, or lines that each have a JSON
 * value behind some words.
 *
 * libFuzzer's own mutations break the syntax nine times of ten, and then only the parser is tried.
 * Here one value of the tree is changed: a number becomes a near one or one from elsewhere in the
 * text, a list loses or doubles an item, a subtree is replaced by another.  One time in eight the
 * bytes are changed as usual.
 */
#include "mutate.h"

#include "base/check.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define VALUES_MAX 4096

struct place { /* where a value hangs */
    json_t *parent;
    const char *key; /* of an object, else NULL */
    size_t index;
};

struct places {
    struct place items[VALUES_MAX];
    size_t count;
};

static void collect(json_t *value, struct places *all)
{
    json_t *child;
    const char *key;
    size_t i;

    if (json_is_array(value)) {
        json_array_foreach(value, i, child)
        {
            if (all->count < VALUES_MAX) {
                all->items[all->count++] = (struct place){value, NULL, i};
            }
            collect(child, all);
        }
    }
    json_object_foreach(value, key, child)
    {
        if (all->count < VALUES_MAX) {
            all->items[all->count++] = (struct place){value, key, 0};
        }
        collect(child, all);
    }
}

static json_t *value_at(const struct place *p)
{
    return p->key != NULL ? json_object_get(p->parent, p->key)
                          : json_array_get(p->parent, p->index);
}

static void put_at(const struct place *p, json_t *taken)
{
    if (p->key != NULL) {
        char *key = mem_text(p->key);

        json_object_set_new(p->parent, key, taken);
        mem_free(key);
    } else {
        json_array_set_new(p->parent, p->index, taken);
    }
}

static const struct place *any_place(const struct places *all, struct rng *rng)
{
    return &all->items[rng_below(rng, all->count)];
}

/* Another value of the same type, if a few tries find one. */
static json_t *same_kind(const struct places *all, struct rng *rng, json_type type)
{
    for (int i = 0; i < 16; i++) {
        json_t *v = value_at(any_place(all, rng));

        if (json_typeof(v) == type) {
            return v;
        }
    }
    return NULL;
}

static json_int_t near_number(json_int_t from, struct rng *rng)
{
    static const json_int_t EDGES[] = {
        0,      1,         -1,        126000,        1000000,       4294967296, 1764516000000,
        252000, INT64_MAX, INT64_MIN, INT64_MAX / 2, 1099511627776, 18000};
    json_int_t by = (json_int_t)rng_below(rng, 4);

    switch (rng_below(rng, 5)) {
    case 0:
        return EDGES[rng_below(rng, ARRAY_LEN(EDGES))];
    case 1:
        return from < INT64_MAX - by ? from + by : from;
    case 2:
        return from > INT64_MIN + by ? from - by : from;
    case 3:
        return (json_int_t)rng_below(rng, 12);
    default:
        return from > -(INT64_MAX / 4) && from < INT64_MAX / 4 ? from * 2 : from / 2;
    }
}

static json_t *changed_text(const char *text, struct rng *rng)
{
    size_t len = strlen(text);
    struct str s = {0};
    json_t *ret;

    str_add_n(&s, text, len);
    if (len > 0 && rng_below(rng, 2) == 0) {
        s.text[rng_below(rng, len)] = (char)rng_range(rng, 0x20, 0x7e);
    } else if (rng_below(rng, 4) == 0) {
        str_clear(&s);
    } else {
        static const char *const MORE[] = {"0", "-", ".", "1/7", "Gi", "s", " ", "\\", "ä", "%"};

        str_add(&s, MORE[rng_below(rng, ARRAY_LEN(MORE))]);
    }
    ret = json_string(str_text(&s));
    str_fini(&s);
    return ret != NULL ? ret : json_string("");
}

static void change_list(json_t *list, struct rng *rng)
{
    size_t count = json_array_size(list);
    size_t i = count == 0 ? 0 : (size_t)rng_below(rng, count);

    if (count == 0) {
        json_array_append_new(list, json_integer(0));
    } else if (rng_below(rng, 2) == 0) {
        json_array_remove(list, i);
    } else {
        json_array_insert_new(list, (size_t)rng_below(rng, count + 1),
                              json_deep_copy(json_array_get(list, i)));
    }
}

static void change_object(json_t *o, const struct places *all, struct rng *rng)
{
    const struct place *from = any_place(all, rng);
    size_t at = 0;
    size_t drop = json_object_size(o) == 0 ? 0 : (size_t)rng_below(rng, json_object_size(o));
    const char *key;
    json_t *child;
    void *next;

    if (from->key != NULL && rng_below(rng, 2) == 0) {
        char *name = mem_text(from->key);

        json_object_set_new(o, name, json_deep_copy(value_at(from)));
        mem_free(name);
        return;
    }
    json_object_foreach_safe(o, next, key, child)
    {
        if (at++ == drop) {
            json_object_del(o, key);
            return;
        }
    }
}

static void change_value(const struct places *all, struct rng *rng)
{
    const struct place *p = any_place(all, rng);
    json_t *v = value_at(p);
    const json_t *other = same_kind(all, rng, json_typeof(v));

    if (rng_below(rng, 3) == 0 && other != NULL) {
        put_at(p, json_deep_copy(other));
    } else if (json_is_integer(v)) {
        put_at(p, json_integer(near_number(json_integer_value(v), rng)));
    } else if (json_is_string(v)) {
        put_at(p, changed_text(json_string_value(v), rng));
    } else if (json_is_boolean(v)) {
        put_at(p, json_boolean(!json_is_true(v)));
    } else if (json_is_array(v)) {
        change_list(v, rng);
    } else if (json_is_object(v)) {
        change_object(v, all, rng);
    } else {
        put_at(p, json_integer(0));
    }
}

/* The text with one to four values changed, or NULL if it is no JSON. */
static char *changed_json(const char *text, size_t len, struct rng *rng)
{
    json_t *root = json_loadb(text, len, 0, NULL);
    struct places *all;
    char *ret;

    if (root == NULL) {
        return NULL;
    }
    all = mem_new(1, sizeof(*all));
    for (uint64_t left = 1 + rng_below(rng, 4); left > 0; left--) {
        all->count = 0;
        collect(root, all);
        if (all->count == 0) {
            break;
        }
        change_value(all, rng);
    }
    ret = json_dumps(root, JSON_COMPACT);
    json_decref(root);
    mem_free(all);
    return ret;
}

/* One line of the text: its JSON begins at the first brace. */
static bool change_line(const char *text, size_t len, struct rng *rng, struct str *ret)
{
    struct mutate_line line = mutate_any_line(text, len, rng);
    const char *brace = memchr(text + line.at, '{', line.len);
    char *changed;

    if (brace == NULL) {
        return false;
    }
    changed = changed_json(brace, line.len - (size_t)(brace - (text + line.at)), rng);
    if (changed == NULL) {
        return false;
    }
    str_add_n(ret, text, (size_t)(brace - text));
    str_add(ret, changed);
    str_add_n(ret, text + line.at + line.len, len - line.at - line.len);
    free(changed);
    return true;
}

bool mutate_step(const char *text, size_t len, struct rng *rng, struct str *ret)
{
    char *whole = text[0] == '{' ? changed_json(text, len, rng) : NULL;

    if (whole != NULL) {
        str_add(ret, whole);
        free(whole);
        return true;
    }
    if (rng_below(rng, 4) > 0 && change_line(text, len, rng, ret)) {
        return true;
    }
    return rng_below(rng, 2) == 0 ? mutate_lines(text, len, rng, ret)
                                  : mutate_words(text, len, rng, ret);
}
