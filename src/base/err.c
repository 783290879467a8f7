#include "base/err.h"

#include "base/str.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct err_row {
    int code;
    const char *name;
    int http_status;
    int exit_status;
};

static const struct err_row ROWS[] = {
#define ERR_ROW(sym, num, name, http, exit) {num, name, http, exit},
    ERR_TABLE(ERR_ROW)
#undef ERR_ROW
};

static const struct err_row INTERNAL = {ERR_INTERNAL, "server.internal", 500, 1};

static const struct err_row *find(int code)
{
    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        if (ROWS[i].code == code) {
            return &ROWS[i];
        }
    }
    return &INTERNAL;
}

/* Parts of what came in from outside may be cut in the middle of a character, or be no text at all;
 * a message stays one line of UTF-8. */
static void make_line(char *text)
{
    for (size_t i = 0; text[i] != '\0'; i++) {
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f) {
            text[i] = ' ';
        }
    }
    if (str_is_utf8(text, strlen(text))) {
        return;
    }
    for (size_t i = 0; text[i] != '\0'; i++) {
        size_t len = 1;

        while (len < 4 && text[i + len] != '\0' && !str_is_utf8(text + i, len)) {
            len++;
        }
        if (str_is_utf8(text + i, len)) {
            i += len - 1;
        } else {
            text[i] = '?';
        }
    }
}

int err_set(struct err *err, enum err_code code, const char *fmt, ...)
{
    va_list args;

    if (err != NULL) {
        err->code = code;
        va_start(args, fmt);
        vsnprintf(err->text, sizeof(err->text), fmt, args);
        va_end(args);
        make_line(err->text);
    }
    return code;
}

const char *err_name(int code)
{
    return find(code)->name;
}

int err_http(int code)
{
    return find(code)->http_status;
}

int err_exit(int code)
{
    return find(code)->exit_status;
}

enum err_code err_of_name(const char *name)
{
    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        if (strcmp(ROWS[i].name, name) == 0) {
            return (enum err_code)ROWS[i].code;
        }
    }
    return ERR_INTERNAL;
}
