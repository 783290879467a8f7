#include "core/codec.h"

#include "base/arena.h"
#include "base/check.h"
#include "base/mem.h"
#include "random_value.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define ROUNDS 200

static int decode(enum fact_kind kind, const char *text, struct arena *arena, struct fact *ret,
                  struct err *err)
{
    return codec_decode_fact(kind, text, strlen(text), arena, ret, err);
}

/* The text is refused with this code and a message that contains these words. */
static void refused(enum fact_kind kind, const char *text, int code, const char *words)
{
    struct arena *arena = arena_make();
    struct fact fact = {.seq = 77};
    struct err err = {0};

    assert_int_equal(decode(kind, text, arena, &fact, &err), code);
    if (strstr(err.text, words) == NULL) {
        fail_msg("'%s' does not say '%s'", err.text, words);
    }
    assert_int_equal(fact.seq, 77); /* results are written on success only */
    assert_int_equal(decode(kind, text, arena, &fact, NULL), code);
    arena_free(arena);
}

/* The text is read, and written again it is this. */
static void becomes(enum fact_kind kind, const char *text, const char *canonical)
{
    struct arena *arena = arena_make();
    struct str out = {0};
    struct fact fact;
    struct err err = {0};

    if (decode(kind, text, arena, &fact, &err) != 0) {
        fail_msg("%s: %s", text, err.text);
    }
    codec_encode_fact(&fact, &out);
    assert_string_equal(str_text(&out), canonical);
    str_fini(&out);
    arena_free(arena);
}

static void every_kind_survives_writing_and_reading(void **state)
{
    struct rng rng = rng_init(1);

    (void)state;
    for (int k = FACT_NONE + 1; k < FACT_KIND_COUNT; k++) {
        const struct schema *schema = fact_kind_schema((enum fact_kind)k);

        for (int i = 0; i < ROUNDS; i++) {
            struct arena *arena = arena_make();
            struct fact before = {.kind = (enum fact_kind)k,
                                  .body = {.any = random_value(schema, &rng, arena)}};
            struct str first = {0}, second = {0};
            struct fact after;
            struct err err = {0};

            codec_encode_fact(&before, &first);
            if (decode((enum fact_kind)k, str_text(&first), arena, &after, &err) != 0) {
                fail_msg("%s: %s: %s", fact_kind_name((enum fact_kind)k), err.text,
                         str_text(&first));
            }
            assert_true(str_is_utf8(first.text, first.len));
            codec_encode_fact(&after, &second);
            assert_string_equal(str_text(&first), str_text(&second));
            str_fini(&first);
            str_fini(&second);
            arena_free(arena);
        }
    }
}

static void a_copy_outlives_its_source(void **state)
{
    struct rng rng = rng_init(2);

    (void)state;
    for (int k = FACT_NONE + 1; k < FACT_KIND_COUNT; k++) {
        const struct schema *schema = fact_kind_schema((enum fact_kind)k);

        for (int i = 0; i < ROUNDS / 4; i++) {
            struct arena *from = arena_make(), *to = arena_make();
            const void *value = random_value(schema, &rng, from);
            struct str before = {0}, after = {0};
            void *copy;

            codec_encode(schema, value, &before);
            copy = codec_copy(schema, value, to);
            arena_free(from);
            codec_encode(schema, copy, &after);
            assert_string_equal(str_text(&before), str_text(&after));
            str_fini(&before);
            str_fini(&after);
            arena_free(to);
        }
    }
}

