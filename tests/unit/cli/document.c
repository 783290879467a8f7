/* JSON as YAML that reads back as the same. */
#include "cli/document.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void shows(const char *json_text, const char *want)
{
    json_t *json = json_loads(json_text, JSON_DECODE_ANY, NULL);
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    assert_non_null(json);
    document_print(json, out);
    fclose(out);
    assert_string_equal(text, want);
    free(text);
    json_decref(json);
}

static void texts_that_look_like_something_else_are_quoted(void **state)
{
    (void)state;
    shows("[\"17\",\"-1\",\"true\",\"No\",\"~\",\"\",\".5\",\"a\"]",
          "- \"17\"\n- \"-1\"\n- \"true\"\n- \"No\"\n- \"~\"\n- \"\"\n- \".5\"\n- a\n");
}

static void objects_keep_their_order(void **state)
{
    (void)state;
    shows("{\"z\":1,\"a\":{\"y\":null,\"b\":[]},\"m\":{}}",
          "z: 1\na:\n  \"y\": null\n  b: []\nm: {}\n");
}

static void large_numbers_and_lines_stay_whole(void **state)
{
    (void)state;
    shows("{\"a\":-9223372036854775807,\"t\":\"one\\ntwo\"}",
          "a: -9223372036854775807\nt: |-\n  one\n  two\n");
    shows("{\"t\":\"\\u001b[2J\"}", "t: \"\\e[2J\"\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_that_look_like_something_else_are_quoted),
        cmocka_unit_test(objects_keep_their_order),
        cmocka_unit_test(large_numbers_and_lines_stay_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
