#include "cli/jobspec.h"

#include "base/check.h"
#include "base/mem.h"
#include "base/quantity.h"
#include "base/str.h"
#include "cli/jobenv.h"

#include <stdlib.h>
#include <string.h>

const struct jobspec_field JOBSPEC_FIELDS[JOBSPEC_ID_COUNT] = {
#define JOBSPEC_ROW(id, letter, option, arg, field, kind, group, help)                             \
    {option, field, help, letter, JOBSPEC_##kind, group},
    JOBSPEC_TABLE(JOBSPEC_ROW)
#undef JOBSPEC_ROW
};

void jobspec_init(struct jobspec *s)
{
    s->body = json_object();
    s->origin = json_object();
    CHECK(s->body != NULL && s->origin != NULL);
}

void jobspec_fini(struct jobspec *s)
{
    json_decref(s->body);
    json_decref(s->origin);
    *s = (struct jobspec){0};
}

const struct jobspec_field *jobspec_option(const char *name, size_t len)
{
    for (size_t i = 0; i < JOBSPEC_ID_COUNT; i++) {
        const struct jobspec_field *f = &JOBSPEC_FIELDS[i];

        if (f->option == NULL) {
            continue;
        }
        if (len == 2 && name[0] == '-' && f->letter == name[1]) {
            return f;
        }
        if (len > 2 && strncmp(name, "--", 2) == 0 && strlen(f->option) == len - 2 &&
            strncmp(f->option, name + 2, len - 2) == 0) {
            return f;
        }
    }
    return NULL;
}

const struct jobspec_field *jobspec_member(const char *name, bool group)
{
    for (size_t i = 0; i < JOBSPEC_ID_COUNT; i++) {
        const struct jobspec_field *f = &JOBSPEC_FIELDS[i];

        /* "preemptible" has two options but is one member */
        if (strcmp(f->field, name) == 0 && f->kind != JOBSPEC_UNFLAG &&
            (!group || f->group || i == JOBSPEC_ID_NAME)) {
            return f;
        }
    }
    return NULL;
}

/* ---- values ---- */

/* "-12", however long. */
static bool is_whole(const char *text)
{
    const char *digits = text[0] == '-' ? text + 1 : text;

    return digits[0] > '0' && digits[strspn(digits, "0123456789")] == '\0';
}

static int value_int(const struct jobspec_field *f, const char *text, json_t **ret, struct err *err)
{
    int64_t value;

    if (str_to_int(text, &value)) {
        *ret = json_integer(value);
        return 0;
    }
    if (is_whole(text)) {
        return err_set(err, ERR_RANGE, "%.40s%s is more than any number here may be", text,
                       strlen(text) > 40 ? "..." : "");
    }
    if (strcmp(f->field, "gpus") == 0 && strpbrk(text, "./") != NULL) {
        return err_set(err, ERR_INVALID,
                       "'%s' is not a whole number; a part of a GPU is asked for with share", text);
    }
    return err_set(err, ERR_INVALID, "'%s' is not a whole number", text);
}

static int value_topology(const char *text, json_t **ret, struct err *err)
{
    const char *equals = strchr(text, '=');
    size_t len = equals != NULL ? (size_t)(equals - text) : 0;
    bool known = (len == 8 && strncmp(text, "required", len) == 0) ||
                 (len == 9 && strncmp(text, "preferred", len) == 0);

    if (!known || equals[1] == '\0') {
        return err_set(err, ERR_INVALID,
                       "'%s': required=LEVEL or preferred=LEVEL is wanted, e.g. required=rack",
                       text);
    }
    *ret = json_object();
    json_object_setn_new(*ret, text, len, json_string(equals + 1));
    return 0;
}

static int value_pair(const char *text, json_t **ret, struct err *err)
{
    const char *equals = strchr(text, '=');

    if (equals == NULL || equals == text) {
        return err_set(err, ERR_INVALID, "'%s': NAME=VALUE is wanted", text);
    }
    *ret = json_object();
    json_object_setn_new(*ret, text, (size_t)(equals - text), json_string(equals + 1));
    return 0;
}

static int value_env(const char *text, json_t **ret, struct err *err)
{
    const char *equals = strchr(text, '=');
    size_t len = equals != NULL ? (size_t)(equals - text) : strlen(text);
    CLEANUP(mem_freep) char *name = mem_text_n(text, len);
    const char *value = equals != NULL ? equals + 1 : getenv(name);

    if (len == 0) {
        return err_set(err, ERR_INVALID, "'%s': NAME or NAME=VALUE is wanted", text);
    }
    if (jobenv_secret(name)) {
        return err_set(err, ERR_INVALID,
                       "%s looks like a secret and what is submitted is kept: let the job read it "
                       "from a file of yours",
                       name);
    }
    if (value == NULL) {
        return err_set(err, ERR_INVALID, "%s is not set here; NAME=VALUE sets it", name);
    }
    if (!str_is_utf8(value, strlen(value))) {
        return err_set(err, ERR_INVALID, "the value of %s is not UTF-8", name);
    }
    *ret = json_object();
    json_object_set_new(*ret, name, json_string(value));
    return 0;
}

static int value_list(const char *text, json_t **ret, struct err *err)
{
    json_t *list = json_array();
    const char *at = text;

    for (;;) {
        size_t len = strcspn(at, ",");

        if (len == 0) {
            json_decref(list);
            return err_set(err, ERR_INVALID, "'%s': names with commas between are wanted", text);
        }
        json_array_append_new(list, json_stringn(at, len));
        if (at[len] == '\0') {
            break;
        }
        at += len + 1;
    }
    *ret = list;
    return 0;
}

int jobspec_value(const struct jobspec_field *f, const char *text, json_t **ret, struct err *err)
{
    int64_t amount;
    int rc = 0;

    if (!str_is_utf8(text, strlen(text))) {
        return err_set(err, ERR_INVALID, "the value is not UTF-8");
    }
    switch (f->kind) {
    case JOBSPEC_INT:
        return value_int(f, text, ret, err);
    case JOBSPEC_TOPOLOGY:
        return value_topology(text, ret, err);
    case JOBSPEC_PAIRS:
        return value_pair(text, ret, err);
    case JOBSPEC_ENV:
        return value_env(text, ret, err);
    case JOBSPEC_LIST:
        return value_list(text, ret, err);
    case JOBSPEC_FLAG:
    case JOBSPEC_UNFLAG:
        *ret = json_boolean(f->kind == JOBSPEC_FLAG);
        return 0;
    case JOBSPEC_SPAN:
        rc = quantity_duration(text, &amount, err);
        break;
    case JOBSPEC_GPUS:
        rc = quantity_gpus(text, &amount, err);
        break;
    case JOBSPEC_CPUS:
        rc = quantity_cpu(text, &amount, err);
        break;
    case JOBSPEC_BYTES:
        rc = quantity_bytes(text, &amount, err);
        break;
    case JOBSPEC_TEXT:
    case JOBSPEC_ARGV:
    case JOBSPEC_GROUPS:
        rc = text[0] == '\0' ? err_set(err, ERR_INVALID, "the value is empty") : 0;
        break;
    }
    if (rc == 0) {
        *ret = json_string(text);
    }
    return rc;
}

int jobspec_set(struct jobspec *s, const struct jobspec_field *f, const char *value, const char *at,
                struct err *err)
{
    json_t *old = json_object_get(s->body, f->field);
    json_t *json = NULL;
    struct str where = {0};
    struct err why;
    int rc = jobspec_value(f, value, &json, &why);

    if (rc != 0) {
        return err_set(err, (enum err_code)rc, "%s%s--%s: %s", at != NULL ? at : "",
                       at != NULL ? ": " : "", f->option, why.text);
    }
    if (json_is_array(old)) {
        json_array_extend(old, json);
        json_decref(json);
    } else if (json_is_object(old)) {
        json_object_update(old, json);
        json_decref(json);
    } else {
        json_object_set_new(s->body, f->field, json);
    }
    if (at != NULL) {
        str_add(&where, at);
    } else {
        str_addf(&where, "--%s", f->option);
    }
    json_object_set_new(s->origin, f->field, json_string(str_text(&where)));
    str_fini(&where);
    return 0;
}

/* A whole GPU, a slice and a share are three ways to ask for one thing: who says one of them does
 * not mean the others, which somebody said before. */
static void drop_other_ways(struct jobspec *s, const struct jobspec *over)
{
    static const char *const WAYS[][3] = {{"gpus", NULL, NULL},
                                          {"mig", "slices", NULL},
                                          {"share", "share_memory", "mps"}};
    bool said = false;

    for (size_t i = 0; i < ARRAY_LEN(WAYS); i++) {
        said = said || json_object_get(over->body, WAYS[i][0]) != NULL;
    }
    for (size_t i = 0; said && i < ARRAY_LEN(WAYS); i++) {
        if (json_object_get(over->body, WAYS[i][0]) == NULL) {
            for (size_t k = 0; k < ARRAY_LEN(WAYS[i]) && WAYS[i][k] != NULL; k++) {
                json_object_del(s->body, WAYS[i][k]);
            }
        }
    }
}

int jobspec_merge(struct jobspec *s, const struct jobspec *over, struct err *err)
{
    drop_other_ways(s, over);
    for (size_t i = 0; i < JOBSPEC_ID_COUNT; i++) {
        const struct jobspec_field *f = &JOBSPEC_FIELDS[i];
        json_t *theirs = json_object_get(over->body, f->field);
        json_t *ours = json_object_get(s->body, f->field);

        if (theirs == NULL) {
            continue;
        }
        if (f->group && json_object_get(s->body, "groups") != NULL) {
            return err_set(err, ERR_INVALID,
                           "--%s does not say which group it means: the job file has `groups`",
                           f->option);
        }
        if (json_is_object(theirs) && json_is_object(ours)) {
            json_object_update(ours, theirs);
        } else {
            json_object_set(s->body, f->field, theirs);
        }
    }
    json_object_update(s->origin, over->origin);
    return 0;
}

const char *jobspec_origin(const struct jobspec *s, const char *field)
{
    const char *at = json_string_value(json_object_get(s->origin, field));
    const char *dot = strrchr(field, '.');
    size_t len = strcspn(field, "[.");
    CLEANUP(mem_freep) char *first = NULL;

    if (at == NULL && strncmp(field, "groups[0].", 10) == 0) {
        at = json_string_value(json_object_get(s->origin, dot + 1)); /* the short form */
    }
    if (at == NULL) {
        first = mem_text_n(field, len);
        at = json_string_value(json_object_get(s->origin, first));
    }
    return at != NULL ? at : "";
}