static void what_is_read_is_what_was_meant(void **state)
{
    struct arena *arena = arena_make();
    const struct fact_job_started *start;
    struct fact fact;
    struct err err;

    (void)state;
    assert_int_equal(
        decode(FACT_JOB_STARTED,
               "{\"job\":7,\"attempt\":2,\"tasks\":[{\"task\":0,\"devices\":[{\"slot\":"
               "3,\"gu\":126000},{\"profile\":\"1g.10gb\"}]},{\"task\":1}],\"passes\":[4,"
               "-5],\"why\":{\"rule\":\"entitled\"}}",
               arena, &fact, &err),
        0);
    assert_int_equal(fact.kind, FACT_JOB_STARTED);
    assert_int_equal(fact.seq, 0);
    start = fact_of(&fact, JOB_STARTED);
    assert_int_equal(start->job, 7);
    assert_int_equal(start->task_count, 2);
    assert_int_equal(start->tasks[0].device_count, 2);
    assert_int_equal(start->tasks[0].devices[0].slot, 3);
    assert_int_equal(start->tasks[0].devices[0].gu, 126000);
    assert_string_equal(start->tasks[0].devices[0].profile, ""); /* never NULL */
    assert_string_equal(start->tasks[0].devices[1].profile, "1g.10gb");
    assert_int_equal(start->tasks[1].task, 1);
    assert_int_equal(start->pass_count, 2);
    assert_int_equal(start->passes[1], -5);
    assert_string_equal(start->why.rule, "entitled");
    assert_string_equal(start->why.text, "");
    arena_free(arena);
}

static void the_text_is_canonical(void **state)
{
    (void)state;
    becomes(FACT_TASK_ENDED, " { \"status\" : 1 ,\n\t\"job\":\r7 } ", "{\"job\":7,\"status\":1}");
    becomes(FACT_TASK_ENDED, "{\"job\":0,\"cause\":\"exited\"}", "{}");
    becomes(FACT_TASK_ENDED, "{\"job\":-0}", "{}");
    becomes(FACT_TASK_ENDED, "{\"cause\":\"lost\"}", "{\"cause\":\"lost\"}");
    becomes(FACT_TASK_REFUSED, "{\"node_fault\":false,\"reason\":\"\"}", "{}");
    becomes(FACT_TASK_REFUSED, "{\"node_fault\":true}", "{\"node_fault\":true}");
    becomes(FACT_DEVICE_STUCK, "{\"slots\":[]}", "{}");
    becomes(FACT_JOB_STARTED, "{\"why\":{\"numbers\":[]},\"job\":1}", "{\"job\":1}");
    becomes(FACT_JOB_STARTED, "{\"tasks\":[{}]}", "{\"tasks\":[{}]}");
    becomes(FACT_TOKEN_CREATED, "{\"roles\":[\"\",\"admin\"]}", "{\"roles\":[\"\",\"admin\"]}");
    becomes(FACT_JOB_HELD, "{\"reason\":\"\\u00e9\\/\\b\\ud834\\udd1e\\n\\\"\"}",
            "{\"reason\":\"é/\\u0008𝄞\\u000a\\\"\"}");
    becomes(FACT_JOB_HELD, "{\"\\u006aob\":3}", "{\"job\":3}");
    becomes(FACT_CLOCK_STEPPED, "{\"by_ms\":-9223372036854775808}",
            "{\"by_ms\":-9223372036854775808}");
    becomes(FACT_CLOCK_STEPPED, "{\"by_ms\":9223372036854775807}",
            "{\"by_ms\":9223372036854775807}");
}

static void unknown_fields_and_names_are_refused(void **state)
{
    (void)state;
    refused(FACT_NODE_LOST, "{\"nodes\":1}", ERR_UNKNOWN_FIELD, "nodes: no such field");
    refused(FACT_NODE_LOST, "{\"nod\":1}", ERR_UNKNOWN_FIELD, "nod: no such field");
    refused(FACT_NODE_LOST, "{\"\":1}", ERR_UNKNOWN_FIELD, "no such field");
    refused(FACT_JOB_STARTED, "{\"tasks\":[{},{\"devices\":[{\"slots\":1}]}]}", ERR_UNKNOWN_FIELD,
            "tasks[1].devices[0].slots: no such field");
    refused(FACT_TASK_ENDED, "{\"cause\":\"bored\"}", ERR_INVALID, "cause: no such name");
    refused(FACT_TASK_ENDED, "{\"cause\":\"\"}", ERR_INVALID, "cause: no such name");
    refused(FACT_NODE_LOST, "{\"node\":1,\"node\":1}", ERR_INVALID,
            "node: the field is given twice");
}

