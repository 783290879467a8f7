/* cmd_top - pools, queues and jobs on the terminal, as they are now.
 *
 * The event stream says when to look; what is true is always asked for, at most once a second
 * however much happens, and every ten seconds when nothing does.  When musterd is away the last
 * page stays and says so. */
#include "cli/verbs.h"

#include "base/check.h"
#include "base/mem.h"
#include "cli/display.h"
#include "cli/sse.h"
#include "cli/termguard.h"
#include "cli/topdata.h"
#include "cli/toppage.h"
#include "cli/topscreen.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define LOOK_MS_MIN  1000
#define LOOK_MS_MAX  10000
#define AWAY_MS      2000
#define STEP_MS      200
#define ANSWER_MS    3000 /* a page that is late is worth less than one that says so */
#define TYPED_MAX    64
#define WIDTH_PLAIN  100 /* of --once where there is no terminal */
#define NOTICE_BYTES 128

struct top {
    struct cli *cli;
    struct topdata data;
    struct toppage page;
    struct toppage_view view;
    struct sse_reader events;
    char *queue; /* what the filters point at */
    char *user;
    int signals;
    int64_t looked_ms;
    int64_t drawn_s; /* the second that the page on the screen shows */
    int64_t away_ms; /* since when, 0 = it answers */
    bool look;       /* something happened */
    bool draw;
    bool quit;
    char asks; /* what is being typed: 'u', 'f', 0 = nothing */
    char typed[TYPED_MAX];
    char prompt[TYPED_MAX + 48];
    char notice[NOTICE_BYTES];
};

static void set_filter(char **place, const char **shown, const char *text)
{
    mem_free(*place);
    *place = text != NULL && text[0] != '\0' ? mem_text(text) : NULL;
    *shown = *place;
}

static int read_args(struct top *t, const struct args *args, struct err *err)
{
    const char *sort = args_text(args, "sort");

    set_filter(&t->queue, &t->view.filter.queue, args_text(args, "queue"));
    set_filter(&t->user, &t->view.filter.user, args_text(args, "user"));
    t->view.local = t->cli->view.local;
    t->view.reverse = args_has(args, "reverse");
    if (sort == NULL) {
        return 0;
    }
    for (int i = 0; TOPPAGE_SORT_NAMES[i] != NULL; i++) {
        if (strcmp(TOPPAGE_SORT_NAMES[i], sort) == 0) {
            t->view.sort = (enum toppage_sort)i;
            return 0;
        }
    }
    return err_set(err, ERR_INVALID, "--sort is '%s': state, age, gpus, queue or user", sort);
}

/* ---- one page ---- */

static int width_of_output(void)
{
    const char *columns = getenv("COLUMNS");
    struct winsize size;
    int64_t width = 0;

    if (columns != NULL && str_to_int(columns, &width) && width > 0 && width < 10000) {
        return (int)width;
    }
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        return size.ws_col;
    }
    return WIDTH_PLAIN;
}

static void print_line(const struct view *view, const struct textline *l)
{
    static const char *const SEQUENCES[TEXTLINE_COLOURS] = {"",         "\033[1m",  "\033[2m",
                                                            "\033[32m", "\033[33m", "\033[36m",
                                                            "\033[35m", "\033[31m"};
    size_t len = l->text.len;

    while (len > 0 && l->text.text[len - 1] == ' ') {
        len--;
    }
    for (size_t k = 0; k < len;) {
        size_t from = k;
        const char *sequence;

        while (k < len && l->colours.text[k] == l->colours.text[from]) {
            k++;
        }
        sequence = view_colour(view, SEQUENCES[l->colours.text[from] - 'a']);
        printf("%s%.*s%s", sequence, (int)(k - from), l->text.text + from,
               sequence[0] != '\0' ? "\033[0m" : "");
    }
    printf("\n");
}

static int print_once(struct top *t, struct err *err)
{
    int rc = topdata_fetch(&t->data, t->cli, &t->view.filter, err);

    if (rc != 0) {
        return rc;
    }
    if (t->cli->view.format != VIEW_TABLE && t->cli->view.format != VIEW_WIDE) {
        CLEANUP(answer_freep)
        json_t *all = json_pack("{s:O,s:O,s:O}", "pools", t->data.pools, "queues", t->data.queues,
                                "jobs", t->data.jobs);

        if (!view_raw(&t->cli->view, all)) {
            return err_set(err, ERR_INVALID, "top has no names: use -o table, json or yaml");
        }
        return 0;
    }
    t->view.width = width_of_output();
    t->view.now_ms = display_now_ms();
    toppage_make(&t->page, &t->view, &t->data);
    for (size_t i = 0; i < t->page.lines.count; i++) {
        print_line(&t->cli->view, &t->page.lines.items[i]);
    }
    return 0;
}

/* ---- keys ---- */

