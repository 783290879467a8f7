/* What journal.h promises, on both implementations; and the two side by side in random use. */
#include "journal/journal.h"

#include "fault_vfs.h"
#include "journal_fixture.h"

#include "base/check.h"
#include "base/hash.h"
#include "base/rng.h"
#include "base/str.h"
#include "journal/ndjson.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static struct fixture fixture;

static struct journal *open_sqlite(void)
{
    struct journal *j = NULL;
    struct err err;

    if (journal_open_sqlite(fixture.path, false, &j, &err) != 0) {
        fail_msg("%s", err.text);
    }
    return j;
}

static int set_up_mem(void **state)
{
    *state = journal_open_mem();
    return 0;
}

static int set_up_sqlite(void **state)
{
    fault_vfs_install(); /* for its quick syncs */
    fixture_init(&fixture);
    *state = open_sqlite();
    return 0;
}

static int tear_down_mem(void **state)
{
    journal_close(*state);
    return 0;
}

static int tear_down_sqlite(void **state)
{
    journal_close(*state);
    fixture_fini(&fixture);
    return 0;
}

struct seen {
    int64_t first;
    int64_t count;
    int64_t stop_after;
    unsigned char hash[JOURNAL_HASH_BYTES];
};

static bool see(void *ctx, const struct journal_record *r)
{
    struct seen *s = ctx;

    s->first = s->count == 0 ? r->seq : s->first;
    s->count++;
    memcpy(s->hash, r->hash, sizeof(s->hash));
    return s->count != s->stop_after;
}

static struct seen look(struct journal *j, int64_t from_seq, int64_t max, int64_t stop_after)
{
    struct seen s = {.stop_after = stop_after};
    struct err err = {0};

    if (journal_read(j, from_seq, max, see, &s, &err) != 0) {
        fail_msg("%s", err.text);
    }
    return s;
}

static void an_empty_journal_is_good(void **state)
{
    static const unsigned char zero[JOURNAL_HASH_BYTES];
    struct journal *j = *state;
    struct journal_verdict verdict;
    struct journal_snapshot s;
    unsigned char hash[JOURNAL_HASH_BYTES];

    assert_int_equal(journal_last_seq(j), 0);
    journal_last_hash(j, hash);
    assert_memory_equal(hash, zero, sizeof(hash));
    assert_int_equal(look(j, 1, 10, 0).count, 0);
    assert_int_equal(journal_verify(j, &verdict, NULL), 0);
    assert_true(verdict.records == 0 && verdict.bad_seq == 0);
    assert_int_equal(journal_snapshot_get(j, &s, NULL), ERR_NOT_FOUND);
    assert_int_equal(journal_room(j, NULL), 0);
    assert_int_equal(journal_append(j, NULL, 0, NULL), 0);
    assert_int_equal(journal_append_urgent(j, NULL, 0, NULL), 0);
    journal_close(NULL);
}

static void appended_records_are_numbered_and_read_back(void **state)
{
    struct journal *j = *state;
    struct journal_verdict verdict;
    unsigned char hash[JOURNAL_HASH_BYTES];

    assert_int_equal(fixture_append(j, 1, false, NULL), 0);
    assert_int_equal(fixture_append(j, 300, false, NULL), 0);
    assert_int_equal(fixture_append(j, 3, true, NULL), 0);
    assert_int_equal(journal_last_seq(j), 304);
    assert_true(fixture_holds(j, 304));
    assert_int_equal(journal_verify(j, &verdict, NULL), 0);
    assert_int_equal(verdict.records, 304);
    journal_last_hash(j, hash);
    assert_memory_equal(verdict.hash, hash, sizeof(hash));
}