static void wrong_types_are_refused_with_their_path(void **state)
{
    (void)state;
    refused(FACT_JOB_STARTED, "{\"tasks\":[{},{},{},{\"devices\":[{\"slot\":\"1\"}]}]}",
            ERR_INVALID, "tasks[3].devices[0].slot: a whole number is expected, not a text");
    refused(FACT_JOB_STARTED, "{\"tasks\":{}}", ERR_INVALID, "tasks: a list is expected");
    refused(FACT_JOB_STARTED, "{\"passes\":[1,true]}", ERR_INVALID,
            "passes[1]: a whole number is expected, not a truth value");
    refused(FACT_JOB_STARTED, "{\"why\":[]}", ERR_INVALID,
            "why: an object is expected, not a list");
    refused(FACT_JOB_STARTED, "{\"why\":{\"jobs\":[null]}}", ERR_INVALID,
            "why.jobs[0]: a whole number is expected, not null");
    refused(FACT_TASK_ENDED, "{\"cause\":2}", ERR_INVALID, "cause: a name is expected");
    refused(FACT_TASK_REFUSED, "{\"node_fault\":1}", ERR_INVALID,
            "node_fault: true or false is expected, not a number");
    refused(FACT_NODE_LOST, "{\"reason\":7}", ERR_INVALID, "reason: a text is expected");
    refused(FACT_TOKEN_CREATED, "{\"roles\":[\"a\",{}]}", ERR_INVALID,
            "roles[1]: a text is expected, not an object");
    refused(FACT_NODE_LOST, "[]", ERR_INVALID, "an object is expected, not a list");
    refused(FACT_NODE_LOST, "null", ERR_INVALID, "an object is expected, not null");
}

static void only_whole_numbers_of_64_bits_are_read(void **state)
{
    (void)state;
    refused(FACT_CLOCK_STEPPED, "{\"by_ms\":1.0}", ERR_INVALID, "by_ms: a whole number");
    refused(FACT_CLOCK_STEPPED, "{\"by_ms\":1e3}", ERR_INVALID, "by_ms: a whole number");
    refused(FACT_CLOCK_STEPPED, "{\"by_ms\":9223372036854775808}", ERR_RANGE, "by_ms: the number");
    refused(FACT_CLOCK_STEPPED, "{\"by_ms\":-9223372036854775809}", ERR_RANGE, "by_ms: the number");
    refused(FACT_CLOCK_STEPPED, "{\"by_ms\":99999999999999999999999}", ERR_RANGE, "64 bits");
    refused(FACT_CLOCK_STEPPED, "{\"by_ms\":01}", ERR_SYNTAX, "not a number");
    refused(FACT_CLOCK_STEPPED, "{\"by_ms\":-}", ERR_SYNTAX, "not a number");
    refused(FACT_CLOCK_STEPPED, "{\"by_ms\":+1}", ERR_SYNTAX, "1:10: ");
    refused(FACT_CLOCK_STEPPED, "{\"by_ms\":0x1}", ERR_SYNTAX, "',' or '}'");
}

static void texts_are_utf8_without_zero(void **state)
{
    static const char *const BAD[] = {
        "{\"reason\":\"\xff\"}",             /* no UTF-8 */
        "{\"reason\":\"\xc0\xaf\"}",         /* overlong */
        "{\"reason\":\"\xed\xa0\x80\"}",     /* a surrogate */
        "{\"reason\":\"\xf4\x90\x80\x80\"}", /* past the last character */
        "{\"reason\":\"\xe2\x82\"}",         /* cut off */
        "{\"reason\":\"\\u0000\"}",          /* zero */
        "{\"reason\":\"\\ud834\"}",          /* half a pair */
        "{\"reason\":\"\\udd1e\\ud834\"}",   /* the wrong way round */
        "{\"reason\":\"\\ud834\\u0041\"}",   /* half a pair and a letter */
        "{\"reason\":\"\\u12g4\"}",          /* no hexadecimal digit */
        "{\"reason\":\"\\u12\"}",            /* too few */
        "{\"reason\":\"\\x\"}",              /* no such escape */
        "{\"reason\":\"a\nb\"}",             /* a bare control character */
        "{\"reason\":\"\\\n\"}",             /* the same, behind a backslash */
        "{\"reason\":\"abc",
        "{\"reason\":\"\\", /* not ended */
        "{\"reason\":\"\\\"",
        "{\"\xff\":1}",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++) {
        refused(FACT_NODE_LOST, BAD[i], ERR_SYNTAX, "1:");
    }
}

