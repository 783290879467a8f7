#include "base/str.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

static void a_string_grows(void **state)
{
    struct str s = {0};

    (void)state;
    assert_string_equal(str_text(&s), "");
    for (int i = 0; i < 1000; i++) {
        str_add(&s, "ab");
        str_add_char(&s, 'c');
    }
    assert_int_equal(s.len, 3000);
    assert_int_equal(strlen(str_text(&s)), 3000);
    str_clear(&s);
    assert_string_equal(str_text(&s), "");
    str_addf(&s, "%s-%d", "x", 7);
    assert_string_equal(str_text(&s), "x-7");
    str_add_n(&s, NULL, 0);
    assert_int_equal(s.len, 3);
    str_fini(&s);
    str_clear(&s);
    str_fini(&s);
}

static void a_long_format_is_not_cut(void **state)
{
    struct str s = {0};
    char text[5000];

    (void)state;
    memset(text, 'y', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    str_addf(&s, "<%s>", text);
    assert_int_equal(s.len, sizeof(text) + 1);
    assert_int_equal(str_text(&s)[s.len - 1], '>');
    str_fini(&s);
}

static void integers_to_the_ends_of_the_range(void **state)
{
    struct str s = {0};

    (void)state;
    str_add_int(&s, 0);
    str_add_char(&s, ' ');
    str_add_int(&s, -1);
    str_add_char(&s, ' ');
    str_add_int(&s, INT64_MAX);
    str_add_char(&s, ' ');
    str_add_int(&s, INT64_MIN);
    assert_string_equal(str_text(&s), "0 -1 9223372036854775807 -9223372036854775808");
    str_fini(&s);
}

static void json_escapes_what_it_must(void **state)
{
    struct str s = {0};

    (void)state;
    str_add_json(&s, "a\"\\\n\t\x01/\x7f\xc3\xa4", 10);
    assert_string_equal(str_text(&s), "\"a\\\"\\\\\\u000a\\u0009\\u0001/\x7f\xc3\xa4\"");
    str_clear(&s);
    str_add_json(&s, "a\0b", 3);
    assert_string_equal(str_text(&s), "\"a\\u0000b\"");
    str_clear(&s);
    str_add_json(&s, "", 0);
    assert_string_equal(str_text(&s), "\"\"");
    str_fini(&s);
}

static void a_taken_text_leaves_nothing(void **state)
{
    struct str s = {0};
    char *text;

    (void)state;
    str_add(&s, "mine");
    text = str_take(&s);
    assert_string_equal(text, "mine");
    mem_free(text);
    assert_int_equal(s.len, 0);
    text = str_take(&s);
    assert_string_equal(text, "");
    mem_free(text);
}

static void names_are_plain(void **state)
{
    char text[65];

    (void)state;
    assert_true(str_is_name("a"));
    assert_true(str_is_name("h100-mig"));
    assert_true(str_is_name("7"));
    assert_false(str_is_name(NULL));
    assert_false(str_is_name(""));
    assert_false(str_is_name("-a"));
    assert_false(str_is_name("a-"));
    assert_false(str_is_name("-"));
    assert_false(str_is_name("A"));
    assert_false(str_is_name("a_b"));
    assert_false(str_is_name("a.b"));
    assert_false(str_is_name("a b"));
    assert_false(str_is_name("\xc3\xa4"));
    memset(text, 'a', 64);
    text[64] = '\0';
    assert_false(str_is_name(text));
    text[63] = '\0';
    assert_true(str_is_name(text));
}

static void utf8_is_checked_strictly(void **state)
{
    static const struct {
        const char *text;
        bool good;
    } ROWS[] = {
        {"", true},
        {"plain", true},
        {"\xc3\xa4", true},
        {"\xe2\x82\xac", true},
        {"\xf0\x9f\x98\x80", true},
        {"\xf4\x8f\xbf\xbf", true},
        {"\xf4\x90\x80\x80", false}, /* past U+10FFFF */
        {"\xc0\x80", false},         /* overlong */
        {"\xe0\x80\xaf", false},
        {"\xf0\x80\x80\xaf", false},
        {"\xed\xa0\x80", false}, /* half of a surrogate pair */
        {"\xc3", false},
        {"\xe2\x82", false},
        {"\x80", false},
        {"\xff", false},
        {"\xc3(", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        char text[64];

        assert_int_equal(str_is_utf8(ROWS[i].text, strlen(ROWS[i].text)), ROWS[i].good);
        for (int at = 0; at < 20; at++) { /* the same wherever it stands */
            snprintf(text, sizeof(text), "%.*s%.20s", at, "0123456789abcdefghij", ROWS[i].text);
            assert_int_equal(str_is_utf8(text, strlen(text)),
                             str_is_utf8(text + at, strlen(text + at)));
        }
    }
    assert_true(str_is_utf8("a\0b", 3));
}

static void integers_are_read_whole_or_not_at_all(void **state)
{
    static const char *const BAD[] = {"",
                                      "-",
                                      "+1",
                                      " 1",
                                      "1 ",
                                      "1.0",
                                      "01",
                                      "-01",
                                      "0x1",
                                      "1e3",
                                      "--1",
                                      "9223372036854775808",
                                      "-9223372036854775809",
                                      "99999999999999999999",
                                      NULL};
    int64_t value = 0;

    (void)state;
    assert_true(str_to_int("0", &value));
    assert_int_equal(value, 0);
    assert_true(str_to_int("-17", &value));
    assert_int_equal(value, -17);
    assert_true(str_to_int("9223372036854775807", &value));
    assert_int_equal(value, INT64_MAX);
    assert_true(str_to_int("-9223372036854775808", &value));
    assert_int_equal(value, INT64_MIN);
    for (size_t i = 0; BAD[i] != NULL; i++) {
        value = 7;
        assert_false(str_to_int(BAD[i], &value));
        assert_int_equal(value, 7);
    }
}

static void no_text_compares_as_empty(void **state)
{
    (void)state;
    assert_int_equal(str_cmp(NULL, NULL), 0);
    assert_int_equal(str_cmp(NULL, ""), 0);
    assert_true(str_cmp("a", NULL) > 0);
    assert_true(str_cmp("a", "b") < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_string_grows),
        cmocka_unit_test(a_long_format_is_not_cut),
        cmocka_unit_test(integers_to_the_ends_of_the_range),
        cmocka_unit_test(json_escapes_what_it_must),
        cmocka_unit_test(a_taken_text_leaves_nothing),
        cmocka_unit_test(names_are_plain),
        cmocka_unit_test(utf8_is_checked_strictly),
        cmocka_unit_test(integers_are_read_whole_or_not_at_all),
        cmocka_unit_test(no_text_compares_as_empty),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
