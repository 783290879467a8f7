/* textline - a line of a page: text with a colour for each part, cut and padded by the columns that
 * a terminal gives it, so that foreign text cannot break a table. */
#ifndef MUSTER_CLI_TEXTLINE_H
#define MUSTER_CLI_TEXTLINE_H

#include "base/str.h"

#include <stdbool.h>

enum textline_colour {
    TEXTLINE_PLAIN,
    TEXTLINE_TITLE,
    TEXTLINE_DIM,
    TEXTLINE_GREEN,
    TEXTLINE_YELLOW,
    TEXTLINE_CYAN,
    TEXTLINE_MAGENTA,
    TEXTLINE_RED,
    TEXTLINE_COLOURS
};

struct textline {
    struct str text;
    struct str colours; /* a character for each byte of text: 'a' + colour */
    int columns;
};

void textline_fini(struct textline *l);
/* Add all of text. */
void textline_add(struct textline *l, enum textline_colour colour, const char *text);
/* Add text as a cell: cut to width columns, or filled up with blanks behind it (before it where
 * right is set). */
void textline_cell(struct textline *l, enum textline_colour colour, const char *text, int width,
                   bool right);
/* How many columns the text needs; a character that cannot be shown needs one. */
int textline_width(const char *text);
/* Cut the line to so many columns. */
void textline_cut(struct textline *l, int columns);

#endif
