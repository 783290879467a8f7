#include "daemon/jobindex.h"

#include "daemon/recordview.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static void append(struct journal *j, const char *kind, const char *bytes)
{
    struct journal_record r = {
        .at_ms = 1, .true_at_ms = 1, .kind = kind, .version = 1, .bytes = bytes};
    struct err err = {0};

    r.len = strlen(bytes);
    if (journal_append(j, &r, 1, &err) != 0) {
        fail_msg("%s", err.text);
    }
}

static void a_story_has_its_own_records_and_those_where_it_is_a_victim(void **state)
{
    struct journal *j = journal_open_mem();
    struct jobindex *x = jobindex_new();
    const int64_t *seqs;
    size_t count;
    struct journal_record late = {.seq = 5, .kind = "job_cancel", .bytes = "{\"job\":1}", .len = 9};

    (void)state;
    append(j, "job_submitted", "{\"id\":1,\"name\":\"\\\"job\\\":7\"}");
    append(j, "job_submitted", "{\"id\":12,\"queue\":1}");
    append(j, "job_claimed", "{\"job\":12,\"victims\":[{\"job\":1,\"attempt\":1}]}");
    append(j, "task_running", "{\"job\":12,\"attempt\":1}");
    jobindex_add(x, &late); /* before the first question it changes nothing */
    assert_int_equal(jobindex_of(x, j, 1, &seqs, &count, NULL), 0);
    assert_int_equal(count, 2);
    assert_int_equal(seqs[0], 1);
    assert_int_equal(seqs[1], 3);
    assert_int_equal(jobindex_of(x, j, 12, &seqs, &count, NULL), 0);
    assert_int_equal(count, 3);
    jobindex_add(x, &late);
    assert_int_equal(jobindex_of(x, j, 1, &seqs, &count, NULL), 0);
    assert_int_equal(count, 3);
    assert_int_equal(jobindex_of(x, j, 7, &seqs, &count, NULL), 0);
    assert_int_equal(count, 0);
    jobindex_free(x);
    jobindex_free(NULL);
    journal_close(j);
}

static void a_filter_reads_whole_numbers(void **state)
{
    struct journal_record r = {.kind = "job_cancel", .bytes = "{\"job\":12}", .len = 10};
    struct journal_record s = {.kind = "job_submitted", .bytes = "{\"id\":3,\"x\":1}", .len = 14};

    (void)state;
    assert_true(recordview_names_job(&r, 12));
    assert_false(recordview_names_job(&r, 1));
    assert_false(recordview_names_job(&r, 2));
    assert_true(recordview_names_job(&s, 3));
    assert_false(recordview_names_job(&s, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_story_has_its_own_records_and_those_where_it_is_a_victim),
        cmocka_unit_test(a_filter_reads_whole_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
