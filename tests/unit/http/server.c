/* The server as a client sees it: raw bytes in, raw bytes out. */
#include "http/server.h"

#include "base/mem.h"
#include "standin.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define HOST "Host: localhost\r\n"

static int setup(void **state)
{
    static struct standin s;

    standin_init(&s);
    *state = &s;
    return 0;
}

static int teardown(void **state)
{
    standin_fini(*state);
    return 0;
}

static void has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", part, text);
    }
}

/* Ask and expect a part of the answer. */
static void gives(struct standin *s, const char *request, const char *part)
{
    CLEANUP(mem_freep) char *got = standin_ask(s, request);

    has(got, part);
}

static void tcp_gives(struct standin *s, const char *request, const char *part)
{
    CLEANUP(mem_freep) char *got = standin_ask_tcp(s, request);

    has(got, part);
}

static void a_query_is_answered_at_once(void **state)
{
    struct standin *s = *state;
    CLEANUP(mem_freep) char *got = NULL;

    standin_start(s);
    got = standin_ask(s, "GET /v1/jobs?state=queued&user=J%C3%BCrg+B HTTP/1.1\r\n" HOST
                         "X-Request-Id: abc-1\r\n\r\n");
    has(got, "HTTP/1.1 200 OK\r\n");
    has(got, "Content-Type: application/json\r\n");
    has(got, "X-Content-Type-Options: nosniff\r\n");
    has(got, "Cache-Control: no-store\r\n");
    has(got, "X-Request-Id: abc-1\r\n");
    has(got, "{\"op\":\"JOB_LIST\",\"target\":\"\",\"params\":{\"state\":\"queued\","
             "\"user\":\"J\xc3\xbcrg B\"}}");
    assert_string_equal(s->subject, "s1");
    assert_int_equal(s->uid, getuid());
}

static void a_command_takes_a_body_and_a_key(void **state)
{
    struct standin *s = *state;

    standin_start(s);
    gives(s,
          "POST /v1/jobs HTTP/1.1\r\n" HOST "Content-Type: application/json\r\n"
          "Idempotency-Key: k.1\r\nContent-Length: 14\r\n\r\n{\"name\":\"a b\"}",
          "HTTP/1.1 201 Created");
    assert_string_equal(s->key, "k.1");
    gives(s,
          "POST /v1/jobs HTTP/1.1\r\n" HOST
          "Transfer-Encoding: chunked\r\n\r\n3\r\n{\"a\r\n5\r\n\":12}\r\n0\r\n\r\n",
          "\"body\":{\"a\":12}");
    gives(s, "POST /v1/jobs/17/cancel HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n",
          "\"target\":\"17\"");
    gives(s, "POST /v1/nodes/local%2Fn1/drain HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n",
          "\"op\":\"NODE_DRAIN\",\"target\":\"local/n1\"");
}

