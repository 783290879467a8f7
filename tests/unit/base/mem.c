#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void new_memory_is_zeroed_and_never_null(void **state)
{
    unsigned char *p = mem_new(100, 3);
    void *none = mem_new(0, 0);

    (void)state;
    for (size_t i = 0; i < 300; i++) {
        assert_int_equal(p[i], 0);
    }
    assert_non_null(none);
    mem_free(none);
    mem_free(p);
    mem_free(NULL);
}

static void memory_grows_with_its_content(void **state)
{
    int *p = mem_resize(NULL, 1, sizeof(*p));

    (void)state;
    p[0] = 7;
    p = mem_resize(p, 10000, sizeof(*p));
    assert_int_equal(p[0], 7);
    p = mem_resize(p, 0, sizeof(*p));
    assert_non_null(p);
    mem_free(p);
}

static void a_text_ends_with_its_scope(void **state)
{
    char *kept;

    (void)state;
    {
        CLEANUP(mem_freep) char *text = mem_text("abc");
        CLEANUP(mem_freep) char *part = mem_text_n("abcdef", 2);

        assert_string_equal(text, "abc");
        assert_string_equal(part, "ab");
    }
    kept = mem_text("");
    mem_freep(&kept);
    assert_null(kept);
    mem_freep(&kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_memory_is_zeroed_and_never_null),
        cmocka_unit_test(memory_grows_with_its_content),
        cmocka_unit_test(a_text_ends_with_its_scope),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
