/* fuzz/journal_export - the check of an exported journal (journal/ndjson.h).
 *
 * Whatever the lines are: what passes is written back to the same bytes, its records are numbered
 * without a gap, and one byte changed in a line that passed makes it fail. */
#include "journal/ndjson.h"

#include "base/check.h"
#include "base/mem.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A line that is read is the one that would be written. */
static void check_read(const char *text, size_t len)
{
    struct ndjson_line line;
    struct str again = {0};
    struct err err = {0};
    int rc = ndjson_read(text, len, &line, &err);

    if (rc != 0) {
        CHECK(rc == ERR_SYNTAX && err.code == ERR_SYNTAX && err.text[0] != '\0');
        return;
    }
    ndjson_add(&again, &line.record, line.prev);
    CHECK(again.len == len + 1 && memcmp(again.text, text, len) == 0);
    str_fini(&again);
}

static void check_change(const char *text, size_t len, size_t at)
{
    CLEANUP(ndjson_check_freep) struct ndjson_check *check = ndjson_check_new();
    char *changed = mem_text_n(text, len);

    changed[at] = changed[at] == '0' ? '1' : '0';
    CHECK(ndjson_check_line(check, changed, len, NULL) != 0);
    mem_free(changed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(ndjson_check_freep) struct ndjson_check *check = ndjson_check_new();
    const char *text = (const char *)data;
    struct journal_verdict verdict;
    int64_t first_seq;
    int64_t lines = 0;
    int rc = 0;

    while (size > 0) {
        const char *end = memchr(text, '\n', size);
        size_t len = end != NULL ? (size_t)(end - text) : size;

        check_read(text, len);
        if (rc == 0) {
            rc = ndjson_check_line(check, text, len, NULL);
            lines += rc == 0;
        }
        if (rc == 0) {
            check_change(text, len, len * 7 % 11 * len / 11);
        }
        size -= len + (end != NULL);
        text += len + (end != NULL);
    }
    ndjson_check_verdict(check, &first_seq, &verdict);
    CHECK(verdict.records == lines && (rc == 0) == (verdict.bad_seq == 0));
    CHECK(rc == 0 || lines == 0 || verdict.bad_seq == first_seq + lines);
    return 0;
}
