#include "journal/import.h"

#include "fault_vfs.h"
#include "journal_fixture.h"

#include "base/mem.h"
#include "base/str.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define RECORDS 40

static struct fault_vfs *faults;
static struct fixture fixture;
static char lines[128];
static char made[128];

static bool keep(void *ctx, const char *text, size_t len)
{
    str_add_n(ctx, text, len);
    return true;
}

/* An export in `lines`, and no journal in `made`. */
static int begin(void **state)
{
    struct journal *j = NULL;
    struct str text = {0};

    (void)state;
    memset(faults, 0, sizeof(*faults));
    fixture_init(&fixture);
    fixture_make(&fixture, RECORDS);
    fixture_name(&fixture, "lines", lines);
    fixture_name(&fixture, "made.db", made);
    assert_int_equal(journal_open_sqlite(fixture.path, true, &j, NULL), 0);
    assert_int_equal(journal_export(j, 1, keep, &text, NULL), 0);
    journal_close(j);
    fixture_spit(lines, text.text, text.len);
    str_fini(&text);
    return 0;
}

static int end(void **state)
{
    (void)state;
    fixture_fini(&fixture);
    return 0;
}

/* Files whose name begins like that of the new journal. */
static int count_made(void)
{
    DIR *dir = opendir(fixture.dir);
    struct dirent *entry;
    int count = 0;

    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL) {
        count += strncmp(entry->d_name, "made.db", 7) == 0;
    }
    closedir(dir);
    return count;
}

static void what_is_made_is_the_same_journal(void **state)
{
    struct journal_verdict verdict;
    struct journal *j = NULL;
    unsigned char hash[JOURNAL_HASH_BYTES];

    (void)state;
    assert_int_equal(import_export(lines, made, &verdict, NULL), 0);
    assert_int_equal(verdict.records, RECORDS);
    assert_int_equal(count_made(), 1);
    assert_int_equal(journal_open_sqlite(made, false, &j, NULL), 0);
    assert_true(fixture_holds(j, RECORDS));
    journal_last_hash(j, hash);
    assert_memory_equal(hash, verdict.hash, sizeof(hash));
    assert_int_equal(fixture_append(j, 5, false, NULL), 0);
    assert_true(fixture_holds(j, RECORDS + 5));
    journal_close(j);
}

static void what_is_there_is_never_touched(void **state)
{
    struct journal_verdict verdict;
    struct err err;
    size_t len;
    char *text;

    (void)state;
    fixture_spit(made, "mine", 4);
    assert_int_equal(import_export(lines, made, &verdict, &err), ERR_CONFLICT);
    assert_non_null(strstr(err.text, "made.db is there already"));
    text = fixture_slurp(made, &len);
    assert_true(len == 4 && memcmp(text, "mine", 4) == 0);
    mem_free(text);
}

static void a_part_that_another_import_writes_is_left_to_it(void **state)
{
    struct journal_verdict verdict;
    struct journal *other = NULL;
    char part[160];
    struct err err;

    (void)state;
    snprintf(part, sizeof(part), "%s.part", made);
    assert_int_equal(journal_open_sqlite(part, false, &other, NULL), 0);
    assert_int_equal(import_export(lines, made, &verdict, &err), ERR_CONFLICT);
    assert_int_equal(unlink(part), 0); /* as if it had just begun */
    assert_int_equal(import_export(lines, made, &verdict, &err), ERR_LOCKED);
    journal_close(other);
}

/* The n-th change fails, and all after it or not, until an import comes through. */
static void play_faults(enum fault_kind kind, bool for_ever, bool full)
{
    int64_t fail_at = 0;
    int rc;

    do {
        struct journal_verdict verdict;
        struct err err = {0};

        memset(faults, 0, sizeof(*faults));
        faults->kind = kind;
        faults->for_ever = for_ever;
        faults->full = full;
        faults->fail_at = ++fail_at;
        rc = import_export(lines, made, &verdict, &err);
        if (rc != 0) {
            assert_true(err.code == rc && err.text[0] != '\0');
            assert_true(rc == ERR_IO || rc == ERR_DISK_FULL || rc == ERR_JOURNAL_DAMAGED);
            assert_int_equal(access(made, F_OK), -1);
        } else {
            assert_int_equal(unlink(made), 0); /* whole, whether a fault came or not */
        }
        assert_int_equal(count_made(), 0);
    } while (rc != 0 || faults->failed);
    assert_true(fail_at > 3);
    memset(faults, 0, sizeof(*faults));
}

static void a_fault_anywhere_leaves_nothing(void **state)
{
    (void)state;
    play_faults(FAULT_CHANGE, true, false);
    play_faults(FAULT_CHANGE, true, true);
    play_faults(FAULT_OPEN, true, false);
    play_faults(FAULT_READ, true, false);
}

static void a_folder_is_no_export(void **state)
{
    struct journal_verdict verdict;
    struct err err;

    (void)state;
    assert_int_equal(import_export(fixture.dir, made, &verdict, &err), ERR_IO);
    assert_non_null(strstr(err.text, "cannot read"));
    assert_int_equal(count_made(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_made_is_the_same_journal, begin, end),
        cmocka_unit_test_setup_teardown(what_is_there_is_never_touched, begin, end),
        cmocka_unit_test_setup_teardown(a_part_that_another_import_writes_is_left_to_it, begin,
                                        end),
        cmocka_unit_test_setup_teardown(a_fault_anywhere_leaves_nothing, begin, end),
        cmocka_unit_test_setup_teardown(a_folder_is_no_export, begin, end),
    };

    faults = fault_vfs_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
