#include "daemon/submitspec.h"

#include "base/check.h"
#include "daemon/submitjson.h"

#include <ctype.h>
#include <string.h>

static bool is_env_name(const char *name)
{
    if (name[0] == '\0' || isdigit((unsigned char)name[0]) || strlen(name) > 255) {
        return false;
    }
    for (const char *p = name; *p != '\0'; p++) {
        if (!isalnum((unsigned char)*p) && *p != '_') {
            return false;
        }
    }
    return true;
}

static void fail_env(struct bodyread *r, const char *key, const char *text)
{
    bodyread_fail(r, ERR_INVALID, arena_printf(r->arena, "env.%.64s", key), "%s", text);
}

static void add_text(struct str *s, const char *text)
{
    str_add_json(s, text, strlen(text));
}

/* ,"name":"text" */
static void add_field(struct str *s, const char *name, const char *text)
{
    str_add_char(s, ',');
    add_text(s, name);
    str_add_char(s, ':');
    add_text(s, text);
}

/* The environment is what the job says, and nothing of it may pretend to be ours. */
static void add_env(struct bodyread *r, const struct jsonin *body, struct str *out)
{
    const struct jsonin *env = jsonin_get(body, "env");
    CLEANUP(str_fini) struct str pair = {0};

    if (env == NULL || env->kind == JSONIN_NULL) {
        return;
    }
    if (env->kind != JSONIN_OBJECT || env->count > SUBMITJSON_ENV_MAX) {
        bodyread_fail(r, ERR_INVALID, "env", "write at most %d pairs: {\"NAME\": \"value\"}",
                      SUBMITJSON_ENV_MAX);
        return;
    }
    for (const struct jsonin *v = env->first; v != NULL; v = v->next) {
        if (!is_env_name(v->key) || strncmp(v->key, "MUSTER_", 7) == 0) {
            fail_env(r, v->key, "use letters, digits and _, not beginning with a digit or MUSTER_");
        } else if (v->kind != JSONIN_TEXT) {
            fail_env(r, v->key, "write a text");
        } else {
            if (pair.len > 0) {
                str_add_char(out, ',');
            }
            str_clear(&pair);
            str_add_n(&pair, v->key, v->key_len);
            str_add_char(&pair, '=');
            str_add_n(&pair, v->text, v->len);
            str_add_json(out, pair.text, pair.len);
        }
    }
}

static void add_texts(struct str *s, const char *const *items, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (i > 0) {
            str_add_char(s, ',');
        }
        add_text(s, items[i]);
    }
}

/* The letters that the backend fills in; NULL or the wrong sign. */
static const char *wrong_sign(const char *pattern)
{
    for (const char *at = strchr(pattern, '%'); at != NULL; at = strchr(at + 2, '%')) {
        if (at[1] == '\0' || strchr("jAantx%", at[1]) == NULL) {
            return at;
        }
    }
    return NULL;
}

/* Written as text at once: a tree of JSON made of it first costs more than all the rest. */
void submitspec_read(struct bodyread *r, const struct jsonin *body, const char *account,
                     struct str *ret)
{
    size_t command_count = 0;
    size_t arg_count = 0;
    const char **command = bodyread_texts(r, body, "command", SUBMITJSON_ARGS_MAX, &command_count);
    const char **args = bodyread_texts(r, body, "args", SUBMITJSON_ARGS_MAX, &arg_count);
    const char *script = bodyread_text(r, body, "script", "");
    const char *dir = bodyread_text(r, body, "dir", "");
    const char *output = bodyread_text(r, body, "output", "");

    if ((command_count > 0) == (script[0] != '\0')) {
        bodyread_fail(r, ERR_INVALID, "command", "write either command or script");
    } else if (command_count > 0 && command[0][0] == '\0') {
        bodyread_fail(r, ERR_INVALID, "command[0]", "is empty, name a program");
    } else if (arg_count > 0 && script[0] == '\0') {
        bodyread_fail(r, ERR_INVALID, "args", "goes with script only");
    } else if (strlen(script) > SUBMITJSON_SCRIPT_MAX) {
        bodyread_fail(r, ERR_TOO_LARGE, "script", "is longer than 1 MiB");
    } else if (dir[0] != '\0' && dir[0] != '/') {
        bodyread_fail(r, ERR_INVALID, "dir", "write the whole path, beginning with /");
    } else if (wrong_sign(output) != NULL) {
        bodyread_fail(
            r, ERR_INVALID, "output",
            "holds \"%.2s\", write %%j job, %%A array, %%a element, %%n attempt, %%t task, "
            "%%x name or %%%%",
            wrong_sign(output));
    }
    str_add(ret, "{\"argv\":[");
    add_texts(ret, command_count > 0 ? command : args,
              command_count > 0 ? command_count : arg_count);
    str_add_char(ret, ']');
    add_field(ret, "script", script);
    str_add(ret, ",\"env\":[");
    add_env(r, body, ret);
    str_add_char(ret, ']');
    add_field(ret, "dir", dir);
    add_field(ret, "output", output);
    add_field(ret, "account", account);
    str_add_char(ret, '}');
}

static const char *const *take_texts(const json_t *list, struct arena *arena, size_t *ret_count)
{
    size_t count = json_array_size(list);
    const char **out = arena_new(arena, count + 1, sizeof(*out));

    for (size_t i = 0; i < count; i++) {
        const char *text = json_string_value(json_array_get(list, i));

        out[i] = arena_text(arena, text == NULL ? "" : text);
    }
    *ret_count = count;
    return out;
}

static const char *take_text(const json_t *o, const char *name, struct arena *arena)
{
    const char *text = json_string_value(json_object_get(o, name));

    return arena_text(arena, text == NULL ? "" : text);
}

int submitspec_parse(const char *text, size_t len, struct arena *arena, struct backend_spec *ret,
                     struct err *err)
{
    json_error_t error;
    json_t *o = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);

    if (!json_is_object(o)) {
        json_decref(o);
        return err_set(err, ERR_INTERNAL, "the stored command of the job is no JSON object: %s",
                       error.text);
    }
    memset(ret, 0, sizeof(*ret));
    ret->argv = take_texts(json_object_get(o, "argv"), arena, &ret->arg_count);
    ret->env = take_texts(json_object_get(o, "env"), arena, &ret->env_count);
    ret->script = take_text(o, "script", arena);
    ret->dir = take_text(o, "dir", arena);
    ret->output = take_text(o, "output", arena);
    ret->account = take_text(o, "account", arena);
    json_decref(o);
    return 0;
}
