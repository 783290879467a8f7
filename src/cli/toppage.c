/* toppage - the header, then pools, then queues, then what is left of the height for the jobs.
 *
 * The pools get at most a fifth of the lines and the queues a third, so that jobs are seen on a
 * terminal of 24 lines whatever the site is like; what had to be left out is counted. */
#include "cli/toppage.h"

#include "base/check.h"
#include "base/quantity.h"
#include "cli/display.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BAR_MAX    60
#define DEPTH_MAX  64
#define WIDTH_FULL 100 /* from here on the columns of jobs are as wide as they want */

const char *const TOPPAGE_SORT_NAMES[] = {
#define TOPPAGE_NAME(id, name) name,
    TOPPAGE_SORTS(TOPPAGE_NAME)
#undef TOPPAGE_NAME
        NULL};

static struct textline *new_line(struct toppage *p)
{
    vec_push(&p->lines, (struct textline){0});
    return &p->lines.items[p->lines.count - 1];
}

static void addf(struct textline *l, enum textline_colour colour, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

static void addf(struct textline *l, enum textline_colour colour, const char *fmt, ...)
{
    char text[512];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    textline_add(l, colour, text);
}

static void cell(struct textline *l, enum textline_colour colour, const char *text, int width,
                 bool right)
{
    if (l->columns > 0) {
        textline_add(l, TEXTLINE_PLAIN, " ");
    }
    textline_cell(l, colour, text, width, right);
}

/* An amount, or nothing where it is zero. */
static const char *amount(const json_t *object, const char *key)
{
    const char *text = member_text(object, key);

    return strcmp(text, "0") == 0 ? "" : text;
}

/* ---- the header ---- */

static bool any_simulated(const struct topdata *data)
{
    const json_t *pool;
    size_t i;

    json_array_foreach(data->pools, i, pool)
    {
        if (member_flag(pool, "simulated")) {
            return true;
        }
    }
    return false;
}

static bool is_waiting(const json_t *job)
{
    const char *state = member_text(job, "state");

    return strcmp(state, "queued") == 0 || strcmp(state, "held") == 0;
}

/* Without a filter the queues know the numbers, however many jobs were left out. */
static void count_jobs(const struct toppage_view *view, const struct topdata *data,
                       int64_t *ret_running, int64_t *ret_waiting)
{
    bool all = view->filter.queue == NULL && view->filter.user == NULL;
    const json_t *item;
    size_t i;

    *ret_running = *ret_waiting = 0;
    json_array_foreach(data->jobs, i, item)
    {
        *(is_waiting(item) ? ret_waiting : ret_running) += all && data->more ? 0 : 1;
    }
    json_array_foreach(data->queues, i, item)
    {
        if (all && data->more && member_flag(item, "leaf")) {
            *ret_running += member_int(item, "running");
            *ret_waiting += member_int(item, "waiting");
        }
    }
}

static void add_header(struct toppage *p, const struct toppage_view *view,
                       const struct topdata *data)
{
    struct textline *l = new_line(p);
    int64_t running, waiting;
    struct str now = {0};

    count_jobs(view, data, &running, &waiting);
    display_time(&now, view->now_ms, view->local);
    textline_add(l, TEXTLINE_TITLE, "muster top");
    textline_add(l, TEXTLINE_DIM, any_simulated(data) ? " (simulated GPUs)" : "");
    if (view->message != NULL) {
        addf(l, TEXTLINE_RED, "  %s", view->message);
    }
    addf(l, TEXTLINE_PLAIN, "  %s  jobs: %" PRId64 " run, %" PRId64 " wait%s", str_text(&now),
         running, waiting, data->more ? ", not all are shown" : "");
    str_fini(&now);
}

/* ---- pools ---- */

/* Borrowed units of a pool: what leaf queues use of it beyond their reserves. */
static int64_t borrowed_gu(const struct topdata *data, const char *pool)
{
    const json_t *queue, *part;
    int64_t sum = 0;
    size_t i, k;

    json_array_foreach(data->queues, i, queue)
    {
        if (!member_flag(queue, "leaf")) {
            continue;
        }
        json_array_foreach(json_object_get(queue, "pools"), k, part)
        {
            sum +=
                strcmp(member_text(part, "pool"), pool) == 0 ? member_int(part, "borrowed_gu") : 0;
        }
    }
    return sum;
}

static void add_bar_part(struct textline *l, enum textline_colour colour, char sign, int count)
{
    char text[BAR_MAX + 1];

    count = count < 0 ? 0 : count > BAR_MAX ? BAR_MAX : count;
    memset(text, sign, (size_t)count);
    text[count] = '\0';
    textline_add(l, colour, text);
}

/* [####++++~~....!!]: used, borrowed, promised, free, down. */
static void add_bar(struct textline *l, const json_t *pool, int64_t borrowed, int width)
{
    int64_t whole = member_int(pool, "capacity_gu") + member_int(pool, "down_gu");
    int64_t used = member_int(pool, "used_gu");
    int64_t ends[5] = {used - borrowed, used, used + member_int(pool, "nominated_gu"),
                       whole - member_int(pool, "down_gu"), whole};
    static const struct {
        enum textline_colour colour;
        char sign;
    } PARTS[5] = {{TEXTLINE_GREEN, '#'},
                  {TEXTLINE_YELLOW, '+'},
                  {TEXTLINE_CYAN, '~'},
                  {TEXTLINE_DIM, '.'},
                  {TEXTLINE_RED, '!'}};
    int at = 0;

    textline_add(l, TEXTLINE_PLAIN, "[");
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        /* units of a large site by a width of 60 are far from 63 bits */
        int64_t end = whole > 0 ? (ends[i] * width + whole / 2) / whole : width;
        int to = end > width ? width : (int)end;

        to = i + 1 == ARRAY_LEN(ends) ? width : to;
        add_bar_part(l, PARTS[i].colour, PARTS[i].sign, to - at);
        at = to > at ? to : at;
    }
    textline_add(l, TEXTLINE_PLAIN, "]");
}

