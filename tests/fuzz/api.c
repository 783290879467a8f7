/* fuzz/api - a whole musterd in this process, and requests of any bytes to its socket: request
 * lines, queries, headers (Idempotency-Key, Last-Event-ID …) and bodies of every call.
 *
 * Input: requests with lines of "----" between them, each the request line without the version,
 * headers, an empty line, the body.  Host, Content-Type, Content-Length and Connection are added.
 * The caller is the account that runs the test, so it may do everything.
 *
 * Whatever is asked: an answer comes, none is an internal error, and the invariants hold.  Tasks
 * are not started as processes: they run as soon as they are started and end as soon as they are
 * told.
 */
#include "backend/local/local.h"
#include "base/check.h"
#include "base/mem.h"
#include "daemon/daemon.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define REQUESTS_MAX  20
#define ANSWER_BYTES  ((size_t)1 << 20)
#define STREAM_ROUNDS 3
#define ROUNDS_MAX    4000 /* of a millisecond */
#define TASKS_MAX     1024

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char CONFIG[] =
    "cluster: {name: fuzz}\n"
    "pools:\n"
    "  - name: main\n"
    "    mixed: true\n"
    "    nodes:\n"
    "      - {name: box, gpus: 8, model: a100-80gb, simulated: true}\n"
    "      - {name: cut, gpus: 2, model: h100-80gb, mig: true, simulated: true}\n"
    "queues:\n"
    "  - name: red\n"
    "    reserved: {main: 4}\n"
    "  - name: blue\n"
    "    reserved: {main: 4}\n"
    "unknown_users: [red, blue]\n";

struct ran { /* a task that the core believes runs */
    int64_t job;
    int64_t attempt;
    struct backend_task task;
};

static struct fuzzed {
    struct daemon *d;
    const struct backend_ops *real;
    struct backend_ops ops;
    char dir[64];
    struct ran tasks[TASKS_MAX];
    size_t task_count;
    char *answer;
} the;

/* ---- the backend ---- */

static void tell(const struct backend *b, enum fact_kind kind, const void *body)
{
    struct fact fact = {.kind = kind, .body = {.any = body}};

    b->sink(b->sink_ctx, &fact);
}

static int start(struct backend *b, const struct backend_job *job, struct err *err)
{
    (void)err;
    for (size_t i = 0; i < job->task_count; i++) {
        struct ran ran = {job->job,
                          job->attempt,
                          {.task = job->tasks[i].task, .step = backend_step_of(job, i)}};
        struct fact_task_running body = {.job = ran.job,
                                         .attempt = ran.attempt,
                                         .task = ran.task.task,
                                         .step = ran.task.step};

        if (the.task_count < TASKS_MAX) {
            the.tasks[the.task_count++] = ran;
        }
        tell(b, FACT_TASK_RUNNING, &body);
    }
    return 0;
}

static int end(struct backend *b, int64_t job, int64_t attempt, const struct backend_task *tasks,
               size_t count, struct err *err)
{
    (void)err;
    for (size_t i = 0; i < the.task_count;) {
        struct ran ran = the.tasks[i];
        struct fact_task_ended body = {.job = job,
                                       .attempt = attempt,
                                       .task = ran.task.task,
                                       .step = ran.task.step,
                                       .cause = TASK_EXITED};

        if (ran.job != job || ran.attempt != attempt ||
            !backend_task_among(tasks, count, ran.task.task, ran.task.step)) {
            i++;
            continue;
        }
        the.tasks[i] = the.tasks[--the.task_count];
        tell(b, FACT_TASK_ENDED, &body);
    }
    return 0;
}

static int signal_task(struct backend *b, const struct backend_signal *what, struct err *err)
{
    return end(b, what->job, what->attempt, what->tasks, what->task_count, err);
}

static void forget(struct backend *b, int64_t job, int64_t attempt)
{
    (void)b;
    (void)job;
    (void)attempt;
}

/* ---- the daemon ---- */

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *at)
{
    (void)st;
    (void)flag;
    (void)at;
    return remove(path);
}

static void clean(void)
{
    if (the.dir[0] != '\0') {
        (void)nftw(the.dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    }
}

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "we");

    CHECK(f != NULL && fputs(text, f) >= 0 && fclose(f) == 0);
}

