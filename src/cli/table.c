#include "cli/table.h"

#include "base/check.h"
#include "base/mem.h"
#include "base/quantity.h"
#include "cli/display.h"
#include "cli/document.h"

#include <libsmartcols/libsmartcols.h>
#include <string.h>
#include <unistd.h>

#define CUT_CHARACTERS 20

const char *const VIEW_FORMATS[] = {"table", "wide", "json", "yaml", "name", NULL};

/* The name for libsmartcols and the sequence for our own lines. */
struct state_colour {
    const char *state;
    const char *name;
    const char *sequence;
};

static const struct state_colour STATE_COLOURS[] = {
    {"running", "green", "\033[32m"},    {"starting", "cyan", "\033[36m"},
    {"queued", "yellow", "\033[33m"},    {"held", "magenta", "\033[35m"},
    {"stopping", "yellow", "\033[33m"},  {"failed", "red", "\033[31m"},
    {"cancelled", "brown", "\033[33m"},  {"lost", "red", "\033[31m"},
    {"unknown", "yellow", "\033[33m"},   {"out", "red", "\033[31m"},
    {"used", "green", "\033[32m"},       {"up", "green", "\033[32m"},
    {"nominated", "yellow", "\033[33m"},
};

static const struct state_colour *colour_of(const char *state)
{
    for (size_t i = 0; i < ARRAY_LEN(STATE_COLOURS); i++) {
        if (strcmp(STATE_COLOURS[i].state, state) == 0) {
            return &STATE_COLOURS[i];
        }
    }
    return NULL;
}

const char *view_state_colour(const char *state)
{
    const struct state_colour *c = colour_of(state);

    return c != NULL ? c->sequence : "";
}

const char *view_colour(const struct view *view, const char *sequence)
{
    return view->colour ? sequence : "";
}

static void cell_text(const struct view *view, const struct column *column, const json_t *item,
                      struct str *out)
{
    const json_t *value = column->key != NULL ? json_object_get(item, column->key) : NULL;
    char bytes[QUANTITY_TEXT_MAX];

    if (column->fill != NULL) {
        column->fill(view, item, out);
    } else if (column->kind == COLUMN_TIME) {
        display_time(out, member_int(item, column->key), view->local);
    } else if (column->kind == COLUMN_BYTES) {
        quantity_bytes_text(member_int(item, column->key), bytes);
        str_add(out, bytes);
    } else if (column->kind == COLUMN_FLAG) {
        str_add(out, json_is_true(value) ? "yes" : "-");
    } else if (json_is_array(value)) {
        member_join(out, value);
    } else if (json_is_string(value)) {
        str_add(out, json_string_value(value));
    } else if (json_is_integer(value)) {
        str_add_int(out, json_integer_value(value));
    } else if (json_is_boolean(value)) {
        str_add(out, json_is_true(value) ? "yes" : "no");
    }
    if (out->len == 0) {
        str_add_char(out, '-');
    }
}

/* A stream in memory (tests) has no descriptor. */
static bool is_terminal(FILE *out)
{
    int fd = fileno(out);

    return fd >= 0 && isatty(fd) == 1;
}

/* Keep so many characters; the last one that is shown says that there was more. */
static void cut(struct str *text, size_t characters_max)
{
    size_t characters = 0, keep = 0;

    for (size_t i = 0; i < text->len; i++) {
        if (((unsigned char)text->text[i] & 0xc0) == 0x80) {
            continue; /* inside a character of UTF-8 */
        }
        characters++;
        keep = characters == characters_max ? i : keep;
    }
    if (characters > characters_max) {
        text->len = keep;
        str_add_char(text, '+');
    }
}

static bool is_shown(const struct view *view, const struct column *column)
{
    return (column->flags & COLUMN_WIDE) == 0 || view->format == VIEW_WIDE;
}

static void add_line(struct libscols_table *table, const struct view *view,
                     const struct column *columns, size_t count, const json_t *item)
{
    struct libscols_line *line = scols_table_new_line(table, NULL);
    size_t at = 0;

    CHECK(line != NULL);
    for (size_t i = 0; i < count; i++) {
        struct str text = {0};
        const struct state_colour *colour;

        if (!is_shown(view, &columns[i])) {
            continue;
        }
        cell_text(view, &columns[i], item, &text);
        if ((columns[i].flags & COLUMN_CUT) != 0 && i + 1 < count && view->format == VIEW_TABLE &&
            is_terminal(view->out)) {
            cut(&text, CUT_CHARACTERS);
        }
        CHECK(scols_line_set_data(line, at, str_text(&text)) == 0);
        colour = columns[i].kind == COLUMN_STATE ? colour_of(str_text(&text)) : NULL;
        if (colour != NULL && view->colour) {
            scols_cell_set_color(scols_line_get_cell(line, at), colour->name);
        }
        str_fini(&text);
        at++;
    }
}

static void print_table(const struct view *view, const struct column *columns, size_t count,
                        const json_t *rows)
{
    struct libscols_table *table = scols_new_table();
    const json_t *item;
    size_t row;

    CHECK(table != NULL);
    scols_table_set_stream(table, view->out);
    scols_table_enable_noheadings(table, view->no_header);
    scols_table_enable_colors(table, view->colour);
    scols_table_set_termforce(table, is_terminal(view->out) ? SCOLS_TERMFORCE_ALWAYS
                                                            : SCOLS_TERMFORCE_NEVER);
    for (size_t i = 0; i < count; i++) {
        bool right = columns[i].kind == COLUMN_NUMBER || columns[i].kind == COLUMN_BYTES;
        bool trunc = (columns[i].flags & COLUMN_CUT) != 0 && view->format != VIEW_WIDE;
        /* libsmartcols shortens columns of relative width first: the last one, then the others */
        double width = i + 1 == count ? 0.1 : 8.0;

        if (!is_shown(view, &columns[i])) {
            continue;
        }
        CHECK(scols_table_new_column(table, columns[i].title, trunc ? width : 0.0,
                                     (right ? SCOLS_FL_RIGHT : 0) | (trunc ? SCOLS_FL_TRUNC : 0)) !=
              NULL);
    }
    json_array_foreach(rows, row, item)
    {
        add_line(table, view, columns, count, item);
    }
    scols_print_table(table);
    scols_unref_table(table);
}

bool view_raw(const struct view *view, const json_t *answer)
{
    if (view->format == VIEW_JSON) {
        json_dumpf(answer, view->out, JSON_INDENT(2));
        fputc('\n', view->out);
        return true;
    }
    if (view->format == VIEW_YAML) {
        document_print(answer, view->out);
        return true;
    }
    return false;
}

void table_print(const struct view *view, const struct column *columns, size_t count,
                 const json_t *answer, const json_t *rows, const char *empty)
{
    const json_t *item;
    size_t i;

    rows = rows != NULL ? rows : json_object_get(answer, "items");
    if (view_raw(view, answer)) {
        return;
    }
    if (view->format != VIEW_NAME) {
        if (json_array_size(rows) > 0) {
            print_table(view, columns, count, rows);
        } else if (empty != NULL) {
            fprintf(stderr, "%s\n", empty);
        }
        return;
    }
    json_array_foreach(rows, i, item)
    {
        struct str text = {0}, safe = {0};

        cell_text(view, &columns[0], item, &text);
        display_text(&safe, str_text(&text));
        fprintf(view->out, "%s\n", str_text(&safe));
        str_fini(&text);
        str_fini(&safe);
    }
}