static void add_pool(struct toppage *p, const struct toppage_view *view, const struct topdata *data,
                     const json_t *pool)
{
    const char *name = member_text(pool, "pool");
    int64_t borrowed = borrowed_gu(data, name);
    struct textline *l = new_line(p);
    int bar = view->width - 14 - 2 - 38;
    char gpus[QUANTITY_TEXT_MAX];

    bar = bar < 8 ? 8 : bar > BAR_MAX ? BAR_MAX : bar;
    textline_cell(l, TEXTLINE_PLAIN, name, 13, false);
    textline_add(l, TEXTLINE_PLAIN, " ");
    add_bar(l, pool, borrowed, bar);
    addf(l, TEXTLINE_PLAIN, " %s/%s used", member_text(pool, "used_gpus"),
         member_text(pool, "capacity_gpus")[0] != '\0' ? member_text(pool, "capacity_gpus")
                                                       : member_text(pool, "gpus"));
    quantity_gpus_text(borrowed, gpus);
    if (borrowed > 0) {
        addf(l, TEXTLINE_YELLOW, ", %s borrowed", gpus);
    }
    addf(l, TEXTLINE_PLAIN, ", %s free", member_text(pool, "free_gpus"));
    if (amount(pool, "nominated_gpus")[0] != '\0') {
        addf(l, TEXTLINE_CYAN, ", %s promised", amount(pool, "nominated_gpus"));
    }
    if (amount(pool, "down_gpus")[0] != '\0') {
        addf(l, TEXTLINE_RED, ", %s down", amount(pool, "down_gpus"));
    }
}

static void add_more(struct toppage *p, size_t count, const char *what)
{
    if (count > 0) {
        addf(new_line(p), TEXTLINE_DIM, "... %zu more %s", count, what);
    }
}

static void add_pools(struct toppage *p, const struct toppage_view *view,
                      const struct topdata *data, size_t lines)
{
    size_t count = json_array_size(data->pools);
    size_t shown = count <= lines ? count : lines > 0 ? lines - 1 : 0;

    for (size_t i = 0; i < shown; i++) {
        add_pool(p, view, data, json_array_get(data->pools, i));
    }
    if (lines > 0) {
        add_more(p, count - shown, "pools");
    }
}

/* ---- queues ---- */

struct json_list { /* a vec */
    json_t **items;
    size_t count;
    size_t room;
};

static void add_queue_rows(struct json_list *rows, const struct topdata *data, const char *parent,
                           int depth)
{
    json_t *queue, *part;
    size_t i, k;

    json_array_foreach(data->queues, i, queue)
    {
        if (depth >= DEPTH_MAX || strcmp(member_text(queue, "parent"), parent) != 0) {
            continue;
        }
        json_array_foreach(json_object_get(queue, "pools"), k, part)
        {
            json_t *row = json_copy(part);

            json_object_set(row, "of", queue);
            json_object_set_new(row, "depth", json_integer(depth));
            json_object_set_new(row, "first", json_boolean(k == 0));
            vec_push(rows, row);
        }
        add_queue_rows(rows, data, member_text(queue, "queue"), depth + 1);
    }
}

