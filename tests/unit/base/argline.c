#include "base/argline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static error_t parse(int key, char *arg, struct argp_state *state)
{
    if (key == ARGP_KEY_ARG && state->arg_num > 0) {
        argp_error(state, "'%s' is a word too many", arg);
    } else if (key == ARGP_KEY_END && state->arg_num == 0) {
        argp_usage(state);
    }
    return key == 'n' || key == ARGP_KEY_ARG ? 0 : ARGP_ERR_UNKNOWN;
}

/* The exit status of a child that parses these words and then says "went on"; what it wrote. */
static int parse_words(const char *name, const char *word, char *ret_text, size_t room)
{
    static const struct argp_option OPTIONS[] = {{"number", 'n', "N", 0, "a number", 0}, {0}};
    static const struct argp ARGP = {.options = OPTIONS, .parser = parse};
    char program[64];
    char words[64];
    char *argv[8] = {program};
    int argc = 1;
    int pipes[2];
    int status;
    pid_t pid;
    size_t have = 0;
    ssize_t got;

    snprintf(program, sizeof(program), "%s", name);
    snprintf(words, sizeof(words), "%s", word);
    for (char *save = NULL, *at = strtok_r(words, " ", &save); at != NULL;
         at = strtok_r(NULL, " ", &save)) {
        argv[argc++] = at;
    }
    assert_int_equal(pipe(pipes), 0);
    pid = fork();
    if (pid == 0) {
        dup2(pipes[1], STDERR_FILENO);
        dup2(pipes[1], STDOUT_FILENO);
        close(pipes[0]);
        argline_parse(&ARGP, argc, argv, 0, NULL);
        fprintf(stderr, "went on");
        exit(0);
    }
    close(pipes[1]);
    while ((got = read(pipes[0], ret_text + have, room - 1 - have)) > 0) {
        have += (size_t)got;
    }
    ret_text[have] = '\0';
    close(pipes[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void says(const char *name, const char *word, int status, const char *line)
{
    char text[4096];

    assert_int_equal(parse_words(name, word, text, sizeof(text)), status);
    assert_string_equal(text, line);
}

static void what_is_wrong_is_one_line_with_a_code(void **state)
{
    (void)state;
    says("/usr/bin/muster", "--frob", 2,
         "muster: request.invalid: unrecognized option '--frob'; see `muster --help`\n");
    says("muster ps", "a b", 2,
         "muster: request.invalid: 'b' is a word too many; see `muster ps --help`\n");
    says("muster ps", "a --number", 2,
         "muster: request.invalid: option '--number' requires an argument; see `muster ps "
         "--help`\n");
    says("./muster", "", 2,
         "muster: request.invalid: a word is missing or too many; see `muster --help`\n");
}

static void right_words_say_nothing(void **state)
{
    (void)state;
    says("muster", "a -n 4", 0, "went on");
}

static void help_is_no_error(void **state)
{
    char text[4096];

    (void)state;
    assert_int_equal(parse_words("muster", "--help", text, sizeof(text)), 0);
    assert_non_null(strstr(text, "--number=N"));
    assert_null(strstr(text, "request.invalid"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_wrong_is_one_line_with_a_code),
        cmocka_unit_test(right_words_say_nothing),
        cmocka_unit_test(help_is_no_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
