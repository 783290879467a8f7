/* scan - a reader of its own and not jansson's tree: a restart reads a million records, and the
 * tree costs about ten times what reading a record in place does (bench/codec.c).  It never skips a
 * value, so nesting is bounded by its caller's tables.  tests/fuzz/codec.c holds it to jansson.
 */
#include "core/scan.h"

#include "base/str.h"

#include <string.h>

int scan_fail_syntax(struct scan *r, const char *what)
{
    size_t line = 1, column = 1;

    for (const char *p = r->start; p < r->at; p++) {
        column = *p == '\n' ? 1 : column + 1;
        line += *p == '\n';
    }
    return err_set(r->err, ERR_SYNTAX, "%zu:%zu: %s", line, column, what);
}

int scan_fail_field(struct scan *r, int code, const char *what)
{
    struct str path = {0};

    for (size_t i = 0; i < r->depth; i++) {
        str_add(&path, i > 0 ? "." : "");
        str_add(&path, r->steps[i].name);
        if (r->steps[i].index != SCAN_NO_INDEX) {
            str_addf(&path, "[%zu]", r->steps[i].index);
        }
    }
    if (path.len > 0) {
        code = err_set(r->err, (enum err_code)code, "%s: %s", str_text(&path), what);
    } else {
        code = err_set(r->err, (enum err_code)code, "%s", what);
    }
    str_fini(&path);
    return code;
}

int scan_fail_type(struct scan *r, const char *wanted)
{
    char c = scan_peek(r);
    const char *is;
    struct str what = {0};
    int code;

    switch (c) {
    case '{':
        is = "an object";
        break;
    case '[':
        is = "a list";
        break;
    case '"':
        is = "a text";
        break;
    case 't':
    case 'f':
        is = "a truth value";
        break;
    case 'n':
        is = "null";
        break;
    default:
        is = c == '-' || (c >= '0' && c <= '9') ? "a number" : NULL;
    }
    if (is == NULL) {
        return scan_fail_syntax(r, r->at < r->end ? "a value should begin here"
                                                  : "the text ends early");
    }
    str_add(&what, wanted);
    str_add(&what, " is expected, not ");
    str_add(&what, is);
    code = scan_fail_field(r, ERR_INVALID, str_text(&what));
    str_fini(&what);
    return code;
}

static int hex4(const char *p, uint32_t *ret)
{
    uint32_t value = 0;

    for (int i = 0; i < 4; i++) {
        char c = p[i];
        char low = (char)(c | 0x20);

        if (c >= '0' && c <= '9') {
            value = value << 4 | (uint32_t)(c - '0');
        } else if (low >= 'a' && low <= 'f') {
            value = value << 4 | (uint32_t)(low - 'a' + 10);
        } else {
            return -1;
        }
    }
    *ret = value;
    return 0;
}

static size_t utf8_put(uint32_t point, char *ret)
{
    if (point < 0x80) {
        ret[0] = (char)point;
        return 1;
    }
    if (point < 0x800) {
        ret[0] = (char)(0xc0 | point >> 6);
        ret[1] = (char)(0x80 | (point & 0x3f));
        return 2;
    }
    if (point < 0x10000) {
        ret[0] = (char)(0xe0 | point >> 12);
        ret[1] = (char)(0x80 | (point >> 6 & 0x3f));
        ret[2] = (char)(0x80 | (point & 0x3f));
        return 3;
    }
    ret[0] = (char)(0xf0 | point >> 18);
    ret[1] = (char)(0x80 | (point >> 12 & 0x3f));
    ret[2] = (char)(0x80 | (point >> 6 & 0x3f));
    ret[3] = (char)(0x80 | (point & 0x3f));
    return 4;
}

/* At the u of an escape, inside a text that ends at close.  A character outside the basic plane is
 * a pair of surrogates; half a pair is no character. */
static int read_unicode(struct scan *r, const char *close, uint32_t *ret_point)
{
    uint32_t high, low;

    if (close - r->at < 5 || hex4(r->at + 1, &high) < 0) {
        return scan_fail_syntax(r, "\\u needs four hexadecimal digits");
    }
    r->at += 5;
    if (high == 0) {
        return scan_fail_syntax(r, "a text cannot hold the character 0");
    }
    if (high >= 0xd800 && high <= 0xdfff) {
        if (high >= 0xdc00 || close - r->at < 6 || r->at[0] != '\\' || r->at[1] != 'u' ||
            hex4(r->at + 2, &low) < 0 || low < 0xdc00 || low > 0xdfff) {
            return scan_fail_syntax(r, "half a surrogate pair");
        }
        r->at += 6;
        high = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
    }
    *ret_point = high;
    return 0;
}

