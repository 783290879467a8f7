/* The forms of sbatch's values. */
#include "cli/sbatchvalue.h"

#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct err err;

static void times_have_six_forms(void **state)
{
    static const struct {
        const char *text;
        int64_t seconds;
    } ROWS[] = {{"90", 5400},     {"5:30", 330},    {"5:90", 390},    {"1:2:3", 3723},
                {"2-0", 172800},  {"1-12", 129600}, {"1-2:3", 93780}, {"1-02:03:04", 93784},
                {"0", 0},         {"UNLIMITED", 0}, {"infinite", 0},  {"-1", 0},
                {"00:00:10", 10}, {"0-0:0:1", 1}};
    static const char *const WRONG[] = {"",   "-",   "1-",         "1:2:3:4", "1:2:3:",
                                        "a",  "1 ",  "1h",         "1:-2",    "1-2-3",
                                        ":1", "1.5", "9999999999", "4000-0"};
    int64_t seconds;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        assert_int_equal(sbatchvalue_time(ROWS[i].text, &seconds, &err), 0);
        assert_int_equal(seconds, ROWS[i].seconds);
    }
    for (size_t i = 0; i < ARRAY_LEN(WRONG); i++) {
        assert_int_not_equal(sbatchvalue_time(WRONG[i], &seconds, &err), 0);
    }
}

static void memory_is_in_megabytes_unless_it_says_so(void **state)
{
    static const struct {
        const char *text;
        int64_t bytes;
    } ROWS[] = {{"1", 1 << 20},
                {"1K", 1024},
                {"2m", 2 << 20},
                {"1G", 1 << 30},
                {"4gb", (int64_t)4 << 30},
                {"1T", (int64_t)1 << 40},
                {"0", 0}};
    static const char *const WRONG[] = {"", "G", "1.5G", "4Gi", "4Gx", "-1", "1P", "999999999T"};
    int64_t bytes;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        assert_int_equal(sbatchvalue_memory(ROWS[i].text, &bytes, &err), 0);
        assert_int_equal(bytes, ROWS[i].bytes);
    }
    for (size_t i = 0; i < ARRAY_LEN(WRONG); i++) {
        if (sbatchvalue_memory(WRONG[i], &bytes, &err) == 0) {
            fail_msg("'%s' was taken as %lld", WRONG[i], (long long)bytes);
        }
    }
}

static void gpus_may_name_a_type(void **state)
{
    static const struct {
        const char *text;
        bool gres;
        int64_t count;
        const char *type;
    } ROWS[] = {{"4", false, 4, ""},         {"h100:2", false, 2, "h100"},
                {"gpu", true, 1, ""},        {"gpu:3", true, 3, ""},
                {"gpu:a:3", true, 3, "a"},   {"gpu:a", true, 1, "a"},
                {"gres/gpu:2", true, 2, ""}, {"1g.10gb:1", false, 1, "1g.10gb"}};
    static const struct {
        const char *text;
        bool gres;
        int code;
    } WRONG[] = {{"", false, ERR_INVALID},          {"gpu:", true, ERR_INVALID},
                 {"a:b", false, ERR_INVALID},       {"gpu:a:", true, ERR_INVALID},
                 {"gpu:1:2", true, ERR_INVALID},    {":2", false, ERR_INVALID},
                 {"gpus:1", true, ERR_UNSUPPORTED}, {"tmp:1", true, ERR_UNSUPPORTED},
                 {"1,2", false, ERR_UNSUPPORTED}};
    struct sbatchvalue_gpus g;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        assert_int_equal(sbatchvalue_gpus(ROWS[i].text, ROWS[i].gres, &g, &err), 0);
        assert_int_equal(g.count, ROWS[i].count);
        assert_string_equal(g.type, ROWS[i].type);
    }
    for (size_t i = 0; i < ARRAY_LEN(WRONG); i++) {
        int rc = sbatchvalue_gpus(WRONG[i].text, WRONG[i].gres, &g, &err);

        if (rc != WRONG[i].code) {
            fail_msg("'%s': %d, not %d", WRONG[i].text, rc, WRONG[i].code);
        }
    }
    assert_true(sbatchvalue_is_profile("1g.10gb"));
    assert_true(sbatchvalue_is_profile("3g.40gb"));
    assert_false(sbatchvalue_is_profile("h100-80gb"));
    assert_false(sbatchvalue_is_profile("1g."));
    assert_false(sbatchvalue_is_profile("1g.10gbx"));
}

static void assert_nodes(const char *text, const char *want)
{
    json_t *list = NULL;
    char *dump;

    assert_int_equal(sbatchvalue_nodes(text, &list, &err), 0);
    dump = json_dumps(list, JSON_COMPACT);
    assert_string_equal(dump, want);
    free(dump);
    json_decref(list);
}

