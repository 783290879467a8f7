#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Run broken in a child and give what it wrote to stderr; the child must end by SIGABRT. */
static void ends_with(void (*broken)(void), char *ret_text, size_t room)
{
    int ends[2];
    int status = 0;
    size_t len = 0;
    ssize_t got;
    pid_t child;

    assert_int_equal(pipe(ends), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct rlimit none = {0, 0};

        setrlimit(RLIMIT_CORE, &none);
        signal(SIGABRT, SIG_DFL);
        dup2(ends[1], STDERR_FILENO);
        broken();
        _exit(0);
    }
    close(ends[1]);
    while ((got = read(ends[0], ret_text + len, room - 1 - len)) > 0) {
        len += (size_t)got;
    }
    ret_text[len] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
}

static void break_a_check(void)
{
    CHECK(1 + 1 == 3);
}

static void break_a_long_one(void)
{
    char what[2000];

    memset(what, 'x', sizeof(what) - 1);
    what[sizeof(what) - 1] = '\0';
    check_failed("file.c", 7, what);
}

static void ask_for_too_much(void)
{
    mem_free(mem_resize(NULL, SIZE_MAX / 4, 8));
}

static void a_broken_check_says_where_and_ends_the_process(void **state)
{
    char text[1000];

    (void)state;
    ends_with(break_a_check, text, sizeof(text));
    assert_non_null(strstr(text, "check.c:"));
    assert_non_null(strstr(text, "broken check: 1 + 1 == 3\n"));
    ends_with(break_a_long_one, text, sizeof(text));
    assert_non_null(strstr(text, "file.c:7"));
}

static void memory_that_cannot_be_had_is_a_broken_check(void **state)
{
    char text[1000];

    (void)state;
    ends_with(ask_for_too_much, text, sizeof(text));
    assert_non_null(strstr(text, "mem.c:"));
}

static void a_check_that_holds_does_nothing(void **state)
{
    (void)state;
    CHECK(1 + 1 == 2);
    AUDIT(1 + 1 == 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_broken_check_says_where_and_ends_the_process),
        cmocka_unit_test(memory_that_cannot_be_had_is_a_broken_check),
        cmocka_unit_test(a_check_that_holds_does_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
