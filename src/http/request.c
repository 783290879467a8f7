/* request - the parser a stranger reaches first: no recursion, no allocation that input can grow
 * beyond its own length. */
#include "http/request.h"

#include "base/mem.h"
#include "base/str.h"

#include <jansson.h>
#include <string.h>
#include <strings.h>

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    if (c >= 'A' && c <= 'F') {
        return c - 'A' + 10;
    }
    return -1;
}

static bool is_control(unsigned char c)
{
    return c < 0x20 || c == 0x7f;
}

int request_decode(const char *from, size_t len, bool plus, char *ret, struct err *err)
{
    size_t out = 0;

    for (size_t i = 0; i < len; i++) {
        char c = from[i];

        if (c == '%') {
            int high = len - i > 2 ? hex_digit(from[i + 1]) : -1;
            int low = len - i > 2 ? hex_digit(from[i + 2]) : -1;

            if (high < 0 || low < 0) {
                return err_set(err, ERR_SYNTAX,
                               "byte %zu: '%%' is not followed by two hex digits (a '%%' itself is "
                               "\"%%25\")",
                               i + 1);
            }
            c = (char)(high * 16 + low);
            i += 2;
        } else if (c == '+' && plus) {
            c = ' ';
        }
        if (is_control((unsigned char)c)) {
            return err_set(err, ERR_SYNTAX, "byte %zu: control character 0x%02x", i + 1,
                           (unsigned)(unsigned char)c);
        }
        ret[out++] = c;
    }
    ret[out] = '\0';
    if (!str_is_utf8(ret, out)) {
        return err_set(err, ERR_SYNTAX, "the decoded text is not UTF-8");
    }
    return 0;
}

/* Decode one half of a parameter to *at and move *at behind its NUL. */
static int take_half(const char *from, size_t len, char **at, const char **ret, struct err *err)
{
    char *text = *at;
    int rc = request_decode(from, len, true, text, err);

    if (rc != 0) {
        return rc;
    }
    *ret = text;
    *at = text + strlen(text) + 1;
    return 0;
}

static int take_param(const char *from, size_t len, char **at, struct request_query *q,
                      struct err *err)
{
    const char *equals = memchr(from, '=', len);
    size_t name_len = equals != NULL ? (size_t)(equals - from) : len;
    size_t value_len = equals != NULL ? len - name_len - 1 : 0;
    struct service_param param = {"", ""};
    struct err why;

    if (q->count == SERVICE_PARAM_MAX) {
        return err_set(err, ERR_RANGE, "more than %d query parameters", SERVICE_PARAM_MAX);
    }
    if (name_len == 0) {
        return err_set(err, ERR_SYNTAX, "query parameter %zu has no name", q->count + 1);
    }
    if (take_half(from, name_len, at, &param.name, &why) != 0 ||
        take_half(from + name_len + (equals != NULL ? 1 : 0), value_len, at, &param.value, &why) !=
            0) {
        return err_set(err, why.code, "query parameter %zu, %s", q->count + 1, why.text);
    }
    for (size_t i = 0; i < q->count; i++) {
        if (strcmp(q->params[i].name, param.name) == 0) {
            return err_set(err, ERR_INVALID, "query parameter \"%.60s\" is there twice",
                           param.name);
        }
    }
    q->params[q->count++] = param;
    return 0;
}

int request_query(const char *text, struct request_query *ret, struct err *err)
{
    /* Decoding never grows; each parameter adds two NULs where it had one '=' or '&' or the end. */
    struct request_query q = {.text = mem_new(strlen(text) + 2 * SERVICE_PARAM_MAX + 2, 1)};
    char *at = q.text;
    int rc = 0;

    while (*text != '\0' && rc == 0) {
        size_t len = strcspn(text, "&");

        rc = take_param(text, len, &at, &q, err);
        text += len;
        if (*text == '&') {
            text++;
            if (*text == '\0' && rc == 0) {
                rc = err_set(err, ERR_SYNTAX, "the query ends with '&'");
            }
        }
    }
    if (rc != 0) {
        request_query_fini(&q);
        return rc;
    }
    *ret = q;
    return 0;
}

void request_query_fini(struct request_query *q)
{
    mem_free(q->text);
    *q = (struct request_query){0};
}

/* jansson's own bound is 2,048 levels of recursion, each some hundred bytes of stack. */
static bool is_too_deep(const char *bytes, size_t len)
{
    size_t depth = 0;
    bool quoted = false;

    for (size_t i = 0; i < len; i++) {
        char c = bytes[i];

        if (quoted) {
            if (c == '\\') {
                i++;
            } else if (c == '"') {
                quoted = false;
            }
            continue;
        }
        if (c == '"') {
            quoted = true;
        } else if (c == '{' || c == '[') {
            if (++depth > REQUEST_DEPTH_MAX) {
                return true;
            }
        } else if ((c == '}' || c == ']') && depth > 0) {
            depth--;
        }
    }
    return false;
}

static int refuse_body(const json_error_t *where, struct err *err)
{
    int line = where->line < 1 ? 1 : where->line;
    int column = where->column < 1 ? 1 : where->column;

    if (json_error_code(where) == json_error_numeric_overflow) {
        return err_set(err, ERR_RANGE, "body:%d:%d: a number past 2^63 or a double's range", line,
                       column);
    }
    if (json_error_code(where) == json_error_null_character) {
        return err_set(err, ERR_SYNTAX, "body:%d:%d: a text may not hold \\u0000", line, column);
    }
    return err_set(err, ERR_SYNTAX, "body:%d:%d: %.200s", line, column, where->text);
}

int request_body(const char *bytes, size_t len, struct arena *arena, const struct jsonin **ret,
                 struct err *err)
{
    json_error_t where;
    json_t *json;
    int rc = 0;

    if (is_too_deep(bytes, len)) {
        return err_set(err, ERR_RANGE, "the body is nested deeper than %d levels",
                       REQUEST_DEPTH_MAX);
    }
    json = json_loadb(bytes, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &where);
    if (json == NULL) {
        return refuse_body(&where, err);
    }
    if (json_is_object(json)) {
        *ret = jsonin_of(json, arena);
    } else {
        rc = err_set(err, ERR_INVALID, "body:1:1: the body is JSON, but not an object {...}");
    }
    json_decref(json);
    return rc;
}

bool request_is_json(const char *content_type)
{
    static const char JSON[] = "application/json";
    const char *rest;

    if (content_type == NULL) {
        return true;
    }
    if (strncasecmp(content_type, JSON, sizeof(JSON) - 1) != 0) {
        return false;
    }
    rest = content_type + sizeof(JSON) - 1;
    rest += strspn(rest, " \t");
    if (*rest == '\0') {
        return true;
    }
    if (*rest != ';') {
        return false;
    }
    rest++;
    rest += strspn(rest, " \t");
    return strcasecmp(rest, "charset=utf-8") == 0 || strcasecmp(rest, "charset=\"utf-8\"") == 0;
}

bool request_is_token(const char *text, size_t max)
{
    size_t len = strlen(text);

    return len > 0 && len <= max &&
           strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:-") ==
               len;
}
