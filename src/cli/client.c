/* client - libcurl does the protocol; here are the calls, the streams and the errors.
 *
 * One multi handle carries the streams, so that `muster run` can watch events and several logs with
 * one loop and no thread; plain calls use an easy handle of their own and may happen in between. */
#include "cli/client.h"

#include "base/check.h"
#include "base/mem.h"
#include "cli/address.h"

#include <curl/curl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define ANSWER_BYTES_MAX ((size_t)256 << 20)
#define CONNECT_MS_MAX   5000L
#define TRIES_MAX        3

struct client {
    CURL *easy;
    CURLM *multi;
    struct address address;
    long timeout_ms;
    char field[128];
};

struct client_stream {
    struct client *client;
    CURL *easy;
    struct curl_slist *headers;
    client_sink *sink;
    void *arg;
    struct str problem; /* the body of an answer that is no success */
    bool ended;
    CURLcode result;
};

int client_open(const struct client_where *where, struct client **ret, struct err *err)
{
    struct client *c = mem_new(1, sizeof(*c));
    int rc = address_find(&c->address, where->socket, where->token_file, err);

    if (rc != 0) {
        client_close(c);
        return rc;
    }
    CHECK(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK);
    c->easy = curl_easy_init();
    c->multi = curl_multi_init();
    CHECK(c->easy != NULL && c->multi != NULL);
    c->timeout_ms = where->timeout_ms > 0 ? (long)where->timeout_ms : 30000L;
    *ret = c;
    return 0;
}

void client_close(struct client *c)
{
    if (c == NULL) {
        return;
    }
    if (c->easy != NULL) {
        curl_easy_cleanup(c->easy);
        curl_multi_cleanup(c->multi);
        curl_global_cleanup();
    }
    address_fini(&c->address);
    mem_free(c);
}

const char *client_field(const struct client *c)
{
    return c != NULL ? c->field : "";
}

const char *client_address(const struct client *c)
{
    return c->address.words;
}

/* ---- paths ---- */

static void add_encoded(struct str *path, const char *text)
{
    static const char HEX[] = "0123456789ABCDEF";

    for (; *text != '\0'; text++) {
        unsigned char b = (unsigned char)*text;
        char code[3] = {'%', HEX[b >> 4], HEX[b & 15]};

        if ((b >= 'a' && b <= 'z') || (b >= 'A' && b <= 'Z') || (b >= '0' && b <= '9') ||
            strchr("-._~", b) != NULL) {
            str_add_char(path, (char)b);
        } else {
            str_add_n(path, code, sizeof(code));
        }
    }
}

void path_add(struct str *path, const char *element)
{
    str_add_char(path, '/');
    add_encoded(path, element);
}

void path_add_query(struct str *path, const char *name, const char *value)
{
    str_add_char(path, strchr(str_text(path), '?') == NULL ? '?' : '&');
    add_encoded(path, name);
    str_add_char(path, '=');
    add_encoded(path, value);
}

/* ---- errors ---- */

static enum err_code code_of_status(long status)
{
    switch (status) {
    case 400:
    case 422:
        return ERR_INVALID;
    case 401:
        return ERR_UNAUTHENTICATED;
    case 403:
        return ERR_FORBIDDEN;
    case 404:
        return ERR_NOT_FOUND;
    case 409:
        return ERR_CONFLICT;
    case 413:
        return ERR_TOO_LARGE;
    case 502:
    case 503:
        return ERR_BUSY;
    case 504:
        return ERR_TIMEOUT;
    default:
        return ERR_INTERNAL;
    }
}

int client_problem(long status, const char *text, size_t len, char *ret_field, size_t field_room,
                   struct err *err)
{
    json_t *json = json_loadb(text, len, 0, NULL);
    const char *code = json_string_value(json_object_get(json, "code"));
    const char *detail = json_string_value(json_object_get(json, "detail"));
    const char *field = json_string_value(json_object_get(json, "field"));
    enum err_code known = code != NULL ? err_of_name(code) : code_of_status(status);
    int rc;

    if (detail == NULL) {
        detail = json_string_value(json_object_get(json, "title"));
    }
    snprintf(ret_field, field_room, "%s", field != NULL ? field : "");
    if (code == NULL) {
        rc = err_set(err, known, "the server answered %ld%s%s", status, detail != NULL ? ": " : "",
                     detail != NULL ? detail : "");
    } else if (strcmp(err_name(known), code) != 0) {
        /* a newer server knows codes that this program does not: keep its name and class */
        rc = err_set(err, code_of_status(status), "%s: %s", code, detail != NULL ? detail : "");
    } else {
        rc = err_set(err, known, "%s", detail != NULL ? detail : "no detail was given");
    }
    json_decref(json);
    return rc;
}