static const int QUEUE_WIDTHS[] = {16, 10, 8, 8, 8, 6, 7, 4, 4};

static void add_queue(struct toppage *p, const json_t *row)
{
    const json_t *queue = json_object_get(row, "of");
    bool first = member_flag(row, "first");
    struct textline *l = new_line(p);
    struct str name = {0}, run = {0}, wait = {0};
    const int *w = QUEUE_WIDTHS;

    if (first) {
        str_addf(&name, "%*s%s", (int)member_int(row, "depth") * 2, "",
                 member_text(queue, "queue"));
        str_add_int(&run, member_int(queue, "running"));
        str_add_int(&wait, member_int(queue, "waiting"));
    }
    cell(l, TEXTLINE_PLAIN, str_text(&name), w[0], false);
    cell(l, TEXTLINE_PLAIN, member_text(row, "pool"), w[1], false);
    cell(l, TEXTLINE_PLAIN, member_text(row, "reserved_gpus"), w[2], true);
    cell(l, TEXTLINE_GREEN, member_text(row, "used_gpus"), w[3], true);
    cell(l, TEXTLINE_YELLOW, amount(row, "borrowed_gpus"), w[4], true);
    cell(l, TEXTLINE_CYAN, amount(row, "lent_gpus"), w[5], true);
    cell(l, TEXTLINE_MAGENTA, amount(row, "waiting_gpus"), w[6], true);
    cell(l, TEXTLINE_PLAIN, strcmp(str_text(&run), "0") == 0 ? "" : str_text(&run), w[7], true);
    cell(l, TEXTLINE_PLAIN, strcmp(str_text(&wait), "0") == 0 ? "" : str_text(&wait), w[8], true);
    str_fini(&name);
    str_fini(&run);
    str_fini(&wait);
}

static void add_queues(struct toppage *p, const struct topdata *data, size_t lines)
{
    static const char *const TITLES[] = {"QUEUE", "POOL",    "RESERVED", "USED", "BORROWED",
                                         "LENT",  "WAITING", "RUN",      "WAIT"};
    struct json_list rows = {0};
    struct textline *l;
    size_t shown;

    add_queue_rows(&rows, data, "", 0);
    shown = rows.count + 1 <= lines ? rows.count : lines > 2 ? lines - 2 : 0;
    if (rows.count > 0 && lines > 1) {
        l = new_line(p);
        for (size_t i = 0; i < ARRAY_LEN(TITLES); i++) {
            cell(l, TEXTLINE_TITLE, TITLES[i], QUEUE_WIDTHS[i], i > 1);
        }
        for (size_t i = 0; i < shown; i++) {
            add_queue(p, rows.items[i]);
        }
        add_more(p, rows.count - shown, "lines of queues");
    }
    for (size_t i = 0; i < rows.count; i++) {
        json_decref(rows.items[i]);
    }
    vec_fini(&rows);
}

/* ---- jobs ---- */

static int state_rank(const json_t *job)
{
    static const char *const ORDER[] = {"running", "stopping", "starting", "queued", "held"};

    for (int i = 0; i < (int)ARRAY_LEN(ORDER); i++) {
        if (strcmp(member_text(job, "state"), ORDER[i]) == 0) {
            return i;
        }
    }
    return (int)ARRAY_LEN(ORDER);
}

