/* words - cut at blanks, look up by key. */
#include "sim/words.h"

#include "base/quantity.h"
#include "base/str.h"
#include "core/policy.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SECONDS_MAX ((int64_t)1000 * 1000 * 1000 * 1000) /* 31,700 years */

void words_cut(struct words *w, struct arena *arena, const char *path, int line, const char *text)
{
    *w = (struct words){.arena = arena, .path = path, .line = line};
    while (*text != '\0' && *text != '#') {
        size_t len = strcspn(text, " \t\n");

        if (len > 0 && w->count == WORDS_MAX) {
            words_fail(w, ERR_TOO_LARGE, "more than %d words", WORDS_MAX);
            return;
        }
        if (len > 0) {
            w->items[w->count++] = arena_text_n(arena, text, len);
        }
        text += len;
        text += strspn(text, " \t\n");
    }
}

void words_fail(struct words *w, enum err_code code, const char *fmt, ...)
{
    char text[ERR_TEXT_MAX];
    va_list args;

    if (w->rc != 0) {
        return;
    }
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    w->rc = err_set(&w->err, code, "%s:%d: %.200s", w->path, w->line, text);
}

int words_end(struct words *w, struct err *err)
{
    size_t i;

    for (i = 0; i < w->count; i++) {
        if (!w->taken[i]) {
            words_fail(w, ERR_UNKNOWN_FIELD, "\"%s\" means nothing here", w->items[i]);
        }
    }
    return w->rc != 0 ? err_set(err, w->rc, "%s", w->err.text) : 0;
}

const char *words_maybe(struct words *w)
{
    size_t i;

    for (i = 0; i < w->count; i++) {
        if (!w->taken[i] && strchr(w->items[i], '=') == NULL) {
            w->taken[i] = true;
            return w->items[i];
        }
    }
    return NULL;
}

const char *words_next(struct words *w, const char *what)
{
    const char *word = words_maybe(w);

    if (word == NULL) {
        words_fail(w, ERR_SYNTAX, "%s is missing", what);
        return "";
    }
    return word;
}

bool words_flag(struct words *w, const char *flag)
{
    size_t i;

    for (i = 0; i < w->count; i++) {
        if (!w->taken[i] && strcmp(w->items[i], flag) == 0) {
            w->taken[i] = true;
            return true;
        }
    }
    return false;
}

const char *words_value(struct words *w, const char *key)
{
    size_t len = strlen(key);
    size_t i;

    for (i = 0; i < w->count; i++) {
        if (!w->taken[i] && strncmp(w->items[i], key, len) == 0 && w->items[i][len] == '=') {
            w->taken[i] = true;
            return w->items[i] + len + 1;
        }
    }
    return NULL;
}

const char *words_prefix(struct words *w, const char *prefix, const char **ret_value)
{
    size_t len = strlen(prefix);
    size_t i;

    for (i = 0; i < w->count; i++) {
        const char *equals = strchr(w->items[i], '=');

        if (!w->taken[i] && equals != NULL && strncmp(w->items[i], prefix, len) == 0) {
            w->taken[i] = true;
            *ret_value = equals + 1;
            return arena_text_n(w->arena, w->items[i] + len, (size_t)(equals - w->items[i]) - len);
        }
    }
    return NULL;
}

int64_t words_int(struct words *w, const char *key, int64_t usual)
{
    const char *text = words_value(w, key);
    int64_t value = usual;

    if (text != NULL && !str_to_int(text, &value)) {
        words_fail(w, ERR_RANGE, "%s=%s is not a whole number", key, text);
    }
    return value;
}

int64_t words_gpus(struct words *w, const char *key, int64_t usual_gu)
{
    const char *text = words_value(w, key);
    struct err err = {0};
    int64_t value = usual_gu;

    if (text != NULL && strcmp(text, "none") == 0) {
        return POLICY_NONE;
    }
    if (text != NULL && quantity_gpus(text, &value, &err) != 0) {
        words_fail(w, err.code, "%s: %.150s", key, err.text);
    }
    return value;
}

