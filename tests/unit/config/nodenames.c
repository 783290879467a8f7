#include "config/nodenames.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static void expands(const char *pattern, const char *wanted)
{
    struct arena *arena = arena_make();
    const char *wrong = "";
    const char *right = "";
    size_t count = 0;
    const char **names = nodenames_expand(pattern, arena, &count, &wrong, &right);
    const char *all = "";

    for (size_t i = 0; names != NULL && i < count; i++) {
        all = arena_printf(arena, "%s%s%s", all, i == 0 ? "" : " ", names[i]);
    }
    assert_string_equal(names == NULL ? wrong : all, wanted);
    arena_free(arena);
}

static void patterns_become_names(void **state)
{
    (void)state;
    expands("n1", "n1");
    expands("n[1-3]", "n1 n2 n3");
    expands("n[08-11]", "n08 n09 n10 n11");
    expands("gpu[1,3,5-6]-a", "gpu1-a gpu3-a gpu5-a gpu6-a");
}

static void wrong_patterns_are_told(void **state)
{
    (void)state;
    expands("N1", "is not a name");
    expands("n[1-2", "has a bracket that does not end");
    expands("n[]", "has no number in its bracket");
    expands("n[2-1]", "counts down");
    expands("n[1;2]", "has more than numbers in its bracket");
    expands("n[1-2][1-2]", "is not a name");
    expands("n[1-999999999]", "stands for more than 100000 nodes");
    expands("n[1-9999999999]", "has no number in its bracket");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_become_names),
        cmocka_unit_test(wrong_patterns_are_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
