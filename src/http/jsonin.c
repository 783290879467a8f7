/* The bytes are copied to the arena once; texts are unescaped where they lie, as no escape is
 * shorter than what it stands for, and ended by a NUL in the place of their closing quote. */
#include "http/jsonin.h"

#include "base/str.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Names of an object are compared each with each up to here, sorted above. */
#define PAIRS_MAX 16

struct reader {
    char *at;
    char *end; /* where a NUL stands */
    struct arena *arena;
    int depth_left;
    bool too_deep;
};

static void skip_space(struct reader *r)
{
    while (*r->at == ' ' || *r->at == '\n' || *r->at == '\r' || *r->at == '\t') {
        r->at++;
    }
}

/* ---- texts ---- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Four digits at `at`, -1 = not so. */
static int32_t read_hex(const char *at)
{
    int32_t value = 0;

    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(at[i]);

        if (digit < 0) {
            return -1;
        }
        value = value * 16 + digit;
    }
    return value;
}

static char *put_utf8(char *to, int32_t code)
{
    if (code < 0x80) {
        *to++ = (char)code;
    } else if (code < 0x800) {
        *to++ = (char)(0xc0 | code >> 6);
        *to++ = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        *to++ = (char)(0xe0 | code >> 12);
        *to++ = (char)(0x80 | (code >> 6 & 0x3f));
        *to++ = (char)(0x80 | (code & 0x3f));
    } else {
        *to++ = (char)(0xf0 | code >> 18);
        *to++ = (char)(0x80 | (code >> 12 & 0x3f));
        *to++ = (char)(0x80 | (code >> 6 & 0x3f));
        *to++ = (char)(0x80 | (code & 0x3f));
    }
    return to;
}

/* At the u of an escape; two of them may be one character.  False: none that may stand there. */
static bool read_unicode(struct reader *r, char **to)
{
    int32_t code = read_hex(r->at + 1);
    int32_t low = -1;

    if (code <= 0) {
        return false;
    }
    r->at += 5;
    if (code >= 0xd800 && code < 0xdc00) {
        if (r->at[0] == '\\' && r->at[1] == 'u') {
            low = read_hex(r->at + 2);
        }
        if (low < 0xdc00 || low > 0xdfff) {
            return false;
        }
        r->at += 6;
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code >= 0xdc00 && code <= 0xdfff) {
        return false;
    }
    *to = put_utf8(*to, code);
    return true;
}

/* At the letter behind the backslash. */
static bool read_escape(struct reader *r, char **to)
{
    static const char LETTERS[] = "\"\\/bfnrt";
    static const char MEANT[] = "\"\\/\b\f\n\r\t";
    const char *found;

    if (*r->at == 'u') {
        return read_unicode(r, to);
    }
    found = *r->at != '\0' ? strchr(LETTERS, *r->at) : NULL;
    if (found == NULL) {
        return false;
    }
    *(*to)++ = MEANT[found - LETTERS];
    r->at++;
    return true;
}

/* At the opening quote. */
static bool read_text(struct reader *r, const char **ret, size_t *ret_len)
{
    char *from = ++r->at;
    char *to = from;
    bool plain = true;

    while (*r->at != '"') {
        unsigned char c = (unsigned char)*r->at;

        if (c == '\\') {
            r->at++;
            if (!read_escape(r, &to)) {
                return false;
            }
        } else if (c < 0x20) { /* the NUL at the end, too */
            return false;
        } else {
            plain = plain && c < 0x80;
            *to++ = *r->at++;
        }
    }
    r->at++;
    *to = '\0';
    *ret = from;
    *ret_len = (size_t)(to - from);
    return plain || str_is_utf8(from, *ret_len);
}

/* ---- numbers ---- */

static bool skip_digits(struct reader *r)
{
    const char *from = r->at;

    while (*r->at >= '0' && *r->at <= '9') {
        r->at++;
    }
    return r->at > from;
}

static bool skip_fraction(struct reader *r, bool *real)
{
    if (*r->at == '.') {
        *real = true;
        r->at++;
        if (!skip_digits(r)) {
            return false;
        }
    }
    if (*r->at == 'e' || *r->at == 'E') {
        *real = true;
        r->at++;
        r->at += *r->at == '+' || *r->at == '-' ? 1 : 0;
        return skip_digits(r);
    }
    return true;
}

static bool read_number(struct reader *r, struct jsonin *v)
{
    const char *from = r->at;
    bool real = false;
    char *end = NULL;

    r->at += *r->at == '-' ? 1 : 0;
    if (*r->at == '0') {
        r->at++;
    } else if (!skip_digits(r)) {
        return false;
    }
    if (!skip_fraction(r, &real)) {
        return false;
    }
    if (real) { /* only its size matters; no locale is ever set */
        v->kind = JSONIN_REAL;
        return isfinite(strtod(from, NULL)) != 0;
    }
    v->kind = JSONIN_INT;
    errno = 0;
    v->number = strtoll(from, &end, 10);
    return errno == 0 && end == r->at;
}

/* ---- values ---- */