static int by_number(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare(const void *pa, const void *pb, void *arg)
{
    const json_t *a = *(json_t *const *)pa, *b = *(json_t *const *)pb;
    const struct toppage_view *view = arg;
    int order = 0;

    switch (view->sort) {
    case TOPPAGE_BY_STATE:
        order = by_number(state_rank(a), state_rank(b));
        break;
    case TOPPAGE_BY_AGE:
        order = by_number(member_int(a, "submitted_ms"), member_int(b, "submitted_ms"));
        break;
    case TOPPAGE_BY_GPUS:
        order = by_number(member_int(b, "requested_gu"), member_int(a, "requested_gu"));
        break;
    case TOPPAGE_BY_QUEUE:
        order = strcmp(member_text(a, "queue"), member_text(b, "queue"));
        break;
    case TOPPAGE_BY_USER:
        order = strcmp(member_text(a, "user"), member_text(b, "user"));
        break;
    case TOPPAGE_SORT_COUNT:
        break;
    }
    order = view->reverse ? -order : order;
    return order != 0 ? order : by_number(member_int(a, "job"), member_int(b, "job"));
}

static enum textline_colour colour_of(const json_t *job)
{
    static const enum textline_colour COLOURS[] = {TEXTLINE_GREEN, TEXTLINE_YELLOW, TEXTLINE_CYAN,
                                                   TEXTLINE_MAGENTA, TEXTLINE_MAGENTA};
    int rank = state_rank(job);

    return rank < (int)ARRAY_LEN(COLOURS) ? COLOURS[rank] : TEXTLINE_PLAIN;
}

enum {
    COLUMN_JOB,
    COLUMN_NAME,
    COLUMN_USER,
    COLUMN_QUEUE,
    COLUMN_ST,
    COLUMN_AMOUNT,
    COLUMN_KIND,
    COLUMN_SPAN,
    COLUMN_INFO,
    COLUMNS
};

static void job_cells(const struct toppage_view *view, const json_t *job, struct str *ret)
{
    const char *kind = member_text(job, "kind"), *split = member_text(job, "split");
    const char *held = member_text(job, "held_gpus");
    int64_t from_ms = member_int(job, is_waiting(job) ? "submitted_ms" : "started_ms");

    str_add(&ret[COLUMN_JOB], member_text(job, "job"));
    display_text(&ret[COLUMN_NAME], member_text(job, "name"));
    display_text(&ret[COLUMN_USER], member_text(job, "user"));
    str_add(&ret[COLUMN_QUEUE], member_text(job, "queue"));
    str_add(&ret[COLUMN_ST], member_text(job, "state"));
    str_addf(&ret[COLUMN_AMOUNT], "%s/%s", held[0] != '\0' ? held : "0",
             member_text(job, "requested_gpus"));
    str_add(&ret[COLUMN_KIND], strcmp(kind, "mixed") == 0 && split[0] != '\0' ? split : kind);
    if (from_ms > 0) {
        display_span(&ret[COLUMN_SPAN], view->now_ms - from_ms);
    }
    display_text(&ret[COLUMN_INFO], member_text(job, "info"));
}

/* As wide as the widest, within what the terminal can give. */
static void job_widths(const struct toppage_view *view, const struct json_list *jobs, int *ret)
{
    static const int MOST[2][COLUMN_INFO] = {{8, 10, 8, 12, 8, 9, 8, 8},
                                             {12, 24, 16, 24, 8, 16, 12, 8}};
    static const int LEAST[COLUMN_INFO] = {3, 4, 4, 5, 2, 4, 4, 8}; /* the titles */
    const int *most = MOST[view->width >= WIDTH_FULL ? 1 : 0];
    int used = 0;

    memcpy(ret, LEAST, sizeof(LEAST));
    for (size_t i = 0; i < jobs->count; i++) {
        struct str cells[COLUMNS] = {0};

        job_cells(view, jobs->items[i], cells);
        for (int k = 0; k < COLUMN_INFO; k++) {
            int width = textline_width(str_text(&cells[k]));

            width = width < most[k] ? width : most[k];
            ret[k] = width > ret[k] ? width : ret[k];
        }
        for (int k = 0; k < COLUMNS; k++) {
            str_fini(&cells[k]);
        }
    }
    for (int k = 0; k < COLUMN_INFO; k++) {
        used += ret[k] + 1;
    }
    ret[COLUMN_INFO] = view->width > used ? view->width - used : 0;
}

static void add_job(struct toppage *p, const struct toppage_view *view, const json_t *job,
                    const int *widths)
{
    struct textline *l = new_line(p);
    struct str cells[COLUMNS] = {0};

    job_cells(view, job, cells);
    for (int k = 0; k < COLUMNS; k++) {
        bool right = k == COLUMN_JOB || k == COLUMN_AMOUNT || k == COLUMN_SPAN;

        cell(l, k == COLUMN_ST ? colour_of(job) : TEXTLINE_PLAIN, str_text(&cells[k]), widths[k],
             right);
        str_fini(&cells[k]);
    }
}

static void pick_jobs(const struct toppage_view *view, const struct topdata *data,
                      struct json_list *ret)
{
    json_t *job;
    size_t i;

    json_array_foreach(data->jobs, i, job)
    {
        if (view->show == TOPPAGE_ALL || (view->show == TOPPAGE_WAITING) == is_waiting(job)) {
            vec_push(ret, job);
        }
    }
    if (ret->count > 0) {
        qsort_r(ret->items, ret->count, sizeof(ret->items[0]), compare, (void *)(uintptr_t)view);
    }
}

static void add_jobs(struct toppage *p, struct toppage_view *view, const struct topdata *data,
                     size_t lines)
{
    static const char *const TITLES[] = {"JOB",  "NAME", "USER",     "QUEUE", "ST",
                                         "GPUS", "KIND", "WAIT/RUN", "INFO"};
    struct json_list jobs = {0};
    int widths[COLUMNS];
    struct textline *l;

    pick_jobs(view, data, &jobs);
    p->jobs_max = lines > 1 ? lines - 1 : 0;
    if (view->scroll + p->jobs_max > jobs.count) {
        view->scroll = jobs.count > p->jobs_max ? jobs.count - p->jobs_max : 0;
    }
    job_widths(view, &jobs, widths);
    l = new_line(p);
    for (size_t k = 0; k < ARRAY_LEN(TITLES); k++) {
        cell(l, TEXTLINE_TITLE, TITLES[k], widths[k],
             k == COLUMN_JOB || k == COLUMN_AMOUNT || k == COLUMN_SPAN);
    }
    for (size_t i = view->scroll; i < jobs.count && i - view->scroll < p->jobs_max; i++) {
        add_job(p, view, jobs.items[i], widths);
        p->jobs_shown++;
    }
    if (jobs.count == 0 && data->jobs != NULL) {
        textline_add(new_line(p), TEXTLINE_DIM, "no jobs");
    }
    vec_fini(&jobs);
}

/* ---- the page ---- */

static void add_help(struct toppage *p)
{
    static const char *const LINES[] = {
        "q           quit",
        "s S         next order of jobs, the other way round",
        "w           all jobs, those that run, those that wait",
        "u f         only jobs of a user, only of a queue; Enter alone shows all again",
        "x           show all again",
        "p t         pools, queues: hide and show",
        "arrows, Page Up, Page Down, Home, End, k j b Space g G   scroll the jobs",
        "r           ask now",
        "",
        "A pool's bar: # used, + of it borrowed, ~ promised, . free, ! down.",
        "GPUS of a job is held/asked; KIND on whose quota it runs: reserved, borrowed, or both",
        "as in 24+8.  INFO is the first thing a waiting job waits for; muster why JOB says all.",
        "",
        "Any key goes back.",
    };

    for (size_t i = 0; i < ARRAY_LEN(LINES); i++) {
        textline_add(new_line(p), TEXTLINE_PLAIN, LINES[i]);
    }
}

static void add_footer(struct toppage *p, const struct toppage_view *view)
{
    static const char *const SHOW[] = {"all", "running", "waiting"};
    struct textline *l = new_line(p);

    if (view->prompt != NULL) {
        textline_add(l, TEXTLINE_TITLE, view->prompt);
        return;
    }
    addf(l, TEXTLINE_DIM, "q quit  ? help  s order: %s%s  w show: %s",
         TOPPAGE_SORT_NAMES[view->sort], view->reverse ? " reversed" : "", SHOW[view->show]);
    if (view->filter.queue != NULL) {
        addf(l, TEXTLINE_YELLOW, "  queue %s", view->filter.queue);
    }
    if (view->filter.user != NULL) {
        addf(l, TEXTLINE_YELLOW, "  user %s", view->filter.user);
    }
}

static void clear(struct toppage *p)
{
    for (size_t i = 0; i < p->lines.count; i++) {
        textline_fini(&p->lines.items[i]);
    }
    vec_clear(&p->lines);
    p->jobs_shown = 0;
    p->jobs_max = 0;
}

void toppage_make(struct toppage *p, struct toppage_view *view, const struct topdata *data)
{
    size_t all = view->height > 0 ? (size_t)view->height : SIZE_MAX / 4;
    size_t rest = all > 2 ? all - 2 : 0; /* without header and footer */
    size_t used;

    clear(p);
    add_header(p, view, data);
    if (view->help) {
        add_help(p);
    } else {
        add_pools(p, view, data, view->no_pools || rest < 4 ? 0 : rest / 5 + 1);
        add_queues(p, data, view->no_queues || rest < 8 ? 0 : rest / 3 + 1);
        used = p->lines.count;
        add_jobs(p, view, data, all > used + 1 ? all - used - 1 : 0);
    }
    if (view->height > 0) {
        while (p->lines.count + 1 < all) {
            (void)new_line(p);
        }
        add_footer(p, view);
        while (p->lines.count > all) {
            textline_fini(&p->lines.items[p->lines.count - 1]);
            p->lines.count--;
        }
    }
    for (size_t i = 0; i < p->lines.count; i++) {
        textline_cut(&p->lines.items[i], view->width);
    }
}

void toppage_fini(struct toppage *p)
{
    clear(p);
    vec_fini(&p->lines);
}
