/* Damage to the file: every kind is found, named by its record, and the file is left as it is. */
#include "journal_fixture.h"

#include "base/check.h"
#include "base/mem.h"
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* More than opening looks at, so that verify has something to find. */
#define RECORDS 250

static struct fixture fixture;
static char good[128];

static int make_journal(void **state)
{
    (void)state;
    fixture_init(&fixture);
    fixture_make(&fixture, RECORDS);
    fixture_name(&fixture, "good.db", good);
    fixture_copy(fixture.path, good);
    return 0;
}

static int remove_journal(void **state)
{
    (void)state;
    fixture_fini(&fixture);
    return 0;
}

/* What a look at the damaged file says: the first bad record, 0 = all is good, -1 = it does not
 * open. */
static int64_t find_damage(void)
{
    struct journal *j = NULL;
    struct journal_verdict verdict = {0};
    struct err err = {0};
    int rc = journal_open_sqlite(fixture.path, true, &j, &err);

    if (rc != 0) {
        assert_true(rc == ERR_JOURNAL_DAMAGED || rc == ERR_JOURNAL_NEWER);
        assert_non_null(strstr(err.text, fixture.path));
        return -1;
    }
    rc = journal_verify(j, &verdict, &err);
    assert_true(rc == 0 || rc == ERR_JOURNAL_DAMAGED);
    assert_true((rc == 0) == (verdict.bad_seq == 0));
    assert_true(rc != 0 || fixture_holds(j, RECORDS));
    assert_true(rc == 0 || verdict.records == verdict.bad_seq - 1);
    journal_close(j);
    return verdict.bad_seq;
}

static bool opens_to_write(void)
{
    struct journal *j = NULL;
    struct err err = {0};
    int rc = journal_open_sqlite(fixture.path, false, &j, &err);

    assert_true(rc == 0 || rc == ERR_JOURNAL_DAMAGED);
    journal_close(j);
    return rc == 0;
}

static void damage(const char *sql)
{
    fixture_copy(good, fixture.path);
    fixture_sql(fixture.path, sql);
}

static void a_good_copy_is_good(void **state)
{
    (void)state;
    fixture_copy(good, fixture.path);
    assert_int_equal(find_damage(), 0);
}

static void a_change_in_any_column_is_found(void **state)
{
    static const char *const CHANGES[] = {
        "epoch = epoch + 1",
        "at_ms = at_ms - 1",
        "true_at_ms = true_at_ms + 1",
        "precision_ms = precision_ms + 1",
        "kind = 'job_endeD'",
        "kind = kind || 'x'",
        "version = version + 256",
        "bytes = replace(bytes, '20', '21')",
        "bytes = ''",
        "bytes = bytes || ' '",
        "hash = zeroblob(32)",
        "hash = x'00'",
        "hash = (SELECT hash FROM journal WHERE seq = 19)",
    };
    char sql[160];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(CHANGES); i++) {
        snprintf(sql, sizeof(sql), "UPDATE journal SET %s WHERE seq = 20", CHANGES[i]);
        damage(sql);
        assert_int_equal(find_damage(), 20);
    }
}

static void text_that_moves_between_columns_is_found(void **state)
{
    (void)state;
    damage("UPDATE journal SET kind = kind || substr(bytes, 1, 1), bytes = substr(bytes, 2)"
           " WHERE seq = 30");
    assert_int_equal(find_damage(), 30);
}

static void missing_and_swapped_records_are_found(void **state)
{
    (void)state;
    damage("DELETE FROM journal WHERE seq = 20");
    assert_int_equal(find_damage(), 20);
    damage("DELETE FROM journal WHERE seq = 20; UPDATE journal SET seq = -seq WHERE seq > 20;"
           "UPDATE journal SET seq = -seq - 1 WHERE seq < 0;"
           "UPDATE meta SET value = 249 WHERE key = 'last_seq'");
    assert_int_equal(find_damage(), 20);
    damage("UPDATE journal SET seq = -1 WHERE seq = 20; UPDATE journal SET seq = 20 WHERE seq = 21;"
           "UPDATE journal SET seq = 21 WHERE seq = -1");
    assert_int_equal(find_damage(), 20);
    damage("DELETE FROM journal WHERE seq = 1");
    assert_int_equal(find_damage(), -1);
    damage("DELETE FROM journal WHERE seq = 250");
    assert_int_equal(find_damage(), -1);
    damage("DELETE FROM journal");
    assert_int_equal(find_damage(), -1);
    damage("INSERT INTO journal SELECT 251, epoch, at_ms, true_at_ms, precision_ms, kind, version,"
           " bytes, hash FROM journal WHERE seq = 250");
    assert_int_equal(find_damage(), -1);
}