static void bad_requests_are_told_what_is_wrong(void **state)
{
    static const struct {
        const char *request;
        const char *part;
        const char *also;
    } CASES[] = {
        {"GET /v1/jobz HTTP/1.1\r\n" HOST "\r\n", " 404 ", "\"code\":\"request.not_found\""},
        {"GET /v1/jobs/ HTTP/1.1\r\n" HOST "\r\n", " 404 ", "request.not_found"},
        {"PUT /v1/jobs HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n", " 405 ",
         "Allow: GET, POST\r\n"},
        {"GET /v1/journal/verify HTTP/1.1\r\n" HOST "\r\n", " 405 ", "Allow: POST\r\n"},
        {"GET /v1/jobs?a=%zz HTTP/1.1\r\n" HOST "\r\n", " 400 ", "\"field\":\"query\""},
        {"GET /v1/jobs?a=%ff HTTP/1.1\r\n" HOST "\r\n", " 400 ", "not UTF-8"},
        {"GET /v1/jobs?a=%00 HTTP/1.1\r\n" HOST "\r\n", " 400 ", "control character 0x00"},
        {"GET /v1/jobs?a=1&b=2&a=3 HTTP/1.1\r\n" HOST "\r\n", " 400 ", "\\\"a\\\" is there twice"},
        {"GET /v1/queues/a%0a HTTP/1.1\r\n" HOST "\r\n", " 400 ", "\"field\":\"path\""},
        {"POST /v1/jobs HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n", " 400 ",
         "needs a JSON body"},
        {"POST /v1/jobs HTTP/1.1\r\n" HOST "Content-Length: 9\r\n\r\n{\"a\":\n 1,", " 400 ",
         "body:2:"},
        {"POST /v1/jobs HTTP/1.1\r\n" HOST "Content-Length: 13\r\n\r\n{\"a\":1,\"a\":2}", " 400 ",
         "duplicate object key"},
        {"POST /v1/jobs HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\n[]", " 400 ", "not an object"},
        {"POST /v1/jobs HTTP/1.1\r\n" HOST
         "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 2\r\n\r\n{}",
         " 415 ", "\"code\":\"server.unsupported\""},
        {"POST /v1/jobs HTTP/1.1\r\n" HOST "Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}",
         " 415 ", "Content-Type"},
        {"GET /v1/jobs HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\n{}", " 400 ", "takes no body"},
        {"GET /v1/jobs HTTP/1.1\r\n" HOST "Idempotency-Key: a b\r\n\r\n", " 400 ",
         "\"field\":\"Idempotency-Key\""},
        {"GET /v1/events HTTP/1.1\r\n" HOST "Last-Event-ID: 1 2\r\n\r\n", " 400 ", "Last-Event-ID"},
        {"GET /v1/jobs HTTP/1.1\r\n" HOST "Host: other\r\n\r\n", " 400 ", ""},
        {"POST /v1/jobs HTTP/1.1\r\n" HOST
         "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
         " 400 ", ""},
        {"POST /v1/jobs HTTP/1.1\r\n" HOST "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} ",
         " 400 ", ""},
        {"GET /v1/jobs HTTP/1.1\r\n" HOST "Origin: http://evil.example\r\n\r\n", " 403 ",
         "another origin"},
        {"POST /v1/policy/apply HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\n{}", " 422 ",
         "\"code\":\"quota.over_limit\",\"detail\":\"9 GPUs are more than 8\","
         "\"field\":\"groups[0].gpus\""},
        {"GET /v1/jobs HTTP/1.1\r\nHost localhost\r\n\r\n", " 400 ", ""},
    };
    struct standin *s = *state;

    standin_start(s);
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        CLEANUP(mem_freep) char *got = standin_ask(s, CASES[i].request);

        has(got, CASES[i].part);
        has(got, CASES[i].also);
    }
    assert_int_equal(s->calls, 1);
}

static void a_problem_is_a_problem_document(void **state)
{
    struct standin *s = *state;
    CLEANUP(mem_freep) char *got = NULL;

    standin_start(s);
    got = standin_ask(s, "GET /v1/x HTTP/1.1\r\n" HOST "X-Request-Id: r 1\r\n\r\n");
    has(got, "Content-Type: application/problem+json\r\n");
    has(got, "{\"type\":\"about:blank\",\"title\":\"Not Found\",\"status\":404,"
             "\"code\":\"request.not_found\",\"detail\":\"there is no \\\"/v1/x\\\"; "
             "/openapi.json lists what is\",\"request_id\":\"r");
    assert_null(strstr(got, "r 1"));
}

static void tcp_needs_a_token_and_a_name_of_ours(void **state)
{
    static const char *const NAMES[] = {"cluster.example"};
    struct standin *s = *state;

    s->config.hosts = NAMES;
    s->config.host_count = 1;
    standin_start(s);
    tcp_gives(s, "GET /v1/jobs HTTP/1.1\r\n" HOST "\r\n", "401 Unauthorized");
    tcp_gives(s, "GET /v1/jobs HTTP/1.1\r\n" HOST "\r\n", "WWW-Authenticate: Bearer");
    tcp_gives(s, "GET /v1/jobs HTTP/1.1\r\n" HOST "Authorization: Bearer bad\r\n\r\n",
              "\"code\":\"token.invalid\"");
    tcp_gives(s, "GET /v1/jobs HTTP/1.1\r\n" HOST "Authorization: Basic eDp5\r\n\r\n",
              "\"code\":\"auth.unauthenticated\"");
    tcp_gives(s, "GET /v1/jobs HTTP/1.1\r\n" HOST "Authorization: Bearer good\r\n\r\n", " 200 OK");
    assert_int_equal(s->uid, UINT32_MAX);
    assert_string_equal(s->subject, "s2");
    tcp_gives(s, "GET /healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n", " 403 ");
    tcp_gives(s, "GET /healthz HTTP/1.1\r\nHost: [::1]:8270\r\n\r\n", " 200 OK");
    tcp_gives(s, "GET /healthz HTTP/1.1\r\nHost: Cluster.Example:443\r\n\r\n", " 200 OK");
    tcp_gives(s, "GET /healthz HTTP/1.0\r\n\r\n", " 403 ");
}

