/* The part of cmocka that the unit tests of base and core use, for machines that have no cmocka
 * here.  A failure ends its test; the outcome is TAP. */
#ifndef MUSTER_MACHINES_CMOCKA_H
#define MUSTER_MACHINES_CMOCKA_H

#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CMUnitTest {
    const char *name;
    void (*run)(void **state);
    int (*setup)(void **state);
    int (*teardown)(void **state);
};

static jmp_buf cmocka_out;

static inline void cmocka_fail(const char *file, int line, const char *what)
{
    printf("# %s:%d: %s\n", file, line, what);
    longjmp(cmocka_out, 1);
}

#define cmocka_unit_test(f)                                                                        \
    {                                                                                              \
#f, f, NULL, NULL                                                                          \
    }
#define cmocka_unit_test_setup(f, s)                                                               \
    {                                                                                              \
#f, f, s, NULL                                                                             \
    }
#define cmocka_unit_test_teardown(f, t)                                                            \
    {                                                                                              \
#f, f, NULL, t                                                                             \
    }
#define cmocka_unit_test_setup_teardown(f, s, t)                                                   \
    {                                                                                              \
#f, f, s, t                                                                                \
    }
#define cmocka_must(c, text)       ((c) ? (void)0 : cmocka_fail(__FILE__, __LINE__, text))
#define assert_true(c)             cmocka_must(c, #c)
#define assert_false(c)            cmocka_must(!(c), "not " #c)
#define assert_null(p)             cmocka_must((p) == NULL, #p " is NULL")
#define assert_non_null(p)         cmocka_must((p) != NULL, #p " is not NULL")
#define assert_ptr_equal(a, b)     cmocka_must((const void *)(a) == (const void *)(b), #a " == " #b)
#define assert_ptr_not_equal(a, b) cmocka_must((const void *)(a) != (const void *)(b), #a " != " #b)
#define assert_int_equal(a, b)     cmocka_must((intmax_t)(a) == (intmax_t)(b), #a " == " #b)
#define assert_int_not_equal(a, b) cmocka_must((intmax_t)(a) != (intmax_t)(b), #a " != " #b)
#define assert_in_range(v, a, b)                                                                   \
    cmocka_must((intmax_t)(v) >= (intmax_t)(a) && (intmax_t)(v) <= (intmax_t)(b), #v)
#define assert_string_equal(a, b)     cmocka_must(strcmp(a, b) == 0, #a " is " #b)
#define assert_string_not_equal(a, b) cmocka_must(strcmp(a, b) != 0, #a " is not " #b)
#define assert_memory_equal(a, b, n)  cmocka_must(memcmp(a, b, n) == 0, #a " is " #b)
#define fail_msg(...)                 (printf("# " __VA_ARGS__), cmocka_fail(__FILE__, __LINE__, ""))
#define skip()                        longjmp(cmocka_out, 2)

static inline int cmocka_run(const struct CMUnitTest *tests, size_t count)
{
    volatile int failed = 0;

    (void)setvbuf(stdout, NULL, _IONBF, 0); /* a child must not print it again */
    printf("1..%zu\n", count);
    for (volatile size_t i = 0; i < count; i++) {
        void *state = NULL;
        int how = setjmp(cmocka_out);

        if (how == 0) {
            if (tests[i].setup != NULL) {
                tests[i].setup(&state);
            }
            tests[i].run(&state);
            if (tests[i].teardown != NULL) {
                tests[i].teardown(&state);
            }
        }
        failed += how == 1;
        printf("%sok %zu - %s%s\n", how == 1 ? "not " : "", i + 1, tests[i].name,
               how == 2 ? " # SKIP" : "");
    }
    return failed;
}

#define cmocka_run_group_tests(tests, setup, teardown)                                             \
    cmocka_run(tests, sizeof(tests) / sizeof((tests)[0]))

#endif
