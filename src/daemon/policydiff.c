/* The canonical JSON of both is compared, so that a new setting is never forgotten here.  Lists of
 * objects are matched by name, or by pool for the amounts of a queue. */
#include "daemon/policydiff.h"

#include "base/arena.h"
#include "base/check.h"
#include "base/mem.h"
#include "base/quantity.h"
#include "core/codec.h"
#include "daemon/jsonout.h"

#include <string.h>

struct differ {
    struct arena *arena;
    const struct policy *from; /* may be NULL */
    const struct policy *to;
    json_t *changes;
};

static json_t *policy_json(const struct policy *policy)
{
    CLEANUP(str_fini) struct str text = {0};
    json_t *o;

    if (policy == NULL) {
        return json_object();
    }
    codec_encode(&POLICY_SCHEMA, policy, &text);
    o = json_loadb(str_text(&text), text.len, 0, NULL);
    CHECK(o != NULL);
    json_object_del(o, "digest");
    return o;
}

static const char *pool_name(const struct policy *p, int64_t id)
{
    for (size_t i = 0; p != NULL && i < p->pool_count; i++) {
        if (p->pools[i].id == id) {
            return p->pools[i].name;
        }
    }
    return NULL;
}

static const char *queue_name(const struct policy *p, int64_t id)
{
    for (size_t i = 0; p != NULL && i < p->queue_count; i++) {
        if (p->queues[i].id == id) {
            return p->queues[i].name;
        }
    }
    return NULL;
}

static const char *any_pool(const struct differ *d, int64_t id)
{
    const char *name = pool_name(d->to, id);

    name = name != NULL ? name : pool_name(d->from, id);
    return name != NULL ? name : arena_printf(d->arena, "%lld", (long long)id);
}

static bool ends_with(const char *text, const char *end)
{
    size_t a = strlen(text);
    size_t b = strlen(end);

    return a >= b && strcmp(text + a - b, end) == 0;
}

/* A number by its unit. */
static const char *number_text(const struct differ *d, const char *key, int64_t value)
{
    char text[QUANTITY_TEXT_MAX];

    if (value < 0 && (ends_with(key, "_gu") || ends_with(key, "_ms"))) {
        return ends_with(key, "_ms") ? "off" : strcmp(key, "lend_gu") == 0 ? "all" : "none";
    }
    if (ends_with(key, "_gu")) {
        quantity_gpus_text(value, text);
        return arena_printf(d->arena, "%s GPUs", text);
    }
    if (ends_with(key, "_ms")) {
        quantity_duration_text(value, text);
        return arena_text(d->arena, text);
    }
    if (strcmp(key, "pool") == 0) {
        return any_pool(d, value);
    }
    if (strcmp(key, "parent") == 0) {
        const char *name = queue_name(d->to, value);

        name = name != NULL ? name : queue_name(d->from, value);
        return name != NULL ? name : "";
    }
    return arena_printf(d->arena, "%lld", (long long)value);
}

static const char *value_text(const struct differ *d, const char *key, const json_t *v)
{
    const char *out = "";
    char *dumped;

    if (v == NULL) {
        return "";
    }
    if (json_is_integer(v)) {
        return number_text(d, key, json_integer_value(v));
    }
    if (json_is_string(v)) {
        return arena_text(d->arena, json_string_value(v));
    }
    if (json_is_array(v) && json_is_integer(json_array_get(v, 0))) {
        for (size_t i = 0; i < json_array_size(v); i++) {
            int64_t id = json_integer_value(json_array_get(v, i));
            const char *queue = queue_name(d->to, id);

            out = arena_printf(d->arena, "%s%s%s", out, i == 0 ? "" : ", ",
                               strcmp(key, "pools") == 0 ? any_pool(d, id)
                               : queue != NULL           ? queue
                                                         : "a queue that is gone");
        }
        return out;
    }
    dumped = json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY);
    out = arena_text(d->arena, dumped == NULL ? "" : dumped);
    mem_free(dumped);
    return out;
}

