/* exchange - states:
 *
 *   READING --end of body--> CALLING --done within call()--> ANSWERED --queued--> SENDING
 *      |                        `--call() returned--> WAITING --done--> ANSWERED (resumed)
 *      `--wrong already at the headers: the body is read and thrown away, then the problem is sent
 *
 * A body is read to its end even when the answer is known: a client that still writes would get a
 * reset instead of the answer.  Past DRAIN_BYTES_MAX it gets the reset.
 */
#include "http/exchange.h"

#include "base/arena.h"
#include "base/check.h"
#include "base/mem.h"
#include "base/str.h"
#include "http/openapi.h"
#include "http/page.h"
#include "http/problem.h"
#include "http/request.h"
#include "http/route.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define DRAIN_BYTES_MAX ((size_t)4 << 20)

/* What a usual request needs; and what is kept for the next ones: not what a large body made
 * large, which can be 24 times its bytes. */
#define ARENA_BYTES      ((size_t)4 << 10)
#define SPARE_BODY_BYTES ((size_t)2 << 10)
#define SPARE_MAX        256

enum phase { READING, CALLING, WAITING, ANSWERED, SENDING };

/* The headers that are read here; those before HEADER_ONCE are wrong twice, as a proxy in front
 * could read the other copy. */
enum header {
    HEADER_HOST,
    HEADER_AUTHORIZATION,
    HEADER_CONTENT_LENGTH,
    HEADER_CONTENT_TYPE,
    HEADER_IDEMPOTENCY_KEY,
    HEADER_LAST_EVENT_ID,
    HEADER_TRANSFER_ENCODING,
    HEADER_ONCE,
    HEADER_X_REQUEST_ID = HEADER_ONCE,
    HEADER_ORIGIN,
    HEADER_EXPECT,
    HEADER_CONTENT_ENCODING,
    HEADER_COUNT,
};

struct exchange {
    struct exchange_env *env;
    struct MHD_Connection *connection; /* NULL: it ended before the call did */
    struct auth_peer peer;
    enum phase phase;
    bool begun;                        /* the headers were seen */
    const char *headers[HEADER_COUNT]; /* libmicrohttpd's, for the time of the request */
    bool twice;                        /* one that may be there once */
    bool suspended;
    int64_t began_us;
    int64_t queued_ms;
    struct arena *arena;   /* of the path, the body and what was read from it */
    struct exchange *next; /* of exchange_env.spare */
    char *path;            /* raw */
    const char *query_text;
    struct route route; /* row -1 = none yet */
    struct request_query query;
    struct service_caller caller;
    struct str body;
    size_t body_bytes;       /* seen, kept or not */
    const struct jsonin *in; /* the body, read */
    char request_id[REQUEST_ID_MAX + 1];
    char key[REQUEST_KEY_MAX + 1];
    struct service_call call;
    struct service_answer answer; /* rc != 0: a problem */
    int status;                   /* 0 = that of the code */
    char *field;
    struct feed *feed;
    int sent_status;
};

/* Memory is asked for a dozen times a request otherwise. */
static struct exchange *take_spare(struct exchange_env *env)
{
    struct exchange *x = env->spare;
    struct arena *arena;
    struct str body;

    if (x == NULL) {
        x = mem_new(1, sizeof(*x));
        x->arena = arena_make_sized(ARENA_BYTES);
        return x;
    }
    env->spare = x->next;
    env->spare_count--;
    arena = x->arena;
    body = x->body;
    *x = (struct exchange){.arena = arena, .body = body};
    arena_reset(x->arena);
    str_clear(&x->body);
    return x;
}

struct exchange *exchange_new(struct exchange_env *env, const struct auth_peer *peer,
                              struct MHD_Connection *connection, const char *uri)
{
    struct exchange *x = take_spare(env);
    char *mark;

    x->env = env;
    x->peer = *peer;
    x->connection = connection;
    x->began_us = tally_clock_us();
    x->route.row = -1;
    x->path = arena_text(x->arena, uri);
    x->query_text = "";
    mark = strchr(x->path, '?');
    if (mark != NULL) {
        *mark = '\0';
        x->query_text = mark + 1;
    }
    snprintf(x->request_id, sizeof(x->request_id), "r%08" PRIx32 "-%" PRIx64, env->id_seed,
             env->id_next++);
    return x;
}

