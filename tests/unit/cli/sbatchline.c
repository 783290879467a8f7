/* The tokens of #SBATCH lines: each row was tried with sbatch 22.05, which finds the same words. */
#include "cli/sbatchline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct sbatchline lines;
static struct str notes;
static struct err err;

static int end(void **state)
{
    (void)state;
    sbatchline_fini(&lines);
    str_fini(&notes);
    return 0;
}

static int take(const char *text)
{
    end(NULL);
    return sbatchline_read(&lines, "t.sh", text, strlen(text), &notes, &err);
}

static const char *value(enum sbatchoption_id id)
{
    return lines.given[id].value != NULL ? lines.given[id].value : "(none)";
}

static void words_are_cut_as_sbatch_cuts_them(void **state)
{
    (void)state;
    assert_int_equal(take("#!/bin/sh\n#SBATCH --job-name=\"a b\" -N1 # c\n"), 0);
    assert_string_equal(value(SBATCHOPTION_JOB_NAME), "a b");
    assert_string_equal(value(SBATCHOPTION_NODES), "1");
    assert_int_equal(take("#SBATCH --comment=a#b\n"), 0);
    assert_string_equal(value(SBATCHOPTION_COMMENT), "a");
    assert_int_equal(take("#SBATCH --comment=\"a#b\"\n"), 0);
    assert_string_equal(value(SBATCHOPTION_COMMENT), "a#b");
    assert_int_equal(take("#SBATCH --comment=a\\#b --nodes 2\n"), 0);
    assert_string_equal(value(SBATCHOPTION_COMMENT), "a#b");
    assert_string_equal(value(SBATCHOPTION_NODES), "2");
    assert_int_equal(take("#SBATCH -J 'it'\"s\"\\ x\r\n"), 0);
    assert_string_equal(value(SBATCHOPTION_JOB_NAME), "its x");
}

static void letters_may_be_joined_and_blanks_left_out(void **state)
{
    (void)state;
    assert_int_equal(take("#SBATCH--hold\n#SBATCH -Jfoo\t-QN 3"), 0);
    assert_string_equal(value(SBATCHOPTION_HOLD), "");
    assert_string_equal(value(SBATCHOPTION_JOB_NAME), "foo");
    assert_string_equal(value(SBATCHOPTION_QUIET), "");
    assert_string_equal(value(SBATCHOPTION_NODES), "3");
    assert_int_equal(lines.given[SBATCHOPTION_NODES].line, 2);
}

static void the_last_of_two_counts(void **state)
{
    (void)state;
    assert_int_equal(take("#SBATCH -N 1\n\n#SBATCH --nodes=2\n"), 0);
    assert_string_equal(value(SBATCHOPTION_NODES), "2");
    assert_int_equal(lines.given[SBATCHOPTION_NODES].line, 3);
    assert_int_equal(lines.count, 2);
}

static void comments_and_blank_lines_do_not_end_the_head(void **state)
{
    (void)state;
    assert_int_equal(take("#!/bin/sh\n\n \t# x\n##SBATCH -N 9\n #SBATCH -N 9\n#SBATCH -n 2\n"), 0);
    assert_string_equal(value(SBATCHOPTION_NTASKS), "2");
    assert_string_equal(value(SBATCHOPTION_NODES), "(none)");
    assert_int_equal(take("#!/bin/sh\necho\n#SBATCH -n 2\n"), 0);
    assert_int_equal(lines.count, 0);
    assert_non_null(strstr(str_text(&notes), "t.sh:3: "));
}

static void malformed_lines_are_named(void **state)
{
    static const char *const ROWS[][2] = {
        {"#SBATCH word\n", "t.sh:1: #SBATCH lines hold options only, not word"},
        {"#SBATCHED\n", "t.sh:1: #SBATCH lines hold options only, not ED"},
        {"\n#SBATCH --tim=5\n", "t.sh:2: several options of sbatch begin with --tim=5"},
        {"#SBATCH --colour\n", "t.sh:1: sbatch has no option --colour"},
        {"#SBATCH -z\n", "t.sh:1: sbatch has no option -z"},
        {"#SBATCH -J 'a\n", "t.sh:1: a quote is not closed"},
        {"#SBATCH --nodes\n", "t.sh:1: a value is missing after --nodes"},
        {"#SBATCH -J ''\n", "t.sh:1: a value is missing after -J"},
        {"#SBATCH --hold=yes\n", "t.sh:1: takes no value: --hold=yes"},
        {"#SBATCH hetjob\n", "t.sh:1: muster has task groups (a job file) instead of hetjob"},
        {"#SBATCH -- -N\n", "t.sh:1: #SBATCH lines hold options only, not --"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        assert_int_equal(take(ROWS[i][0]), ERR_SYNTAX);
        assert_string_equal(err.text, ROWS[i][1]);
    }
    assert_int_equal(take("#SBATCH \xff\n"), ERR_SYNTAX);
    assert_int_equal(sbatchline_read(&lines, "t", "a\0b", 3, &notes, &err), ERR_SYNTAX);
}

static void nothing_is_nothing(void **state)
{
    (void)state;
    assert_int_equal(take(""), 0);
    assert_int_equal(take("#SBATCH"), 0);
    assert_int_equal(lines.count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(words_are_cut_as_sbatch_cuts_them, end),
        cmocka_unit_test_teardown(letters_may_be_joined_and_blanks_left_out, end),
        cmocka_unit_test_teardown(the_last_of_two_counts, end),
        cmocka_unit_test_teardown(comments_and_blank_lines_do_not_end_the_head, end),
        cmocka_unit_test_teardown(malformed_lines_are_named, end),
        cmocka_unit_test_teardown(nothing_is_nothing, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
