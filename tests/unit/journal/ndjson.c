#include "journal/ndjson.h"

#include "journal_fixture.h"

#include "base/check.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#define LINES 12

/* The lines of an export, from from_seq on. */
static struct str export_lines(int64_t from_seq)
{
    struct journal *j = journal_open_mem();
    struct journal_record r;
    char text[FIXTURE_TEXT_MAX];
    unsigned char prev[JOURNAL_HASH_BYTES];
    struct str lines = {0};

    for (int64_t seq = 1; seq <= LINES; seq++) {
        r = fixture_record(seq, text);
        journal_last_hash(j, prev);
        assert_int_equal(journal_append(j, &r, 1, NULL), 0);
        if (seq >= from_seq) {
            ndjson_add(&lines, &r, prev);
        }
    }
    journal_close(j);
    return lines;
}

/* Check all lines; the code of the first bad one and, if ret is not NULL, the verdict. */
static int check(const char *text, size_t len, int64_t *ret_first, struct journal_verdict *ret)
{
    struct ndjson_check *c = ndjson_check_new();
    struct err err = {0};
    int rc = 0;

    while (rc == 0 && len > 0) {
        const char *end = memchr(text, '\n', len);
        size_t line = end != NULL ? (size_t)(end - text) : len;

        rc = ndjson_check_line(c, text, line, &err);
        assert_true(rc == 0 || (err.code == rc && err.text[0] != '\0'));
        text += line + (end != NULL);
        len -= line + (end != NULL);
    }
    if (rc != 0) {
        assert_int_equal(ndjson_check_line(c, "", 0, NULL), rc);
    }
    ndjson_check_verdict(c, ret_first, ret);
    ndjson_check_freep(&c);
    assert_null(c);
    return rc;
}

static void a_line_is_read_as_it_was_written(void **state)
{
    struct str lines = export_lines(3);
    struct ndjson_line line;
    struct journal_record made;
    char text[FIXTURE_TEXT_MAX];

    (void)state;
    made = fixture_record(3, text);
    assert_int_equal(ndjson_read(lines.text, strcspn(lines.text, "\n"), &line, NULL), 0);
    assert_true(line.record.seq == 3 && line.record.at_ms == made.at_ms);
    assert_true(line.record.true_at_ms == made.true_at_ms);
    assert_string_equal(line.record.kind, made.kind);
    assert_int_equal(line.record.len, made.len);
    assert_memory_equal(line.record.bytes, made.bytes, made.len);
    str_fini(&lines);
}

static void good_lines_pass_from_the_beginning_or_the_middle(void **state)
{
    static const int64_t FROM[] = {1, 2, LINES};
    struct journal_verdict verdict;
    int64_t first;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(FROM); i++) {
        struct str lines = export_lines(FROM[i]);

        assert_int_equal(check(lines.text, lines.len, &first, &verdict), 0);
        assert_int_equal(first, FROM[i]);
        assert_int_equal(verdict.records, LINES - FROM[i] + 1);
        assert_int_equal(verdict.bad_seq, 0);
        str_fini(&lines);
    }
    assert_int_equal(check("", 0, &first, &verdict), 0);
    assert_true(first == 0 && verdict.records == 0);
}

static void no_byte_can_be_changed(void **state)
{
    struct str lines = export_lines(1);
    struct journal_verdict verdict;
    int64_t first;

    (void)state;
    for (size_t i = 0; i < lines.len; i++) {
        char old = lines.text[i];

        lines.text[i] = old == '1' ? '2' : '1';
        assert_int_not_equal(check(lines.text, lines.len, &first, &verdict), 0);
        assert_true(verdict.bad_seq >= 1 && verdict.records == verdict.bad_seq - 1);
        lines.text[i] = old;
    }
    str_fini(&lines);
}

static void no_line_can_be_taken_out_or_moved(void **state)
{
    struct str lines = export_lines(1);
    struct str less = {0};
    struct journal_verdict verdict;
    size_t first_len = strcspn(lines.text, "\n") + 1;
    size_t second_len = strcspn(lines.text + first_len, "\n") + 1;
    int64_t first;

    (void)state;
    str_add_n(&less, lines.text, first_len);
    str_add(&less, lines.text + first_len + second_len);
    assert_int_equal(check(less.text, less.len, &first, &verdict), ERR_JOURNAL_DAMAGED);
    assert_int_equal(verdict.bad_seq, 2);
    assert_non_null(strstr(verdict.text, "record 3"));
    str_clear(&less);
    str_add_n(&less, lines.text, first_len);
    str_add(&less, lines.text);
    assert_int_equal(check(less.text, less.len, &first, &verdict), ERR_JOURNAL_DAMAGED);
    str_fini(&less);
    str_fini(&lines);
}

static void a_first_record_has_nothing_before_it(void **state)
{
    struct str lines = export_lines(2);
    struct journal_verdict verdict;
    int64_t first;

    (void)state;
    lines.text[strlen("{\"seq\":")] = '1';
    assert_int_equal(check(lines.text, lines.len, &first, &verdict), ERR_JOURNAL_DAMAGED);
    assert_non_null(strstr(verdict.text, "not zero"));
    lines.text[strlen("{\"seq\":")] = '0';
    assert_int_equal(check(lines.text, lines.len, &first, &verdict), ERR_JOURNAL_DAMAGED);
    str_fini(&lines);
}

static void what_is_no_line_is_named_by_its_column(void **state)
{
    static const char *const LINES_OF_OTHERS[] = {
        "",
        "{}",
        "{\"seq\":}",
        "{\"seq\":1.5,\"epoch\":0",
        "{\"seq\":99999999999999999999,\"epoch\":0",
        "{\"seq\":1,\"epoch\":0,\"at_ms\":0,\"true_at_ms\":0,\"precision_ms\":0,\"kind\":\"\"",
        "{\"seq\":1,\"epoch\":0,\"at_ms\":0,\"true_at_ms\":0,\"precision_ms\":0,\"kind\":\"A\"",
        ("{\"seq\":1,\"epoch\":0,\"at_ms\":0,\"true_at_ms\":0,\"precision_ms\":0,\"kind\":\"a\","
         "\"version\":1,\"body\":{}}"),
    };
    struct ndjson_line line;
    struct err err;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(LINES_OF_OTHERS); i++) {
        assert_int_equal(ndjson_read(LINES_OF_OTHERS[i], strlen(LINES_OF_OTHERS[i]), &line, &err),
                         ERR_SYNTAX);
        assert_int_equal(strncmp(err.text, "column ", 7), 0);
    }
}

static void a_line_cut_anywhere_is_no_line(void **state)
{
    struct str lines = export_lines(LINES);
    struct ndjson_line line;

    (void)state;
    for (size_t len = 0; len + 1 < lines.len; len++) {
        CLEANUP(mem_freep) char *part = mem_new(len + 1, 1); /* so that reading past it is seen */

        memcpy(part, lines.text, len);
        assert_int_equal(ndjson_read(part, len, &line, NULL), ERR_SYNTAX);
    }
    assert_int_equal(ndjson_read(lines.text, lines.len - 1, &line, NULL), 0);
    str_fini(&lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_read_as_it_was_written),
        cmocka_unit_test(good_lines_pass_from_the_beginning_or_the_middle),
        cmocka_unit_test(no_byte_can_be_changed),
        cmocka_unit_test(no_line_can_be_taken_out_or_moved),
        cmocka_unit_test(a_first_record_has_nothing_before_it),
        cmocka_unit_test(what_is_no_line_is_named_by_its_column),
        cmocka_unit_test(a_line_cut_anywhere_is_no_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