static void what_is_not_json_is_refused(void **state)
{
    static const char *const BAD[] = {
        "",
        " ",
        "{",
        "}",
        "{]",
        "{,}",
        "{\"node\"",
        "{\"node\":",
        "{\"node\"1}",
        "{\"node\":1,}",
        "{\"node\":1 \"reason\":\"\"}",
        "{\"node\":1}}",
        "{\"node\":1}{}",
        "{node:1}",
        "{'node':1}",
        "{\"node\":nil}",
        "{\"node\":,}",
        "{\"node\":1",
        "\xef\xbb\xbf{}",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++) {
        bool null = strstr(BAD[i], "nil") != NULL; /* begins like null, which is no number */

        refused(FACT_NODE_LOST, BAD[i], null ? ERR_INVALID : ERR_SYNTAX, "");
    }
    refused(FACT_JOB_STARTED, "{\"passes\":[1,]}", ERR_SYNTAX, "1:14: a value should begin here");
    refused(FACT_JOB_STARTED, "{\"passes\":[1}", ERR_SYNTAX, "',' or ']'");
    refused(FACT_JOB_STARTED, "{\"passes\":[", ERR_SYNTAX, "ends early");
    refused(FACT_TASK_REFUSED, "{\"node_fault\":tru}", ERR_SYNTAX, "not true");
    refused(FACT_NODE_LOST, "{\n  \"node\": 1,\n  node", ERR_SYNTAX, "3:3: ");
    refused(FACT_NONE, "{}", ERR_INVALID, "no kind");
}

static void a_zero_byte_is_no_end(void **state)
{
    struct arena *arena = arena_make();
    struct fact fact;

    (void)state;
    assert_int_equal(codec_decode_fact(FACT_NODE_LOST, "{}\0", 3, arena, &fact, NULL), ERR_SYNTAX);
    assert_int_equal(codec_decode_fact(FACT_NODE_LOST, "{}xyz", 2, arena, &fact, NULL), 0);
    arena_free(arena);
}

static void an_unknown_name_is_cut_between_characters(void **state)
{
    struct str text = {0};

    (void)state;
    str_add(&text, "{\"x");
    for (int i = 0; i < 100; i++) {
        str_add(&text, "é");
    }
    str_add(&text, "\":1}");
    {
        struct arena *arena = arena_make();
        struct fact fact;
        struct err err;

        assert_int_equal(decode(FACT_NODE_LOST, str_text(&text), arena, &fact, &err),
                         ERR_UNKNOWN_FIELD);
        assert_true(str_is_utf8(err.text, strlen(err.text)));
        arena_free(arena);
    }
    str_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_survives_writing_and_reading),
        cmocka_unit_test(a_copy_outlives_its_source),
        cmocka_unit_test(what_is_read_is_what_was_meant),
        cmocka_unit_test(the_text_is_canonical),
        cmocka_unit_test(unknown_fields_and_names_are_refused),
        cmocka_unit_test(wrong_types_are_refused_with_their_path),
        cmocka_unit_test(only_whole_numbers_of_64_bits_are_read),
        cmocka_unit_test(texts_are_utf8_without_zero),
        cmocka_unit_test(what_is_not_json_is_refused),
        cmocka_unit_test(a_zero_byte_is_no_end),
        cmocka_unit_test(an_unknown_name_is_cut_between_characters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