static void clear(struct exchange *x)
{
    feed_free(x->feed);
    if (x->answer.stream != NULL) {
        x->answer.stream->ops->close(x->answer.stream);
    }
    json_decref(x->answer.json);
    mem_free(x->answer.text);
    auth_caller_fini(&x->caller);
    request_query_fini(&x->query);
    mem_free(x->field);
}

static void destroy(struct exchange *x)
{
    arena_free(x->arena);
    str_fini(&x->body);
    mem_free(x);
}

static void drop(struct exchange *x)
{
    clear(x);
    destroy(x);
}

void exchange_env_fini(struct exchange_env *env)
{
    while (env->spare != NULL) {
        struct exchange *x = env->spare;

        env->spare = x->next;
        destroy(x);
    }
}

void exchange_free(struct exchange *x)
{
    struct exchange_env *env = x->env;
    bool stream = x->feed != NULL;
    int64_t took_us = tally_clock_us() - x->began_us;

    tally_request(env->tally, x->route.row, x->sent_status, stream ? -1 : took_us);
    x->connection = NULL;
    x->env = NULL;
    feed_free(x->feed);
    x->feed = NULL;
    if (x->phase == WAITING) {
        return; /* its answer is still to come */
    }
    if (x->body_bytes > SPARE_BODY_BYTES || env->spare_count == SPARE_MAX) {
        drop(x);
        return;
    }
    clear(x);
    x->next = env->spare;
    env->spare = x;
    env->spare_count++;
}

/* The request is wrong; keep the first reason. */
static void fail(struct exchange *x, const struct err *why, int status, const char *field)
{
    if (x->answer.rc != 0) {
        return;
    }
    x->answer.rc = why->code;
    x->answer.err = *why;
    x->status = status;
    x->field = mem_text(field);
}

static void fail_with(struct exchange *x, enum err_code code, int status, const char *text)
{
    struct err why = {.code = code};

    snprintf(why.text, sizeof(why.text), "%s", text);
    fail(x, &why, status, "");
}

static const char *const HEADER_NAMES[HEADER_COUNT] = {
    [HEADER_HOST] = "Host",
    [HEADER_AUTHORIZATION] = "Authorization",
    [HEADER_CONTENT_LENGTH] = "Content-Length",
    [HEADER_CONTENT_TYPE] = "Content-Type",
    [HEADER_IDEMPOTENCY_KEY] = "Idempotency-Key",
    [HEADER_LAST_EVENT_ID] = "Last-Event-ID",
    [HEADER_TRANSFER_ENCODING] = "Transfer-Encoding",
    [HEADER_X_REQUEST_ID] = "X-Request-Id",
    [HEADER_ORIGIN] = "Origin",
    [HEADER_EXPECT] = "Expect",
    [HEADER_CONTENT_ENCODING] = "Content-Encoding",
};

/* Libmicrohttpd's own look-up goes through all headers for each name. */
static enum MHD_Result take_header(void *arg, enum MHD_ValueKind kind, const char *name,
                                   const char *value)
{
    struct exchange *x = arg;

    (void)kind;
    for (int i = 0; i < HEADER_COUNT; i++) {
        if ((name[0] | 0x20) != (HEADER_NAMES[i][0] | 0x20) ||
            strcasecmp(name, HEADER_NAMES[i]) != 0) {
            continue;
        }
        if (x->headers[i] == NULL) {
            x->headers[i] = value != NULL ? value : "";
        } else {
            x->twice = x->twice || i < HEADER_ONCE;
        }
        break;
    }
    return MHD_YES;
}

