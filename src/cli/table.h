/* table - lists as columns, and every answer in the format that was asked for.
 *
 * A list has one definition: title, JSON member, kind.  From it come the table (libsmartcols cuts
 * it to the terminal's width), the wide table and -o name; json and yaml print the server's answer
 * as it came.
 */
#ifndef MUSTER_CLI_TABLE_H
#define MUSTER_CLI_TABLE_H

#include "base/err.h"
#include "base/str.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum view_format { VIEW_TABLE, VIEW_WIDE, VIEW_JSON, VIEW_YAML, VIEW_NAME };
extern const char *const VIEW_FORMATS[]; /* table wide json yaml name, ends with NULL */

struct view { /* how answers are shown */
    enum view_format format;
    bool no_header;
    bool colour;
    bool local;     /* times in the zone of this machine */
    int64_t now_ms; /* for spans that still run */
    FILE *out;      /* where answers go */
};

enum column_kind {
    COLUMN_TEXT,
    COLUMN_NUMBER, /* right aligned; integers and decimal texts */
    COLUMN_TIME,   /* ms */
    COLUMN_BYTES,
    COLUMN_FLAG,  /* yes, - */
    COLUMN_LIST,  /* a,b,c */
    COLUMN_STATE, /* text in the colour of its state */
};

#define COLUMN_WIDE 1U /* only with -o wide */
/* On a terminal at most 20 characters; the last column of a table gets what is left of the line. */
#define COLUMN_CUT 2U

struct column {
    const char *title;
    const char *key; /* member of the item; NULL = fill makes the text */
    enum column_kind kind;
    unsigned flags;
    void (*fill)(const struct view *view, const json_t *item, struct str *out);
};

/* Print a list.  answer is what the server said; rows are its items (NULL = answer's "items").
 * Column 0 is what -o name prints.  empty is said on stderr when a table has no row (NULL = no). */
void table_print(const struct view *view, const struct column *columns, size_t count,
                 const json_t *answer, const json_t *rows, const char *empty);

/* json and yaml: print answer and say true; else false and the caller prints it. */
bool view_raw(const struct view *view, const json_t *answer);

/* "\033[1;32m" of a state's colour, "" where it has none. */
const char *view_state_colour(const char *state);
const char *view_colour(const struct view *view, const char *sequence);

#endif
