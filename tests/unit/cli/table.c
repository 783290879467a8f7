/* One list in every format. */
#include "cli/table.h"

#include "cli/document.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct column COLUMNS[] = {
    {"JOB", "job", COLUMN_TEXT, 0, NULL},
    {"ST", "state", COLUMN_STATE, 0, NULL},
    {"N", "n", COLUMN_NUMBER, 0, NULL},
    {"AT", "at_ms", COLUMN_TIME, 0, NULL},
    {"FLAG", "flag", COLUMN_FLAG, 0, NULL},
    {"LIST", "list", COLUMN_LIST, 0, NULL},
    {"WIDE", "bytes", COLUMN_BYTES, COLUMN_WIDE, NULL},
};

static char *shown;

/* What a list looks like; lent until the next call. */
static const char *show(struct view view, const char *json)
{
    json_t *answer = json_loads(json, 0, NULL);
    size_t len;

    free(shown);
    view.out = open_memstream(&shown, &len);
    assert_non_null(answer);
    assert_non_null(view.out);
    table_print(&view, COLUMNS, sizeof(COLUMNS) / sizeof(COLUMNS[0]), answer, NULL, NULL);
    fclose(view.out);
    json_decref(answer);
    return shown;
}

static int end(void **state)
{
    (void)state;
    free(shown);
    shown = NULL;
    return 0;
}

#define TWO                                                                                        \
    "{\"items\":[{\"job\":\"17\",\"state\":\"running\",\"n\":8,\"at_ms\":1796054167000,"           \
    "\"flag\":true,\"list\":[\"n1\",\"n2\"],\"bytes\":1024},{\"job\":\"100\"}]}"

static void a_table_aligns_its_columns(void **state)
{
    (void)state;
    assert_string_equal(show((struct view){0}, TWO),
                        "JOB ST      N AT                   FLAG LIST\n"
                        "17  running 8 2026-11-30T15:56:07Z yes  n1,n2\n"
                        "100 -       - -                    -    -\n");
}

/* Each run of spaces as one: what wide titles that are not shown do to the width of their columns
 * differs between releases of libsmartcols. */
static char *squeezed(char *text)
{
    size_t kept = 0;

    for (size_t i = 0; text[i] != '\0'; i++) {
        if (text[i] != ' ' || kept == 0 || text[kept - 1] != ' ') {
            text[kept++] = text[i];
        }
    }
    text[kept] = '\0';
    return text;
}

static void titles_may_be_left_out_and_more_columns_shown(void **state)
{
    (void)state;
    show((struct view){.no_header = true, .format = VIEW_WIDE},
         "{\"items\":[{\"job\":\"1\",\"bytes\":1024}]}");
    assert_string_equal(squeezed(shown), "1 - - - - - 1Ki\n");
}

static void names_stand_alone(void **state)
{
    (void)state;
    assert_string_equal(show((struct view){.format = VIEW_NAME}, TWO), "17\n100\n");
}

static void json_is_what_the_server_said(void **state)
{
    (void)state;
    assert_string_equal(show((struct view){.format = VIEW_JSON}, "{\"items\":[{\"job\":\"1\"}]}"),
                        "{\n  \"items\": [\n    {\n      \"job\": \"1\"\n    }\n  ]\n}\n");
}

static void yaml_keeps_texts_texts(void **state)
{
    (void)state;
    assert_string_equal(
        show((struct view){.format = VIEW_YAML},
             "{\"items\":[{\"job\":\"17\",\"n\":8,\"share\":\"1/7\",\"on\":\"yes\",\"flag\":false,"
             "\"none\":null,\"name\":\"a b\",\"odd\":\"a: b\",\"empty\":\"\",\"list\":[],"
             "\"script\":\"a\\nb\\n\"}]}"),
        "items:\n"
        "- job: \"17\"\n"
        "  \"n\": 8\n"
        "  share: \"1/7\"\n"
        "  \"on\": \"yes\"\n"
        "  flag: false\n"
        "  none: null\n"
        "  name: a b\n"
        "  odd: 'a: b'\n"
        "  empty: \"\"\n"
        "  list: []\n"
        "  script: |\n"
        "    a\n"
        "    b\n");
}

static void colour_marks_states_only(void **state)
{
    const char *text = show((struct view){.colour = true}, TWO);

    (void)state;
    assert_non_null(strstr(text, "\033[32mrunning"));
    assert_null(strstr(show((struct view){0}, TWO), "\033"));
}

static void control_characters_do_not_reach_the_terminal(void **state)
{
    (void)state;
    assert_null(strchr(show((struct view){0}, "{\"items\":[{\"job\":\"a\\u001b[2Jb\"}]}"), '\033'));
    assert_null(
        strchr(show((struct view){.format = VIEW_NAME}, "{\"items\":[{\"job\":\"a\\u001b[2Jb\"}]}"),
               '\033'));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_table_aligns_its_columns, end),
        cmocka_unit_test_teardown(titles_may_be_left_out_and_more_columns_shown, end),
        cmocka_unit_test_teardown(names_stand_alone, end),
        cmocka_unit_test_teardown(json_is_what_the_server_said, end),
        cmocka_unit_test_teardown(yaml_keeps_texts_texts, end),
        cmocka_unit_test_teardown(colour_marks_states_only, end),
        cmocka_unit_test_teardown(control_characters_do_not_reach_the_terminal, end),
    };

    setlocale(LC_ALL, "C.UTF-8");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
