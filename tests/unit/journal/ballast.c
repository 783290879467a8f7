#include "journal/ballast.h"

#include "journal_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void the_room_is_really_held_and_given_up(void **state)
{
    struct fixture f;
    struct ballast b;
    struct ballast other;
    struct stat st;

    (void)state;
    fixture_init(&f);
    ballast_init(&b, f.path);
    assert_false(ballast_drop(&b));
    assert_int_equal(ballast_make(&b, NULL), 0);
    assert_int_equal(b.state, BALLAST_HELD);
    assert_int_equal(stat(b.path, &st), 0);
    assert_true(st.st_size == BALLAST_BYTES && st.st_blocks * 512 >= BALLAST_BYTES);
    assert_int_equal(ballast_make(&b, NULL), 0);
    ballast_init(&other, f.path); /* the next process */
    assert_true(ballast_drop(&other));
    assert_int_equal(stat(b.path, &st), -1);
    ballast_fini(&other);
    ballast_fini(&b);
    fixture_fini(&f);
}

static void where_room_cannot_be_held_there_is_no_ballast(void **state)
{
    struct ballast b;

    (void)state;
    ballast_init(&b, "/proc/journal.db");
    assert_int_equal(ballast_make(&b, NULL), 0);
    assert_int_equal(b.state, BALLAST_IMPOSSIBLE);
    assert_false(ballast_drop(&b));
    ballast_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_room_is_really_held_and_given_up),
        cmocka_unit_test(where_room_cannot_be_held_there_is_no_ballast),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