static void check_headers(struct exchange *x)
{
    struct err err;
    const char *id = x->headers[HEADER_X_REQUEST_ID];
    const char *key = x->headers[HEADER_IDEMPOTENCY_KEY];
    const char *event_id = x->headers[HEADER_LAST_EVENT_ID];

    if (id != NULL && request_is_token(id, REQUEST_ID_MAX)) {
        memcpy(x->request_id, id, strlen(id) + 1);
    }
    if (x->twice) {
        fail_with(x, ERR_INVALID, 0, "a header that may be there once is there twice");
    }
    if (x->headers[HEADER_CONTENT_LENGTH] != NULL && x->headers[HEADER_TRANSFER_ENCODING] != NULL) {
        fail_with(x, ERR_INVALID, 0, "both Content-Length and Transfer-Encoding");
    }
    if (!x->peer.local &&
        auth_host(x->headers[HEADER_HOST], x->env->hosts, x->env->host_count, &err) != 0) {
        fail(x, &err, 0, "Host");
    }
    if (event_id != NULL && !request_is_token(event_id, REQUEST_ID_MAX)) {
        fail_with(x, ERR_INVALID, 0, "Last-Event-ID is not an id of this stream");
    }
    if (x->headers[HEADER_ORIGIN] != NULL) {
        fail_with(x, ERR_FORBIDDEN, 0, "requests from a web page of another origin are refused");
    }
    if (key != NULL && !request_is_token(key, REQUEST_KEY_MAX)) {
        err_set(&err, ERR_INVALID, "Idempotency-Key has 1 to %d of A-Z a-z 0-9 . _ : -",
                REQUEST_KEY_MAX);
        fail(x, &err, 0, "Idempotency-Key");
    } else if (key != NULL) {
        memcpy(x->key, key, strlen(key) + 1);
    }
}

/* The row of the request and whether the caller may use it. */
static void check_rights(struct exchange *x, const char *method)
{
    const struct route_row *row;
    struct err err;
    bool open;

    if (route_find(method, x->path, &x->route, &err) != 0) {
        fail(x, &err, 0, err.code == ERR_SYNTAX || err.code == ERR_RANGE ? "path" : "");
        return;
    }
    row = route_row(x->route.row);
    open = row->role == 0 && !(x->route.row == ROUTE_METRICS && x->env->metrics_auth);
    if (open || x->answer.rc != 0) {
        return;
    }
    if (auth_caller(x->env->service, &x->peer, x->headers[HEADER_AUTHORIZATION], &x->caller,
                    &err) != 0) {
        fail(x, &err, 0, "");
    } else if (auth_check(&x->caller, row->role != 0 ? row->role : ROLE_READ, x->route.target,
                          &err) != 0) {
        fail(x, &err, 0, "");
    }
}

static void too_large(struct exchange *x)
{
    struct err err;

    err_set(&err, ERR_TOO_LARGE, "the body is larger than %zu bytes", x->env->body_bytes_max);
    fail(x, &err, 0, "");
    str_fini(&x->body);
}

static enum MHD_Result send_answer(struct exchange *x);

static enum MHD_Result begin(struct exchange *x, const char *method)
{
    const char *length;
    int64_t bytes = 0;
    struct err err;

    x->begun = true;
    MHD_get_connection_values(x->connection, MHD_HEADER_KIND, take_header, x);
    length = x->headers[HEADER_CONTENT_LENGTH];
    check_headers(x);
    check_rights(x, method);
    if (request_query(x->query_text, &x->query, &err) != 0) {
        fail(x, &err, 0, "query");
    }
    if (length != NULL && (!str_to_int(length, &bytes) || bytes < 0)) {
        bytes = INT64_MAX;
    }
    if (bytes > (int64_t)x->env->body_bytes_max) {
        too_large(x);
    }
    /* Nothing of the body is on its way yet, or there is too much of it to wait for. */
    if (x->answer.rc != 0 &&
        (x->headers[HEADER_EXPECT] != NULL || bytes > (int64_t)DRAIN_BYTES_MAX)) {
        return send_answer(x);
    }
    return MHD_YES;
}

static enum MHD_Result take_body(struct exchange *x, const char *data, size_t *len)
{
    x->body_bytes += *len;
    if (x->body_bytes > DRAIN_BYTES_MAX && x->body_bytes > x->env->body_bytes_max) {
        return MHD_NO;
    }
    if (x->answer.rc == 0 && x->body_bytes > x->env->body_bytes_max) {
        too_large(x);
    }
    if (x->answer.rc == 0) {
        str_add_n(&x->body, data, *len);
    }
    *len = 0;
    return MHD_YES;
}