static int fail_of_curl(const struct client *c, CURLcode code, struct err *err)
{
    switch ((int)code) {
    case CURLE_COULDNT_CONNECT:
    case CURLE_COULDNT_RESOLVE_HOST:
        return err_set(err, ERR_UNREACHABLE,
                       "no musterd answers at %s (start it with `systemctl start musterd`, or with "
                       "tools/up in a source tree)",
                       c->address.words);
    case CURLE_OPERATION_TIMEDOUT:
        return err_set(err, ERR_TIMEOUT, "musterd at %s did not answer in time", c->address.words);
    case CURLE_WRITE_ERROR:
        return err_set(err, ERR_TOO_LARGE, "the answer of %s is too large", c->address.words);
    default:
        return err_set(err, ERR_UNREACHABLE, "the connection to musterd at %s broke: %s",
                       c->address.words, curl_easy_strerror(code));
    }
}

/* ---- calls ---- */

static void set_common(const struct client *c, CURL *easy, const char *path)
{
    struct str url = {0};

    str_addf(&url, "%s%s", c->address.base, path);
    curl_easy_setopt(easy, CURLOPT_URL, str_text(&url)); /* copied */
    str_fini(&url);
    curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L); /* a node called ".." is asked for as that */
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS_MAX);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "muster/" MUSTER_VERSION);
    if (c->address.loopback) {
        curl_easy_setopt(easy, CURLOPT_PROXY, "");
    }
    if (c->address.socket != NULL) {
        curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, c->address.socket);
    }
}

static size_t keep_answer(char *data, size_t size, size_t count, void *arg)
{
    struct str *answer = arg;
    size_t len = size * count;

    if (len > ANSWER_BYTES_MAX - answer->len) {
        return 0;
    }
    str_add_n(answer, data, len);
    return len;
}

static int take_answer(struct client *c, long status, const struct str *answer, json_t **ret,
                       struct err *err)
{
    json_error_t where;
    json_t *json = NULL;

    if (status < 200 || status > 299) {
        return client_problem(status, str_text(answer), answer->len, c->field, sizeof(c->field),
                              err);
    }
    if (answer->len > 0) {
        json = json_loadb(answer->text, answer->len, JSON_REJECT_DUPLICATES, &where);
        if (json == NULL) {
            return err_set(err, ERR_INTERNAL, "the answer of %s is not JSON (line %d: %s)",
                           c->address.words, where.line, where.text);
        }
    }
    if (ret != NULL) {
        *ret = json;
    } else {
        json_decref(json);
    }
    return 0;
}

struct request {
    const char *method;
    const char *path;
    const json_t *body;
    const char *key; /* idempotency, NULL = none */
};

static CURLcode perform(struct client *c, const struct request *r, struct str *answer,
                        long *ret_status)
{
    CLEANUP(mem_freep) char *text = NULL;
    struct curl_slist *headers = NULL;
    struct str key = {0};
    CURLcode code;

    curl_easy_reset(c->easy);
    set_common(c, c->easy, r->path);
    curl_easy_setopt(c->easy, CURLOPT_TIMEOUT_MS, c->timeout_ms);
    curl_easy_setopt(c->easy, CURLOPT_CUSTOMREQUEST, r->method);
    headers = curl_slist_append(headers, "Accept: application/json, application/problem+json");
    headers = curl_slist_append(headers, "Expect:");
    if (c->address.bearer != NULL) {
        headers = curl_slist_append(headers, c->address.bearer);
    }
    if (r->key != NULL) {
        str_addf(&key, "Idempotency-Key: %s", r->key);
        headers = curl_slist_append(headers, str_text(&key));
    }
    if (r->body != NULL || strcmp(r->method, "POST") == 0) {
        text = r->body != NULL ? json_dumps(r->body, JSON_COMPACT) : mem_text("");
        CHECK(text != NULL);
        headers = curl_slist_append(headers, r->body != NULL ? "Content-Type: application/json"
                                                             : "Content-Type:");
        curl_easy_setopt(c->easy, CURLOPT_POSTFIELDS, text);
        curl_easy_setopt(c->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(text));
    }
    curl_easy_setopt(c->easy, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(c->easy, CURLOPT_WRITEFUNCTION, keep_answer);
    curl_easy_setopt(c->easy, CURLOPT_WRITEDATA, answer);
    code = curl_easy_perform(c->easy);
    curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, ret_status);
    curl_slist_free_all(headers);
    str_fini(&key);
    return code;
}

static int call(struct client *c, const struct request *r, json_t **ret, CURLcode *ret_code,
                struct err *err)
{
    struct str answer = {0};
    long status = 0;
    int rc;

    c->field[0] = '\0';
    *ret_code = perform(c, r, &answer, &status);
    if (*ret_code != CURLE_OK) {
        rc = fail_of_curl(c, *ret_code, err);
    } else {
        rc = take_answer(c, status, &answer, ret, err);
    }
    str_fini(&answer);
    return rc;
}

