#include "journal/sqlite_snapshot.h"

#include "journal_fixture.h"

#include "base/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static struct journal *open_journal(const char *path, bool read_only)
{
    struct journal *j = NULL;

    assert_int_equal(journal_open_sqlite(path, read_only, &j, NULL), 0);
    return j;
}

static int put_snapshot(struct journal *j, const char *bytes)
{
    struct journal_snapshot s = {.seq = journal_last_seq(j),
                                 .format = 3,
                                 .bytes = bytes,
                                 .len = strlen(bytes)};

    journal_last_hash(j, s.hash);
    hash_sha256(bytes, s.len, s.state_hash);
    return journal_snapshot_put(j, &s, NULL);
}

static bool newest_is(const char *path, const char *bytes, int64_t seq)
{
    struct journal *j = open_journal(path, true);
    struct journal_snapshot s = {0};
    bool is = journal_snapshot_get(j, &s, NULL) == 0 && s.seq == seq && s.format == 3 &&
              s.len == strlen(bytes) && memcmp(s.bytes, bytes, s.len) == 0;

    journal_close(j);
    return is;
}

static void a_damaged_snapshot_gives_way_to_the_one_before(void **state)
{
    static const char *const TEXTS[] = {"{\"state\":1}", "{\"state\":2}", "{\"state\":3}"};
    struct fixture f;
    struct journal *j;
    struct journal_snapshot s;
    struct err err;

    (void)state;
    fixture_init(&f);
    j = open_journal(f.path, false);
    assert_int_equal(journal_snapshot_get(j, &s, &err), ERR_NOT_FOUND);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(fixture_append(j, 2, false, &err), 0);
        assert_int_equal(put_snapshot(j, TEXTS[i]), 0);
    }
    assert_int_equal(put_snapshot(j, TEXTS[2]), 0);
    journal_close(j);
    assert_true(newest_is(f.path, TEXTS[2], 6));
    fixture_sql(f.path, "UPDATE snapshot SET bytes=x'7b7d' WHERE seq=6");
    assert_true(newest_is(f.path, TEXTS[1], 4));
    fixture_sql(f.path, "UPDATE snapshot SET hash=x'00' WHERE seq=4");
    j = open_journal(f.path, true);
    assert_int_equal(journal_snapshot_get(j, &s, &err), ERR_NOT_FOUND); /* two were kept */
    journal_close(j);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_damaged_snapshot_gives_way_to_the_one_before),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
