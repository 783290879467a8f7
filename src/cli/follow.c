/* follow - one loop over signals, events and logs.
 *
 * Events say when to look; what is true is always asked of the job itself, so a missed event costs
 * seconds, never the truth.  When musterd is away the job goes on and so does the waiting. */
#include "cli/follow.h"

#include "base/check.h"
#include "base/mem.h"
#include "cli/display.h"
#include "cli/logfollow.h"
#include "cli/sse.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define LOOK_MS  3000 /* ask the job at least so often */
#define DRAIN_MS 3000 /* after the end: so long for the rest of the logs */
#define STEP_MS  250

struct follow {
    struct cli *cli;
    const char *job;
    const struct follow_want *want;
    int signals;
    json_t *last; /* the job as last seen, owned */
    struct sse_reader events;
    VEC(struct logfollow *) logs;
    int64_t attempt; /* whose logs are open */
    int64_t looked_ms;
    bool look; /* something happened */
    bool away;
    bool detach;
    bool cancelled;
    char *info; /* the last reason for waiting that was shown */
};

static void say(const struct follow *f, const char *text)
{
    struct str safe = {0};

    if (!f->want->quiet) {
        display_text(&safe, text);
        fprintf(stderr, "%smuster: %s%s\n", view_colour(&f->cli->view, "\033[2m"), str_text(&safe),
                view_colour(&f->cli->view, "\033[0m"));
        str_fini(&safe);
    }
}

static void on_event(void *arg, const char *id, const char *event, const char *data)
{
    static const char *const QUIET[] = {"job_submitted", "task_running", "task_ended"};
    struct follow *f = arg;
    json_t *record = json_loads(data, 0, NULL);
    const char *text = member_text(record, "text");
    bool quiet = text[0] == '\0';

    (void)id;
    for (size_t i = 0; i < ARRAY_LEN(QUIET); i++) {
        quiet = quiet || strcmp(QUIET[i], event) == 0;
    }
    if (!quiet) {
        say(f, text);
    }
    f->look = true;
    json_decref(record);
}

static bool is_over(const json_t *job)
{
    const char *state = member_text(job, "state");

    return strcmp(state, "succeeded") == 0 || strcmp(state, "failed") == 0 ||
           strcmp(state, "cancelled") == 0;
}

int follow_exit_status(const json_t *job)
{
    const json_t *end = json_object_get(job, "exit");
    int64_t signal = member_int(end, "signal");
    int64_t status = member_int(end, "status");
    const char *state = member_text(job, "state");

    if (strcmp(state, "succeeded") == 0) {
        return 0;
    }
    if (signal > 0) {
        return 128 + (int)(signal & 127);
    }
    if (status > 0) {
        return (int)(status & 255);
    }
    return strcmp(state, "cancelled") == 0 ? 128 + SIGINT : 1;
}

/* ---- logs ---- */

static int open_log(struct follow *f, int64_t task, const char *stream, bool first, struct err *err)
{
    struct logfollow *l = logfollow_new(f->cli->client, f->job, f->attempt, task, stream);
    char prefix[32];

    if (f->want->all) {
        snprintf(prefix, sizeof(prefix), "[%" PRId64 "] ", task);
        logfollow_set_prefix(l, prefix);
    }
    vec_push(&f->logs, l);
    return first && f->want->visit && f->want->tail >= 0 ? logfollow_begin(l, f->want->tail, err)
                                                         : 0;
}

/* A new attempt writes new logs; those of the old one are read to their end beside. */
static int open_logs(struct follow *f, struct err *err)
{
    bool first = f->attempt == 0;
    int64_t tasks = f->want->all ? member_int(f->last, "tasks_want") : 1;
    const char *state = member_text(f->last, "state");
    int64_t attempt = member_int(f->last, "attempt");

    if (!f->want->logs || attempt <= f->attempt || strcmp(state, "queued") == 0 ||
        strcmp(state, "held") == 0) {
        return 0;
    }
    f->attempt = attempt;
    for (int64_t i = 0; i < (tasks > 0 ? tasks : 1); i++) {
        int rc = open_log(f, i, "stdout", first, err);

        rc = rc != 0 ? rc : open_log(f, i, "stderr", first, err);
        if (rc != 0) {
            return rc;
        }
    }
    return 0;
}

