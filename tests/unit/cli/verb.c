/* The table of commands holds what argp and the help need, and words find their row. */
#include "cli/verb.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct err err;

static const char *found(const char *a, const char *b)
{
    char first[32], second[32];
    char *words[] = {first, second, NULL};
    const struct verb *verb;
    int used = 0;

    snprintf(first, sizeof(first), "%s", a);
    snprintf(second, sizeof(second), "%s", b);
    verb = verb_find(2, words, &used);
    if (verb != NULL) {
        assert_int_equal(used, strchr(verb->name, ' ') != NULL ? 2 : 1);
    }
    return verb != NULL ? verb->name : "";
}

static void words_find_their_row(void **state)
{
    (void)state;
    assert_string_equal(found("ps", "x"), "ps");
    assert_string_equal(found("queue", "list"), "queue list");
    assert_string_equal(found("queue", "nothing"), "");
    assert_string_equal(found("p", ""), "");
    assert_string_equal(found("", ""), "");
    assert_true(verb_is_group("queue"));
    assert_false(verb_is_group("que"));
    assert_false(verb_is_group("ps"));
}

static void check_keys(const struct verb *verb)
{
    const struct argp_option *tables[] = {verb->options, COMMON_OPTIONS};
    int keys[100];
    size_t count = 0;

    for (size_t t = 0; t < 2; t++) {
        for (const struct argp_option *o = tables[t];
             o != NULL && (o->name != NULL || o->doc != NULL); o++) {
            for (size_t i = 0; o->key != 0 && i < count; i++) {
                assert_int_not_equal(keys[i], o->key);
            }
            assert_true(count < 100);
            keys[count++] = o->key;
            assert_true(o->name == NULL || o->doc != NULL);
        }
    }
}

static void no_two_options_of_a_command_have_one_key(void **state)
{
    (void)state;
    for (size_t i = 0; VERBS[i] != NULL; i++) {
        for (const struct verb *v = VERBS[i]; v->name != NULL; v++) {
            check_keys(v);
            assert_non_null(v->run);
            assert_non_null(v->help);
            assert_non_null(v->words);
        }
    }
}

static void the_last_value_counts_and_all_can_be_had(void **state)
{
    struct args args = {0};
    int64_t number = 7;
    size_t at = 0;

    (void)state;
    vec_push(&args.given, (struct args_given){"role", "read"});
    vec_push(&args.given, (struct args_given){"n", "3"});
    vec_push(&args.given, (struct args_given){"role", "submit"});
    assert_string_equal(args_text(&args, "role"), "submit");
    assert_null(args_text(&args, "none"));
    assert_string_equal(args_next(&args, "role", &at), "read");
    assert_string_equal(args_next(&args, "role", &at), "submit");
    assert_null(args_next(&args, "role", &at));
    assert_null(args_word(&args, 0));
    assert_int_equal(args_int(&args, "none", 0, 9, &number, &err), 0);
    assert_int_equal(number, 7);
    assert_int_equal(args_int(&args, "n", 0, 9, &number, &err), 0);
    assert_int_equal(number, 3);
    assert_int_equal(args_int(&args, "n", 4, 9, &number, &err), ERR_RANGE);
    assert_int_equal(args_int(&args, "role", 0, 9, &number, &err), ERR_RANGE);
    assert_int_equal(number, 3);
    vec_fini(&args.given);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_find_their_row),
        cmocka_unit_test(no_two_options_of_a_command_have_one_key),
        cmocka_unit_test(the_last_value_counts_and_all_can_be_had),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