static void a_read_has_both_ends_where_asked(void **state)
{
    struct journal *j = *state;
    struct seen s;

    assert_int_equal(fixture_append(j, 20, false, NULL), 0);
    s = look(j, 5, 6, 0);
    assert_true(s.first == 5 && s.count == 6);
    s = look(j, 5, 6, 3);
    assert_true(s.first == 5 && s.count == 3);
    s = look(j, -7, 2, 0);
    assert_true(s.first == 1 && s.count == 2);
    s = look(j, INT64_MIN, INT64_MAX, 0);
    assert_true(s.first == 1 && s.count == 20);
    s = look(j, 20, INT64_MAX, 0);
    assert_true(s.first == 20 && s.count == 1);
    assert_int_equal(look(j, 21, INT64_MAX, 0).count, 0);
    assert_int_equal(look(j, INT64_MAX, INT64_MAX, 0).count, 0);
    assert_int_equal(look(j, 3, 0, 0).count, 0);
    assert_int_equal(look(j, 3, -1, 0).count, 0);
    assert_int_equal(journal_read(j, 3, 5, NULL, NULL, NULL), 0);
}

static void what_cannot_be_exported_is_not_taken(void **state)
{
    static const char *const KINDS[] = {
        "",    "Job", "a b",
        "a\"", NULL,  "a123456789012345678901234567890123456789012345678901234567890123"};
    static const char *const BODIES[] = {"", "{\n}", "{\t}", "\x01", "\xff", "\xc3"};
    struct journal *j = *state;
    char text[FIXTURE_TEXT_MAX];
    struct journal_record r[2] = {fixture_record(1, text), fixture_record(1, text)};
    struct err err;

    r[1].seq = -1;
    for (size_t i = 0; i < ARRAY_LEN(KINDS); i++) {
        r[1].kind = KINDS[i];
        assert_int_equal(journal_append(j, r, 2, &err), ERR_INVALID);
        assert_int_equal(journal_append_urgent(j, r, 2, &err), ERR_INVALID);
        assert_non_null(strstr(err.text, "record 2"));
    }
    r[1].kind = "a";
    for (size_t i = 0; i < ARRAY_LEN(BODIES); i++) {
        r[1].bytes = BODIES[i];
        r[1].len = strlen(BODIES[i]);
        assert_int_equal(journal_append(j, r, 2, &err), ERR_INVALID);
    }
    r[1].bytes = NULL;
    assert_int_equal(journal_append(j, r, 2, &err), ERR_INVALID);
    r[1] = r[0];
    r[0].epoch = 1;
    assert_int_equal(journal_append(j, r, 2, &err), ERR_INVALID);
    assert_int_equal(journal_last_seq(j), 0);
}

static void an_older_epoch_is_refused(void **state)
{
    struct journal *j = *state;
    char text[FIXTURE_TEXT_MAX];
    struct journal_record r = fixture_record(1, text);
    struct err err;

    r.epoch = 2;
    assert_int_equal(journal_append(j, &r, 1, &err), 0);
    r.epoch = 1;
    assert_int_equal(journal_append(j, &r, 1, &err), ERR_JOURNAL_EPOCH);
    assert_int_equal(journal_last_seq(j), 1);
    r.epoch = 3;
    assert_int_equal(journal_append(j, &r, 1, &err), 0);
}

static bool gather(void *ctx, const char *text, size_t len)
{
    str_add_n(ctx, text, len);
    return true;
}

static bool refuse(void *ctx, const char *text, size_t len)
{
    (void)text;
    (void)len;
    return (*(int *)ctx)-- > 0;
}

static void an_export_proves_itself(void **state)
{
    struct journal *j = *state;
    struct ndjson_check *check = ndjson_check_new();
    struct journal_verdict verdict;
    struct str lines = {0};
    struct err err;
    unsigned char hash[JOURNAL_HASH_BYTES];
    int64_t first;
    int room = 3;

    assert_int_equal(fixture_append(j, 30, false, NULL), 0);
    assert_int_equal(journal_export(j, 11, gather, &lines, &err), 0);
    for (const char *at = lines.text; *at != '\0'; at += strcspn(at, "\n") + 1) {
        assert_int_equal(ndjson_check_line(check, at, strcspn(at, "\n"), &err), 0);
    }
    ndjson_check_verdict(check, &first, &verdict);
    journal_last_hash(j, hash);
    assert_true(first == 11 && verdict.records == 20);
    assert_memory_equal(verdict.hash, hash, sizeof(hash));
    assert_int_equal(journal_export(j, 1, refuse, &room, &err), ERR_IO);
    assert_non_null(strstr(err.text, "record 4"));
    ndjson_check_free(check);
    str_fini(&lines);
}