static void roles_decide(void **state)
{
    struct standin *s = *state;

    s->roles = ROLE_READ;
    standin_start(s);
    gives(s, "GET /v1/jobs HTTP/1.1\r\n" HOST "\r\n", " 200 OK");
    gives(s, "POST /v1/jobs/17/hold HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n",
          "the role \\\"submit\\\"");
    gives(s, "GET /v1/journal HTTP/1.1\r\n" HOST "\r\n", "\"code\":\"auth.forbidden\"");
    gives(s, "POST /v1/jobs/17/done HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n", " 403 ");
    gives(s,
          "POST /v1/jobs/17/done HTTP/1.1\r\n" HOST
          "Authorization: Bearer job17\r\nContent-Length: 0\r\n\r\n",
          " 200 OK");
    gives(s,
          "POST /v1/jobs/18/done HTTP/1.1\r\n" HOST
          "Authorization: Bearer job17\r\nContent-Length: 0\r\n\r\n",
          "speaks for job 17 only");
    s->roles = ROLE_OPERATOR;
    gives(s, "POST /v1/jobs/17/done HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n", " 200 OK");
    gives(s, "POST /v1/policy/apply HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\n{}", " 403 ");
    s->roles = ROLE_AUDITOR;
    gives(s, "GET /v1/journal HTTP/1.1\r\n" HOST "\r\n", " 200 OK");
    gives(s, "GET /v1/whoami HTTP/1.1\r\n" HOST "\r\n", " 200 OK");
}

static void an_answer_may_come_later(void **state)
{
    struct standin *s = *state;
    CLEANUP(mem_freep) char *first = NULL;
    CLEANUP(mem_freep) char *second = NULL;
    char none[8];
    int fd;

    standin_start(s);
    fd = standin_local(s);
    standin_write(fd, "GET /v1/jobs/17 HTTP/1.1\r\n" HOST "\r\n");
    standin_turn(s, 30);
    assert_non_null(s->done);
    assert_int_equal(recv(fd, none, sizeof(none), 0), -1);
    gives(s, "GET /v1/jobs HTTP/1.1\r\n" HOST "\r\n", " 200 OK"); /* others go on */
    standin_answer(s);
    standin_turn(s, 10);
    first = mem_new(1024, 1);
    assert_true(recv(fd, first, 1023, 0) > 0); /* without waiting for any timer */
    has(first, "{\"job\":\"17\"}");
    standin_write(fd, "GET /v1/queues HTTP/1.1\r\n" HOST "\r\n");
    second = standin_read(s, fd, "QUEUE_LIST"); /* and the connection is kept */
    close(fd);
}

static void a_client_that_left_is_no_trouble(void **state)
{
    struct standin *s = *state;
    int fd;

    s->config.request_ms_max = 100;
    standin_start(s);
    fd = standin_local(s);
    standin_write(fd, "GET /v1/jobs/17 HTTP/1.1\r\n" HOST "\r\n");
    standin_turn(s, 20);
    close(fd);
    standin_turn(s, 20);
    standin_answer(s);
    standin_turn(s, 50);
    assert_int_equal(server_connection_count(s->server), 0);
}

static void a_server_may_go_before_the_answer(void **state)
{
    struct standin *s = *state;
    int fd;

    standin_start(s);
    fd = standin_local(s);
    standin_write(fd, "GET /v1/jobs/17 HTTP/1.1\r\n" HOST "\r\n");
    standin_turn(s, 20);
    server_free(s->server);
    s->server = NULL;
    standin_answer(s);
    close(fd);
}

