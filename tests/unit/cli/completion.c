/* What may stand at the cursor: a table of lines and what is offered. */
#include "cli/completion.h"

#include "base/check.h"
#include "base/str.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* The line is cut at blanks; the cursor stands in the last word, "_" is an empty one. */
static void find(const char *line, struct str *ret, enum completion_kind *ret_kind)
{
    char text[256];
    char *words[32];
    size_t count = 0;
    struct completion c;

    snprintf(text, sizeof(text), "%s", line);
    for (char *word = text, *next; word != NULL; word = next) {
        next = strchr(word, ' ');
        if (next != NULL) {
            *next++ = '\0';
        }
        words[count++] = strcmp(word, "_") == 0 ? word + 1 : word;
    }
    completion_find(count, words, count - 1, &c);
    for (size_t i = 0; i < c.rows.count; i++) {
        str_addf(ret, "%s%s%.*s", i > 0 ? " " : "", c.prefix, (int)c.rows.items[i].len,
                 c.rows.items[i].text);
    }
    *ret_kind = c.kind;
    completion_fini(&c);
}

static void each_place_has_its_words(void **state)
{
    static const struct {
        const char *line;
        enum completion_kind kind;
        const char *rows;
    } ROWS[] = {
        {"que", COMPLETION_NONE, "queue"},
        {"re", COMPLETION_NONE, "release requeue"},
        {"queue _", COMPLETION_NONE, "list show"},
        {"queue s", COMPLETION_NONE, "show"},
        {"nothing _", COMPLETION_NONE, ""},
        {"_complete _", COMPLETION_NONE, ""},
        {"queue show _", COMPLETION_QUEUES, ""},
        {"queue show a _", COMPLETION_NONE, ""},
        {"node drain _", COMPLETION_NODES, ""},
        {"node drain a b _", COMPLETION_NODES, ""},
        {"cancel _", COMPLETION_JOBS, ""},
        {"logs _", COMPLETION_ENDED_JOBS, ""},
        {"logs -f _", COMPLETION_ENDED_JOBS, ""},
        {"logs --task _", COMPLETION_NONE, ""},
        {"policy check _", COMPLETION_FILES, ""},
        {"submit _", COMPLETION_FILES, ""},
        {"submit train.sh _", COMPLETION_FILES, ""},
        {"submit train.sh --q", COMPLETION_FILES, ""},
        {"submit -- _", COMPLETION_PROGRAMS, ""},
        {"submit -q a -- sh _", COMPLETION_FILES, ""},
        {"run _", COMPLETION_PROGRAMS, ""},
        {"run -q a _", COMPLETION_PROGRAMS, ""},
        {"run sh --qu", COMPLETION_FILES, ""},
        {"run -- _", COMPLETION_PROGRAMS, ""},
        {"submit --qu", COMPLETION_NONE, "--queue"},
        {"submit --sha", COMPLETION_NONE, "--share --share-memory"},
        {"submit --queue _", COMPLETION_QUEUES, ""},
        {"submit -q _", COMPLETION_QUEUES, ""},
        {"submit --queue=x", COMPLETION_QUEUES, ""},
        {"submit --queue =", COMPLETION_QUEUES, ""},
        {"submit --queue = x", COMPLETION_QUEUES, ""},
        {"submit --queue = x _", COMPLETION_FILES, ""},
        {"submit --queue=x _", COMPLETION_FILES, ""},
        {"submit --hold _", COMPLETION_FILES, ""},
        {"submit --sbatch _", COMPLETION_NONE, "strict lenient ignore"},
        {"submit --sbatch=l", COMPLETION_NONE, "--sbatch=lenient"},
        {"submit --sbatch = l", COMPLETION_NONE, "lenient"},
        {"submit --topology p", COMPLETION_NONE, "preferred="},
        {"ps -o j", COMPLETION_NONE, "json"},
        {"ps --format = y", COMPLETION_NONE, "yaml"},
        {"ps --no-such=y", COMPLETION_NONE, ""},
        {"help jou", COMPLETION_NONE, "journal"},
        {"completion _", COMPLETION_NONE, "bash zsh fish"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        enum completion_kind kind;
        struct str rows = {0};

        find(ROWS[i].line, &rows, &kind);
        if (kind != ROWS[i].kind || strcmp(str_text(&rows), ROWS[i].rows) != 0) {
            fail_msg("%s: kind %d, '%s'", ROWS[i].line, (int)kind, str_text(&rows));
        }
        str_fini(&rows);
    }
}

static void the_empty_line_offers_every_command_once(void **state)
{
    enum completion_kind kind;
    struct str rows = {0};

    (void)state;
    find("_", &rows, &kind);
    assert_non_null(strstr(str_text(&rows), " queue pool node "));
    assert_null(strstr(str_text(&rows), "_complete"));
    str_fini(&rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_place_has_its_words),
        cmocka_unit_test(the_empty_line_offers_every_command_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