static void stop_typing(struct top *t)
{
    t->asks = 0;
    t->view.prompt = NULL;
}

static void on_typed(struct top *t, int key)
{
    size_t len = strlen(t->typed);

    if (key == TOPSCREEN_ESCAPE) {
        stop_typing(t);
        return;
    }
    if (key == TOPSCREEN_ENTER) {
        bool user = t->asks == 'u';

        set_filter(user ? &t->user : &t->queue, user ? &t->view.filter.user : &t->view.filter.queue,
                   t->typed);
        stop_typing(t);
        t->look = true;
        t->looked_ms = 0;
        return;
    }
    if (key == TOPSCREEN_BACKSPACE && len > 0) {
        t->typed[len - 1] = '\0';
    } else if (key > 0x20 && key < 0x7f && len + 1 < sizeof(t->typed)) {
        t->typed[len] = (char)key;
        t->typed[len + 1] = '\0';
    }
    snprintf(t->prompt, sizeof(t->prompt), "only of %s (Enter alone: all): %s_",
             t->asks == 'u' ? "user" : "queue", t->typed);
    t->view.prompt = t->prompt;
}

static void ask(struct top *t, char what)
{
    t->asks = what;
    t->typed[0] = '\0';
    on_typed(t, 0);
}

/* Also the letters that pagers have for it; a terminal need not have the other keys. */
static void scroll_jobs(struct top *t, int key)
{
    size_t page = t->page.jobs_max;
    size_t *at = &t->view.scroll;

    switch (key) {
    case 'k':
    case TOPSCREEN_UP:
        *at -= *at > 0 ? 1 : 0;
        break;
    case 'j':
    case TOPSCREEN_DOWN:
        *at += 1; /* the page brings it into its range */
        break;
    case 'b':
    case TOPSCREEN_PAGE_UP:
        *at -= *at > page ? page : *at;
        break;
    case ' ':
    case TOPSCREEN_PAGE_DOWN:
        *at += page;
        break;
    case 'g':
    case TOPSCREEN_HOME:
        *at = 0;
        break;
    case 'G':
    case TOPSCREEN_END:
        *at = SIZE_MAX / 2;
        break;
    default:
        break;
    }
}

static void on_letter(struct top *t, int key)
{
    struct toppage_view *v = &t->view;

    switch (key) {
    case 'q':
        t->quit = true;
        break;
    case 's':
        v->sort = (enum toppage_sort)(((int)v->sort + 1) % TOPPAGE_SORT_COUNT);
        break;
    case 'S':
        v->reverse = !v->reverse;
        break;
    case 'w':
        v->show = (enum toppage_show)(((int)v->show + 1) % TOPPAGE_SHOW_COUNT);
        break;
    case 'p':
        v->no_pools = !v->no_pools;
        break;
    case 't':
        v->no_queues = !v->no_queues;
        break;
    case 'u':
    case 'f':
        ask(t, (char)key);
        break;
    case 'x':
        set_filter(&t->queue, &v->filter.queue, NULL);
        set_filter(&t->user, &v->filter.user, NULL);
        v->show = TOPPAGE_ALL;
        t->look = true;
        t->looked_ms = 0;
        break;
    case 'r':
        t->look = true;
        t->looked_ms = 0;
        break;
    case '?':
    case 'h':
        v->help = true;
        break;
    default:
        break;
    }
}

static void on_key(struct top *t, int key)
{
    t->draw = true;
    if (t->asks != 0) {
        on_typed(t, key);
    } else if (t->view.help) {
        t->view.help = false;
    } else {
        scroll_jobs(t, key);
        on_letter(t, key);
    }
}

/* ---- the loop ---- */

static void on_event(void *arg, const char *id, const char *event, const char *data)
{
    struct top *t = arg;

    (void)id;
    (void)event;
    (void)data;
    t->look = true;
}

static int open_signals(void)
{
    static const int SIGNALS[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP};
    sigset_t set;
    int fd;

    sigemptyset(&set);
    for (size_t i = 0; i < ARRAY_LEN(SIGNALS); i++) {
        sigaddset(&set, SIGNALS[i]);
    }
    CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
    fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    CHECK(fd >= 0);
    return fd;
}

