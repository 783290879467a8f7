/* The trainer's checkpoints: the newest one counts, two are kept, a damaged one is said. */
#include "demo/trainsave.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[64];

static int setup(void **state)
{
    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/trainsave-XXXXXX");
    return mkdtemp(dir) == NULL ? -1 : 0;
}

/* Gives the number of files, hidden ones included; removes them if asked. */
static int files(bool removed)
{
    DIR *list = opendir(dir);
    struct dirent *entry;
    int count = 0;

    while (list != NULL && (entry = readdir(list)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            count++;
            if (removed) {
                unlinkat(dirfd(list), entry->d_name, 0);
            }
        }
    }
    closedir(list);
    return count;
}

static int teardown(void **state)
{
    (void)state;
    files(true);
    return rmdir(dir);
}

static void save(int64_t step)
{
    const struct trainsave s = {.step = step, .total = step * 7};
    struct err err;

    assert_int_equal(trainsave_write(dir, &s, &err), 0);
}

static int64_t newest(void)
{
    struct trainsave s;
    struct err err;

    assert_int_equal(trainsave_read(dir, &s, &err), 0);
    assert_int_equal(s.total, s.step * 7);
    return s.step;
}

static void put(const char *name, const char *text)
{
    char path[128];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    file = fopen(path, "we");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void nothing_saved_is_step_0(void **state)
{
    (void)state;
    assert_int_equal(newest(), 0);
}

static void the_newest_counts_and_two_are_kept(void **state)
{
    (void)state;
    for (int64_t step = 10; step <= 50; step += 10) {
        save(step);
        assert_int_equal(newest(), step);
    }
    assert_int_equal(files(false), 2);
}

static void the_same_step_may_be_saved_again(void **state)
{
    (void)state;
    save(10);
    save(10);
    assert_int_equal(newest(), 10);
    assert_int_equal(files(false), 1);
}

static void past_six_digits_the_order_is_that_of_numbers(void **state)
{
    (void)state;
    save(999999);
    save(1000000);
    assert_int_equal(newest(), 1000000);
}

static void half_written_and_strange_files_do_not_count(void **state)
{
    (void)state;
    save(10);
    put(".step-000099", "99");
    put("step-99x", "99 1");
    put("notes", "99 1");
    assert_int_equal(newest(), 10);
}

static void a_damaged_checkpoint_is_said(void **state)
{
    struct trainsave s;
    struct err err;

    (void)state;
    put("step-000020", "19 133\n");
    assert_int_equal(trainsave_read(dir, &s, &err), ERR_SYNTAX);
    put("step-000020", "");
    assert_int_equal(trainsave_read(dir, &s, &err), ERR_SYNTAX);
}

static void a_folder_that_is_not_there_is_an_error(void **state)
{
    const struct trainsave one = {.step = 1};
    struct trainsave s;
    struct err err;

    (void)state;
    assert_int_equal(trainsave_read("/nowhere", &s, &err), ERR_IO);
    assert_int_equal(trainsave_write("/nowhere", &one, &err), ERR_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_saved_is_step_0, setup, teardown),
        cmocka_unit_test_setup_teardown(the_newest_counts_and_two_are_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(the_same_step_may_be_saved_again, setup, teardown),
        cmocka_unit_test_setup_teardown(past_six_digits_the_order_is_that_of_numbers, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(half_written_and_strange_files_do_not_count, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_damaged_checkpoint_is_said, setup, teardown),
        cmocka_unit_test(a_folder_that_is_not_there_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