static int step_logs(struct follow *f, int64_t now_ms, struct err *err)
{
    for (size_t i = 0; i < f->logs.count; i++) {
        struct logfollow *l = f->logs.items[i];
        int rc = logfollow_step(l, now_ms, err);

        if (rc != 0) {
            return rc;
        }
        if (l->ended) {
            logfollow_free(l);
            vec_remove(&f->logs, i);
            i--;
        }
    }
    return 0;
}

/* The job is over: what is left of its logs, for a bounded time. */
static void drain_logs(struct follow *f)
{
    int64_t until_ms = display_now_ms() + DRAIN_MS;
    struct err err;

    while (f->logs.count > 0 && display_now_ms() < until_ms) {
        if (step_logs(f, display_now_ms(), &err) != 0) {
            return;
        }
        for (size_t i = 0; i < f->logs.count; i++) {
            if (f->logs.items[i]->missing != 0) { /* it never wrote, or the log is gone */
                logfollow_free(f->logs.items[i]);
                vec_remove(&f->logs, i);
                i--;
            }
        }
        if (f->logs.count > 0) {
            client_poll(f->cli->client, -1, STEP_MS);
        }
    }
}

/* ---- the job ---- */

/* Are two texts the same but for their numbers?  A countdown is said once. */
static bool alike(const char *a, const char *b)
{
    for (;;) {
        a += strspn(a, "0123456789");
        b += strspn(b, "0123456789");
        if (*a != *b || *a == '\0') {
            return *a == *b;
        }
        a++;
        b++;
    }
}

static void show_waiting(struct follow *f)
{
    const char *state = member_text(f->last, "state");
    const char *info = member_text(f->last, "info");
    struct str text = {0};

    if (strcmp(state, "queued") != 0 && strcmp(state, "held") != 0) {
        mem_free(f->info);
        f->info = NULL;
        return;
    }
    if (f->info != NULL && alike(f->info, info)) {
        return;
    }
    mem_free(f->info);
    f->info = mem_text(info);
    str_addf(&text, "job %s is %s%s%s", f->job, state, info[0] != '\0' ? ": " : "", info);
    say(f, str_text(&text));
    str_fini(&text);
}

static int look(struct follow *f, int64_t now_ms, struct err *err)
{
    struct str path = {0};
    json_t *job = NULL;
    int rc;

    str_add(&path, "/v1/jobs");
    path_add(&path, f->job);
    rc = cli_get(f->cli, str_text(&path), &job, err);
    str_fini(&path);
    f->looked_ms = now_ms;
    f->look = false;
    if (rc == ERR_UNREACHABLE || rc == ERR_BUSY || rc == ERR_TIMEOUT || rc == ERR_FROZEN) {
        if (!f->away) {
            say(f, "musterd is away; the job goes on, waiting for it to come back");
        }
        f->away = true;
        return 0;
    }
    if (rc != 0) {
        return rc;
    }
    f->away = false;
    if (f->last == NULL && member_flag(job, "simulated")) {
        say(f, "its GPUs are simulated");
    }
    json_decref(f->last);
    f->last = job;
    show_waiting(f);
    return open_logs(f, err);
}

static int cancel(struct follow *f, struct err *err)
{
    struct str path = {0};
    int rc;

    str_add(&path, "/v1/jobs");
    path_add(&path, f->job);
    str_add(&path, "/cancel");
    rc = cli_post(f->cli, str_text(&path), NULL, NULL, err);
    str_fini(&path);
    f->cancelled = true;
    f->look = true;
    return rc == ERR_JOB_STATE || rc == ERR_CONFLICT ? 0 : rc; /* it ended meanwhile */
}

/* ---- signals ---- */

int follow_signals(void)
{
    sigset_t set;
    int fd;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
    fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    CHECK(fd >= 0);
    return fd;
}

static int next_signal(int fd)
{
    struct signalfd_siginfo info;

    return read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info) ? (int)info.ssi_signo : 0;
}