static void change(const struct differ *d, const char *what, const char *from, const char *to)
{
    json_t *o = json_object();

    jsonout_text(o, "what", what);
    jsonout_text(o, "from", from);
    jsonout_text(o, "to", to);
    json_array_append_new(d->changes, o);
}

static const char *joined(const struct differ *d, const char *path, const char *key)
{
    return path[0] == '\0' ? key : arena_printf(d->arena, "%s.%s", path, key);
}

/* What an object in a list is called. */
static const char *item_name(const struct differ *d, const json_t *o)
{
    static const char *const KEYS[] = {"name", "subject", "key"};
    const json_t *pool = json_object_get(o, "pool");

    for (size_t i = 0; i < ARRAY_LEN(KEYS); i++) {
        const char *text = json_string_value(json_object_get(o, KEYS[i]));

        if (text != NULL) {
            return text;
        }
    }
    if (json_string_value(json_object_get(o, "profile")) != NULL) {
        return arena_printf(d->arena, "%s.%s", json_string_value(json_object_get(o, "model")),
                            json_string_value(json_object_get(o, "profile")));
    }
    return pool == NULL ? "" : any_pool(d, json_integer_value(pool));
}

static const json_t *item_of(const struct differ *d, const json_t *list, const char *name)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *o = json_array_get(list, i);

        if (strcmp(item_name(d, o), name) == 0) {
            return o;
        }
    }
    return NULL;
}

static void compare(const struct differ *d, const char *path, const char *key, const json_t *a,
                    const json_t *b);

/* The fields of both, in the order of the first that has them. */
static void compare_objects(const struct differ *d, const char *path, const json_t *a,
                            const json_t *b)
{
    json_t *both = a == NULL ? json_object() : json_deep_copy(a);
    const char *key;
    json_t *value;

    json_object_update_missing(both, (json_t *)(uintptr_t)b);
    json_object_foreach(both, key, value)
    {
        if (strcmp(key, "id") != 0 && strcmp(key, "name") != 0) {
            compare(d, joined(d, path, key), key, json_object_get(a, key), json_object_get(b, key));
        }
    }
    json_decref(both);
}

static void compare_lists(const struct differ *d, const char *path, const json_t *a,
                          const json_t *b)
{
    for (size_t i = 0; i < json_array_size(a); i++) {
        const json_t *o = json_array_get(a, i);
        const char *name = item_name(d, o);
        const json_t *other = item_of(d, b, name);

        if (other == NULL) {
            change(d, joined(d, path, name), "there", "removed");
        } else {
            compare_objects(d, joined(d, path, name), o, other);
        }
    }
    for (size_t i = 0; i < json_array_size(b); i++) {
        const char *name = item_name(d, json_array_get(b, i));

        if (item_of(d, a, name) == NULL) {
            change(d, joined(d, path, name), "", "added");
        }
    }
}

static bool is_objects(const json_t *v)
{
    return json_is_array(v) && json_is_object(json_array_get(v, 0));
}

static void compare(const struct differ *d, const char *path, const char *key, const json_t *a,
                    const json_t *b)
{
    if (a != NULL && b != NULL && json_equal((json_t *)(uintptr_t)a, (json_t *)(uintptr_t)b)) {
        return;
    }
    if (is_objects(a) || is_objects(b)) {
        compare_lists(d, path, a, b);
    } else if (json_is_object(a) || json_is_object(b)) {
        compare_objects(d, path, a, b);
    } else {
        change(d, path, value_text(d, key, a), value_text(d, key, b));
    }
}

json_t *policydiff_changes(const struct policy *from, const struct policy *to)
{
    struct differ d = {.from = from, .to = to};
    json_t *a = policy_json(from);
    json_t *b = policy_json(to);

    d.arena = arena_make();
    d.changes = json_array();
    compare_objects(&d, "", a, b);
    json_decref(a);
    json_decref(b);
    arena_free(d.arena);
    return d.changes;
}