static void node_lists_are_unfolded(void **state)
{
    static const char *const WRONG[] = {"",      ",",      "a,",    "n[1",   "n]",        "n[]",
                                        "n[1-]", "n[2-1]", "n[1,]", "n[1]x", "n[1-9999]", "n[a]"};
    json_t *list = NULL;

    (void)state;
    assert_nodes("n1", "[\"n1\"]");
    assert_nodes("n[1-3,07],m", "[\"n1\",\"n2\",\"n3\",\"n07\",\"m\"]");
    assert_nodes("local/n[08-10]", "[\"local/n08\",\"local/n09\",\"local/n10\"]");
    for (size_t i = 0; i < ARRAY_LEN(WRONG); i++) {
        if (sbatchvalue_nodes(WRONG[i], &list, &err) == 0) {
            fail_msg("'%s' was taken", WRONG[i]);
        }
    }
}

static void assert_array(const char *text, const char *list, int64_t count, int64_t at_once)
{
    struct sbatchvalue_array a;

    assert_int_equal(sbatchvalue_array(text, &a, &err), 0);
    assert_string_equal(str_text(&a.list), list);
    assert_int_equal(a.count, count);
    assert_int_equal(a.at_once, at_once);
    str_fini(&a.list);
}

static void arrays_are_lists_in_rising_order(void **state)
{
    static const char *const WRONG[] = {"",   "5,1", "1,1", "1-",    "3-1", "0-9:0",   "0-9:",
                                        "1,", "%2",  "1%",  "1%2,7", "x",   "0-999999"};
    struct sbatchvalue_array a;

    (void)state;
    assert_array("0-9", "0-9", 10, 0);
    assert_array("1,3,5-7", "1,3,5-7", 5, 0);
    assert_array("0-15:4%2", "0,4,8,12", 4, 2);
    assert_array("7", "7", 1, 0);
    for (size_t i = 0; i < ARRAY_LEN(WRONG); i++) {
        if (sbatchvalue_array(WRONG[i], &a, &err) == 0) {
            fail_msg("'%s' was taken", WRONG[i]);
        }
    }
}

static void signals_have_names_and_numbers(void **state)
{
    static const char *const WRONG[] = {"", "9", "KILL", "USR1@", "USR1@x", "USR1@99999", "B:"};
    struct sbatchvalue_signal s;

    (void)state;
    assert_int_equal(sbatchvalue_signal("B:SIGUSR2@30", &s, &err), 0);
    assert_string_equal(s.name, "USR2");
    assert_int_equal(s.grace_s, 30);
    assert_int_equal(sbatchvalue_signal("15", &s, &err), 0);
    assert_string_equal(s.name, "TERM");
    assert_int_equal(s.grace_s, 60);
    assert_false(s.early);
    assert_int_equal(sbatchvalue_signal("R:hup@0", &s, &err), 0);
    assert_true(s.early);
    for (size_t i = 0; i < ARRAY_LEN(WRONG); i++) {
        assert_int_not_equal(sbatchvalue_signal(WRONG[i], &s, &err), 0);
    }
}

static void patterns_are_filled_in_as_far_as_they_can_be(void **state)
{
    static const struct sbatchvalue_names NAMES = {"a%b", "ada"};
    struct str out = {0};

    (void)state;
    assert_int_equal(sbatchvalue_pattern("%x/%u/%j_%A_%a.%n.%%", &NAMES, &out, &err), 0);
    assert_string_equal(str_text(&out), "a%%b/ada/%j_%A_%a.%t.%%");
    str_clear(&out);
    assert_int_equal(sbatchvalue_pattern("\\\\100%j", &NAMES, &out, &err), 0);
    assert_string_equal(str_text(&out), "100%%j");
    assert_int_equal(sbatchvalue_pattern("%N", &NAMES, &out, &err), ERR_UNSUPPORTED);
    assert_int_equal(sbatchvalue_pattern("%", &NAMES, &out, &err), ERR_UNSUPPORTED);
    assert_int_equal(sbatchvalue_pattern("", &NAMES, &out, &err), ERR_INVALID);
    str_fini(&out);
}

static void names_become_names_of_muster(void **state)
{
    static const char *const ROWS[][2] = {{"My_Run.1", "my-run-1"},
                                          {"--a--b--", "a-b"},
                                          {"...", ""},
                                          {"\xc3\xa4"
                                           "b",
                                           "b"}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        struct str out = {0};

        sbatchvalue_name(ROWS[i][0], &out);
        assert_string_equal(str_text(&out), ROWS[i][1]);
        str_fini(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_have_six_forms),
        cmocka_unit_test(memory_is_in_megabytes_unless_it_says_so),
        cmocka_unit_test(gpus_may_name_a_type),
        cmocka_unit_test(node_lists_are_unfolded),
        cmocka_unit_test(arrays_are_lists_in_rising_order),
        cmocka_unit_test(signals_have_names_and_numbers),
        cmocka_unit_test(patterns_are_filled_in_as_far_as_they_can_be),
        cmocka_unit_test(names_become_names_of_muster),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
