/* #MUSTER lines: read in the head of a script, an error anywhere else. */
#include "cli/jobscript.h"

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
    return 0;
}

static int end(void **state)
{
    (void)state;
    jobspec_fini(&spec);
    return 0;
}

static int take(const char *text)
{
    return jobscript_read(&spec, "train.sh", text, strlen(text), &err);
}

static void assert_body(const char *text)
{
    char *body = json_dumps(spec.body, JSON_COMPACT | JSON_SORT_KEYS);

    assert_string_equal(body, text);
    free(body);
}

static void the_head_is_read(void **state)
{
    (void)state;
    assert_int_equal(take("#!/bin/sh\n"
                          "# a comment\n"
                          "#MUSTER --gpus 4 --queue=research -t 2\n"
                          "\n"
                          "#MUSTER --name 'big run' # why: a comment\r\n"
                          "#MUSTER --hold\n"
                          "python train.py\n"),
                     0);
    assert_body("{\"gpus\":4,\"hold\":true,\"name\":\"big run\",\"queue\":\"research\","
                "\"tasks\":2}");
    assert_string_equal(jobspec_origin(&spec, "name"), "train.sh:5");
}

static void quotes_are_those_of_the_shell(void **state)
{
    (void)state;
    assert_int_equal(take("#MUSTER --name \"a \\\"b\\\" c\" --env X='1 # 2'"), 0);
    assert_body("{\"env\":{\"X\":\"1 # 2\"},\"name\":\"a \\\"b\\\" c\"}");
    assert_int_equal(take("#!/bin/sh\n#MUSTER --name 'open\n"), ERR_SYNTAX);
    assert_string_equal(err.text, "train.sh:2: a quote is not closed");
}

static void what_is_not_understood_is_named_with_its_line(void **state)
{
    (void)state;
    assert_int_equal(take("#!/bin/sh\n#MUSTER --gpu 4\n"), ERR_SYNTAX);
    assert_string_equal(err.text, "train.sh:2: no option --gpu");
    assert_int_equal(take("#!/bin/sh\n\n#MUSTER gpus=4\n"), ERR_SYNTAX);
    assert_string_equal(err.text, "train.sh:3: #MUSTER lines hold options only, not gpus=4");
    assert_int_equal(take("#MUSTER --gpus\n"), ERR_SYNTAX);
    assert_string_equal(err.text, "train.sh:1: a value is missing after --gpus");
    assert_int_equal(take("#MUSTER --hold=yes\n"), ERR_SYNTAX);
    assert_int_equal(take("#MUSTER --gpus many\n"), ERR_INVALID);
    assert_string_equal(err.text, "train.sh:1: --gpus: 'many' is not a whole number");
}

static void a_script_that_cannot_run_is_refused(void **state)
{
    (void)state;
    assert_int_equal(take(""), ERR_SYNTAX);
    assert_string_equal(err.text, "train.sh is empty: write a script into it");
    assert_int_equal(take("#!/bin/sh\r\nexit 0\r\n"), ERR_SYNTAX);
    assert_string_equal(err.text,
                        "train.sh:1: the line ends in CR LF, so its program is not found: "
                        "let lines end in LF (sed -i 's/\\r$//' FILE)");
    assert_int_equal(jobscript_read(&spec, "train.sh", "a\0b\n", 4, &err), ERR_SYNTAX);
    assert_string_equal(err.text, "train.sh is not a script: it holds a NUL byte");
}

static void a_late_line_is_an_error_and_not_ignored(void **state)
{
    (void)state;
    assert_int_equal(take("#!/bin/sh\necho\n#MUSTER --gpus 4\n"), ERR_SYNTAX);
    assert_non_null(strstr(err.text, "train.sh:3: "));
}

static void other_directives_are_comments(void **state)
{
    (void)state;
    assert_int_equal(take("#!/bin/sh\n#SBATCH --gpus=4\n#SBATCH -t 1\n#MUSTERED\n# MUSTER x\n"), 0);
    assert_body("{}");
}

static void bytes_that_are_no_text_are_refused(void **state)
{
    (void)state;
    assert_int_equal(take("#!/bin/sh\n\xff\n"), ERR_SYNTAX);
    assert_int_equal(jobscript_read(&spec, "x", "a\0b", 3, &err), ERR_SYNTAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_head_is_read, begin, end),
        cmocka_unit_test_setup_teardown(quotes_are_those_of_the_shell, begin, end),
        cmocka_unit_test_setup_teardown(what_is_not_understood_is_named_with_its_line, begin, end),
        cmocka_unit_test_setup_teardown(a_script_that_cannot_run_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(a_late_line_is_an_error_and_not_ignored, begin, end),
        cmocka_unit_test_setup_teardown(other_directives_are_comments, begin, end),
        cmocka_unit_test_setup_teardown(bytes_that_are_no_text_are_refused, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
