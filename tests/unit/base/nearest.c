/* What somebody may have meant. */
#include "base/nearest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char *meant(const char *word)
{
    static const char *const WORDS[] = {"submit", "queue", "ps", "why", "show", "logs", "top"};
    static char text[64];
    struct nearest n;

    nearest_begin(&n, word, strlen(word));
    for (size_t i = 0; i < sizeof(WORDS) / sizeof(WORDS[0]); i++) {
        nearest_try(&n, WORDS[i], strlen(WORDS[i]));
    }
    snprintf(text, sizeof(text), "%.*s", n.best != NULL ? (int)n.best_len : 1,
             n.best != NULL ? n.best : "-");
    return text;
}

static void slips_of_the_fingers_are_understood(void **state)
{
    static const char *const ROWS[][2] = {
        {"sumbit", "submit"},
        {"submti", "submit"},
        {"qeue", "queue"},
        {"queues", "queue"},
        {"log", "logs"},
        {"hsow", "show"},
        {"tpo", "top"},
        {"sbmit", "submit"},
        {"Submit", "submit"},
        {"ps", "ps"},
        {"explain", "-"},
        {"x", "-"},
        {"", "-"},
        {"foo", "-"},
        {"submission", "-"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        if (strcmp(meant(ROWS[i][0]), ROWS[i][1]) != 0) {
            fail_msg("%s: %s", ROWS[i][0], meant(ROWS[i][0]));
        }
    }
}

static void of_very_long_words_nothing_is_guessed(void **state)
{
    char word[NEAREST_WORD_MAX + 2];

    (void)state;
    memset(word, 'q', sizeof(word) - 1);
    word[sizeof(word) - 1] = '\0';
    assert_string_equal(meant(word), "-");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slips_of_the_fingers_are_understood),
        cmocka_unit_test(of_very_long_words_nothing_is_guessed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