static struct journal_snapshot snapshot_of(struct journal *j, const char *bytes)
{
    struct journal_snapshot s = {.seq = journal_last_seq(j),
                                 .format = 1,
                                 .bytes = bytes,
                                 .len = strlen(bytes)};

    journal_last_hash(j, s.hash);
    hash_sha256(bytes, s.len, s.state_hash);
    return s;
}

static void the_newest_snapshot_is_given(void **state)
{
    struct journal *j = *state;
    struct journal_snapshot first;
    struct journal_snapshot got;
    struct journal_snapshot s;

    assert_int_equal(fixture_append(j, 3, false, NULL), 0);
    first = snapshot_of(j, "{\"first\":true}");
    assert_int_equal(journal_snapshot_put(j, &first, NULL), 0);
    assert_int_equal(fixture_append(j, 3, false, NULL), 0);
    s = snapshot_of(j, "{}");
    assert_int_equal(journal_snapshot_put(j, &s, NULL), 0);
    assert_int_equal(journal_snapshot_put(j, &first, NULL), 0);
    assert_int_equal(journal_snapshot_get(j, &got, NULL), 0);
    assert_true(got.seq == 6 && got.format == 1 && got.len == 2);
    assert_memory_equal(got.bytes, "{}", 2);
    assert_memory_equal(got.hash, s.hash, sizeof(s.hash));
    assert_memory_equal(got.state_hash, s.state_hash, sizeof(s.hash));
}

static void a_snapshot_of_something_else_is_refused(void **state)
{
    struct journal *j = *state;
    struct journal_snapshot s;

    assert_int_equal(fixture_append(j, 3, false, NULL), 0);
    s = snapshot_of(j, "{}");
    s.seq = 4;
    assert_int_equal(journal_snapshot_put(j, &s, NULL), ERR_INVALID);
    s.seq = 0;
    assert_int_equal(journal_snapshot_put(j, &s, NULL), ERR_INVALID);
    s.seq = 2;
    assert_int_equal(journal_snapshot_put(j, &s, NULL), ERR_INVALID);
    s = snapshot_of(j, "{}");
    s.state_hash[0] ^= 1;
    assert_int_equal(journal_snapshot_put(j, &s, NULL), ERR_INVALID);
    s.len = 0;
    assert_int_equal(journal_snapshot_put(j, &s, NULL), ERR_TOO_LARGE);
    assert_int_equal(journal_snapshot_get(j, &s, NULL), ERR_NOT_FOUND);
}

/* ---- side by side ---- */

static void append_to_both(struct journal *a, struct journal *b, struct rng *rng, int64_t *epoch)
{
    static char texts[20][FIXTURE_TEXT_MAX];
    struct journal_record ra[20];
    struct journal_record rb[20];
    size_t count = (size_t)rng_range(rng, 1, 20);
    bool urgent = rng_below(rng, 2) == 0;
    int rc_a;
    int rc_b;

    for (size_t i = 0; i < count; i++) {
        ra[i] = fixture_record((int64_t)rng_below(rng, 1000), texts[i]);
        *epoch += rng_below(rng, 100) == 0;
        ra[i].epoch = *epoch - (rng_below(rng, 100) == 0);
        rb[i] = ra[i];
    }
    rc_a = urgent ? journal_append_urgent(a, ra, count, NULL) : journal_append(a, ra, count, NULL);
    rc_b = urgent ? journal_append_urgent(b, rb, count, NULL) : journal_append(b, rb, count, NULL);
    assert_int_equal(rc_a, rc_b);
    for (size_t i = 0; i < count && rc_a == 0; i++) {
        assert_int_equal(ra[i].seq, rb[i].seq);
        assert_memory_equal(ra[i].hash, rb[i].hash, JOURNAL_HASH_BYTES);
    }
}

