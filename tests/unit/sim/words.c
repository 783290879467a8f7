#include "sim/words.h"

#include "base/quantity.h"
#include "core/policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct arena *arena;

static int set_up(void **state)
{
    (void)state;
    arena = arena_make();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

static struct words cut(const char *text)
{
    struct words w;

    words_cut(&w, arena, "x.scn", 7, text);
    return w;
}

static void a_line_is_names_flags_and_values(void **state)
{
    struct words w = cut("submit A1 queue=a held gpus=0.5 limit=12h  # more");

    (void)state;
    assert_string_equal(words_next(&w, "a verb"), "submit");
    assert_true(words_flag(&w, "held"));
    assert_false(words_flag(&w, "held"));
    assert_string_equal(words_next(&w, "a name"), "A1");
    assert_string_equal(words_value(&w, "queue"), "a");
    assert_int_equal(words_gpus(&w, "gpus", 0), GU_PER_GPU / 2);
    assert_int_equal(words_ms(&w, "limit", 0), 12 * 3600 * 1000);
    assert_int_equal(words_int(&w, "tasks", 4), 4);
    assert_int_equal(words_end(&w, NULL), 0);
}

static void what_nobody_takes_is_named(void **state)
{
    struct words w = cut("queue a reservd=8");
    struct err err = {0};

    (void)state;
    (void)words_next(&w, "a verb");
    (void)words_next(&w, "a name");
    assert_int_equal(words_end(&w, &err), ERR_UNKNOWN_FIELD);
    assert_string_equal(err.text, "x.scn:7: \"reservd=8\" means nothing here");
}

static void the_first_failure_is_told(void **state)
{
    struct words w = cut("node n1 gpus=eight cpu=many");
    struct err err = {0};

    (void)state;
    (void)words_next(&w, "a verb");
    (void)words_next(&w, "a name");
    assert_int_equal(words_int(&w, "gpus", 0), 0);
    (void)words_cpu(&w, "cpu", 0);
    assert_int_equal(words_end(&w, &err), ERR_RANGE);
    assert_string_equal(err.text, "x.scn:7: gpus=eight is not a whole number");
}

static void a_missing_name_is_asked_for(void **state)
{
    struct words w = cut("cancel");
    struct err err = {0};

    (void)state;
    (void)words_next(&w, "a verb");
    assert_string_equal(words_next(&w, "the job"), "");
    assert_int_equal(words_end(&w, &err), ERR_SYNTAX);
    assert_non_null(strstr(err.text, "the job is missing"));
}

static void times_are_seconds_or_durations(void **state)
{
    int64_t ms = 0;

    (void)state;
    assert_int_equal(words_time("130", &ms, NULL), 0);
    assert_int_equal(ms, 130000);
    assert_int_equal(words_time("129.999", &ms, NULL), 0);
    assert_int_equal(ms, 129999);
    assert_int_equal(words_time("0.5", &ms, NULL), 0);
    assert_int_equal(ms, 500);
    assert_int_equal(words_time("1h30m", &ms, NULL), 0);
    assert_int_equal(ms, 5400000);
    assert_int_not_equal(words_time("1.2345", &ms, NULL), 0);
    assert_int_not_equal(words_time("soon", &ms, NULL), 0);
    assert_int_equal(ms, 5400000);
}

static void none_and_off_take_a_limit_away(void **state)
{
    struct words w = cut("queue a limit=none drain_after=off");

    (void)state;
    assert_int_equal(words_gpus(&w, "limit", 8), POLICY_NONE);
    assert_int_equal(words_ms(&w, "drain_after", 8), POLICY_NONE);
}

static void lists_and_labels(void **state)
{
    struct words w = cut("submit label.zone=east nodes=n1,n2,n3");
    const char *value = NULL;
    size_t count = 0;
    const char **nodes = words_list(&w, "nodes", &count);

    (void)state;
    assert_int_equal(count, 3);
    assert_string_equal(nodes[2], "n3");
    assert_string_equal(words_prefix(&w, "label.", &value), "zone");
    assert_string_equal(value, "east");
    assert_null(words_prefix(&w, "label.", &value));
}

static void words_of_a_table(void **state)
{
    struct words w = cut("queue a reclaim=never order=best");

    (void)state;
    assert_int_equal(words_enum(&w, "reclaim", QUEUE_RECLAIM_NAMES, 0), RECLAIM_NEVER);
    assert_int_equal(words_enum(&w, "order", QUEUE_ORDER_NAMES, ORDER_FIFO), ORDER_FIFO);
    assert_int_equal(w.rc, ERR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_names_flags_and_values),
        cmocka_unit_test(what_nobody_takes_is_named),
        cmocka_unit_test(the_first_failure_is_told),
        cmocka_unit_test(a_missing_name_is_asked_for),
        cmocka_unit_test(times_are_seconds_or_durations),
        cmocka_unit_test(none_and_off_take_a_limit_away),
        cmocka_unit_test(lists_and_labels),
        cmocka_unit_test(words_of_a_table),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
