#include "http/jsonin.h"

#include "base/check.h"
#include "base/mem.h"
#include "base/str.h"
#include "http/request.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <string.h>

static void is_same(const struct jsonin *in, const json_t *out)
{
    static const json_type TYPES[] = {
        [JSONIN_NULL] = JSON_NULL,   [JSONIN_FALSE] = JSON_FALSE,   [JSONIN_TRUE] = JSON_TRUE,
        [JSONIN_INT] = JSON_INTEGER, [JSONIN_REAL] = JSON_REAL,     [JSONIN_TEXT] = JSON_STRING,
        [JSONIN_ARRAY] = JSON_ARRAY, [JSONIN_OBJECT] = JSON_OBJECT,
    };
    size_t i = 0;

    assert_non_null(out);
    assert_int_equal(json_typeof(out), TYPES[in->kind]);
    if (in->kind == JSONIN_INT) {
        assert_true(in->number == json_integer_value(out));
    } else if (in->kind == JSONIN_TEXT) {
        assert_string_equal(in->text, json_string_value(out));
        assert_int_equal(in->len, json_string_length(out));
    }
    for (const struct jsonin *v = jsonin_first(in); v != NULL; v = v->next, i++) {
        is_same(v,
                in->kind == JSONIN_ARRAY ? json_array_get(out, i) : json_object_get(out, v->key));
        assert_true(in->kind == JSONIN_ARRAY || strlen(v->key) == v->key_len);
    }
    assert_int_equal(i, json_is_array(out) ? json_array_size(out) : json_object_size(out));
}

static void it_is_what_jansson_read(void **state)
{
    static const char *const GOOD[] = {
        "{}",
        "[]",
        " { \"a\" : [ 1 , -2 , 0 , -0 , 1.5 , 1e3 , 1E-3 , -0.0e+0 ] , \"b\" : { } } \r\n\t",
        "null",
        "true",
        "false",
        "\"\"",
        "9223372036854775807",
        "-9223372036854775808",
        "1e308",
        "1e-400",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9\\u20AC\\ud83d\\ude00\"",
        "\"\x7f h\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"",
        "{\"\": 1, \" \": 2, \"a\\nb\": \"\\u000a\"}",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(GOOD); i++) {
        struct arena *arena = arena_make_sized(256);
        json_t *json = json_loads(GOOD[i], JSON_DECODE_ANY, NULL);

        is_same(jsonin_of(json, arena), json);
        json_decref(json);
        arena_free(arena);
    }
}

/* As the body of a request. */
static int read(const char *text, size_t len)
{
    CLEANUP(arena_freep) struct arena *arena = arena_make_sized(256);
    const struct jsonin *in = NULL;

    return request_body(text, len, arena, &in, NULL);
}

static const char *const WRONG[] = {
    "",
    " ",
    "{",
    "}",
    "[",
    "]",
    "{}x",
    "{}{}",
    "[1,]",
    "[,1]",
    "[1 2]",
    "{\"a\"}",
    "{\"a\":}",
    "{\"a\":1,}",
    "{a:1}",
    "{1:1}",
    "{'a':1}",
    "{\"a\":1 \"b\":2}",
    "{\"a\":1,\"a\":2}",
    "{\"a\":1,\"\\u0061\":2}",
    "nul",
    "nulll",
    "True",
    "tru",
    "truefalse",
    "01",
    "-",
    "+1",
    ".5",
    "1.",
    "1.e3",
    "1e",
    "1e+",
    "0x10",
    "1a",
    "--1",
    "NaN",
    "Infinity",
    "9223372036854775808",
    "-9223372036854775809",
    "1e309",
    "-1e309",
    "\"",
    "\"\\\"",
    "\"\\x\"",
    "\"\\u12\"",
    "\"\\u12g4\"",
    "\"\\u0000\"",
    "{\"\\u0000\":1}",
    "\"\\ud800\"",
    "\"\\udc00\"",
    "\"\\ud800\\u0041\"",
    "\"\\ud800\\n\"",
    "\"\n\"",
    "\"\t\"",
    "\"\x01\"",
    "\"\xff\"",
    "\"\xc3\"",
    "\"\xc0\x80\"",
    "\"\xed\xa0\x80\"",
    "\"\xf4\x90\x80\x80\"",
    "\xef\xbb\xbf{}",
    "/* */ {}",
    "{} // x",
    "\f{}",
};

static void wrong_json_is_no_body(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(WRONG); i++) {
        int rc = read(WRONG[i], strlen(WRONG[i]));

        assert_true(rc == ERR_SYNTAX || rc == ERR_RANGE);
    }
    assert_int_equal(read("{}\0", 3), ERR_SYNTAX); /* a NUL of the client's own is no end */
    assert_int_equal(read("\"a\0b\"", 5), ERR_SYNTAX);
    assert_int_equal(read("\0", 1), ERR_SYNTAX);
}

static void names_of_large_objects_differ_too(void **state)
{
    CLEANUP(str_fini) struct str text = {0};

    (void)state;
    for (int twice = 0; twice < 2; twice++) {
        str_clear(&text);
        for (int i = 0; i < 100; i++) {
            str_addf(&text, "%s\"n%d\":%d", i == 0 ? "{" : ",", i * 37 % 100, i);
        }
        str_add(&text, twice == 1 ? ",\"n50\":1}" : "}");
        assert_int_equal(read(text.text, text.len), twice == 1 ? ERR_SYNTAX : 0);
    }
}

static void what_is_not_there_is_nothing(void **state)
{
    struct arena *arena = arena_make();
    json_t *json = json_loads("{\"a\":7,\"b\":[]}", 0, NULL);
    const struct jsonin *in = jsonin_of(json, arena);

    (void)state;
    json_decref(json);
    assert_true(jsonin_is(jsonin_get(in, "a"), JSONIN_INT));
    assert_null(jsonin_get(in, "c"));
    assert_null(jsonin_get(jsonin_get(in, "a"), "a"));
    assert_null(jsonin_get(NULL, "a"));
    assert_null(jsonin_first(jsonin_get(in, "b")));
    assert_int_equal(jsonin_count(jsonin_get(in, "a")), 0);
    assert_false(jsonin_is(NULL, JSONIN_NULL));
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_what_jansson_read),
        cmocka_unit_test(wrong_json_is_no_body),
        cmocka_unit_test(names_of_large_objects_differ_too),
        cmocka_unit_test(what_is_not_there_is_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