/* at stands behind the opening quote, close at the closing one. */
static int read_escaped(struct scan *r, const char *close, struct scan_string *ret)
{
    static const char FROM[] = "\"\\/bfnrt";
    static const char TO[] = "\"\\/\b\f\n\r\t";
    char *text = arena_new(r->arena, (size_t)(close - r->at) + 1, 1);
    size_t len = 0;

    while (r->at < close) {
        const char *known;
        uint32_t point = 0;

        if (*r->at != '\\') {
            text[len++] = *r->at++;
            continue;
        }
        r->at++;
        known = *r->at != '\0' ? strchr(FROM, *r->at) : NULL;
        if (known != NULL) {
            text[len++] = TO[known - FROM];
            r->at++;
        } else if (*r->at == 'u') {
            int code = read_unicode(r, close, &point);

            if (code < 0) {
                return code;
            }
            len += utf8_put(point, text + len);
        } else {
            return scan_fail_syntax(r, "no such escape in a text");
        }
    }
    *ret = (struct scan_string){text, len, true};
    return 0;
}

int scan_string(struct scan *r, struct scan_string *ret)
{
    const char *from = r->at + 1;
    const char *p = from;
    bool escapes = false;
    unsigned char all = 0;
    int code = 0;

    for (; p < r->end && *p != '"'; p++) {
        if ((unsigned char)*p < 0x20) {
            r->at = p;
            return scan_fail_syntax(r, "a control character in a text must be escaped");
        }
        all |= (unsigned char)*p;
        if (*p == '\\') {
            escapes = true;
            p++;
            if (p >= r->end || (unsigned char)*p < 0x20) {
                break;
            }
        }
    }
    if (p >= r->end || *p != '"') {
        return scan_fail_syntax(r, "a text that is not ended");
    }
    if (all >= 0x80 && !str_is_utf8(from, (size_t)(p - from))) {
        return scan_fail_syntax(r, "a text that is not UTF-8");
    }
    *ret = (struct scan_string){from, (size_t)(p - from), false};
    if (escapes) {
        r->at = from;
        code = read_escaped(r, p, ret);
    }
    if (code == 0) {
        r->at = p + 1;
    }
    return code;
}

int scan_text(struct scan *r, const char **ret)
{
    struct scan_string span;
    int code;

    if (scan_peek(r) != '"') {
        return scan_fail_type(r, "a text");
    }
    code = scan_string(r, &span);
    if (code == 0) {
        *ret = span.unescaped ? span.text : arena_text_n(r->arena, span.text, span.len);
    }
    return code;
}

int scan_int(struct scan *r, int64_t *ret)
{
    bool negative = scan_peek(r) == '-';
    uint64_t most = (uint64_t)INT64_MAX + (negative ? 1 : 0);
    const char *p = r->at + (negative ? 1 : 0);
    const char *digits = p;
    uint64_t value = 0;

    if (!negative && (p >= r->end || *p < '0' || *p > '9')) {
        return scan_fail_type(r, "a whole number");
    }
    for (; p < r->end && *p >= '0' && *p <= '9'; p++) {
        uint64_t digit = (uint64_t)(*p - '0');

        if (value >= INT64_MAX / 10 && value > (most - digit) / 10) {
            return scan_fail_field(r, ERR_RANGE, "the number does not fit in 64 bits");
        }
        value = value * 10 + digit;
    }
    if (p == digits || (*digits == '0' && p - digits > 1)) {
        return scan_fail_syntax(r, "not a number");
    }
    if (p < r->end && (*p == '.' || *p == 'e' || *p == 'E')) {
        return scan_fail_field(r, ERR_INVALID,
                               "a whole number is expected, without point or exponent");
    }
    r->at = p;
    *ret = negative ? (int64_t)(0 - value) : (int64_t)value;
    return 0;
}

int scan_bool(struct scan *r, bool *ret)
{
    char c = scan_peek(r);
    size_t left = (size_t)(r->end - r->at);

    if (c == 't' && left >= 4 && memcmp(r->at, "true", 4) == 0) {
        r->at += 4;
        *ret = true;
        return 0;
    }
    if (c == 'f' && left >= 5 && memcmp(r->at, "false", 5) == 0) {
        r->at += 5;
        *ret = false;
        return 0;
    }
    return c == 't' || c == 'f' ? scan_fail_syntax(r, "not true and not false")
                                : scan_fail_type(r, "true or false");
}