int words_time(const char *text, int64_t *ret_ms, struct err *err)
{
    const char *dot = strchr(text, '.');
    int64_t seconds = 0;
    int64_t part = 0;
    char digits[4] = "000";
    size_t i;

    if (str_to_int(text, &seconds)) {
        if (seconds < -SECONDS_MAX || seconds > SECONDS_MAX) {
            return err_set(err, ERR_RANGE, "\"%s\" is more than %lld seconds", text,
                           (long long)SECONDS_MAX);
        }
        *ret_ms = seconds * 1000;
        return 0;
    }
    if (dot == NULL) {
        return quantity_duration(text, ret_ms, err);
    }
    for (i = 0; i < 3 && dot[1 + i] != '\0'; i++) {
        digits[i] = dot[1 + i];
    }
    if (dot[1 + i] != '\0' || i == 0 || dot - text > 12 || !str_to_int(digits, &part)) {
        return err_set(err, ERR_RANGE, "\"%s\" is not a time in seconds", text);
    }
    {
        char whole[16] = "";

        memcpy(whole, text, (size_t)(dot - text));
        if (!str_to_int(whole, &seconds) || seconds < 0) {
            return err_set(err, ERR_RANGE, "\"%s\" is not a time in seconds", text);
        }
    }
    *ret_ms = seconds * 1000 + part;
    return 0;
}

int64_t words_ms(struct words *w, const char *key, int64_t usual_ms)
{
    const char *text = words_value(w, key);
    struct err err = {0};
    int64_t value = usual_ms;

    if (text != NULL && strcmp(text, "off") == 0) {
        return POLICY_NONE;
    }
    if (text != NULL && words_time(text, &value, &err) != 0) {
        words_fail(w, err.code, "%s: %.150s", key, err.text);
    }
    return value;
}

int64_t words_bytes(struct words *w, const char *key, int64_t usual_bytes)
{
    const char *text = words_value(w, key);
    struct err err = {0};
    int64_t value = usual_bytes;

    if (text != NULL && quantity_bytes(text, &value, &err) != 0) {
        words_fail(w, err.code, "%s: %.150s", key, err.text);
    }
    return value;
}

int64_t words_cpu(struct words *w, const char *key, int64_t usual_milli)
{
    const char *text = words_value(w, key);
    struct err err = {0};
    int64_t value = usual_milli;

    if (text != NULL && quantity_cpu(text, &value, &err) != 0) {
        words_fail(w, err.code, "%s: %.150s", key, err.text);
    }
    return value;
}

bool words_bool(struct words *w, const char *key, bool usual)
{
    const char *text = words_value(w, key);

    if (text == NULL) {
        return usual;
    }
    if (strcmp(text, "yes") == 0 || strcmp(text, "on") == 0) {
        return true;
    }
    if (strcmp(text, "no") != 0 && strcmp(text, "off") != 0) {
        words_fail(w, ERR_INVALID, "%s=%s is neither yes nor no", key, text);
    }
    return false;
}

int words_enum(struct words *w, const char *key, const char *const *names, int usual)
{
    const char *text = words_value(w, key);
    int i;

    for (i = 0; text != NULL && names[i] != NULL; i++) {
        if (strcmp(names[i], text) == 0) {
            return i;
        }
    }
    if (text != NULL) {
        words_fail(w, ERR_INVALID, "%s=%s is not one of the known words", key, text);
    }
    return usual;
}

const char **words_list(struct words *w, const char *key, size_t *ret_count)
{
    const char *text = words_value(w, key);
    const char **items;
    size_t room = 1;
    size_t i;

    *ret_count = 0;
    if (text == NULL || *text == '\0') {
        return NULL;
    }
    for (i = 0; text[i] != '\0'; i++) {
        room += text[i] == ',' ? 1 : 0;
    }
    items = arena_new(w->arena, room, sizeof(*items));
    while (*ret_count < room) {
        size_t len = strcspn(text, ",");

        items[(*ret_count)++] = arena_text_n(w->arena, text, len);
        text += len + (text[len] == ',' ? 1 : 0);
    }
    return items;
}