static void read_body(struct exchange *x, const char *method)
{
    const struct route_row *row = route_row(x->route.row);
    const char *type = x->headers[HEADER_CONTENT_TYPE];
    struct err err;

    if (x->body.len == 0) {
        if (row->body) {
            fail_with(x, ERR_INVALID, 0, "this request needs a JSON body");
        }
        return;
    }
    if (strcmp(method, "POST") != 0) {
        err_set(&err, ERR_INVALID, "a %.16s request takes no body", method);
        fail(x, &err, 0, "");
    } else if (!request_is_json(type) || x->headers[HEADER_CONTENT_ENCODING] != NULL) {
        err_set(&err, ERR_UNSUPPORTED,
                "the body is \"%.80s\"; right is Content-Type: application/json, not encoded",
                type != NULL ? type : "encoded");
        fail(x, &err, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, "Content-Type");
    } else if (request_body(x->body.text, x->body.len, x->arena, &x->in, &err) != 0) {
        fail(x, &err, 0, "");
    }
}

static void add_headers(struct exchange *x, struct MHD_Response *r, const char *type)
{
    MHD_add_response_header(r, "Content-Type", type);
    MHD_add_response_header(r, "Cache-Control", "no-store");
    MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(r, "X-Request-Id", x->request_id);
    if (x->env->stopping) {
        MHD_add_response_header(r, "Connection", "close");
    }
    if (x->sent_status == MHD_HTTP_METHOD_NOT_ALLOWED) {
        char allow[ROUTE_ALLOW_MAX];

        route_allow(x->path, allow);
        MHD_add_response_header(r, "Allow", allow);
    }
    if (x->sent_status == MHD_HTTP_UNAUTHORIZED) {
        MHD_add_response_header(r, "WWW-Authenticate", "Bearer realm=\"muster\"");
    }
    if (x->sent_status == MHD_HTTP_SERVICE_UNAVAILABLE) {
        MHD_add_response_header(r, "Retry-After", "1");
    }
}

static enum MHD_Result queue(struct exchange *x, struct MHD_Response *r, const char *type)
{
    enum MHD_Result result;

    CHECK(r != NULL);
    add_headers(x, r, type);
    result = MHD_queue_response(x->connection, (unsigned)x->sent_status, r);
    MHD_destroy_response(r);
    x->phase = SENDING;
    x->queued_ms = tally_clock_us() / 1000;
    return result;
}

/* Takes text, which malloc gave. */
static enum MHD_Result queue_text(struct exchange *x, char *text, const char *type)
{
    return queue(x, MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE),
                 type);
}

static enum MHD_Result send_problem(struct exchange *x)
{
    struct problem p = {x->status, x->answer.err, x->field, x->request_id};

    p.err.code = (enum err_code)x->answer.rc;
    x->sent_status = problem_status(&p);
    return queue_text(x, problem_text(&p), "application/problem+json");
}

static enum MHD_Result send_answer(struct exchange *x)
{
    char *text;

    if (x->answer.rc != 0) {
        return send_problem(x);
    }
    x->sent_status = x->answer.created ? MHD_HTTP_CREATED : MHD_HTTP_OK;
    if (x->answer.stream != NULL) {
        const char *type = x->answer.stream->content_type;

        x->feed = feed_new(x->answer.stream, x->connection, &x->env->loop, x->env->heartbeat_ms);
        x->answer.stream = NULL;
        if (x->env->stopping) {
            feed_end(x->feed);
        }
        return queue(x, feed_response(x->feed), type);
    }
    text = x->answer.text;
    x->answer.text = NULL;
    if (text == NULL) {
        text = json_dumps(x->answer.json, JSON_COMPACT);
    }
    CHECK(text != NULL);
    return queue_text(x, text, "application/json");
}

static enum MHD_Result send_page(struct exchange *x)
{
    /* MHD does not write to a persistent buffer; its parameter is older than const. */
    union {
        const void *from;
        void *to;
    } document = {.from = OPENAPI_JSON};
    struct page page;
    struct err err;

