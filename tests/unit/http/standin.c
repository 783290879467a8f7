#include "standin.h"

#include "base/mem.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static struct standin_stream *stream_of(struct service_stream *s)
{
    return (struct standin_stream *)s; /* its first member */
}

static int64_t pull(struct service_stream *stream, char *buf, size_t room)
{
    struct standin_stream *s = stream_of(stream);
    size_t len = s->text.len < room ? s->text.len : room;

    if (s->endless) {
        memset(buf, 'x', room);
        s->pulled_bytes += room;
        return (int64_t)room;
    }
    if (len == 0) {
        return s->ended ? -1 : 0;
    }
    memcpy(buf, s->text.text, len);
    memmove(s->text.text, s->text.text + len, s->text.len - len);
    s->text.len -= len;
    s->pulled_bytes += len;
    return (int64_t)len;
}

static void close_stream(struct service_stream *stream)
{
    stream_of(stream)->closed = true;
}

static const struct service_stream_ops STREAM = {pull, close_stream};

static json_t *echo(const struct service_call *call)
{
    json_t *params = json_object();

    for (size_t i = 0; i < call->param_count; i++) {
        json_object_set_new(params, call->params[i].name, json_string(call->params[i].value));
    }
    return json_pack("{s:s, s:s, s:o, s:o*}", "op", service_op_name(call->op), "target",
                     call->target, "params", params, "body",
                     json_loadb(call->body_text, call->body_len, 0, NULL));
}

static void on_call(void *ctx, const struct service_call *call, service_done *done, void *arg)
{
    struct standin *s = ctx;
    struct service_answer answer = {.field = ""};

    s->calls++;
    s->uid = call->caller.uid;
    snprintf(s->key, sizeof(s->key), "%s", call->idempotency_key);
    snprintf(s->event_id, sizeof(s->event_id), "%s", call->last_event_id);
    snprintf(s->subject, sizeof(s->subject), "%s", call->caller.subject);
    if (call->op == SERVICE_JOB_SHOW) {
        s->done = done;
        s->done_arg = arg;
        return;
    }
    if (call->op == SERVICE_POLICY_APPLY) {
        answer.rc = err_set(&answer.err, ERR_OVER_LIMIT, "9 GPUs are more than 8");
        answer.field = "groups[0].gpus";
    } else if (call->op == SERVICE_JOB_LOGS || call->op == SERVICE_EVENTS) {
        s->stream.stream.content_type =
            call->op == SERVICE_EVENTS ? "text/event-stream" : "text/plain; charset=utf-8";
        answer.stream = &s->stream.stream;
    } else {
        answer.json = echo(call);
        answer.created = call->op == SERVICE_JOB_SUBMIT;
    }
    done(arg, &answer);
}

static int who_uid(void *ctx, uint32_t uid, struct service_caller *ret, struct err *err)
{
    struct standin *s = ctx;

    if (uid != getuid()) {
        return err_set(err, ERR_UNAUTHENTICATED, "uid %u is nobody", uid);
    }
    *ret = (struct service_caller){.subject = "s1", .roles = s->roles};
    return 0;
}

static int who_token(void *ctx, const char *token, struct service_caller *ret, struct err *err)
{
    struct standin *s = ctx;

    if (strcmp(token, "good") == 0) {
        *ret = (struct service_caller){.subject = "s2", .roles = s->roles};
        return 0;
    }
    if (strcmp(token, "job17") == 0) {
        *ret = (struct service_caller){.subject = "s3", .roles = ROLE_TASK, .task_job = 17};
        return 0;
    }
    return err_set(err, ERR_TOKEN, "this token is unknown, revoked or expired");
}

static void metrics(void *ctx, json_t *unused, char **ret_text)
{
    (void)ctx;
    (void)unused;
    *ret_text = mem_text("muster_standin 1\n");
}

static int health(void *ctx, struct err *err)
{
    struct standin *s = ctx;

    return s->sick ? err_set(err, ERR_DISK_FULL, "no room for the journal") : 0;
}

