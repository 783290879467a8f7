#include "base/str.h"

#include "base/check.h"
#include "base/mem.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void str_fini(struct str *s)
{
    mem_free(s->text);
    *s = (struct str){0};
}

void str_clear(struct str *s)
{
    s->len = 0;
    if (s->text != NULL) {
        s->text[0] = '\0';
    }
}

static void make_room(struct str *s, size_t more)
{
    size_t want = s->len + more + 1;

    if (want > s->room) {
        s->room = want > s->room * 2 ? want : s->room * 2;
        s->text = mem_resize(s->text, s->room, 1);
    }
}

void str_add_n(struct str *s, const char *text, size_t len)
{
    make_room(s, len);
    if (len > 0) {
        memcpy(s->text + s->len, text, len);
    }
    s->len += len;
    s->text[s->len] = '\0';
}

void str_add(struct str *s, const char *text)
{
    str_add_n(s, text, strlen(text));
}

void str_add_char(struct str *s, char c)
{
    make_room(s, 1);
    s->text[s->len++] = c;
    s->text[s->len] = '\0';
}

void str_add_int(struct str *s, int64_t value)
{
    char digits[24];
    char *at = digits + sizeof(digits);
    uint64_t rest = value < 0 ? (uint64_t)0 - (uint64_t)value : (uint64_t)value;

    do {
        *--at = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest != 0);
    if (value < 0) {
        *--at = '-';
    }
    str_add_n(s, at, (size_t)(digits + sizeof(digits) - at));
}

void str_addf(struct str *s, const char *fmt, ...)
{
    va_list args;
    int len;

    va_start(args, fmt);
    len = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    CHECK(len >= 0);
    make_room(s, (size_t)len);
    va_start(args, fmt);
    vsnprintf(s->text + s->len, (size_t)len + 1, fmt, args);
    va_end(args);
    s->len += (size_t)len;
}

void str_add_json(struct str *s, const char *text, size_t len)
{
    static const char HEX[] = "0123456789abcdef";
    size_t from = 0;

    str_add_char(s, '"');
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];

        if (c >= 0x20 && c != '"' && c != '\\') {
            continue;
        }
        str_add_n(s, text + from, i - from);
        from = i + 1;
        if (c == '"' || c == '\\') {
            char pair[2] = {'\\', (char)c};

            str_add_n(s, pair, 2);
        } else {
            char code[6] = {'\\', 'u', '0', '0', HEX[c >> 4], HEX[c & 15]};

            str_add_n(s, code, 6);
        }
    }
    str_add_n(s, text + from, len - from);
    str_add_char(s, '"');
}

char *str_take(struct str *s)
{
    char *text = s->text != NULL ? s->text : mem_text("");

    *s = (struct str){0};
    return text;
}

const char *str_text(const struct str *s)
{
    return s->text != NULL ? s->text : "";
}

bool str_is_name(const char *text)
{
    size_t len = 0;

    if (text == NULL || text[0] == '-') {
        return false;
    }
    for (; text[len] != '\0'; len++) {
        char c = text[len];

        if (len >= 63 || !((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-')) {
            return false;
        }
    }
    return len > 0 && text[len - 1] != '-';
}

/* Bytes of the sequence that starts with c, 0 for a byte that starts none; least is the smallest
 * code point that needs so many, so that overlong forms are refused. */
static size_t utf8_len(unsigned char c, uint32_t *ret_bits, uint32_t *ret_least)
{
    if (c < 0x80) {
        *ret_bits = c;
        *ret_least = 0;
        return 1;
    }
    if ((c & 0xe0) == 0xc0) {
        *ret_bits = c & 0x1fU;
        *ret_least = 0x80;
        return 2;
    }
    if ((c & 0xf0) == 0xe0) {
        *ret_bits = c & 0x0fU;
        *ret_least = 0x800;
        return 3;
    }
    if ((c & 0xf8) == 0xf0) {
        *ret_bits = c & 0x07U;
        *ret_least = 0x10000;
        return 4;
    }
    return 0;
}

/* Where eight bytes in a row are no longer all ASCII. */
static size_t skip_ascii(const char *text, size_t len, size_t i)
{
    uint64_t word;

    for (; len - i >= sizeof(word); i += sizeof(word)) {
        memcpy(&word, text + i, sizeof(word));
        if ((word & UINT64_C(0x8080808080808080)) != 0) {
            break;
        }
    }
    return i;
}

bool str_is_utf8(const char *text, size_t len)
{
    size_t i = skip_ascii(text, len, 0);

    while (i < len) {
        uint32_t point, least;
        size_t count = utf8_len((unsigned char)text[i], &point, &least);

        if (count == 0 || count > len - i) {
            return false;
        }
        for (size_t k = 1; k < count; k++) {
            unsigned char c = (unsigned char)text[i + k];

            if ((c & 0xc0) != 0x80) {
                return false;
            }
            point = point << 6 | (c & 0x3fU);
        }
        if (point < least || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) {
            return false;
        }
        i = skip_ascii(text, len, i + count);
    }
    return true;
}

bool str_to_int(const char *text, int64_t *ret)
{
    const char *digits = text[0] == '-' ? text + 1 : text;
    char *end;
    long long value;

    if (digits[0] < '0' || digits[0] > '9' || (digits[0] == '0' && digits[1] != '\0')) {
        return false;
    }
    errno = 0;
    value = strtoll(text, &end, 10);
    if (errno != 0 || *end != '\0') {
        return false;
    }
    *ret = value;
    return true;
}

int str_cmp(const char *a, const char *b)
{
    return strcmp(a != NULL ? a : "", b != NULL ? b : "");
}