/* 'y', 'd' or 'c'; a second Ctrl-C, or no more input, detaches. */
static char ask(const struct follow *f)
{
    char line[64];
    ssize_t len;

    fprintf(stderr, "\nmuster: cancel job %s? [y]es / [d]etach / [c]ontinue: ", f->job);
    for (;;) {
        struct pollfd fds[2] = {{STDIN_FILENO, POLLIN, 0}, {f->signals, POLLIN, 0}};

        if (poll(fds, 2, -1) < 0 && errno != EINTR) {
            return 'd';
        }
        if (fds[1].revents != 0 && next_signal(f->signals) != 0) {
            fputc('\n', stderr);
            return 'd';
        }
        if (fds[0].revents == 0) {
            continue;
        }
        len = read(STDIN_FILENO, line, sizeof(line));
        if (len <= 0) {
            return 'd';
        }
        if (line[0] == 'y' || line[0] == 'd' || line[0] == 'c' || line[0] == '\n') {
            return line[0] == '\n' ? 'c' : line[0];
        }
        fprintf(stderr, "muster: y, d or c: ");
    }
}

static int on_signal(struct follow *f, int signal, struct err *err)
{
    bool terminal = isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1;
    char answer = 'y';

    if (signal == SIGHUP || f->want->visit) {
        f->detach = true;
        return 0;
    }
    if (f->cancelled) { /* asked once, told once: leave it alone */
        f->detach = true;
        return 0;
    }
    if (signal == SIGINT && terminal) {
        answer = ask(f);
    }
    f->detach = answer == 'd';
    return answer == 'y' ? cancel(f, err) : 0;
}

/* ---- the loop ---- */

static int step(struct follow *f, struct err *err)
{
    int64_t now_ms = display_now_ms();
    int signal;
    int rc = 0;

    if (f->look || now_ms - f->looked_ms > LOOK_MS) {
        rc = look(f, now_ms, err);
    }
    rc = rc != 0 ? rc : sse_reader_step(&f->events, now_ms, err);
    rc = rc != 0 ? rc : step_logs(f, now_ms, err);
    if (rc != 0 || is_over(f->last)) {
        return rc;
    }
    client_poll(f->cli->client, f->signals, STEP_MS);
    signal = next_signal(f->signals);
    return signal != 0 ? on_signal(f, signal, err) : 0;
}

static void open_events(struct follow *f)
{
    char from[24];
    struct str path = {0};

    str_add(&path, "/v1/events");
    path_add_query(&path, "job", f->job);
    if (f->want->from_seq > 0) {
        snprintf(from, sizeof(from), "%" PRId64, f->want->from_seq);
        path_add_query(&path, "from", from);
    }
    sse_reader_init(&f->events, f->cli->client, str_text(&path), on_event, f);
    str_fini(&path);
}

static void say_end(const struct follow *f)
{
    const json_t *end = json_object_get(f->last, "exit");
    struct str text = {0};

    str_addf(&text, "job %s %s", f->job, member_text(f->last, "state"));
    if (member_int(end, "signal") > 0) {
        str_addf(&text, ", signal %" PRId64, member_int(end, "signal"));
    } else if (member_int(end, "status") > 0) {
        str_addf(&text, ", status %" PRId64, member_int(end, "status"));
    }
    say(f, str_text(&text));
    str_fini(&text);
}

int follow_job(struct cli *cli, const char *job, const struct follow_want *want, int signals,
               int *ret_status, struct err *err)
{
    struct follow f = {.cli = cli, .job = job, .want = want, .signals = signals, .look = true};
    int rc = cli_client(cli, err);

    if (rc != 0) {
        return rc;
    }
    open_events(&f);
    while (rc == 0 && !f.detach && !is_over(f.last)) {
        rc = step(&f, err);
    }
    if (rc == 0 && f.detach) {
        fprintf(stderr, "muster: job %s goes on; `muster attach %s` shows what it writes\n", job,
                job);
        *ret_status = 0;
    } else if (rc == 0) {
        drain_logs(&f);
        say_end(&f);
        *ret_status = follow_exit_status(f.last);
    }
    for (size_t i = 0; i < f.logs.count; i++) {
        logfollow_free(f.logs.items[i]);
    }
    vec_fini(&f.logs);
    sse_reader_fini(&f.events);
    json_decref(f.last);
    mem_free(f.info);
    return rc;
}