    if (page_make(x->route.row, x->env->service, x->env->tally, &page, &err) != 0) {
        fail(x, &err, MHD_HTTP_SERVICE_UNAVAILABLE, "");
        return send_problem(x);
    }
    x->sent_status = MHD_HTTP_OK;
    if (page.text != NULL) {
        return queue_text(x, page.text, page.type);
    }
    return queue(x,
                 MHD_create_response_from_buffer(OPENAPI_JSON_BYTES, document.to,
                                                 MHD_RESPMEM_PERSISTENT),
                 page.type);
}

static void go_on(struct exchange *x)
{
    if (x->suspended) {
        x->suspended = false;
        MHD_resume_connection(x->connection);
        x->env->loop.kick(x->env->loop.arg);
    }
}

/* The daemon's answer; the call may have outlived its connection. */
static void on_done(void *arg, struct service_answer *answer)
{
    struct exchange *x = arg;

    CHECK(x->phase == CALLING || x->phase == WAITING);
    CHECK(answer->rc != 0 ||
          (answer->json != NULL) + (answer->text != NULL) + (answer->stream != NULL) == 1);
    x->answer = *answer;
    x->field = mem_text(answer->field != NULL ? answer->field : "");
    x->answer.field = NULL;
    x->phase = ANSWERED;
    if (x->connection == NULL) {
        drop(x);
    } else {
        go_on(x);
    }
}

static enum MHD_Result call_service(struct exchange *x)
{
    const char *last_event_id = x->headers[HEADER_LAST_EVENT_ID];

    x->call = (struct service_call){
        .op = (enum service_op)x->route.row,
        .caller = x->caller,
        .target = x->route.target,
        .param_count = x->query.count,
        .body = x->in,
        .body_text = str_text(&x->body),
        .body_len = x->body.len,
        .idempotency_key = x->key,
        .request_id = x->request_id,
        .last_event_id = last_event_id != NULL ? last_event_id : "",
    };
    memcpy(x->call.params, x->query.params, sizeof(x->query.params));
    x->phase = CALLING;
    x->env->service->call(x->env->service->ctx, &x->call, on_done, x);
    if (x->phase == ANSWERED) {
        return send_answer(x);
    }
    x->phase = WAITING;
    x->suspended = true;
    MHD_suspend_connection(x->connection);
    return MHD_YES;
}

static enum MHD_Result end_of_body(struct exchange *x, const char *method)
{
    if (x->answer.rc == 0) {
        read_body(x, method);
    }
    if (x->answer.rc != 0) {
        return send_problem(x);
    }
    return x->route.row >= SERVICE_OP_COUNT ? send_page(x) : call_service(x);
}

enum MHD_Result exchange_step(struct exchange *x, const char *method, const char *data, size_t *len)
{
    if (x->phase == ANSWERED) {
        return send_answer(x);
    }
    if (x->phase != READING) {
        *len = 0;
        return MHD_YES;
    }
    if (!x->begun) {
        return begin(x, method);
    }
    return *len > 0 ? take_body(x, data, len) : end_of_body(x, method);
}

bool exchange_is_reading(const struct exchange *x)
{
    return x->phase == READING;
}

bool exchange_is_stream(const struct exchange *x)
{
    return x->feed != NULL;
}

int64_t exchange_deadline_ms(const struct exchange *x)
{
    if (x->phase == READING) {
        return x->began_us / 1000 + x->env->request_ms_max;
    }
    if (x->phase == SENDING && x->feed == NULL) {
        return x->queued_ms + x->env->answer_ms_max;
    }
    return INT64_MAX;
}

void exchange_tick(struct exchange *x, int fd, int64_t now_ms)
{
    if (x->feed != NULL) {
        feed_tick(x->feed, fd, now_ms);
    }
}

void exchange_end_stream(struct exchange *x)
{
    if (x->feed != NULL) {
        feed_end(x->feed);
    }
}

void exchange_let_go(struct exchange *x)
{
    exchange_end_stream(x);
    go_on(x);
}