static void a_stream_waits_and_goes_on(void **state)
{
    struct standin *s = *state;
    CLEANUP(mem_freep) char *a = NULL;
    CLEANUP(mem_freep) char *b = NULL;
    CLEANUP(mem_freep) char *c = NULL;
    int fd;

    standin_start(s);
    fd = standin_local(s);
    standin_write(fd, "GET /v1/jobs/17/logs?follow=true HTTP/1.1\r\n" HOST "\r\n");
    a = standin_read(s, fd, "\r\n\r\n");
    has(a, "Transfer-Encoding: chunked\r\n");
    has(a, "Content-Type: text/plain; charset=utf-8\r\n");
    standin_say(s, "one\n");
    standin_turn(s, 10);
    b = mem_new(64, 1);
    assert_true(recv(fd, b, 63, 0) > 0);
    has(b, "one\n");
    s->stream.ended = true;
    standin_say(s, "two\n");
    c = standin_read(s, fd, "0\r\n\r\n");
    has(c, "two\n");
    assert_true(s->stream.closed);
    close(fd);
}

static void silence_is_no_timeout_of_a_stream(void **state)
{
    struct standin *s = *state;
    CLEANUP(mem_freep) char *head = NULL;
    CLEANUP(mem_freep) char *late = NULL;
    CLEANUP(mem_freep) char *answer = NULL;
    int fd;
    int call;

    s->config.idle_ms_max = 200; /* one second to libmicrohttpd */
    standin_start(s);
    fd = standin_local(s);
    call = standin_local(s);
    standin_write(fd, "GET /v1/jobs/17/logs HTTP/1.1\r\n" HOST "\r\n");
    standin_write(call, "GET /v1/jobs/17 HTTP/1.1\r\n" HOST "\r\n");
    head = standin_read(s, fd, "\r\n\r\n");
    standin_turn(s, 2200);
    standin_say(s, "late\n");
    late = standin_read(s, fd, "late\n");
    standin_answer(s);
    answer = standin_read(s, call, "{\"job\":\"17\"}");
    close(fd);
    close(call);
}

static void silent_events_have_a_heartbeat(void **state)
{
    struct standin *s = *state;
    CLEANUP(mem_freep) char *a = NULL;
    CLEANUP(mem_freep) char *b = NULL;
    int fd;

    s->config.heartbeat_ms = 50;
    standin_start(s);
    fd = standin_local(s);
    standin_write(fd, "GET /v1/events HTTP/1.1\r\n" HOST "Last-Event-ID: 41\r\n\r\n");
    a = standin_read(s, fd, ": hb\n\n");
    assert_string_equal(s->event_id, "41");
    standin_say(s, "id: 42\ndata: {}\n\n");
    b = standin_read(s, fd, "id: 42\n");
    close(fd);
    standin_turn(s, 150);
    assert_true(s->stream.closed);
}

static void a_silent_log_notices_that_its_reader_left(void **state)
{
    struct standin *s = *state;
    CLEANUP(mem_freep) char *a = NULL;
    int fd;

    s->config.request_ms_max = 100;
    standin_start(s);
    fd = standin_tcp(s);
    standin_write(fd,
                  "GET /v1/jobs/17/logs HTTP/1.1\r\n" HOST "Authorization: Bearer good\r\n\r\n");
    a = standin_read(s, fd, "\r\n\r\n");
    close(fd);
    standin_turn(s, 100);
    assert_true(s->stream.closed);
    assert_int_equal(server_connection_count(s->server), 0);
}

static void a_slow_reader_is_not_read_ahead_of(void **state)
{
    struct standin *s = *state;
    int fd;

    s->stream.endless = true;
    s->config.idle_ms_max = 900;
    standin_start(s);
    fd = standin_local(s);
    standin_write(fd, "GET /v1/jobs/17/logs HTTP/1.1\r\n" HOST "\r\n");
    standin_turn(s, 100);
    assert_in_range(s->stream.pulled_bytes, 1, 4 << 20); /* what sockets hold, not more */
    standin_turn(s, 2400);
    assert_true(s->stream.closed); /* who takes nothing is cut */
    close(fd);
}