static bool read_word(struct reader *r, const char *word)
{
    size_t len = strlen(word);

    if (strncmp(r->at, word, len) != 0) {
        return false;
    }
    r->at += len;
    return true;
}

static int by_key(const void *a, const void *b)
{
    const struct jsonin *const *x = a;
    const struct jsonin *const *y = b;

    return strcmp((*x)->key, (*y)->key);
}

static bool same_key(const struct jsonin *a, const struct jsonin *b)
{
    return a->key_len == b->key_len && memcmp(a->key, b->key, a->key_len) == 0;
}

static bool names_differ(struct reader *r, const struct jsonin *o)
{
    const struct jsonin **all;
    size_t i = 0;

    if (o->count <= PAIRS_MAX) {
        for (const struct jsonin *x = o->first; x != NULL; x = x->next) {
            for (const struct jsonin *y = o->first; y != x; y = y->next) {
                if (same_key(x, y)) {
                    return false;
                }
            }
        }
        return true;
    }
    all = arena_new(r->arena, o->count, sizeof(struct jsonin *));
    for (const struct jsonin *x = o->first; x != NULL; x = x->next) {
        all[i++] = x;
    }
    qsort(all, o->count, sizeof(struct jsonin *), by_key);
    for (i = 1; i < o->count; i++) {
        if (same_key(all[i - 1], all[i])) {
            return false;
        }
    }
    return true;
}

static bool read_value(struct reader *r, struct jsonin *v);

/* "name": of the next value. */
static bool read_key(struct reader *r, struct jsonin *item)
{
    size_t len = 0;

    if (*r->at != '"' || !read_text(r, &item->key, &len) || len > UINT32_MAX) {
        return false;
    }
    item->key_len = (uint32_t)len;
    skip_space(r);
    if (*r->at != ':') {
        return false;
    }
    r->at++;
    skip_space(r);
    return true;
}

/* Behind the opening bracket, until behind the closing one. */
static bool read_items(struct reader *r, struct jsonin *v, char close)
{
    const struct jsonin **link = &v->first;

    skip_space(r);
    if (*r->at == close) {
        r->at++;
        return true;
    }
    for (;;) {
        struct jsonin *item = arena_new(r->arena, 1, sizeof(*item));

        if ((close == '}' && !read_key(r, item)) || !read_value(r, item)) {
            return false;
        }
        *link = item;
        link = &item->next;
        v->count++;
        skip_space(r);
        if (*r->at == close) {
            r->at++;
            return close == ']' || names_differ(r, v);
        }
        if (*r->at != ',') {
            return false;
        }
        r->at++;
        skip_space(r);
    }
}

static bool read_nested(struct reader *r, struct jsonin *v)
{
    bool object = *r->at == '{';
    bool good;

    if (r->depth_left == 0) {
        r->too_deep = true;
        return false;
    }
    v->kind = object ? JSONIN_OBJECT : JSONIN_ARRAY;
    r->at++;
    r->depth_left--;
    good = read_items(r, v, object ? '}' : ']');
    r->depth_left++;
    return good;
}

static bool read_value(struct reader *r, struct jsonin *v)
{
    switch (*r->at) {
    case '{':
    case '[':
        return read_nested(r, v);
    case '"':
        v->kind = JSONIN_TEXT;
        return read_text(r, &v->text, &v->len);
    case 't':
        v->kind = JSONIN_TRUE;
        return read_word(r, "true");
    case 'f':
        v->kind = JSONIN_FALSE;
        return read_word(r, "false");
    case 'n':
        v->kind = JSONIN_NULL;
        return read_word(r, "null");
    default:
        return read_number(r, v);
    }
}

enum jsonin_outcome jsonin_read(const char *bytes, size_t len, int depth_max, struct arena *arena,
                                const struct jsonin **ret)
{
    char *copy = arena_text_n(arena, bytes, len);
    struct reader r = {copy, copy + len, arena, depth_max, false};
    struct jsonin *v = arena_new(arena, 1, sizeof(*v));

    skip_space(&r);
    if (!read_value(&r, v)) {
        return r.too_deep ? JSONIN_TOO_DEEP : JSONIN_WRONG;
    }
    skip_space(&r);
    if (r.at != r.end) {
        return JSONIN_WRONG;
    }
    *ret = v;
    return JSONIN_GOOD;
}

/* ---- what is asked of it ---- */

bool jsonin_is(const struct jsonin *v, enum jsonin_kind kind)
{
    return v != NULL && v->kind == kind;
}

size_t jsonin_count(const struct jsonin *v)
{
    return jsonin_is(v, JSONIN_ARRAY) || jsonin_is(v, JSONIN_OBJECT) ? v->count : 0;
}

const struct jsonin *jsonin_first(const struct jsonin *v)
{
    return jsonin_count(v) > 0 ? v->first : NULL;
}

const struct jsonin *jsonin_get(const struct jsonin *o, const char *name)
{
    const struct jsonin *v = jsonin_is(o, JSONIN_OBJECT) ? jsonin_first(o) : NULL;

    while (v != NULL && strcmp(v->key, name) != 0) {
        v = v->next;
    }
    return v;
}
