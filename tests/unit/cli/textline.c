/* Lines of a page: cells have their width whatever is in them. */
#include "cli/textline.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct textline line;

static int end(void **state)
{
    (void)state;
    textline_fini(&line);
    return 0;
}

static void cells_are_filled_up_and_cut(void **state)
{
    (void)state;
    textline_cell(&line, TEXTLINE_GREEN, "abc", 5, false);
    textline_cell(&line, TEXTLINE_PLAIN, "12", 4, true);
    textline_cell(&line, TEXTLINE_PLAIN, "too long", 3, false);
    textline_cell(&line, TEXTLINE_PLAIN, "too long", 3, true);
    assert_string_equal(line.text.text, "abc    12tootoo");
    assert_string_equal(line.colours.text, "dddaaaaaaaaaaaa");
    assert_int_equal(line.columns, 15);
}

static void columns_are_counted_and_not_bytes(void **state)
{
    (void)state;
    textline_cell(&line, TEXTLINE_PLAIN, "\xc3\xa4\xe6\xbc\xa2", 5, false); /* one and two wide */
    assert_string_equal(line.text.text, "\xc3\xa4\xe6\xbc\xa2  ");
    assert_int_equal(line.columns, 5);
    assert_int_equal(textline_width("\xe6\xbc\xa2"), 2);
    textline_cell(&line, TEXTLINE_PLAIN, "a\xe6\xbc\xa2", 2, false); /* half of one is none */
    assert_string_equal(line.text.text, "\xc3\xa4\xe6\xbc\xa2  a ");
}

static void what_cannot_be_shown_is_one_column(void **state)
{
    (void)state;
    textline_add(&line, TEXTLINE_PLAIN, "a\xff\x1b[2Jb");
    assert_string_equal(line.text.text, "a??[2Jb");
    assert_int_equal(line.columns, 7);
}

static void a_line_is_cut_with_its_colours(void **state)
{
    (void)state;
    textline_add(&line, TEXTLINE_RED, "red");
    textline_add(&line, TEXTLINE_PLAIN, "plain");
    textline_cut(&line, 20);
    assert_int_equal(line.columns, 8);
    textline_cut(&line, 4);
    assert_string_equal(line.text.text, "redp");
    assert_string_equal(line.colours.text, "hhha");
    textline_cut(&line, 0);
    assert_string_equal(str_text(&line.text), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(cells_are_filled_up_and_cut, end),
        cmocka_unit_test_teardown(columns_are_counted_and_not_bytes, end),
        cmocka_unit_test_teardown(what_cannot_be_shown_is_one_column, end),
        cmocka_unit_test_teardown(a_line_is_cut_with_its_colours, end),
    };

    setlocale(LC_ALL, "C.UTF-8");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