static void large_bodies_are_refused(void **state)
{
    static char big[3000];
    struct standin *s = *state;
    struct str request = {0};
    CLEANUP(mem_freep) char *got = NULL;
    CLEANUP(mem_freep) char *chunked = NULL;
    CLEANUP(mem_freep) char *exact = NULL;

    s->config.body_bytes_max = 2000;
    standin_start(s);
    memset(big, ' ', sizeof(big) - 1);
    str_addf(&request, "POST /v1/jobs HTTP/1.1\r\n" HOST "Content-Length: 2999\r\n\r\n%s", big);
    got = standin_ask(s, request.text);
    has(got, " 413 ");
    has(got, "\"code\":\"request.too_large\"");
    str_clear(&request);
    str_addf(&request,
             "POST /v1/jobs HTTP/1.1\r\n" HOST
             "Transfer-Encoding: chunked\r\n\r\nbb7\r\n%s\r\n0\r\n\r\n",
             big);
    chunked = standin_ask(s, request.text);
    has(chunked, " 413 ");
    gives(s,
          "POST /v1/jobs HTTP/1.1\r\n" HOST "Expect: 100-continue\r\nContent-Length: 2001\r\n\r\n",
          "HTTP/1.1 413 ");
    gives(s, "POST /v1/jobs HTTP/1.1\r\n" HOST "Content-Length: 99999999999999999999999999\r\n\r\n",
          "HTTP/1.1 4");
    str_clear(&request);
    str_addf(&request, "POST /v1/jobs HTTP/1.1\r\n" HOST "Content-Length: 2000\r\n\r\n{}%.1998s",
             big);
    exact = standin_ask(s, request.text);
    has(exact, " 201 ");
    str_fini(&request);
}

static void large_headers_are_refused(void **state)
{
    struct standin *s = *state;
    struct str request = {0};
    CLEANUP(mem_freep) char *got = NULL;

    standin_start(s);
    str_add(&request, "GET /v1/jobs HTTP/1.1\r\n" HOST "X-Much: ");
    for (int i = 0; i < 40000; i++) {
        str_add_char(&request, 'x');
    }
    str_add(&request, "\r\n\r\n");
    got = standin_ask(s, request.text);
    has(got, " 431 ");
    str_fini(&request);
}

static void deep_json_is_refused(void **state)
{
    struct standin *s = *state;
    struct str request = {0};
    CLEANUP(mem_freep) char *got = NULL;

    standin_start(s);
    str_add(&request, "POST /v1/jobs HTTP/1.1\r\n" HOST "Content-Length: 60\r\n\r\n");
    for (int i = 0; i < 60; i++) {
        str_add_char(&request, '[');
    }
    got = standin_ask(s, request.text);
    has(got, "\"code\":\"request.range\"");
    str_fini(&request);
}

static void a_dribbling_client_has_a_deadline(void **state)
{
    struct standin *s = *state;
    CLEANUP(mem_freep) char *got = NULL;
    int fd;

    s->config.request_ms_max = 200;
    standin_start(s);
    fd = standin_local(s);
    standin_write(fd, "POST /v1/jobs HTTP/1.1\r\n" HOST "Content-Length: 100\r\n\r\n");
    for (int i = 0; i < 8; i++) {
        standin_turn(s, 40);
        if (send(fd, " ", 1, MSG_NOSIGNAL) < 0) {
            break;
        }
    }
    got = standin_read(s, fd, NULL);
    has(got, "HTTP/1.1 408 ");
    has(got, "\"code\":\"server.timeout\"");
    close(fd);
}

static void a_silent_client_is_let_go(void **state)
{
    struct standin *s = *state;
    CLEANUP(mem_freep) char *got = NULL;
    CLEANUP(mem_freep) char *rest = NULL;
    int fd;
    int other;

    s->config.idle_ms_max = 150;
    standin_start(s);
    fd = standin_local(s);
    other = standin_local(s);
    standin_write(other, "GET /v1/jo"); /* never ends its line */
    standin_write(fd, "GET /healthz HTTP/1.1\r\n" HOST "\r\n");
    got = standin_read(s, fd, "\"ok\"}\n");
    rest = standin_read(s, fd, NULL);
    assert_string_equal(rest, "");
    standin_turn(s, 100);
    assert_int_equal(server_connection_count(s->server), 0);
    close(fd);
    close(other);
}