static void take_signals(struct top *t)
{
    struct signalfd_siginfo info;

    while (read(t->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if (info.ssi_signo == SIGWINCH) {
            topscreen_resize();
            t->draw = true;
        } else if (info.ssi_signo == SIGTSTP) {
            topscreen_stop();
            t->draw = true;
        } else {
            t->quit = true;
        }
    }
}

static bool is_away(int rc)
{
    return rc == ERR_UNREACHABLE || rc == ERR_BUSY || rc == ERR_TIMEOUT || rc == ERR_FROZEN;
}

static int look(struct top *t, int64_t now_ms, struct err *err)
{
    int rc = topdata_fetch(&t->data, t->cli, &t->view.filter, err);

    t->look = false;
    t->looked_ms = display_now_ms();
    t->draw = true;
    t->view.message = NULL;
    if (rc == 0) {
        t->away_ms = 0;
    } else if (is_away(rc)) {
        t->away_ms = t->away_ms != 0 ? t->away_ms : now_ms;
        rc = 0;
    } else if (rc == ERR_NOT_FOUND || rc == ERR_INVALID) { /* of a filter: it can be mended */
        snprintf(t->notice, sizeof(t->notice), "%.*s", NOTICE_BYTES - 1, err->text);
        t->view.message = t->notice;
        rc = 0;
    }
    return rc;
}

static void draw(struct top *t, int64_t now_ms)
{
    struct str span = {0};

    t->view.now_ms = now_ms;
    if (t->away_ms != 0) {
        display_span(&span, now_ms - t->away_ms);
        snprintf(t->notice, sizeof(t->notice), "musterd is away (%s)", str_text(&span));
        t->view.message = t->notice;
        str_fini(&span);
    }
    topscreen_size(&t->view.width, &t->view.height);
    toppage_make(&t->page, &t->view, &t->data);
    topscreen_draw(&t->page);
    t->drawn_s = now_ms / 1000;
    t->draw = false;
}

static int step(struct top *t, struct err *err)
{
    int64_t now_ms = display_now_ms();
    int64_t since_ms = now_ms - t->looked_ms;
    int rc = 0;
    int key;

    if ((t->look && since_ms >= LOOK_MS_MIN) || since_ms >= LOOK_MS_MAX ||
        (t->away_ms != 0 && since_ms >= AWAY_MS)) {
        rc = look(t, now_ms, err);
    }
    rc = rc != 0 ? rc : sse_reader_step(&t->events, now_ms, err);
    if (rc != 0) {
        return rc;
    }
    t->look = t->look || (t->events.stream == NULL && t->away_ms == 0); /* it broke: why? */
    if (t->draw || now_ms / 1000 != t->drawn_s) {
        draw(t, display_now_ms());
    }
    client_poll(t->cli->client, STDIN_FILENO, STEP_MS);
    take_signals(t);
    while (!t->quit && (key = topscreen_key()) >= 0) {
        on_key(t, key);
    }
    return 0;
}

/* In the child of the guard. */
static int run_screen(void *arg)
{
    struct top *t = arg;
    struct err err;
    int rc = cli_client(t->cli, &err);

    t->signals = open_signals();
    rc = rc != 0 ? rc : topdata_fetch(&t->data, t->cli, &t->view.filter, &err);
    rc = rc != 0 ? rc : topscreen_open(t->cli->view.colour, &err);
    if (rc != 0) {
        return cli_fail(t->cli, &err);
    }
    t->looked_ms = display_now_ms();
    sse_reader_init(&t->events, t->cli->client, "/v1/events", on_event, t);
    while (rc == 0 && !t->quit) {
        rc = step(t, &err);
    }
    topscreen_close();
    sse_reader_fini(&t->events);
    return rc != 0 ? cli_fail(t->cli, &err) : 0;
}

static int run_top(struct cli *cli, const struct args *args)
{
    struct top t = {.cli = cli};
    struct err err;
    int rc = read_args(&t, args, &err);
    int status = 0;

    if (cli->timeout_ms == 0) {
        cli->timeout_ms = ANSWER_MS;
    }
    if (rc == 0 && (args_has(args, "once") || cli->view.format != VIEW_TABLE)) {
        rc = print_once(&t, &err);
    } else if (rc == 0) {
        status = termguard_run(run_screen, &t);
    }
    status = rc != 0 ? cli_fail(cli, &err) : status;
    toppage_fini(&t.page);
    topdata_fini(&t.data);
    mem_free(t.queue);
    mem_free(t.user);
    return status;
}

static const struct argp_option TOP_OPTIONS[] = {
    {"once", '1', NULL, 0, "print one page and end, for scripts", 1},
    {"queue", 'q', "NAME", 0, "only jobs of this queue and those below it", 1},
    {"user", 'u', "NAME", 0, "only jobs of this user", 1},
    {"sort", LONG, "FIELD", 0, "order of the jobs: state (default), age, gpus, queue, user", 1},
    {"reverse", LONG, NULL, 0, "the other way round", 1},
    {0}};

const struct verb TOP_VERBS[] = {{"top", "", "watch pools, queues and jobs on the terminal",
                                  "A pool's bar shows # used, + of it borrowed, ~ promised, . "
                                  "free, ! down.  The page follows the "
                                  "events; keys sort, filter and scroll (? lists them), q ends.  "
                                  "With -o json or yaml one answer "
                                  "is printed.",
                                  TOP_OPTIONS, 0, 0, VERB_MIXED, run_top},
                                 {0}};
