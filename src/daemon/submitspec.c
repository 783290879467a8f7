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

/* The environment is what the job says, and nothing of it may pretend to be ours. */
static json_t *read_env(struct bodyread *r, const json_t *body)
{
    json_t *env = json_object_get(body, "env");
    json_t *out = json_array();
    const char *key;
    json_t *value;

    if (env == NULL || json_is_null(env)) {
        return out;
    }
    if (!json_is_object(env) || json_object_size(env) > SUBMITJSON_ENV_MAX) {
        bodyread_fail(r, ERR_INVALID, "env", "write at most %d pairs: {\"NAME\": \"value\"}",
                      SUBMITJSON_ENV_MAX);
        return out;
    }
    json_object_foreach(env, key, value)
    {
        const char *field = arena_printf(r->arena, "env.%.64s", key);

        if (!is_env_name(key) || strncmp(key, "MUSTER_", 7) == 0) {
            bodyread_fail(r, ERR_INVALID, field,
                          "use letters, digits and _, not beginning with a digit or MUSTER_");
        } else if (!json_is_string(value) ||
                   strlen(json_string_value(value)) != json_string_length(value)) {
            bodyread_fail(r, ERR_INVALID, field, "write a text");
        } else {
            json_array_append_new(out, json_sprintf("%s=%s", key, json_string_value(value)));
        }
    }
    return out;
}

static json_t *texts(const char *const *items, size_t count)
{
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++) {
        json_array_append_new(list, json_string(items[i]));
    }
    return list;
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

json_t *submitspec_read(struct bodyread *r, const json_t *body, const char *account)
{
    size_t command_count = 0;
    size_t arg_count = 0;
    const char **command = bodyread_texts(r, body, "command", SUBMITJSON_ARGS_MAX, &command_count);
    const char **args = bodyread_texts(r, body, "args", SUBMITJSON_ARGS_MAX, &arg_count);
    const char *script = bodyread_text(r, body, "script", "");
    const char *dir = bodyread_text(r, body, "dir", "");
    const char *output = bodyread_text(r, body, "output", "");
    json_t *o = json_object();

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
    json_object_set_new(o, "argv",
                        command_count > 0 ? texts(command, command_count) : texts(args, arg_count));
    json_object_set_new(o, "script", json_string(script));
    json_object_set_new(o, "env", read_env(r, body));
    json_object_set_new(o, "dir", json_string(dir));
    json_object_set_new(o, "output", json_string(output));
    json_object_set_new(o, "account", json_string(account));
    return o;
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
