/* Options become the body of POST /v1/jobs. */
#include "cli/jobspec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct jobspec spec;
static struct err err;

static int begin(void **state)
{
    (void)state;
    jobspec_init(&spec);
    err = (struct err){0};
    return 0;
}

static int end(void **state)
{
    (void)state;
    jobspec_fini(&spec);
    return 0;
}

static int set(const char *option, const char *value)
{
    const struct jobspec_field *f = jobspec_option(option, strlen(option));

    assert_non_null(f);
    return jobspec_set(&spec, f, value, NULL, &err);
}

static void assert_body(const char *text)
{
    char *body = json_dumps(spec.body, JSON_COMPACT | JSON_SORT_KEYS);

    assert_string_equal(body, text);
    free(body);
}

static void each_option_sets_its_field(void **state)
{
    (void)state;
    assert_int_equal(set("--queue", "research"), 0);
    assert_int_equal(set("-g", "8"), 0);
    assert_int_equal(set("--tasks", "4"), 0);
    assert_int_equal(set("--min-tasks", "2"), 0);
    assert_int_equal(set("--time", "12h"), 0);
    assert_int_equal(set("--share-memory", "10Gi"), 0);
    assert_int_equal(set("--non-preemptible", ""), 0);
    assert_int_equal(set("--topology", "required=rack"), 0);
    assert_body("{\"gpus\":8,\"min_tasks\":2,\"preemptible\":false,\"queue\":\"research\","
                "\"share_memory\":\"10Gi\",\"tasks\":4,\"time_limit\":\"12h\","
                "\"topology\":{\"required\":\"rack\"}}");
}

static void lists_and_maps_grow(void **state)
{
    (void)state;
    assert_int_equal(set("--node", "n1,n2"), 0);
    assert_int_equal(set("--node", "n3"), 0);
    assert_int_equal(set("--label", "disk=nvme"), 0);
    assert_int_equal(set("--label", "rack=r1"), 0);
    assert_int_equal(set("--topology", "required=rack"), 0);
    assert_int_equal(set("--topology", "preferred=node"), 0);
    assert_body("{\"labels\":{\"disk\":\"nvme\",\"rack\":\"r1\"},\"nodes\":[\"n1\",\"n2\",\"n3\"],"
                "\"topology\":{\"preferred\":\"node\",\"required\":\"rack\"}}");
}

static void a_part_of_a_gpu_stays_text(void **state)
{
    (void)state;
    assert_int_equal(set("--share", "1/7"), 0);
    assert_body("{\"share\":\"1/7\"}");
    assert_int_equal(set("--share", "0.5"), 0);
    assert_body("{\"share\":\"0.5\"}");
}

static void a_wrong_value_names_the_option(void **state)
{
    (void)state;
    assert_int_equal(set("--tasks", "four"), ERR_INVALID);
    assert_string_equal(err.text, "--tasks: 'four' is not a whole number");
    assert_int_equal(set("--gpus", "0.5"), ERR_INVALID);
    assert_non_null(strstr(err.text, "share"));
    assert_int_equal(set("--gpus", "99999999999999999999"), ERR_RANGE);
    assert_int_equal(set("--tasks", "08"), ERR_INVALID);
    assert_true(set("--time", "12") < 0);
    assert_true(set("--share", "one") < 0);
    assert_true(set("--memory", "8GB") < 0);
    assert_int_equal(set("--label", "disk"), ERR_INVALID);
    assert_int_equal(set("--label", "=x"), ERR_INVALID);
    assert_int_equal(set("--node", "n1,,n2"), ERR_INVALID);
    assert_int_equal(set("--topology", "rack"), ERR_INVALID);
    assert_int_equal(set("--topology", "required="), ERR_INVALID);
    assert_int_equal(set("--queue", ""), ERR_INVALID);
    assert_int_equal(set("--queue", "caf\xe9"), ERR_INVALID);
    assert_body("{}");
}

static void unknown_options_have_no_row(void **state)
{
    (void)state;
    assert_null(jobspec_option("--gpu", 5));
    assert_null(jobspec_option("--", 2));
    assert_null(jobspec_option("-", 1));
    assert_null(jobspec_option("-Z", 2));
    assert_null(jobspec_member("gpu", false));
    assert_null(jobspec_member("queue", true));
    assert_non_null(jobspec_member("gpus", true));
    assert_non_null(jobspec_member("name", true));
    assert_int_equal(jobspec_member("preemptible", false)->kind, JOBSPEC_FLAG);
}

static void the_command_line_goes_before_the_file(void **state)
{
    struct jobspec over;

    (void)state;
    assert_int_equal(set("--gpus", "8"), 0);
    assert_int_equal(set("--queue", "a"), 0);
    assert_int_equal(set("--node", "n1"), 0);
    assert_int_equal(set("--label", "disk=nvme"), 0);
    jobspec_init(&over);
    assert_int_equal(jobspec_set(&over, jobspec_option("--gpus", 6), "4", NULL, &err), 0);
    assert_int_equal(jobspec_set(&over, jobspec_option("--node", 6), "n2", NULL, &err), 0);
    assert_int_equal(jobspec_set(&over, jobspec_option("--label", 7), "rack=r1", NULL, &err), 0);
    assert_int_equal(jobspec_merge(&spec, &over, &err), 0);
    assert_body("{\"gpus\":4,\"labels\":{\"disk\":\"nvme\",\"rack\":\"r1\"},\"nodes\":[\"n2\"],"
                "\"queue\":\"a\"}");
    assert_string_equal(jobspec_origin(&spec, "gpus"), "--gpus");
    jobspec_fini(&over);
}

static void a_group_option_over_groups_is_refused(void **state)
{
    struct jobspec over;

    (void)state;
    json_object_set_new(spec.body, "groups", json_array());
    jobspec_init(&over);
    assert_int_equal(jobspec_set(&over, jobspec_option("--gpus", 6), "4", NULL, &err), 0);
    assert_int_equal(jobspec_merge(&spec, &over, &err), ERR_INVALID);
    assert_non_null(strstr(err.text, "--gpus"));
    jobspec_fini(&over);
}

static void a_problem_finds_where_it_was_said(void **state)
{
    (void)state;
    assert_int_equal(jobspec_set(&spec, jobspec_option("--gpus", 6), "9", "train.sh:3", &err), 0);
    assert_string_equal(jobspec_origin(&spec, "gpus"), "train.sh:3");
    assert_string_equal(jobspec_origin(&spec, "groups[0].gpus"), "train.sh:3");
    assert_string_equal(jobspec_origin(&spec, "groups[1].gpus"), "");
    assert_string_equal(jobspec_origin(&spec, "queue"), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_option_sets_its_field, begin, end),
        cmocka_unit_test_setup_teardown(lists_and_maps_grow, begin, end),
        cmocka_unit_test_setup_teardown(a_part_of_a_gpu_stays_text, begin, end),
        cmocka_unit_test_setup_teardown(a_wrong_value_names_the_option, begin, end),
        cmocka_unit_test_setup_teardown(unknown_options_have_no_row, begin, end),
        cmocka_unit_test_setup_teardown(the_command_line_goes_before_the_file, begin, end),
        cmocka_unit_test_setup_teardown(a_group_option_over_groups_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(a_problem_finds_where_it_was_said, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
