/* #SBATCH lines: a table of lines and the job that they mean. */
#include "cli/sbatch.h"

#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct jobspec spec;
static struct sbatch_result result;
static struct err err;
static bool lenient;

static int begin(void **state)
{
    (void)state;
    jobspec_init(&spec);
    lenient = false;
    return 0;
}

static int end(void **state)
{
    (void)state;
    jobspec_fini(&spec);
    str_fini(&result.notes);
    return 0;
}

static void again(void)
{
    end(NULL);
    jobspec_init(&spec);
}

static int take(const char *text)
{
    struct sbatch_input in = {.file = "train.sh",
                              .text = text,
                              .len = strlen(text),
                              .user = "ada",
                              .dir = "/home/ada",
                              .lenient = lenient};

    return sbatch_read(&spec, &in, &result, &err);
}

/* One script of one line, without what is the same for all. */
static void assert_line(const char *line, const char *want)
{
    char text[512];
    char *body;

    again();
    snprintf(text, sizeof(text), "#!/bin/sh\n#SBATCH %s\nsrun x\n", line);
    if (take(text) != 0) {
        fail_msg("%s: %s", line, err.text);
    }
    json_object_del(json_object_get(spec.body, "env"), "SLURM_NTASKS_PER_NODE");
    json_object_del(json_object_get(spec.body, "env"), "SLURM_SUBMIT_DIR");
    if (json_object_size(json_object_get(spec.body, "env")) == 0) {
        json_object_del(spec.body, "env");
    }
    json_object_del(spec.body, "retries");
    if (strcmp(json_string_value(json_object_get(spec.body, "output")), "slurm-%j.out") == 0) {
        json_object_del(spec.body, "output");
    }
    body = json_dumps(spec.body, JSON_COMPACT | JSON_SORT_KEYS);
    if (strcmp(body, want) != 0) {
        fail_msg("%s: %s, not %s", line, body, want);
    }
    free(body);
}

static void assert_refused(const char *line, const char *part)
{
    char text[512];

    again();
    snprintf(text, sizeof(text), "#!/bin/sh\n#SBATCH %s\nsrun x\n", line);
    if (take(text) == 0) {
        fail_msg("%s was taken", line);
    }
    if (strncmp(err.text, "train.sh:2: ", 12) != 0 || strstr(err.text, part) == NULL) {
        fail_msg("%s: %s", line, err.text);
    }
}

