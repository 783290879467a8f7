#include "http/jsonin.h"

#include "base/check.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define DEPTH 32

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

/* Both take it and read the same, or neither does.  True: they take it. */
static bool agree(const char *text, size_t len)
{
    struct arena *arena = arena_make_sized(256);
    json_t *out = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
    const struct jsonin *in = NULL;
    bool taken = jsonin_read(text, len, DEPTH, arena, &in) == JSONIN_GOOD;

    if (taken != (out != NULL)) {
        fail_msg("%s takes it and the other does not: %.*s", taken ? "jsonin" : "jansson", (int)len,
                 text);
    }
    if (taken) {
        is_same(in, out);
    }
    json_decref(out);
    arena_free(arena);
    return taken;
}

static void it_takes_what_jansson_takes(void **state)
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
        assert_true(agree(GOOD[i], strlen(GOOD[i])));
    }
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

static void it_refuses_what_jansson_refuses(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(WRONG); i++) {
        assert_false(agree(WRONG[i], strlen(WRONG[i])));
    }
    assert_false(agree("{}\0", 3)); /* a NUL of the client's own is no end */
    assert_false(agree("\"a\0b\"", 5));
    assert_false(agree("\0", 1));
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
        assert_int_equal(agree(text.text, text.len), twice == 0);
    }
}

static void depth_is_told_apart(void **state)
{
    struct arena *arena = arena_make();
    const struct jsonin *in = NULL;

    (void)state;
    assert_int_equal(jsonin_read("[[[]]]", 6, 3, arena, &in), JSONIN_GOOD);
    assert_int_equal(jsonin_read("[[[]]]", 6, 2, arena, &in), JSONIN_TOO_DEEP);
    assert_int_equal(jsonin_read("[[[}]]", 6, 3, arena, &in), JSONIN_WRONG);
    assert_int_equal(jsonin_read("[[],[],{}]", 10, 2, arena, &in), JSONIN_GOOD);
    assert_int_equal(jsonin_count(in), 3);
    arena_free(arena);
}

static void what_is_not_there_is_nothing(void **state)
{
    struct arena *arena = arena_make();
    const struct jsonin *in = NULL;

    (void)state;
    assert_int_equal(jsonin_read("{\"a\":7,\"b\":[]}", 14, 2, arena, &in), JSONIN_GOOD);
    assert_true(jsonin_is(jsonin_get(in, "a"), JSONIN_INT));
    assert_null(jsonin_get(in, "c"));
    assert_null(jsonin_get(jsonin_get(in, "a"), "a"));
    assert_null(jsonin_get(NULL, "a"));
    assert_null(jsonin_first(jsonin_get(in, "b")));
    assert_int_equal(jsonin_count(jsonin_get(in, "a")), 0);
    assert_false(jsonin_is(NULL, JSONIN_NULL));
    arena_free(arena);
}

/* Pieces of JSON put together by chance: most are wrong, and some are not. */
static void both_readers_agree_on_anything(void **state)
{
    static const char *const PIECES[] = {
        "{",    "}",    "[",    "]",        ",",       ":",       "\"a\"", "\"b\"", "\"",    "\\",
        "\\u",  "d8",   "3d",   "\\ud83d",  "\\ude00", "\\u0000", "0",     "1",     "-",     ".",
        "e",    "E",    "+",    "99999",    "true",    "false",   "null",  " ",     "\n",    "\x01",
        "\xc3", "\xa9", "\xe2", "\x82\xac", "{\"a\":", "\"x\":1", "[]",    "{}",    "1.5e3", "\\n",
    };
    CLEANUP(str_fini) struct str text = {0};
    struct rng rng = rng_init(4711);
    int taken = 0;

    (void)state;
    for (int i = 0; i < 200000; i++) {
        uint64_t count = 1 + rng_below(&rng, 12);

        str_clear(&text);
        for (uint64_t k = 0; k < count; k++) {
            str_add(&text, PIECES[rng_below(&rng, ARRAY_LEN(PIECES))]);
        }
        taken += agree(text.text, text.len) ? 1 : 0;
    }
    assert_true(taken > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_takes_what_jansson_takes),
        cmocka_unit_test(it_refuses_what_jansson_refuses),
        cmocka_unit_test(names_of_large_objects_differ_too),
        cmocka_unit_test(depth_is_told_apart),
        cmocka_unit_test(what_is_not_there_is_nothing),
        cmocka_unit_test(both_readers_agree_on_anything),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
