#include "cli/textline.h"

#include <stdio.h>
#include <string.h>
#include <wchar.h>

/* The character at text: its bytes, its columns, and whether it can be shown as it is. */
static size_t character(const char *text, int *ret_columns, bool *ret_shown)
{
    mbstate_t state = {0};
    wchar_t wide = 0;
    size_t bytes = mbrtowc(&wide, text, strlen(text), &state);
    int columns;

    if (bytes == 0 || bytes == (size_t)-1 || bytes == (size_t)-2) {
        *ret_columns = 1;
        *ret_shown = false;
        return 1;
    }
    columns = wcwidth(wide);
    *ret_shown = columns >= 0;
    *ret_columns = columns >= 0 ? columns : 1;
    return bytes;
}

void textline_fini(struct textline *l)
{
    str_fini(&l->text);
    str_fini(&l->colours);
    *l = (struct textline){0};
}

/* Add what fits into width columns; how many it took. */
static int put(struct textline *l, enum textline_colour colour, const char *text, int width)
{
    int taken = 0;

    while (*text != '\0') {
        int columns;
        bool shown;
        size_t bytes = character(text, &columns, &shown);

        if (taken + columns > width) {
            break;
        }
        str_add_n(&l->text, shown ? text : "?", shown ? bytes : 1);
        for (size_t i = 0; i < (shown ? bytes : 1); i++) {
            str_add_char(&l->colours, (char)('a' + colour));
        }
        taken += columns;
        text += bytes;
    }
    l->columns += taken;
    return taken;
}

static void blanks(struct textline *l, int count)
{
    for (int i = 0; i < count; i++) {
        (void)put(l, TEXTLINE_PLAIN, " ", 1);
    }
}

void textline_add(struct textline *l, enum textline_colour colour, const char *text)
{
    (void)put(l, colour, text, 1 << 20);
}

int textline_width(const char *text)
{
    int width = 0;

    while (*text != '\0') {
        int columns;
        bool shown;

        text += character(text, &columns, &shown);
        width += columns;
    }
    return width;
}

void textline_cell(struct textline *l, enum textline_colour colour, const char *text, int width,
                   bool right)
{
    int taken = 0;

    if (right) {
        int columns = textline_width(text);

        taken = columns < width ? width - columns : 0;
        blanks(l, taken);
    }
    taken += put(l, colour, text, width - taken);
    blanks(l, width - taken);
}

void textline_cut(struct textline *l, int columns)
{
    struct textline cut = {0};
    const char *text = str_text(&l->text);

    if (l->columns <= columns) {
        return;
    }
    for (size_t i = 0; text[i] != '\0';) {
        int width;
        bool shown;
        size_t bytes = character(text + i, &width, &shown);
        char one[16] = "";

        if (cut.columns + width > columns) {
            break;
        }
        memcpy(one, text + i, bytes < sizeof(one) ? bytes : sizeof(one) - 1);
        (void)put(&cut, (enum textline_colour)(l->colours.text[i] - 'a'), one, width);
        i += bytes;
    }
    textline_fini(l);
    *l = cut;
}
