#include "cli/topscreen.h"

#include "base/check.h"

#include <ncurses.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

static void begin_colours(bool wanted)
{
    static const short COLOURS[TEXTLINE_COLOURS] = {
        [TEXTLINE_GREEN] = COLOR_GREEN, [TEXTLINE_YELLOW] = COLOR_YELLOW,
        [TEXTLINE_CYAN] = COLOR_CYAN,   [TEXTLINE_MAGENTA] = COLOR_MAGENTA,
        [TEXTLINE_RED] = COLOR_RED,
    };

    if (!wanted || !has_colors() || start_color() == ERR) {
        return;
    }
    use_default_colors();
    for (int i = TEXTLINE_GREEN; i < TEXTLINE_COLOURS; i++) {
        init_pair((short)i, COLOURS[i], -1);
    }
}

int topscreen_open(bool colour, struct err *err)
{
    const char *term = getenv("TERM");

    if (isatty(STDIN_FILENO) != 1 || isatty(STDOUT_FILENO) != 1) {
        return err_set(err, ERR_INVALID, "top needs a terminal; --once prints one page");
    }
    if (newterm(NULL, stdout, stdin) == NULL) {
        return err_set(err, ERR_INVALID, "the terminal '%s' is not known; --once prints one page",
                       term != NULL ? term : "");
    }
    begin_colours(colour);
    cbreak();
    noecho();
    nonl();
    nodelay(stdscr, TRUE);
    keypad(stdscr, TRUE);
    set_escdelay(50);
    curs_set(0);
    return 0;
}

void topscreen_close(void)
{
    endwin();
}

void topscreen_resize(void)
{
    struct winsize size;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0) {
        resizeterm(size.ws_row, size.ws_col);
        clearok(curscr, TRUE);
    }
}

void topscreen_stop(void)
{
    struct sigaction usual = {.sa_handler = SIG_DFL};
    struct sigaction before;
    sigset_t set;

    endwin();
    sigemptyset(&set);
    sigaddset(&set, SIGTSTP);
    CHECK(sigaction(SIGTSTP, &usual, &before) == 0);
    kill(getpid(), SIGTSTP);
    sigprocmask(SIG_UNBLOCK, &set, NULL); /* here it stops */
    sigprocmask(SIG_BLOCK, &set, NULL);
    CHECK(sigaction(SIGTSTP, &before, NULL) == 0);
    flushinp();
    topscreen_resize();
}

void topscreen_size(int *ret_width, int *ret_height)
{
    *ret_width = getmaxx(stdscr);
    *ret_height = getmaxy(stdscr);
}

static void set_colour(char code)
{
    int colour = code - 'a';

    attrset(A_NORMAL);
    if (colour == TEXTLINE_TITLE) {
        attrset(A_BOLD);
    } else if (colour >= TEXTLINE_GREEN && colour < TEXTLINE_COLOURS && COLOR_PAIRS > colour) {
        attrset(COLOR_PAIR(colour));
    }
}

void topscreen_draw(const struct toppage *page)
{
    erase();
    for (size_t i = 0; i < page->lines.count; i++) {
        const struct textline *l = &page->lines.items[i];

        move((int)i, 0);
        for (size_t k = 0; k < l->text.len;) {
            size_t from = k;

            while (k < l->text.len && l->colours.text[k] == l->colours.text[from]) {
                k++;
            }
            set_colour(l->colours.text[from]);
            addnstr(l->text.text + from, (int)(k - from));
        }
    }
    attrset(A_NORMAL);
    refresh();
}

int topscreen_key(void)
{
    static const struct {
        int curses;
        int key;
    } KEYS[] = {{KEY_UP, TOPSCREEN_UP},
                {KEY_DOWN, TOPSCREEN_DOWN},
                {KEY_PPAGE, TOPSCREEN_PAGE_UP},
                {KEY_NPAGE, TOPSCREEN_PAGE_DOWN},
                {KEY_HOME, TOPSCREEN_HOME},
                {KEY_END, TOPSCREEN_END},
                {KEY_BACKSPACE, TOPSCREEN_BACKSPACE},
                {0x7f, TOPSCREEN_BACKSPACE},
                {'\b', TOPSCREEN_BACKSPACE},
                {KEY_ENTER, TOPSCREEN_ENTER},
                {'\r', TOPSCREEN_ENTER},
                {'\n', TOPSCREEN_ENTER},
                {0x1b, TOPSCREEN_ESCAPE}};
    int key = getch();

    if (key == ERR) {
        return -1;
    }
    for (size_t i = 0; i < ARRAY_LEN(KEYS); i++) {
        if (KEYS[i].curses == key) {
            return KEYS[i].key;
        }
    }
    return key < 256 ? key : 0; /* 0: a key that means nothing here */
}