static void connections_are_counted(void **state)
{
    struct standin *s = *state;
    CLEANUP(mem_freep) char *got = NULL;
    CLEANUP(mem_freep) char *metrics = NULL;
    int fds[3];

    s->config.connections_peer_max = 2;
    standin_start(s);
    for (int i = 0; i < 3; i++) {
        fds[i] = standin_local(s);
        standin_turn(s, 10);
    }
    got = standin_read(s, fds[2], NULL);
    has(got, "HTTP/1.1 503 ");
    has(got, "too many connections");
    tcp_gives(s, "GET /healthz HTTP/1.1\r\n" HOST "\r\n", " 200 "); /* another peer */
    for (int i = 0; i < 3; i++) {
        close(fds[i]);
    }
    standin_turn(s, 20);
    metrics = standin_ask(s, "GET /metrics HTTP/1.1\r\n" HOST "\r\n");
    has(metrics, "muster_standin 1\n");
    has(metrics, "muster_http_connections 1\n");
    has(metrics, "muster_http_connections_refused_total 1\n");
    has(metrics, "muster_http_requests_total{op=\"healthz\",code=\"200\"} 1\n");
    has(metrics, "muster_http_request_seconds_count{op=\"healthz\"} 1\n");
}

static void no_descriptor_left_is_waited_out(void **state)
{
    struct standin *s = *state;
    CLEANUP(mem_freep) char *got = NULL;
    struct rlimit before;
    struct rlimit none;
    int fd;

    s->config.request_ms_max = 1000; /* a tick is 100 ms */
    standin_start(s);
    fd = standin_local(s);
    standin_write(fd, "GET /healthz HTTP/1.1\r\n" HOST "\r\n");
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){.rlim_cur = 3, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    standin_turn(s, 20);
    assert_int_equal(server_connection_count(s->server), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    got = standin_read(s, fd, "\"ok\"");
    close(fd);
}

static void pages_of_its_own(void **state)
{
    struct standin *s = *state;

    s->config.metrics_auth = true;
    standin_start(s);
    gives(s, "GET /healthz HTTP/1.1\r\n" HOST "\r\n", "{\"status\":\"ok\"}");
    s->sick = true;
    gives(s, "GET /healthz HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 503 ");
    gives(s, "GET /healthz HTTP/1.1\r\n" HOST "\r\n", "\"code\":\"server.disk_full\"");
    gives(s, "GET /openapi.json HTTP/1.1\r\n" HOST "\r\n", "{\"openapi\":\"3.1.0\"");
    tcp_gives(s, "GET /metrics HTTP/1.1\r\n" HOST "\r\n", " 401 ");
    assert_int_equal(s->calls, 0);
}

static void pipelined_requests_are_answered_in_order(void **state)
{
    struct standin *s = *state;
    CLEANUP(mem_freep) char *got = NULL;
    int fd;

    standin_start(s);
    fd = standin_local(s);
    standin_write(fd, "GET /v1/jobs HTTP/1.1\r\n" HOST "\r\nGET /v1/queues HTTP/1.1\r\n" HOST
                      "\r\nGET /v1/pools HTTP/1.1\r\n" HOST "\r\n");
    got = standin_read(s, fd, "POOL_LIST");
    assert_true(strstr(got, "JOB_LIST") < strstr(got, "QUEUE_LIST"));
    close(fd);
}

static void on_stopped(void *arg)
{
    struct standin *s = arg;

    s->stopped = true;
}

static void a_stop_answers_what_is_in_flight(void **state)
{
    struct standin *s = *state;
    CLEANUP(mem_freep) char *head = NULL;
    CLEANUP(mem_freep) char *events = NULL;
    CLEANUP(mem_freep) char *answer = NULL;
    CLEANUP(mem_freep) char *nothing = NULL;
    struct stat st;
    int call;
    int stream;
    int idle;

    standin_start(s);
    call = standin_local(s);
    stream = standin_local(s);
    idle = standin_local(s);
    standin_write(call, "GET /v1/jobs/17 HTTP/1.1\r\n" HOST "\r\n");
    standin_write(stream, "GET /v1/events HTTP/1.1\r\n" HOST "\r\n");
    head = standin_read(s, stream, "\r\n\r\n");
    standin_turn(s, 20);
    server_stop(s->server, on_stopped, s);
    assert_int_equal(stat(s->path, &st), -1);
    nothing = standin_read(s, idle, NULL);
    assert_string_equal(nothing, "");
    events = standin_read(s, stream, "0\r\n\r\n");
    assert_false(s->stopped);
    standin_answer(s);
    answer = standin_read(s, call, NULL);
    has(answer, "Connection: close\r\n");
    has(answer, "{\"job\":\"17\"}");
    close(call);
    close(stream);
    close(idle);
    standin_turn(s, 20);
    assert_true(s->stopped);
}

static void on_stopped_free(void *arg)
{
    struct standin *s = arg;

    server_free(s->server);
    s->server = NULL;
    s->stopped = true;
}

static void a_stop_cuts_idle_connections_and_may_free(void **state)
{
    struct standin *s = *state;
    CLEANUP(mem_freep) char *got = NULL;
    CLEANUP(mem_freep) char *end = NULL;
    int fd;

    s->config.request_ms_max = 100;
    standin_start(s);
    fd = standin_tcp(s);
    standin_write(fd, "GET /healthz HTTP/1.1\r\n" HOST "\r\n");
    got = standin_read(s, fd, "ok");
    server_stop(s->server, on_stopped_free, s);
    end = standin_read(s, fd, NULL);
    standin_turn(s, 60);
    assert_true(s->stopped);
    close(fd);
}

static void a_stop_with_nobody_there_is_told_later(void **state)
{
    struct standin *s = *state;

    standin_start(s);
    server_stop(s->server, on_stopped, s);
    assert_false(s->stopped);
    standin_turn(s, 5);
    assert_true(s->stopped);
}

static void a_stop_does_not_wait_for_ever(void **state)
{
    struct standin *s = *state;
    int fd;

    s->config.stop_ms_max = 50;
    s->config.request_ms_max = 100;
    standin_start(s);
    fd = standin_local(s);
    standin_write(fd, "GET /v1/jobs/17 HTTP/1.1\r\n" HOST "\r\n");
    standin_turn(s, 20);
    server_stop(s->server, on_stopped, s);
    assert_false(s->stopped);
    standin_turn(s, 120);
    assert_true(s->stopped);
    server_free(s->server);
    s->server = NULL;
    standin_answer(s);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(a_query_is_answered_at_once),
        TEST(a_command_takes_a_body_and_a_key),
        TEST(bad_requests_are_told_what_is_wrong),
        TEST(a_problem_is_a_problem_document),
        TEST(tcp_needs_a_token_and_a_name_of_ours),
        TEST(roles_decide),
        TEST(an_answer_may_come_later),
        TEST(a_client_that_left_is_no_trouble),
        TEST(a_server_may_go_before_the_answer),
        TEST(a_stream_waits_and_goes_on),
        TEST(silence_is_no_timeout_of_a_stream),
        TEST(silent_events_have_a_heartbeat),
        TEST(a_silent_log_notices_that_its_reader_left),
        TEST(a_slow_reader_is_not_read_ahead_of),
        TEST(large_bodies_are_refused),
        TEST(large_headers_are_refused),
        TEST(deep_json_is_refused),
        TEST(a_dribbling_client_has_a_deadline),
        TEST(a_silent_client_is_let_go),
        TEST(connections_are_counted),
        TEST(no_descriptor_left_is_waited_out),
        TEST(pages_of_its_own),
        TEST(pipelined_requests_are_answered_in_order),
        TEST(a_stop_answers_what_is_in_flight),
        TEST(a_stop_cuts_idle_connections_and_may_free),
        TEST(a_stop_with_nobody_there_is_told_later),
        TEST(a_stop_does_not_wait_for_ever),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
