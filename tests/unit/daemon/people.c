#include "daemon/people.h"

#include "base/mem.h"
#include "base/str.h"
#include "daemon/statefile.h"
#include "tempdir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static struct people *open_it(void **state)
{
    CLEANUP(mem_freep) char *path = tempdir_file(state, "people.json");
    struct people *p = NULL;
    struct err err = {0};

    if (people_open(path, &p, &err) != 0) {
        fail_msg("%s", err.text);
    }
    return p;
}

static void a_subject_says_nothing_and_stays(void **state)
{
    struct people *p = open_it(state);
    const struct person *row;
    char subject[64];
    struct err err;

    assert_int_equal(people_take(p, "alice", "", &row, &err), 0);
    assert_true(str_is_name(row->subject));
    assert_null(strstr(row->subject, "alice"));
    strncpy(subject, row->subject, sizeof(subject) - 1);
    subject[sizeof(subject) - 1] = '\0';
    assert_int_equal(people_save(p, &err), 0);
    people_close(p);
    p = open_it(state);
    assert_int_equal(people_take(p, "alice", "", &row, &err), 0);
    assert_string_equal(row->subject, subject);
    assert_string_equal(people_name(p, subject), "alice");
    assert_string_equal(people_name(p, "p-unknown"), "p-unknown");
    assert_string_equal(people_name(p, NULL), "");
    people_close(p);
    people_close(NULL);
}

static void nobody_takes_the_subject_of_another(void **state)
{
    struct people *p = open_it(state);
    const struct person *row;
    struct err err;

    assert_int_equal(people_take(p, "alice", "s1", &row, &err), 0);
    assert_int_equal(people_take(p, "bob", "s1", &row, &err), ERR_CONFLICT);
    assert_string_equal(err.text, "the subject s1 belongs to user alice already");
    assert_int_equal(people_take(p, "alice", "s2", &row, &err), ERR_CONFLICT);
    assert_int_equal(people_take(p, "alice", "s1", &row, &err), 0);
    people_close(p);
}

static void a_damaged_table_is_told(void **state)
{
    CLEANUP(mem_freep) char *path = tempdir_file(state, "people.json");
    struct people *p = NULL;
    struct err err;

    assert_int_equal(statefile_write(path, "[{]", 3, &err), 0);
    assert_int_equal(people_open(path, &p, &err), ERR_SYNTAX);
    assert_int_equal(statefile_write(path, "[{}]", 4, &err), 0);
    assert_int_equal(people_open(path, &p, &err), ERR_SYNTAX);
    assert_null(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_subject_says_nothing_and_stays, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(nobody_takes_the_subject_of_another, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(a_damaged_table_is_told, tempdir_make, tempdir_drop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
