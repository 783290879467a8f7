/* topscreen - pages on a terminal and keys from it, by ncurses. */
#ifndef MUSTER_CLI_TOPSCREEN_H
#define MUSTER_CLI_TOPSCREEN_H

#include "base/err.h"
#include "cli/toppage.h"

#include <stdbool.h>

enum topscreen_key { /* beside the characters; above all of those */
                     TOPSCREEN_UP = 0x200000,
                     TOPSCREEN_DOWN,
                     TOPSCREEN_PAGE_UP,
                     TOPSCREEN_PAGE_DOWN,
                     TOPSCREEN_HOME,
                     TOPSCREEN_END,
                     TOPSCREEN_BACKSPACE,
                     TOPSCREEN_ENTER,
                     TOPSCREEN_ESCAPE,
};

/* Take the terminal.  ERR_INVALID: there is none, or ncurses does not know it. */
MUST_CHECK int topscreen_open(bool colour, struct err *err);
void topscreen_close(void);
/* The terminal has a new size. */
void topscreen_resize(void);
/* Ctrl-Z, which is blocked: give the terminal back, stop, and come back with everything unread
 * gone. ncurses would do it in a signal handler, in the midst of whatever is being called. */
void topscreen_stop(void);
void topscreen_size(int *ret_width, int *ret_height);
void topscreen_draw(const struct toppage *page);
/* The next key that was pressed, -1 = none. */
int topscreen_key(void);

#endif