static void read_from_both(struct journal *a, struct journal *b, struct rng *rng)
{
    int64_t from_seq = rng_range(rng, -2, journal_last_seq(a) + 3);
    int64_t max = rng_range(rng, -1, 30);
    int64_t stop_after = rng_range(rng, 0, 20);
    struct seen sa = look(a, from_seq, max, stop_after);
    struct seen sb = look(b, from_seq, max, stop_after);

    assert_true(sa.first == sb.first && sa.count == sb.count);
    assert_memory_equal(sa.hash, sb.hash, sizeof(sa.hash));
}

static void snapshot_both(struct journal *a, struct journal *b, struct rng *rng)
{
    struct journal_snapshot s = snapshot_of(a, "{\"some\":\"state\"}");
    struct journal_snapshot ga = {0};
    struct journal_snapshot gb = {0};
    int rc;

    s.seq -= (int64_t)rng_below(rng, 2);
    assert_int_equal(journal_snapshot_put(a, &s, NULL), journal_snapshot_put(b, &s, NULL));
    rc = journal_snapshot_get(a, &ga, NULL);
    assert_int_equal(rc, journal_snapshot_get(b, &gb, NULL));
    assert_true(ga.seq == gb.seq && ga.len == gb.len);
    assert_memory_equal(ga.hash, gb.hash, sizeof(ga.hash));
}

static void compare(struct journal *a, struct journal *b)
{
    unsigned char hash_a[JOURNAL_HASH_BYTES];
    unsigned char hash_b[JOURNAL_HASH_BYTES];
    struct str lines_a = {0};
    struct str lines_b = {0};

    journal_last_hash(a, hash_a);
    journal_last_hash(b, hash_b);
    assert_int_equal(journal_last_seq(a), journal_last_seq(b));
    assert_memory_equal(hash_a, hash_b, sizeof(hash_a));
    assert_int_equal(journal_export(a, 1, gather, &lines_a, NULL), 0);
    assert_int_equal(journal_export(b, 1, gather, &lines_b, NULL), 0);
    assert_string_equal(str_text(&lines_a), str_text(&lines_b));
    str_fini(&lines_a);
    str_fini(&lines_b);
}

static void memory_and_file_agree_in_random_use(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct rng rng = rng_init(seed);
        void *file = NULL;
        void *memory = NULL;
        int64_t epoch = 1;

        set_up_mem(&memory);
        set_up_sqlite(&file);
        for (int step = 0; step < 200; step++) {
            switch (rng_below(&rng, 8)) {
            case 0:
                snapshot_both(memory, file, &rng);
                break;
            case 1:
                journal_close(file);
                file = open_sqlite();
                break;
            case 2:
            case 3:
                read_from_both(memory, file, &rng);
                break;
            default:
                append_to_both(memory, file, &rng, &epoch);
            }
        }
        compare(memory, file);
        tear_down_mem(&memory);
        tear_down_sqlite(&file);
    }
}

int main(void)
{
#define ON_BOTH(fn)                                                                                \
    {#fn "_in_memory", fn, set_up_mem, tear_down_mem, NULL},                                       \
    {                                                                                              \
#fn "_in_a_file", fn, set_up_sqlite, tear_down_sqlite, NULL                                \
    }
    const struct CMUnitTest tests[] = {
        ON_BOTH(an_empty_journal_is_good),
        ON_BOTH(appended_records_are_numbered_and_read_back),
        ON_BOTH(a_read_has_both_ends_where_asked),
        ON_BOTH(what_cannot_be_exported_is_not_taken),
        ON_BOTH(an_older_epoch_is_refused),
        ON_BOTH(an_export_proves_itself),
        ON_BOTH(the_newest_snapshot_is_given),
        ON_BOTH(a_snapshot_of_something_else_is_refused),
        cmocka_unit_test(memory_and_file_agree_in_random_use),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
