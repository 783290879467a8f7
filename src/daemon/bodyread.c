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

void bodyread_known(struct bodyread *r, const struct jsonin *o, const char *const *names)
{
    for (const struct jsonin *v = jsonin_first(o); v != NULL; v = v->next) {
        size_t i = 0;

        while (names[i] != NULL && (names[i][0] != v->key[0] || strcmp(names[i], v->key) != 0)) {
            i++;
        }
        if (names[i] == NULL) {
            bodyread_fail(r, ERR_UNKNOWN_FIELD, v->key, "there is no such field");
        }
    }
}

static const struct jsonin *get(const struct jsonin *o, const char *name)
{
    const struct jsonin *v = jsonin_get(o, name);

    return jsonin_is(v, JSONIN_NULL) ? NULL : v;
}

const char *bodyread_text(struct bodyread *r, const struct jsonin *o, const char *name,
                          const char *usual)
{
    const struct jsonin *v = get(o, name);

    if (v == NULL) {
        return usual;
    }
    if (!jsonin_is(v, JSONIN_TEXT)) {
        bodyread_fail(r, ERR_INVALID, name, "write a text");
        return usual;
    }
    return v->text;
}

bool bodyread_bool(struct bodyread *r, const struct jsonin *o, const char *name, bool usual)
{
    const struct jsonin *v = get(o, name);

    if (v == NULL) {
        return usual;
    }
    if (v->kind != JSONIN_TRUE && v->kind != JSONIN_FALSE) {
        bodyread_fail(r, ERR_INVALID, name, "write true or false");
        return usual;
    }
    return v->kind == JSONIN_TRUE;
}

int64_t bodyread_int(struct bodyread *r, const struct jsonin *o, const char *name, int64_t min,
                     int64_t max, int64_t usual)
{
    const struct jsonin *v = get(o, name);

    if (v == NULL) {
        return usual;
    }
    if (v->kind != JSONIN_INT) {
        bodyread_fail(r, ERR_INVALID, name, "write a whole number");
        return usual;
    }
    if (v->number < min || v->number > max) {
        bodyread_fail(r, ERR_RANGE, name, "is %lld, write %lld to %lld", (long long)v->number,
                      (long long)min, (long long)max);
        return usual;
    }
    return v->number;
}

/* A quantity is text, or a whole number as a shorthand. */
static const char *quantity_text(struct bodyread *r, const struct jsonin *v, const char *name,
                                 const char *right)
{
    if (v->kind == JSONIN_INT) {
        return arena_printf(r->arena, "%lld", (long long)v->number);
    }
    if (v->kind != JSONIN_TEXT) {
        bodyread_fail(r, ERR_INVALID, name, "%s", right);
        return NULL;
    }
    return v->text;
}

static int64_t quantity(struct bodyread *r, const struct jsonin *o, const char *name,
                        const char *right, int (*parse)(const char *, int64_t *, struct err *))
{
    const struct jsonin *v = get(o, name);
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

int64_t bodyread_time(struct bodyread *r, const struct jsonin *o, const char *name, int64_t usual)
{
    return get(o, name) == NULL
               ? usual
               : quantity(r, o, name, "write a time with its unit: 90s, 15m, 12h, 2d",
                          quantity_duration);
}

int64_t bodyread_cpu(struct bodyread *r, const struct jsonin *o, const char *name)
{
    return quantity(r, o, name, "write CPUs as 2, \"0.5\" or \"500m\"", quantity_cpu);
}

int64_t bodyread_bytes(struct bodyread *r, const struct jsonin *o, const char *name)
{
    return quantity(r, o, name, "write bytes as \"512Mi\", \"64Gi\" or \"1Ti\"", quantity_bytes);
}

int64_t bodyread_share(struct bodyread *r, const struct jsonin *o, const char *name)
{
    int64_t gu = quantity(r, o, name, "write a share as \"0.5\" or \"1/7\"", quantity_gpus);

    if (get(o, name) != NULL && r->rc == 0 && (gu <= 0 || gu > GU_PER_GPU)) {
        bodyread_fail(r, ERR_RANGE, name, "write more than 0 and at most 1 GPU");
    }
    return gu;
}

const char **bodyread_texts(struct bodyread *r, const struct jsonin *o, const char *name,
                            size_t max, size_t *ret_count)
{
    const struct jsonin *v = get(o, name);
    const char **out;
    size_t i = 0;

    *ret_count = 0;
    if (v == NULL) {
        return NULL;
    }
    if (v->kind != JSONIN_ARRAY || v->count > max) {
        bodyread_fail(r, v->kind == JSONIN_ARRAY ? ERR_TOO_LARGE : ERR_INVALID, name,
                      "write a list of at most %zu texts", max);
        return NULL;
    }
    out = arena_new(r->arena, v->count, sizeof(*out));
    for (const struct jsonin *item = v->first; item != NULL; item = item->next, i++) {
        if (item->kind != JSONIN_TEXT) {
            bodyread_fail(r, ERR_INVALID, arena_printf(r->arena, "%s[%zu]", name, i),
                          "write a text");
            return NULL;
        }
        out[i] = item->text;
    }
    *ret_count = i;
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
