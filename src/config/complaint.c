#include "config/complaint.h"

#include <string.h>

void complaints_init(struct complaints *c, struct arena *arena, const char *file)
{
    memset(c, 0, sizeof(*c));
    c->arena = arena;
    c->file = arena_text(arena, file);
}

void complaint_add(struct complaints *c, enum err_code code, int line, int column,
                   const char *field, const char *text)
{
    struct complaint *item;
    const char *colon = field[0] == '\0' ? "" : ": ";

    c->total++;
    if (c->count == COMPLAINT_MAX) {
        return;
    }
    item = &c->items[c->count++];
    item->code = code;
    item->line = line;
    item->column = column;
    item->field = arena_text(c->arena, field);
    if (line > 0) {
        item->text =
            arena_printf(c->arena, "%s:%d:%d: %s%s%s", c->file, line, column, field, colon, text);
    } else {
        item->text = arena_printf(c->arena, "%s: %s%s%s", c->file, field, colon, text);
    }
}

/* Values come from files of unknown origin: control characters are shown as '?', long ones are
 * cut, never inside a UTF-8 character. */
static const char *shown(const struct complaints *c, const char *value)
{
    size_t len = strlen(value);
    char *copy;

    if (len > COMPLAINT_VALUE_MAX) {
        len = COMPLAINT_VALUE_MAX;
        while (len > 0 && ((unsigned char)value[len] & 0xc0U) == 0x80U) {
            len--;
        }
        copy = arena_printf(c->arena, "%.*s...", (int)len, value);
    } else {
        copy = arena_text(c->arena, value);
    }
    for (char *p = copy; *p != '\0'; p++) {
        if ((unsigned char)*p < 0x20 || *p == 0x7f) {
            *p = '?';
        }
    }
    return copy;
}

const char *complaint_text(const struct complaints *c, const char *wrong, const char *value,
                           const char *right)
{
    const char *comma = right[0] == '\0' ? "" : ", ";

    if (value == NULL) {
        return arena_printf(c->arena, "%s%s%s", wrong, comma, right);
    }
    return arena_printf(c->arena, "%s (\"%s\")%s%s", wrong, shown(c, value), comma, right);
}

void complaints_sort(struct complaints *c)
{
    for (size_t i = 1; i < c->count; i++) { /* at most 20, and equals stay as they came */
        struct complaint item = c->items[i];
        size_t at = i;

        while (at > 0 &&
               (c->items[at - 1].line > item.line ||
                (c->items[at - 1].line == item.line && c->items[at - 1].column > item.column))) {
            c->items[at] = c->items[at - 1];
            at--;
        }
        c->items[at] = item;
    }
}

int complaints_result(const struct complaints *c, struct err *err)
{
    if (c->total == 0) {
        return 0;
    }
    if (c->total == 1) {
        return err_set(err, c->items[0].code, "%s", c->items[0].text);
    }
    return err_set(err, c->items[0].code, "%.*s (and %zu more)", ERR_TEXT_MAX - 32,
                   c->items[0].text, c->total - 1);
}