static void begin(void)
{
    static const int SIGNALS[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTERM, SIGINT};
    struct sigaction kept[ARRAY_LEN(SIGNALS)];
    char config[96], state[96], socket[96];
    struct daemon_options options = {.config = config,
                                     .state = state,
                                     .socket = socket,
                                     .shepherd = "/bin/true",
                                     .simulate = true};
    struct err err = {0};

    (void)snprintf(the.dir, sizeof(the.dir), "%s/muster-fuzz-XXXXXX",
                   access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    CHECK(mkdtemp(the.dir) != NULL);
    (void)snprintf(config, sizeof(config), "%s/muster.yaml", the.dir);
    (void)snprintf(state, sizeof(state), "%s/state", the.dir);
    (void)snprintf(socket, sizeof(socket), "%s/socket", the.dir);
    write_file(config, CONFIG);
    for (size_t i = 0; i < ARRAY_LEN(SIGNALS); i++) {
        CHECK(sigaction(SIGNALS[i], NULL, &kept[i]) == 0);
    }
    if (daemon_open(&options, &the.d, &err) != 0) {
        (void)fprintf(stderr, "musterd does not open: %s\n", err.text);
        abort();
    }
    for (size_t i = 0; i < ARRAY_LEN(SIGNALS); i++) { /* a crash belongs to the fuzzer */
        CHECK(sigaction(SIGNALS[i], &kept[i], NULL) == 0);
    }
    the.real = the.d->local->ops;
    the.ops = *the.real;
    the.ops.start = start;
    the.ops.signal = signal_task;
    the.ops.kill = end;
    the.ops.forget = forget;
    the.d->local->ops = &the.ops;
    the.task_count = 0;
}

static void finish(void)
{
    struct arena *arena = arena_make();
    const char *broken;

    daemon_step(the.d);
    broken = core_check(engine_core(the.d->engine), arena);
    if (broken != NULL) {
        (void)fprintf(stderr, "broken: %s\n", broken);
        abort();
    }
    arena_free(arena);
    the.d->local->ops = the.real;
    daemon_close(the.d);
    clean();
}

/* ---- requests ---- */

static int connect_to(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    CHECK(fd >= 0 && strlen(path) < sizeof(at.sun_path));
    memcpy(at.sun_path, path, strlen(path) + 1);
    CHECK(connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0);
    return fd;
}

static bool has_header(const char *head, size_t len, const char *name)
{
    for (const char *at = head; at < head + len; at++) {
        if ((at == head || at[-1] == '\n') && strncasecmp(at, name, strlen(name)) == 0) {
            return true;
        }
    }
    return false;
}

static void add_request(const char *text, size_t len, struct str *ret)
{
    const char *line_end = memchr(text, '\n', len);
    const char *gap = memmem(text, len, "\n\n", 2);
    size_t line = line_end != NULL ? (size_t)(line_end - text) : len;
    size_t head = gap != NULL ? (size_t)(gap - text) : len;
    size_t body = gap != NULL ? head + 2 : len;

    str_add_n(ret, text, line);
    str_add(ret, " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n");
    for (size_t at = line + 1; at < head;) {
        const char *end = memchr(text + at, '\n', head - at);
        size_t n = end != NULL ? (size_t)(end - text) - at : head - at;

        str_add_n(ret, text + at, n);
        str_add(ret, "\r\n");
        at += n + 1;
    }
    if (body < len && !has_header(text, head, "Content-Type:")) {
        str_add(ret, "Content-Type: application/json\r\n");
    }
    if (body < len && !has_header(text, head, "Content-Length:") &&
        !has_header(text, head, "Transfer-Encoding:")) {
        str_addf(ret, "Content-Length: %zu\r\n", len - body);
    }
    str_add(ret, "\r\n");
    str_add_n(ret, text + body, len - body);
}

/* What is there to read; -1 = the end. */
static ssize_t read_some(int fd, size_t have)
{
    ssize_t n;

    if (have >= ANSWER_BYTES) {
        return -1;
    }
    n = recv(fd, the.answer + have, ANSWER_BYTES - have, MSG_DONTWAIT);
    if (n == 0) {
        return -1;
    }
    return n > 0 ? n : errno == EAGAIN ? 0 : -1;
}

static bool is_stream(size_t have)
{
    the.answer[have] = '\0';
    return strstr(the.answer, "text/event-stream") != NULL ||
           strstr(the.answer, "follow") != NULL || strstr(the.answer, "text/plain") != NULL;
}

static void check_answer(size_t have)
{
    int status = 0;

    the.answer[have] = '\0';
    if (have > 0 && (sscanf(the.answer, "HTTP/1.1 %d", &status) != 1 || status == 500)) {
        (void)fprintf(stderr, "answered: %s\n", the.answer);
        abort();
    }
}

static void ask(const char *text, size_t len)
{
    struct str request = {0};
    int fd = connect_to(the.d->socket);
    size_t sent = 0, have = 0;
    int idle = 0;

    add_request(text, len, &request);
    for (int round = 0; round < ROUNDS_MAX; round++) {
        ssize_t n = 0;

        if (sent < request.len) {
            n = send(fd, request.text + sent, request.len - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
            sent += n > 0 ? (size_t)n : 0;
        }
        (void)event_base_loop(the.d->base, EVLOOP_NONBLOCK);
        n = read_some(fd, have);
        if (n < 0) {
            break;
        }
        have += (size_t)n;
        idle = n > 0 ? 0 : idle + 1;
        if (idle > STREAM_ROUNDS && have > 0 && is_stream(have)) {
            break; /* nothing more is to come now */
        }
        if (idle > STREAM_ROUNDS + 20) {
            (void)shutdown(fd, SHUT_WR); /* a request that promises more than it has */
        }
        if (idle > STREAM_ROUNDS) {
            struct pollfd wait = {.fd = fd, .events = POLLIN};

            (void)poll(&wait, 1, 1);
        }
        CHECK(round < ROUNDS_MAX - 1);
    }
    check_answer(have);
    (void)close(fd);
    (void)event_base_loop(the.d->base, EVLOOP_NONBLOCK);
    str_fini(&request);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    int count = 0;

    the.answer = mem_new(ANSWER_BYTES + 1, 1);
    begin();
    while (size > 0 && count++ < REQUESTS_MAX) {
        const char *end_of = memmem(text, size, "\n----\n", 6);
        size_t len = end_of != NULL ? (size_t)(end_of - text) : size;

        ask(text, len);
        len += end_of != NULL ? 6 : 0;
        size -= len;
        text += len;
    }
    finish();
    mem_free(the.answer);
    return 0;
}