static void each_option_has_its_field(void **state)
{
    static const char *const ROWS[][2] = {
        {"--job-name=My_Run.1", "{\"name\":\"my-run-1\"}"},
        {"-J 'two words'", "{\"name\":\"two-words\"}"},
        {"--account=research", "{\"queue\":\"research\"}"},
        {"-A research", "{\"queue\":\"research\"}"},
        {"--partition=h100,a100", "{\"pools\":[\"h100\",\"a100\"]}"},
        {"-N 1", "{}"},
        {"-N 4", "{\"tasks\":4}"},
        {"--nodes=2-2", "{\"tasks\":2}"},
        {"-n 8", "{}"},
        {"-n 8 -N 2", "{\"tasks\":2}"},
        {"-n 8 --ntasks-per-node=4", "{\"tasks\":2}"},
        {"--gres=gpu", "{\"gpus\":1}"},
        {"--gres=gpu:4", "{\"gpus\":4}"},
        {"--gres=gpu:h100-80gb:2", "{\"gpus\":2,\"model\":\"h100-80gb\"}"},
        {"--gres=gpu:h100-80gb", "{\"gpus\":1,\"model\":\"h100-80gb\"}"},
        {"--gres=gres:gpu:2", "{\"gpus\":2}"},
        {"--gres=gpu:0", "{}"},
        {"--gres=gpu:1g.10gb:1", "{\"mig\":\"1g.10gb\"}"},
        {"--gpus-per-node=1g.10gb:2", "{\"mig\":\"1g.10gb\",\"slices\":2}"},
        {"-G 8", "{\"gpus\":8}"},
        {"-G 8 -N 2", "{\"gpus\":4,\"tasks\":2}"},
        {"--gpus-per-node=4 -N 2", "{\"gpus\":4,\"tasks\":2}"},
        {"--gpus-per-task=1 -n 4", "{\"env\":{\"SLURM_GPUS_PER_TASK\":\"1\"},\"gpus\":4}"},
        {"--gpus=8 --gpus-per-task=2", "{\"env\":{\"SLURM_GPUS_PER_TASK\":\"2\"},\"gpus\":8}"},
        {"--gres=gpu:8 --gpus-per-task=1 --ntasks-per-node=8",
         "{\"env\":{\"SLURM_GPUS_PER_TASK\":\"1\"},\"gpus\":8}"},
        {"-c 6", "{\"cpus\":\"6\",\"env\":{\"SLURM_CPUS_PER_TASK\":\"6\"}}"},
        {"-c 6 -n 4", "{\"cpus\":\"24\",\"env\":{\"SLURM_CPUS_PER_TASK\":\"6\"}}"},
        {"--cpus-per-gpu=8 --gpus=2", "{\"cpus\":\"16\",\"gpus\":2}"},
        {"--mem=100", "{\"env\":{\"SLURM_MEM_PER_NODE\":\"100\"},\"memory\":\"104857600\"}"},
        {"--mem=8G -n 4", "{\"env\":{\"SLURM_MEM_PER_NODE\":\"8192\"},\"memory\":\"8589934592\"}"},
        {"--mem-per-cpu=1G -n 2 -c 3",
         "{\"cpus\":\"6\",\"env\":{\"SLURM_CPUS_PER_TASK\":\"3\",\"SLURM_MEM_PER_NODE\":\"6144\"},"
         "\"memory\":\"6442450944\"}"},
        {"--mem-per-gpu=1T --gres=gpu:2",
         "{\"env\":{\"SLURM_MEM_PER_NODE\":\"2097152\"},\"gpus\":2,\"memory\":\"2199023255552\"}"},
        {"-t 90", "{\"time_limit\":\"5400s\"}"},
        {"-t 0", "{\"time_limit\":\"0\"}"},
        {"--time=1-02:03:04", "{\"time_limit\":\"93784s\"}"},
        {"--signal=B:USR1@120", "{\"grace\":\"120s\",\"signal\":\"USR1\"}"},
        {"--signal=10", "{\"grace\":\"60s\",\"signal\":\"USR1\"}"},
        {"--hold", "{\"hold\":true}"},
        {"--no-requeue", "{\"preemptible\":false}"},
        {"--requeue", "{}"},
        {"--nodelist=n[1-3],m", "{\"nodes\":[\"n1\",\"n2\",\"n3\",\"m\"]}"},
        {"--chdir=/data", "{\"dir\":\"/data\"}"},
        {"-D sub", "{\"dir\":\"/home/ada/sub\"}"},
        {"-o out.%j", "{\"output\":\"out.%j\"}"},
        {"-o %x-%u-%n.%t", "{\"output\":\"train.sh-ada-%t.%t\"}"},
        {"-J a%b -o %x", "{\"name\":\"a-b\",\"output\":\"a%%b\"}"},
        {"-o log -e log", "{\"output\":\"log\"}"},
        {"--export=ALL", "{}"},
        {"--export=ALL,A=1,B=x=y", "{\"env\":{\"A\":\"1\",\"B\":\"x=y\"}}"},
        {"--comment='anything # at all'", "{}"},
        {"--mail-type=NONE --open-mode=append -Q -v --wckey=w --ignore-pbs", "{}"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        assert_line(ROWS[i][0], ROWS[i][1]);
    }
}

static void arrays_tell_the_job_their_size(void **state)
{
    (void)state;
    assert_line("--array=0-12:4",
                "{\"array\":\"0,4,8,12\",\"env\":{\"SLURM_ARRAY_TASK_COUNT\":\"4\","
                "\"SLURM_ARRAY_TASK_MAX\":\"12\",\"SLURM_ARRAY_TASK_MIN\":\"0\","
                "\"SLURM_ARRAY_TASK_STEP\":\"4\"},\"output\":\"slurm-%A_%a.out\"}");
    assert_line("-a 1,3,5-7 -o x",
                "{\"array\":\"1,3,5-7\",\"env\":{\"SLURM_ARRAY_TASK_COUNT\":\"5\","
                "\"SLURM_ARRAY_TASK_MAX\":\"7\",\"SLURM_ARRAY_TASK_MIN\":\"1\","
                "\"SLURM_ARRAY_TASK_STEP\":\"1\"},\"output\":\"x\"}");
}

static void what_has_no_equivalent_is_refused_with_what_would_be_right(void **state)
{
    static const char *const ROWS[][2] = {
        {"--qos=high", "--qos: muster has no QOS: the queue is chosen by --account"},
        {"--dependency=afterok:12", "--wait"},
        {"--exclusive", "--exclusive: ask for all GPUs"},
        {"--constraint=gpu", "--label NAME=VALUE"},
        {"--mail-type=END", "muster sends no mail"},
        {"--array=0-9%2", "%N"},
        {"-e err", "both streams"},
        {"--open-mode=truncate", "appends"},
        {"-o out.%N", "'%N'"},
        {"-o out.%4j", "'%4j'"},
        {"--gres=shard:2", "--share"},
        {"--gres=gpu:2,tmp:1", "one kind"},
        {"--gpus=a:1,b:1", "one kind"},
        {"--signal=R:USR1", "reservations"},
        {"--mem=0", "say how much"},
        {"-N 1-4", "--min-tasks"},
        {"--mem=4 --mem-per-cpu=1", "not together with --mem"},
        {"-c 2 --cpus-per-gpu=1 -G 1", "not together with --cpus-per-task"},
        {"--cpus-per-gpu=2", "asks for no GPU"},
        {"--mem-per-gpu=2", "asks for no GPU"},
        {"-n 5 -N 2", "evenly"},
        {"-G 5 -N 2", "evenly"},
        {"-n 9 -N 2 --ntasks-per-node=4", "evenly"},
        {"-n 10 -N 2 --ntasks-per-node=4", "more than 4 on each"},
        {"--gres=gpu:2 -G 4", "say it once"},
        {"--gres=gpu:a:2 --gpus-per-node=b:2", "say it once"},
        {"--signal=KILL", "USR1"},
        {"-t soon", "D-H:M:S"},
        {"-n 0", "whole number"},
        {"-n 9999999999999999999", "whole number"},
        {"--mem=4.5G", "whole number"},
        {"--mem=4Gi", "whole number"},
        {"-J ...", "letter"},
        {"--nodelist=n[3-1]", "n[1-4,7]"},
        {"--nodelist=n[1-99999]", "n[1-4,7]"},
        {"--array=3,1", "rising"},
        {"--export=ALL,API_TOKEN=x", "secret"},
        {"--partition=a,,b", "commas"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        assert_refused(ROWS[i][0], ROWS[i][1]);
    }
}

static void a_lenient_reading_leaves_it_out_and_says_so(void **state)
{
    (void)state;
    lenient = true;
    assert_line("--qos=high --mail-type=END --mail-user=me -N 2", "{\"tasks\":2}");
    assert_non_null(strstr(str_text(&result.notes),
                           "train.sh:2: #SBATCH --qos is left out: muster has no QOS"));
    assert_line("-a 0-1%1 -o x -e y",
                "{\"array\":\"0-1\",\"env\":{\"SLURM_ARRAY_TASK_COUNT\":\"2\","
                "\"SLURM_ARRAY_TASK_MAX\":\"1\",\"SLURM_ARRAY_TASK_MIN\":\"0\","
                "\"SLURM_ARRAY_TASK_STEP\":\"1\"},\"output\":\"x\"}");
    assert_refused("-t soon", "D-H:M:S");
}

static void a_failed_job_is_not_tried_again(void **state)
{
    (void)state;
    assert_int_equal(take("#!/bin/sh\n#SBATCH -N1\n"), 0);
    assert_int_equal(json_integer_value(json_object_get(spec.body, "retries")), 0);
    assert_true(json_is_integer(json_object_get(spec.body, "retries")));
}

static void export_says_what_is_passed_on(void **state)
{
    (void)state;
    assert_line("--export=NONE", "{}");
    assert_true(result.bare_env);
    assert_line("--export=A=1", "{\"env\":{\"A\":\"1\"}}");
    assert_true(result.bare_env);
    assert_line("--export=ALL,A=1", "{\"env\":{\"A\":\"1\"}}");
    assert_false(result.bare_env);
}

static void a_script_without_lines_stays_as_it_is(void **state)
{
    (void)state;
    assert_int_equal(take("#!/bin/sh\n# SBATCH -N 4\n##SBATCH -N 4\n #SBATCH -N 4\ntrue\n"), 0);
    assert_int_equal(json_object_size(spec.body), 0);
    assert_int_equal(result.lines, 0);
}

static void each_field_knows_its_line(void **state)
{
    (void)state;
    assert_int_equal(take("#!/bin/sh\n#SBATCH -J a\n\n# more\n#SBATCH --gres=gpu:2 -A q\nx\n"), 0);
    assert_string_equal(jobspec_origin(&spec, "gpus"), "train.sh:5");
    assert_string_equal(jobspec_origin(&spec, "queue"), "train.sh:5");
    assert_string_equal(jobspec_origin(&spec, "name"), "train.sh:2");
    assert_int_equal(result.lines, 2);
}

static void lines_behind_the_first_command_are_noted(void **state)
{
    (void)state;
    assert_int_equal(take("#!/bin/sh\n#SBATCH -N 2\ntrue\n#SBATCH -N 4\n"), 0);
    assert_int_equal(result.nodes, 2);
    assert_string_equal(str_text(&result.notes),
                        "train.sh:4: #SBATCH after the first command is not read, as in Slurm\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_option_has_its_field, begin, end),
        cmocka_unit_test_setup_teardown(arrays_tell_the_job_their_size, begin, end),
        cmocka_unit_test_setup_teardown(what_has_no_equivalent_is_refused_with_what_would_be_right,
                                        begin, end),
        cmocka_unit_test_setup_teardown(a_lenient_reading_leaves_it_out_and_says_so, begin, end),
        cmocka_unit_test_setup_teardown(a_failed_job_is_not_tried_again, begin, end),
        cmocka_unit_test_setup_teardown(export_says_what_is_passed_on, begin, end),
        cmocka_unit_test_setup_teardown(a_script_without_lines_stays_as_it_is, begin, end),
        cmocka_unit_test_setup_teardown(each_field_knows_its_line, begin, end),
        cmocka_unit_test_setup_teardown(lines_behind_the_first_command_are_noted, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