void standin_init(struct standin *s)
{
    *s = (struct standin){.roles = ROLE_ADMIN};
    s->service = (struct service){s, on_call, who_uid, who_token, metrics, health};
    s->stream.stream.ops = &STREAM;
    snprintf(s->dir, sizeof(s->dir), "/tmp/muster-http-XXXXXX");
    assert_non_null(mkdtemp(s->dir));
    snprintf(s->path, sizeof(s->path), "%s/run/sock", s->dir);
    s->config.unix_path = s->path;
    s->config.tcp = "127.0.0.1:0";
    s->base = event_base_new();
    assert_non_null(s->base);
}

void standin_start(struct standin *s)
{
    struct err err;

    if (server_new(&s->config, &s->service, s->base, &s->server, &err) != 0) {
        fail_msg("%s", err.text);
    }
}

void standin_fini(struct standin *s)
{
    char run[80];

    server_free(s->server);
    event_base_free(s->base);
    str_fini(&s->stream.text);
    snprintf(run, sizeof(run), "%s/run", s->dir);
    unlink(s->path);
    rmdir(run);
    assert_int_equal(rmdir(s->dir), 0);
}

void standin_answer(struct standin *s)
{
    struct service_answer answer = {.field = "", .json = json_pack("{s:s}", "job", "17")};

    assert_non_null(s->done);
    s->done(s->done_arg, &answer);
    s->done = NULL;
}

static int64_t clock_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void standin_turn(struct standin *s, int ms)
{
    int64_t end = clock_ms() + ms;

    /* On a busy machine the time may be over after a turn or two: something more is needed for what
       takes some turns, and for timers that are due only now. */
    for (int turns = 0; turns < 50 || clock_ms() < end; turns++) {
        event_base_loop(s->base, EVLOOP_NONBLOCK);
        usleep(500);
    }
}

void standin_say(struct standin *s, const char *text)
{
    str_add(&s->stream.text, text);
    if (s->stream.stream.wake != NULL) {
        s->stream.stream.wake(s->stream.stream.wake_arg);
    }
}

static int connected(int fd, const void *address, socklen_t len)
{
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, address, len), 0);
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    return fd;
}

int standin_local(struct standin *s)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    snprintf(address.sun_path, sizeof(address.sun_path), "%s", s->path);
    return connected(socket(AF_UNIX, SOCK_STREAM, 0), &address, sizeof(address));
}

int standin_tcp(struct standin *s)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                  .sin_port = htons(server_port(s->server))};

    return connected(socket(AF_INET, SOCK_STREAM, 0), &address, sizeof(address));
}

void standin_write(int fd, const char *text)
{
    size_t len = strlen(text);

    assert_int_equal(send(fd, text, len, MSG_NOSIGNAL), (int)len);
}

char *standin_read(struct standin *s, int fd, const char *until)
{
    struct str got = {0};
    int64_t end = clock_ms() + 60000;
    char buf[4096];

    str_add(&got, "");
    while (clock_ms() < end && (until == NULL || strstr(got.text, until) == NULL)) {
        ssize_t count;

        event_base_loop(s->base, EVLOOP_NONBLOCK);
        count = recv(fd, buf, sizeof(buf), 0);
        if (count > 0) {
            str_add_n(&got, buf, (size_t)count);
        } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
            return str_take(&got);
        } else {
            usleep(200);
        }
    }
    if (until == NULL || strstr(got.text, until) == NULL) {
        fail_msg("\"%s\" did not come; this did: \"%s\"", until != NULL ? until : "(the end)",
                 got.text);
    }
    return str_take(&got);
}

static char *ask(struct standin *s, int fd, const char *request)
{
    const char *blank = strstr(request, "\r\n\r\n");
    struct str closing = {0};
    char *got;

    assert_non_null(blank);
    str_add_n(&closing, request, (size_t)(blank - request));
    str_add(&closing, "\r\nConnection: close");
    str_add(&closing, blank);
    standin_write(fd, closing.text);
    str_fini(&closing);
    got = standin_read(s, fd, NULL);
    close(fd);
    return got;
}

char *standin_ask(struct standin *s, const char *request)
{
    return ask(s, standin_local(s), request);
}

char *standin_ask_tcp(struct standin *s, const char *request)
{
    return ask(s, standin_tcp(s), request);
}
