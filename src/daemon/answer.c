#include "daemon/answer.h"

#include "base/check.h"
#include "base/str.h"
#include "daemon/jsonout.h"
#include "daemon/note.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define PAGE_USUAL 100
#define PAGE_MAX   1000

void answer_json(const struct asked *a, json_t *taken)
{
    struct service_answer answer = {.field = "", .json = taken};

    a->done(a->arg, &answer);
}

void answer_created(const struct asked *a, json_t *taken)
{
    struct service_answer answer = {.field = "", .json = taken, .created = true};

    a->done(a->arg, &answer);
}

/* NOLINTNEXTLINE(readability-non-const-parameter): who answers frees it */
void answer_created_text(const struct asked *a, char *taken)
{
    struct service_answer answer = {.field = "", .text = taken, .created = true};

    a->done(a->arg, &answer);
}

void answer_error(const struct asked *a, int rc, const struct err *err, const char *field)
{
    struct service_answer answer = {.rc = rc, .field = field};

    if (err_http(rc) == 500) { /* the caller has the id and nothing else to go by */
        note(NOTE_ERROR, "request=%s code=%s %s", a->call != NULL ? a->call->request_id : "-",
             err_name(rc), err->text);
    }
    answer.err = *err;
    answer.err.code = (enum err_code)rc;
    a->done(a->arg, &answer);
}

void answer_refuse(const struct asked *a, enum err_code code, const char *field, const char *fmt,
                   ...)
{
    char text[ERR_TEXT_MAX];
    struct err err;
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    answer_error(a, err_set(&err, code, "%s", text), &err, field);
}

bool answer_params(const struct asked *a, const char *const *names)
{
    for (size_t i = 0; i < a->call->param_count; i++) {
        size_t k = 0;

        while (names[k] != NULL && strcmp(names[k], a->call->params[i].name) != 0) {
            k++;
        }
        if (names[k] == NULL) {
            answer_refuse(a, ERR_UNKNOWN_FIELD, a->call->params[i].name,
                          "the query has a parameter \"%s\" that is not known here",
                          a->call->params[i].name);
            return false;
        }
    }
    return true;
}

const char *answer_param(const struct service_call *call, const char *name, const char *usual)
{
    for (size_t i = 0; i < call->param_count; i++) {
        if (strcmp(call->params[i].name, name) == 0) {
            return call->params[i].value;
        }
    }
    return usual;
}

bool answer_param_int(const struct asked *a, const char *name, int64_t min, int64_t max,
                      int64_t *ret)
{
    const char *text = answer_param(a->call, name, NULL);
    int64_t value;

    if (text == NULL) {
        return true;
    }
    if (!str_to_int(text, &value) || value < min || value > max) {
        answer_refuse(a, ERR_RANGE, name, "%s is \"%s\", write a whole number from %lld to %lld",
                      name, text, (long long)min, (long long)max);
        return false;
    }
    *ret = value;
    return true;
}

bool answer_param_bool(const struct asked *a, const char *name, bool *ret)
{
    const char *text = answer_param(a->call, name, NULL);

    if (text == NULL) {
        return true;
    }
    if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0) {
        answer_refuse(a, ERR_INVALID, name, "%s is \"%s\", write true or false", name, text);
        return false;
    }
    *ret = text[0] == 't';
    return true;
}

int64_t answer_target_id(const struct asked *a, const char *what)
{
    int64_t id;

    if (!str_to_int(a->call->target, &id) || id <= 0) {
        answer_refuse(a, ERR_NOT_FOUND, "", "there is no %s \"%s\"", what, a->call->target);
        return 0;
    }
    return id;
}

bool answer_page_begin(const struct asked *a, struct answer_page *p)
{
    memset(p, 0, sizeof(*p));
    p->limit = PAGE_USUAL;
    if (!answer_param_int(a, "limit", 1, PAGE_MAX, &p->limit) ||
        !answer_param_int(a, "cursor", 0, INT64_MAX, &p->after)) {
        return false;
    }
    p->items = json_array();
    return true;
}

bool answer_page_add(struct answer_page *p, int64_t key, json_t *taken)
{
    if ((int64_t)json_array_size(p->items) == p->limit) {
        p->more = true;
        json_decref(taken);
        return false;
    }
    json_array_append_new(p->items, taken);
    p->last = key;
    return true;
}

void answer_page_end(const struct asked *a, struct answer_page *p)
{
    json_t *o = json_object();

    json_object_set_new(o, "items", p->items);
    jsonout_id(o, "next", p->more ? p->last : 0);
    answer_json(a, o);
}