static void damage_near_the_end_is_found_on_opening(void **state)
{
    (void)state;
    damage("UPDATE journal SET at_ms = 1 WHERE seq = 240");
    assert_int_equal(find_damage(), 240);
    assert_false(opens_to_write());
    damage("DELETE FROM journal WHERE seq = 200");
    assert_int_equal(find_damage(), 200);
    assert_false(opens_to_write());
    damage("UPDATE journal SET at_ms = 1 WHERE seq = 20");
    assert_true(opens_to_write());
}

/* Opening to write must refuse as well, and leave the bytes alone. */
static void check_untouched(const char *bytes, size_t len)
{
    CLEANUP(mem_freep) char *after = NULL;
    struct journal *j = NULL;
    size_t after_len;

    if (journal_open_sqlite(fixture.path, false, &j, NULL) == 0) {
        fail_msg("a file cut to %zu bytes opens", len);
    }
    after = fixture_slurp(fixture.path, &after_len);
    assert_int_equal(after_len, len);
    assert_memory_equal(after, bytes, len);
}

static void a_file_cut_off_anywhere_is_refused_and_kept(void **state)
{
    CLEANUP(mem_freep) char *bytes = NULL;
    size_t len;

    (void)state;
    bytes = fixture_slurp(good, &len);
    assert_true(len > 40000);
    for (size_t cut = 0; cut < len; cut += 1361) {
        fixture_spit(fixture.path, bytes, cut);
        assert_int_not_equal(find_damage(), 0);
        check_untouched(bytes, cut);
    }
}

static void a_changed_byte_never_becomes_another_record(void **state)
{
    CLEANUP(mem_freep) char *bytes = NULL;
    struct rng rng = rng_init(17);
    size_t found = 0;
    size_t len;

    (void)state;
    bytes = fixture_slurp(good, &len);
    for (int i = 0; i < 300; i++) {
        size_t at = (size_t)rng_below(&rng, len);
        char old = bytes[at];

        bytes[at] = (char)(old ^ (char)(1 << rng_below(&rng, 8)));
        fixture_spit(fixture.path, bytes, len);
        found += find_damage() != 0; /* asserts that what passes is what was written */
        bytes[at] = old;
    }
    assert_true(found > 100); /* the rest hit free space */
}

static bool stop_at(void *ctx, const struct journal_record *r)
{
    *(int64_t *)ctx = r->seq;
    return true;
}

static void reading_stops_before_the_damage(void **state)
{
    struct journal *j = NULL;
    struct err err;
    int64_t seen = 0;

    (void)state;
    damage("UPDATE journal SET at_ms = 1 WHERE seq = 100");
    assert_int_equal(journal_open_sqlite(fixture.path, false, &j, &err), 0);
    assert_int_equal(journal_read(j, 50, INT64_MAX, stop_at, &seen, &err), ERR_JOURNAL_DAMAGED);
    assert_int_equal(seen, 99);
    assert_non_null(strstr(err.text, "record 100"));
    assert_int_equal(journal_read(j, 50, 50, stop_at, &seen, &err), 0);
    assert_int_equal(journal_read(j, 102, 10, stop_at, &seen, &err), 0);
    journal_close(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_copy_is_good),
        cmocka_unit_test(a_change_in_any_column_is_found),
        cmocka_unit_test(text_that_moves_between_columns_is_found),
        cmocka_unit_test(missing_and_swapped_records_are_found),
        cmocka_unit_test(damage_near_the_end_is_found_on_opening),
        cmocka_unit_test(a_file_cut_off_anywhere_is_refused_and_kept),
        cmocka_unit_test(a_changed_byte_never_becomes_another_record),
        cmocka_unit_test(reading_stops_before_the_damage),
    };

    return cmocka_run_group_tests(tests, make_journal, remove_journal);
}
