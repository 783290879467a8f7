/* Job files: every member by its own kind, every error with file:line:column. */
#include "cli/jobfile.h"

#include "base/str.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct jobspec spec;
static struct err err;

static int take(const char *text)
{
    jobspec_fini(&spec);
    jobspec_init(&spec);
    return jobfile_read(&spec, "job.yaml", text, strlen(text), &err);
}

static int end(void **state)
{
    (void)state;
    jobspec_fini(&spec);
    return 0;
}

static void assert_body(const char *text)
{
    char *body = json_dumps(spec.body, JSON_COMPACT | JSON_SORT_KEYS);

    assert_string_equal(body, text);
    free(body);
}

static void refused(const char *text, enum err_code code, const char *message)
{
    assert_int_equal(take(text), code);
    assert_string_equal(err.text, message);
}

static void the_short_form_is_read(void **state)
{
    (void)state;
    assert_int_equal(take("name: run\n"
                          "queue: research\n"
                          "gpus: 8\n"
                          "tasks: 4\n"
                          "time_limit: 12h\n"
                          "preemptible: false\n"
                          "labels: {disk: nvme, rack: 1}\n"
                          "nodes: [n1, n2]\n"
                          "topology: {required: rack}\n"
                          "env: {OMP_NUM_THREADS: 4}\n"
                          "command: [python, train.py, '--lr', 0.1]\n"),
                     0);
    assert_body("{\"command\":[\"python\",\"train.py\",\"--lr\",\"0.1\"],"
                "\"env\":{\"OMP_NUM_THREADS\":\"4\"},\"gpus\":8,"
                "\"labels\":{\"disk\":\"nvme\",\"rack\":\"1\"},\"name\":\"run\","
                "\"nodes\":[\"n1\",\"n2\"],\"preemptible\":false,\"queue\":\"research\","
                "\"tasks\":4,\"time_limit\":\"12h\",\"topology\":{\"required\":\"rack\"}}");
    assert_string_equal(jobspec_origin(&spec, "gpus"), "job.yaml:3:1");
}

static void groups_are_read(void **state)
{
    (void)state;
    assert_int_equal(take("queue: a\n"
                          "groups:\n"
                          "- name: workers\n"
                          "  gpus: 8\n"
                          "- name: reader\n"
                          "  cpus: 500m\n"
                          "  share: 1/7\n"
                          "script: |\n"
                          "  echo hello\n"),
                     0);
    assert_body("{\"groups\":[{\"gpus\":8,\"name\":\"workers\"},"
                "{\"cpus\":\"500m\",\"name\":\"reader\",\"share\":\"1/7\"}],"
                "\"queue\":\"a\",\"script\":\"echo hello\\n\"}");
    assert_string_equal(jobspec_origin(&spec, "groups[1].share"), "job.yaml:7:3");
}

static void unknown_fields_are_errors(void **state)
{
    (void)state;
    refused("queue: a\ngpu: 8\n", ERR_UNKNOWN_FIELD, "job.yaml:2:1: no field 'gpu' in a job");
    refused("groups:\n- gpus: 1\n  queue: a\n", ERR_UNKNOWN_FIELD,
            "job.yaml:3:3: no field 'queue' in a task group");
    refused("topology: {wanted: rack}\n", ERR_SYNTAX,
            "job.yaml:1:12: wanted: no such field: required or preferred");
}

static void wrong_values_are_errors(void **state)
{
    (void)state;
    refused("gpus: eight\n", ERR_INVALID, "job.yaml:1:7: gpus: 'eight' is not a whole number");
    assert_int_equal(take("gpus: 99999999999999999999\n"), ERR_RANGE);
    refused("gpus: [8]\n", ERR_SYNTAX, "job.yaml:1:7: gpus: one value is wanted here");
    refused("hold: yes\n", ERR_SYNTAX, "job.yaml:1:7: hold: true or false is wanted");
    refused("nodes: n1\n", ERR_SYNTAX, "job.yaml:1:8: nodes: a list is wanted, e.g. [a, b]");
    refused("labels: [a]\n", ERR_SYNTAX, "job.yaml:1:9: labels: NAME: VALUE lines are wanted");
    refused("groups: 1\n", ERR_SYNTAX, "job.yaml:1:9: groups: a list of groups is wanted");
    refused("gpus: 1\ngpus: 2\n", ERR_SYNTAX, "job.yaml:2:1: gpus: is there twice");
    refused("env: {A: 1, A: 2}\n", ERR_SYNTAX, "job.yaml:1:13: A: is there twice");
    refused("- gpus\n", ERR_SYNTAX, "job.yaml:1:1: FIELD: VALUE lines are wanted");
    assert_int_equal(take("env: {HF_TOKEN: abc}\n"), ERR_SYNTAX);
    assert_non_null(strstr(err.text, "job.yaml:1:7: HF_TOKEN"));
    assert_null(strstr(err.text, "abc"));
}

static void broken_files_are_errors(void **state)
{
    (void)state;
    refused("", ERR_SYNTAX, "job.yaml:1:1: the file is empty");
    refused("queue: a\n---\nqueue: b\n", ERR_SYNTAX, "job.yaml:3:1: a job file holds one job");
    refused("queue: \xff\n", ERR_SYNTAX, "job.yaml is not UTF-8");
    refused("name: \"a\\0b\"\n", ERR_SYNTAX, "job.yaml:1:7: name: the value holds a NUL");
    assert_int_equal(take("queue: [a\n"), ERR_SYNTAX);
    assert_non_null(strstr(err.text, "job.yaml:2:1: "));
}

/* Ten levels of ten aliases are 10^10 nodes in a file of 400 bytes. */
static void aliases_do_not_grow_without_end(void **state)
{
    struct str text = {0};

    (void)state;
    str_add(&text, "groups:\n- &a0 {nodes: [n, n, n, n, n, n, n, n, n, n]}\n");
    for (int i = 0; i < 20000; i++) {
        str_add(&text, "- *a0\n");
    }
    assert_int_equal(take(str_text(&text)), ERR_SYNTAX);
    assert_non_null(strstr(err.text, "too large"));
    str_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(the_short_form_is_read, end),
        cmocka_unit_test_teardown(groups_are_read, end),
        cmocka_unit_test_teardown(unknown_fields_are_errors, end),
        cmocka_unit_test_teardown(wrong_values_are_errors, end),
        cmocka_unit_test_teardown(broken_files_are_errors, end),
        cmocka_unit_test_teardown(aliases_do_not_grow_without_end, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
