/* Strict reading of what clients write. */
#include "http/request.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void escapes_are_decoded(void **state)
{
    char out[64];
    struct err err;

    (void)state;
    assert_int_equal(request_decode("a%2Fb%c3%bc", 11, false, out, &err), 0);
    assert_string_equal(out, "a/b\xc3\xbc");
    assert_int_equal(request_decode("a+b", 3, true, out, &err), 0);
    assert_string_equal(out, "a b");
    assert_int_equal(request_decode("a+b", 3, false, out, &err), 0);
    assert_string_equal(out, "a+b");
    assert_int_equal(request_decode("", 0, true, out, &err), 0);
    assert_string_equal(out, "");
}

static void broken_escapes_are_refused(void **state)
{
    static const char *const BAD[] = {"%",    "%1",        "a%",           "a%2",   "%g0",
                                      "%0g",  "%00",       "%0a",          "a\x7f", "%ff",
                                      "\xc3", "%ed%a0%80", "%-1",          "% 1",   "%%",
                                      "%2%5", "\x01",      "%f4%90%80%80", "%c0%80"};
    char out[64];
    struct err err;

    (void)state;
    for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
        assert_int_equal(request_decode(BAD[i], strlen(BAD[i]), true, out, &err), ERR_SYNTAX);
    }
    assert_int_equal(request_decode("ab%4", 4, true, out, &err), ERR_SYNTAX);
    assert_non_null(strstr(err.text, "byte 3"));
}

static void a_query_keeps_its_order(void **state)
{
    struct request_query q;
    struct err err;

    (void)state;
    assert_int_equal(request_query("b=2&a=1&flag&c=x%3Dy&d=", &q, &err), 0);
    assert_int_equal(q.count, 5);
    assert_string_equal(q.params[0].name, "b");
    assert_string_equal(q.params[0].value, "2");
    assert_string_equal(q.params[2].name, "flag");
    assert_string_equal(q.params[2].value, "");
    assert_string_equal(q.params[3].value, "x=y");
    assert_string_equal(q.params[4].value, "");
    request_query_fini(&q);
    assert_int_equal(request_query("", &q, &err), 0);
    assert_int_equal(q.count, 0);
    request_query_fini(&q);
}

static void a_query_has_a_limit(void **state)
{
    struct request_query q;
    struct err err;
    char text[256] = "";

    (void)state;
    for (int i = 0; i < SERVICE_PARAM_MAX; i++) {
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%sp%d", i > 0 ? "&" : "", i);
    }
    assert_int_equal(request_query(text, &q, &err), 0);
    assert_int_equal(q.count, SERVICE_PARAM_MAX);
    request_query_fini(&q);
    snprintf(text + strlen(text), sizeof(text) - strlen(text), "&more");
    assert_int_equal(request_query(text, &q, &err), ERR_RANGE);
}

static void bad_queries_are_refused(void **state)
{
    static const struct {
        const char *text;
        int code;
        const char *part;
    } CASES[] = {
        {"a=1&a=2", ERR_INVALID, "\"a\" is there twice"},
        {"a=1&%61=2", ERR_INVALID, "twice"},
        {"=1", ERR_SYNTAX, "has no name"},
        {"a=1&", ERR_SYNTAX, "ends with '&'"},
        {"a&&b", ERR_SYNTAX, "parameter 2 has no name"},
        {"a=1&b=%zz", ERR_SYNTAX, "parameter 2, byte 1"},
        {"%ff=1", ERR_SYNTAX, "UTF-8"},
    };
    struct request_query q;
    struct err err;

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        assert_int_equal(request_query(CASES[i].text, &q, &err), CASES[i].code);
        assert_non_null(strstr(err.text, CASES[i].part));
    }
}

static int body(const char *text, struct err *err)
{
    struct arena *arena = arena_make();
    const struct jsonin *in = NULL;
    int rc = request_body(text, strlen(text), arena, &in, err);

    if (rc == 0) {
        assert_true(jsonin_is(in, JSONIN_OBJECT));
    }
    arena_free(arena);
    return rc;
}

static void a_body_is_one_object(void **state)
{
    static const struct {
        const char *text;
        int code;
        const char *part;
    } CASES[] = {
        {"{\"a\": 1, \"b\": [1, \"[[[\"]}", 0, ""},
        {" {} \n", 0, ""},
        {"", ERR_SYNTAX, "body:1:"},
        {"{\n  \"a\": tru\n}", ERR_SYNTAX, "body:2:"},
        {"{}x", ERR_SYNTAX, "body:1:"},
        {"{}{}", ERR_SYNTAX, "body:1:"},
        {"{\"a\":1,\"a\":1}", ERR_SYNTAX, "duplicate"},
        {"[1]", ERR_INVALID, "not an object"},
        {"7", ERR_INVALID, "not an object"},
        {"null", ERR_INVALID, "not an object"},
        {"{\"a\":9223372036854775808}", ERR_RANGE, "past 2^63"},
        {"{\"a\":\"\xff\"}", ERR_SYNTAX, "byte 0xff"},
        {"{\"a\":\"\\u0000\"}", ERR_SYNTAX, "\\u0000"},
        {"{\"a\":01}", ERR_SYNTAX, "body:1:"},
        {"{'a':1}", ERR_SYNTAX, "body:1:"},
    };
    struct err err = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        assert_int_equal(body(CASES[i].text, &err), CASES[i].code);
        if (strstr(err.text, CASES[i].part) == NULL) {
            fail_msg("\"%s\" is not in \"%s\"", CASES[i].part, err.text);
        }
    }
}

static void depth_is_bounded(void **state)
{
    char text[256] = "{\"a\":";
    size_t at = strlen(text);
    struct err err;

    (void)state;
    memset(text + at, '[', REQUEST_DEPTH_MAX - 1);
    memset(text + at + REQUEST_DEPTH_MAX - 1, ']', REQUEST_DEPTH_MAX - 1);
    text[at + 2 * (REQUEST_DEPTH_MAX - 1)] = '}';
    assert_int_equal(body(text, &err), 0);
    memset(text + at, '[', REQUEST_DEPTH_MAX);
    assert_int_equal(body(text, &err), ERR_RANGE);
}

static void media_types_are_told_apart(void **state)
{
    (void)state;
    assert_true(request_is_json(NULL));
    assert_true(request_is_json("application/json"));
    assert_true(request_is_json("Application/JSON; charset=UTF-8"));
    assert_true(request_is_json("application/json ;charset=\"utf-8\""));
    assert_false(request_is_json("application/json5"));
    assert_false(request_is_json("application/json; charset=latin1"));
    assert_false(request_is_json("text/plain"));
    assert_false(request_is_json(""));
}

static void ids_are_safe_text(void **state)
{
    (void)state;
    assert_true(request_is_token("aZ9._:-", 7));
    assert_false(request_is_token("aZ9._:-", 6));
    assert_false(request_is_token("", 6));
    assert_false(request_is_token("a b", 6));
    assert_false(request_is_token("a\r\nb", 6));
    assert_false(request_is_token("\xc3\xbc", 6));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(escapes_are_decoded),     cmocka_unit_test(broken_escapes_are_refused),
        cmocka_unit_test(a_query_keeps_its_order), cmocka_unit_test(a_query_has_a_limit),
        cmocka_unit_test(bad_queries_are_refused), cmocka_unit_test(a_body_is_one_object),
        cmocka_unit_test(depth_is_bounded),        cmocka_unit_test(media_types_are_told_apart),
        cmocka_unit_test(ids_are_safe_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
