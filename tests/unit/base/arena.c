#include "base/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static void memory_is_zeroed_and_aligned(void **state)
{
    struct arena *a = arena_make();

    (void)state;
    for (size_t size = 0; size < 300; size++) {
        unsigned char *p = arena_new(a, size, 1);

        assert_int_equal((uintptr_t)p % 16, 0);
        for (size_t i = 0; i < size; i++) {
            assert_int_equal(p[i], 0);
        }
        memset(p, 0xff, size);
    }
    arena_free(a);
    arena_free(NULL);
}

static void more_than_a_block_fits(void **state)
{
    struct arena *a = arena_make();
    char *big = arena_new(a, 1, 1000000);
    char *small = arena_text(a, "small");

    (void)state;
    memset(big, 'x', 1000000);
    assert_string_equal(small, "small");
    for (int i = 0; i < 10000; i++) {
        memset(arena_new(a, 4, 25), 'y', 100);
    }
    assert_int_equal(big[999999], 'x');
    assert_string_equal(small, "small");
    arena_freep(&a);
    assert_null(a);
}

static void a_reset_gives_zeroed_memory_again(void **state)
{
    struct arena *a = arena_make();
    unsigned char *p = arena_new(a, 64, 1);

    (void)state;
    memset(p, 0xff, 64);
    arena_new(a, 100000, 1);
    arena_reset(a);
    p = arena_new(a, 64, 1);
    assert_int_equal(p[0] | p[63], 0);
    arena_free(a);
}

/* Wherever the block ends. */
static void what_is_printed_fits_or_moves(void **state)
{
    (void)state;
    for (size_t room = 0; room < 64; room++) {
        struct arena *a = arena_make_sized(room);
        char *text = arena_printf(a, "%s", "a text of 28 bytes, all told");
        char *next = arena_text(a, "next");

        assert_string_equal(text, "a text of 28 bytes, all told");
        assert_string_equal(next, "next");
        arena_reset(a);
        assert_string_equal(arena_printf(a, "%d", 1234567), "1234567");
        arena_free(a);
    }
}

static void texts_are_copies(void **state)
{
    struct arena *a = arena_make();
    char from[] = "abcdef";
    char *text = arena_text(a, from);
    char *part = arena_text_n(a, from, 3);
    int *numbers = arena_copy(a, (int[]){1, 2}, 2 * sizeof(int));

    (void)state;
    memset(from, 'z', 6);
    assert_string_equal(text, "abcdef");
    assert_string_equal(part, "abc");
    assert_int_equal(numbers[1], 2);
    assert_string_equal(arena_printf(a, "%s-%d", "n", 7), "n-7");
    assert_string_equal(arena_join(a, (const char *const[]){"8", " GPUs", "", "!"}, 4), "8 GPUs!");
    assert_string_equal(arena_join(a, NULL, 0), "");
    assert_string_equal(arena_text_n(a, NULL, 0), "");
    assert_non_null(arena_copy(a, NULL, 0));
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_zeroed_and_aligned),
        cmocka_unit_test(more_than_a_block_fits),
        cmocka_unit_test(a_reset_gives_zeroed_memory_again),
        cmocka_unit_test(texts_are_copies),
        cmocka_unit_test(what_is_printed_fits_or_moves),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
