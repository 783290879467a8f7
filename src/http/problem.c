/* problem - written by hand, not by jansson: an error path that allocates a tree for seven fields
 * would be the longer one. */
#include "http/problem.h"

#include "base/str.h"

#include <microhttpd.h>
#include <string.h>

int problem_status(const struct problem *p)
{
    return p->status != 0 ? p->status : err_http(p->err.code);
}

/* A message cut to its room may end within a character, or quote what a client sent. */
static void add_member(struct str *s, const char *name, const char *text)
{
    size_t len = strlen(text);

    str_addf(s, ",\"%s\":", name);
    if (str_is_utf8(text, len)) {
        str_add_json(s, text, len);
        return;
    }
    struct str ascii = {0};

    for (size_t i = 0; i < len; i++) {
        str_add_char(&ascii, (unsigned char)text[i] < 0x80 ? text[i] : '?');
    }
    str_add_json(s, ascii.text, ascii.len);
    str_fini(&ascii);
}

char *problem_text(const struct problem *p)
{
    struct str s = {0};
    int status = problem_status(p);

    str_add(&s, "{\"type\":\"about:blank\"");
    add_member(&s, "title", MHD_get_reason_phrase_for((unsigned)status));
    str_addf(&s, ",\"status\":%d", status);
    add_member(&s, "code", err_name(p->err.code));
    add_member(&s, "detail", p->err.text);
    if (p->field != NULL && p->field[0] != '\0') {
        add_member(&s, "field", p->field);
    }
    add_member(&s, "request_id", p->request_id);
    str_add(&s, "}\n");
    return str_take(&s);
}
