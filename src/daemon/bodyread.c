#include "daemon/bodyread.h"

#include "base/check.h"
#include "base/quantity.h"
#include "base/str.h"
#include "daemon/answer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void bodyread_init(struct bodyread *r, struct arena *arena)
{
    memset(r, 0, sizeof(*r));
    r->arena = arena;
    r->field = "";
    r->path = "";
}

void bodyread_fail(struct bodyread *r, enum err_code code, const char *name, const char *fmt, ...)
{
    char text[ERR_TEXT_MAX];
    va_list args;

    if (r->rc != 0) {
        return;
    }
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    r->field = r->path[0] == '\0' ? arena_text(r->arena, name)
               : name[0] == '\0'  ? r->path
                                  : arena_printf(r->arena, "%s.%s", r->path, name);
    r->rc = err_set(&r->err, code, "%s%s%s", r->field, r->field[0] == '\0' ? "" : ": ", text);
}

void bodyread_known(struct bodyread *r, const json_t *o, const char *const *names)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)o, key, value)
    {
        size_t i = 0;

        while (names[i] != NULL && strcmp(names[i], key) != 0) {
            i++;
        }
        if (names[i] == NULL) {
            bodyread_fail(r, ERR_UNKNOWN_FIELD, key, "there is no such field");
        }
    }
}

static const json_t *get(const json_t *o, const char *name)
{
    const json_t *v = json_object_get(o, name);

    return json_is_null(v) ? NULL : v;
}

const char *bodyread_text(struct bodyread *r, const json_t *o, const char *name, const char *usual)
{
    const json_t *v = get(o, name);

    if (v == NULL) {
        return usual;
    }
    if (!json_is_string(v)) {
        bodyread_fail(r, ERR_INVALID, name, "write a text");
        return usual;
    }
    if (strlen(json_string_value(v)) != json_string_length(v)) {
        bodyread_fail(r, ERR_INVALID, name, "has a NUL character, leave it out");
        return usual;
    }
    return arena_text(r->arena, json_string_value(v));
}

bool bodyread_bool(struct bodyread *r, const json_t *o, const char *name, bool usual)
{
    const json_t *v = get(o, name);

    if (v == NULL) {
        return usual;
    }
    if (!json_is_boolean(v)) {
        bodyread_fail(r, ERR_INVALID, name, "write true or false");
        return usual;
    }
    return json_is_true(v);
}

int64_t bodyread_int(struct bodyread *r, const json_t *o, const char *name, int64_t min,
                     int64_t max, int64_t usual)
{
    const json_t *v = get(o, name);

    if (v == NULL) {
        return usual;
    }
    if (!json_is_integer(v)) {
        bodyread_fail(r, ERR_INVALID, name, "write a whole number");
        return usual;
    }
    if (json_integer_value(v) < min || json_integer_value(v) > max) {
        bodyread_fail(r, ERR_RANGE, name, "is %lld, write %lld to %lld",
                      (long long)json_integer_value(v), (long long)min, (long long)max);
        return usual;
    }
    return json_integer_value(v);
}

/* A quantity is text, or a whole number as a shorthand. */
static const char *quantity_text(struct bodyread *r, const json_t *v, const char *name,
                                 const char *right)
{
    if (json_is_integer(v)) {
        return arena_printf(r->arena, "%lld", (long long)json_integer_value(v));
    }
    if (!json_is_string(v)) {
        bodyread_fail(r, ERR_INVALID, name, "%s", right);
        return NULL;
    }
    return json_string_value(v);
}

static int64_t quantity(struct bodyread *r, const json_t *o, const char *name, const char *right,
                        int (*parse)(const char *, int64_t *, struct err *))
{
    const json_t *v = get(o, name);
    const char *text;
    struct err err;
    int64_t value = 0;

    if (v == NULL) {
        return 0;
    }
    text = quantity_text(r, v, name, right);
    if (text == NULL) {
        return 0;
    }
    if (parse(text, &value, &err) != 0) {
        bodyread_fail(r, err.code, name, "is \"%.60s\", %s", text, right);
        return 0;
    }
    return value;
}

int64_t bodyread_time(struct bodyread *r, const json_t *o, const char *name, int64_t usual)
{
    return get(o, name) == NULL
               ? usual
               : quantity(r, o, name, "write a time with its unit: 90s, 15m, 12h, 2d",
                          quantity_duration);
}

int64_t bodyread_cpu(struct bodyread *r, const json_t *o, const char *name)
{
    return quantity(r, o, name, "write CPUs as 2, \"0.5\" or \"500m\"", quantity_cpu);
}

int64_t bodyread_bytes(struct bodyread *r, const json_t *o, const char *name)
{
    return quantity(r, o, name, "write bytes as \"512Mi\", \"64Gi\" or \"1Ti\"", quantity_bytes);
}

int64_t bodyread_share(struct bodyread *r, const json_t *o, const char *name)
{
    int64_t gu = quantity(r, o, name, "write a share as \"0.5\" or \"1/7\"", quantity_gpus);

    if (get(o, name) != NULL && r->rc == 0 && (gu <= 0 || gu > GU_PER_GPU)) {
        bodyread_fail(r, ERR_RANGE, name, "write more than 0 and at most 1 GPU");
    }
    return gu;
}

const char **bodyread_texts(struct bodyread *r, const json_t *o, const char *name, size_t max,
                            size_t *ret_count)
{
    const json_t *v = get(o, name);
    const char **out;
    size_t count = json_array_size(v);

    *ret_count = 0;
    if (v == NULL) {
        return NULL;
    }
    if (!json_is_array(v) || count > max) {
        bodyread_fail(r, json_is_array(v) ? ERR_TOO_LARGE : ERR_INVALID, name,
                      "write a list of at most %zu texts", max);
        return NULL;
    }
    out = arena_new(r->arena, count, sizeof(*out));
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(v, i);

        if (!json_is_string(item) || strlen(json_string_value(item)) != json_string_length(item)) {
            bodyread_fail(r, ERR_INVALID, arena_printf(r->arena, "%s[%zu]", name, i),
                          "write a text");
            return NULL;
        }
        out[i] = arena_text(r->arena, json_string_value(item));
    }
    *ret_count = count;
    return out;
}

bool bodyread_nothing(const struct asked *a)
{
    static const char *const NO_FIELDS[] = {NULL};
    struct arena *arena = arena_make();
    struct bodyread r;

    bodyread_init(&r, arena);
    if (a->call->body != NULL) {
        bodyread_known(&r, a->call->body, NO_FIELDS);
    }
    if (r.rc != 0) {
        answer_error(a, r.rc, &r.err, r.field);
    }
    arena_free(arena);
    return r.rc == 0;
}