int client_call(struct client *c, const char *method, const char *path, const json_t *body,
                json_t **ret, struct err *err)
{
    CURLcode code;

    return call(c, &(struct request){method, path, body, NULL}, ret, &code, err);
}

int client_call_once(struct client *c, const char *path, const json_t *body, json_t **ret,
                     struct err *err)
{
    unsigned char random[16];
    struct str key = {0};
    CURLcode code;
    int rc = 0;

    CHECK(getrandom(random, sizeof(random), 0) == (ssize_t)sizeof(random));
    for (size_t i = 0; i < sizeof(random); i++) {
        str_addf(&key, "%02x", random[i]);
    }
    for (int i = 0; i < TRIES_MAX; i++) {
        rc = call(c, &(struct request){"POST", path, body, str_text(&key)}, ret, &code, err);
        if (code != CURLE_GOT_NOTHING && code != CURLE_RECV_ERROR && code != CURLE_SEND_ERROR) {
            break;
        }
        usleep(300000);
    }
    str_fini(&key);
    return rc;
}

/* ---- streams ---- */

static size_t stream_data(char *data, size_t size, size_t count, void *arg)
{
    struct client_stream *s = arg;
    size_t len = size * count;
    long status = 0;

    curl_easy_getinfo(s->easy, CURLINFO_RESPONSE_CODE, &status);
    if (status == 200) {
        s->sink(s->arg, data, len);
    } else if (s->problem.len < 65536) {
        str_add_n(&s->problem, data, len);
    }
    return len;
}

struct client_stream *client_stream_open(struct client *c, const char *path,
                                         const char *last_event_id, client_sink *sink, void *arg)
{
    struct client_stream *s = mem_new(1, sizeof(*s));
    struct str line = {0};

    s->client = c;
    s->sink = sink;
    s->arg = arg;
    s->easy = curl_easy_init();
    CHECK(s->easy != NULL);
    set_common(c, s->easy, path);
    if (c->address.bearer != NULL) {
        s->headers = curl_slist_append(s->headers, c->address.bearer);
    }
    if (last_event_id != NULL && last_event_id[0] != '\0') {
        str_addf(&line, "Last-Event-ID: %s", last_event_id);
        s->headers = curl_slist_append(s->headers, str_text(&line));
        str_fini(&line);
    }
    s->headers = curl_slist_append(s->headers, "Accept: */*");
    curl_easy_setopt(s->easy, CURLOPT_HTTPHEADER, s->headers);
    curl_easy_setopt(s->easy, CURLOPT_WRITEFUNCTION, stream_data);
    curl_easy_setopt(s->easy, CURLOPT_WRITEDATA, s);
    curl_easy_setopt(s->easy, CURLOPT_PRIVATE, s);
    CHECK(curl_multi_add_handle(c->multi, s->easy) == CURLM_OK);
    return s;
}

void client_stream_close(struct client_stream *s)
{
    if (s == NULL) {
        return;
    }
    curl_multi_remove_handle(s->client->multi, s->easy);
    curl_easy_cleanup(s->easy);
    curl_slist_free_all(s->headers);
    str_fini(&s->problem);
    mem_free(s);
}

bool client_stream_ended(const struct client_stream *s)
{
    return s->ended;
}

int client_stream_result(const struct client_stream *s, struct err *err)
{
    long status = 0;
    char *field = s->client->field;

    if (s->result != CURLE_OK) {
        return fail_of_curl(s->client, s->result, err);
    }
    curl_easy_getinfo(s->easy, CURLINFO_RESPONSE_CODE, &status);
    if (status != 200) {
        return client_problem(status, str_text(&s->problem), s->problem.len, field,
                              sizeof(s->client->field), err);
    }
    return 0;
}

void client_poll(struct client *c, int fd, int timeout_ms)
{
    struct curl_waitfd extra = {.fd = fd, .events = CURL_WAIT_POLLIN};
    int running, left;
    CURLMsg *msg;

    curl_multi_perform(c->multi, &running);
    curl_multi_poll(c->multi, fd >= 0 ? &extra : NULL, fd >= 0 ? 1 : 0, timeout_ms, NULL);
    curl_multi_perform(c->multi, &running);
    while ((msg = curl_multi_info_read(c->multi, &left)) != NULL) {
        struct client_stream *s = NULL;

        if (msg->msg != CURLMSG_DONE) {
            continue;
        }
        curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, &s);
        s->ended = true;
        s->result = msg->data.result;
    }
}

int client_read(struct client *c, const char *path, client_sink *sink, void *arg, struct err *err)
{
    struct client_stream *s = client_stream_open(c, path, NULL, sink, arg);
    int rc;

    while (!client_stream_ended(s)) {
        client_poll(c, -1, 1000);
    }
    rc = client_stream_result(s, err);
    client_stream_close(s);
    return rc;
}
