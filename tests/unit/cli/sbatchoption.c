/* The table of sbatch's options. */
#include "cli/sbatchoption.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void names_and_letters_are_there_once(void **state)
{
    (void)state;
    for (int i = 0; i < SBATCHOPTION_COUNT; i++) {
        const struct sbatchoption *o = &SBATCHOPTIONS[i];

        assert_int_equal(sbatchoption_find(o->name, strlen(o->name)), i);
        if (o->letter != 0) {
            assert_int_equal(sbatchoption_letter((char)o->letter), i);
        }
        assert_true(o->phrase[0] != '\0');
    }
}

static void an_abbreviation_must_fit_one(void **state)
{
    (void)state;
    assert_int_equal(sbatchoption_find("mail-u", 6), SBATCHOPTION_MAIL_USER);
    assert_int_equal(sbatchoption_find("job", 3), SBATCHOPTION_JOB_NAME);
    assert_int_equal(sbatchoption_find("time", 4), SBATCHOPTION_TIME);
    assert_int_equal(sbatchoption_find("tim", 3), -2);
    assert_int_equal(sbatchoption_find("cpus", 4), -2);
    assert_int_equal(sbatchoption_find("gpus", 4), SBATCHOPTION_GPUS);
    assert_int_equal(sbatchoption_find("", 0), -1);
    assert_int_equal(sbatchoption_find("nodesx", 6), -1);
    assert_int_equal(sbatchoption_letter('z'), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_letters_are_there_once),
        cmocka_unit_test(an_abbreviation_must_fit_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
