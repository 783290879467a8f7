/* fuzz/http_request - what a stranger's bytes reach first: the query, the path, the JSON body, the
 * headers that HTTP reads itself.
 *
 * Input: one letter (q query, p path, b body, h Host, t media type, a Authorization), then the
 * text. Checked beside memory: what is taken is UTF-8 without control characters, no name comes
 * twice, a decoded text encodes back to itself.
 */
#include "http/request.h"

#include "base/check.h"
#include "base/mem.h"
#include "base/str.h"
#include "http/auth.h"
#include "http/route.h"

#include <jansson.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text)
{
    CHECK(str_is_utf8(text, strlen(text)));
    for (const char *c = text; *c != '\0'; c++) {
        CHECK((unsigned char)*c >= 0x20 && *c != 0x7f);
    }
}

/* Everything but letters and digits as an escape. */
static void encode(const char *text, struct str *out)
{
    for (const char *c = text; *c != '\0'; c++) {
        str_addf(out, "%%%02X", (unsigned)(unsigned char)*c);
    }
}

static void fuzz_query(const char *text)
{
    struct request_query q;
    struct request_query again;
    struct str out = {0};
    struct err err;

    if (request_query(text, &q, &err) != 0) {
        check_text(err_name(err.code));
        return;
    }
    CHECK(q.count <= SERVICE_PARAM_MAX);
    for (size_t i = 0; i < q.count; i++) {
        check_text(q.params[i].name);
        check_text(q.params[i].value);
        str_add(&out, i > 0 ? "&" : "");
        encode(q.params[i].name, &out);
        str_add(&out, "=");
        encode(q.params[i].value, &out);
    }
    CHECK(request_query(str_text(&out), &again, &err) == 0 && again.count == q.count);
    for (size_t i = 0; i < q.count; i++) {
        CHECK(strcmp(q.params[i].name, again.params[i].name) == 0);
        CHECK(strcmp(q.params[i].value, again.params[i].value) == 0);
        for (size_t j = 0; j < i; j++) {
            CHECK(strcmp(q.params[i].name, q.params[j].name) != 0);
        }
    }
    request_query_fini(&again);
    request_query_fini(&q);
    str_fini(&out);
}

static void fuzz_path(const char *text)
{
    static const char *const METHODS[] = {"GET", "POST", "DELETE", "PUT"};
    char allow[ROUTE_ALLOW_MAX];

    route_allow(text, allow);
    for (size_t i = 0; i < ARRAY_LEN(METHODS); i++) {
        struct route route;
        struct err err;
        int rc = route_find(METHODS[i], text, &route, &err);

        CHECK((rc == ERR_NOT_FOUND) == (allow[0] == '\0'));
        if (rc == 0) {
            CHECK(strstr(allow, METHODS[i]) != NULL);
            check_text(route.target);
        }
    }
}

static void fuzz_body(const char *text, size_t len)
{
    CLEANUP(arena_freep) struct arena *arena = arena_make();
    const struct jsonin *in = NULL;
    struct err err;

    if (request_body(text, len, arena, &in, &err) == 0) {
        CHECK(jsonin_is(in, JSONIN_OBJECT));
    }
}

static int nobody(void *ctx, const char *token, struct service_caller *ret, struct err *err)
{
    (void)ctx;
    (void)ret;
    check_text(token);
    CHECK(strlen(token) <= AUTH_TOKEN_MAX);
    return err_set(err, ERR_TOKEN, "nobody");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct service SERVICE = {.who_token = nobody};
    static const struct auth_peer PEER = {.uid = UINT32_MAX};
    struct service_caller caller;
    struct err err;
    CLEANUP(mem_freep) char *text = NULL;

    if (size < 1) {
        return 0;
    }
    text = mem_text_n((const char *)data + 1, size - 1);
    switch (data[0]) {
    case 'q':
        fuzz_query(text);
        break;
    case 'p':
        fuzz_path(text);
        break;
    case 'b':
        fuzz_body(text, size - 1);
        break;
    case 'h':
        CHECK(auth_host(text, NULL, 0, &err) == 0 || err.code == ERR_FORBIDDEN);
        break;
    case 't':
        request_is_json(text);
        request_is_token(text, REQUEST_ID_MAX);
        break;
    case 'a':
        CHECK(auth_caller(&SERVICE, &PEER, text, &caller, &err) != 0);
        break;
    default:
        break;
    }
    return 0;
}
