/* fuzz/journal_import - a journal made of the lines of an export (journal/import.h).
 *
 * Input: the lines; or, behind a first line "=", lines "N KIND BODY", which become records with a
 * right chain, N epochs after the one before: else few would get as far as a journal.
 *
 * Whatever the lines are: all or nothing.  What is refused names its line and leaves no file; what
 * is taken is a journal that verifies, and its own export is the very same bytes.
 */
#include "journal/chain.h"
#include "journal/import.h"
#include "journal/ndjson.h"

#include "base/check.h"
#include "base/mem.h"
#include "base/str.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[64];

static void remove_folder(void)
{
    (void)rmdir(folder);
}

/* In memory where the machine has such a place: each input syncs a disk some times. */
static void make_folder(void)
{
    static const char *const PLACES[] = {"/dev/shm", "/tmp"};

    for (size_t i = 0; i < ARRAY_LEN(PLACES) && folder[0] == '\0'; i++) {
        snprintf(folder, sizeof(folder), "%s/fuzz-import-XXXXXX", PLACES[i]);
        if (mkdtemp(folder) == NULL) {
            folder[0] = '\0';
        }
    }
    CHECK(folder[0] != '\0');
    atexit(remove_folder);
}

/* How many files there are, which are removed. */
static int clear_folder(void)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    int count = 0;

    CHECK(dir != NULL);
    while ((entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] != '.') {
            CHECK(unlinkat(dirfd(dir), entry->d_name, 0) == 0);
            count++;
        }
    }
    closedir(dir);
    return count;
}

/* The lines of an export with a right chain. */
static void make_lines(struct str *ret, const char *text, size_t size)
{
    CLEANUP(chain_freep) struct chain *chain = chain_new();
    unsigned char prev[JOURNAL_HASH_BYTES] = {0};
    struct journal_record r = {.version = 1};
    char kind[JOURNAL_KIND_MAX + 1];

    str_add(ret, "");
    while (size > 0) {
        const char *end = memchr(text, '\n', size);
        size_t len = end != NULL ? (size_t)(end - text) : size;
        const char *blank = len > 2 ? memchr(text + 2, ' ', len - 2) : NULL;

        if (blank != NULL && (size_t)(blank - text) - 2 < sizeof(kind)) {
            snprintf(kind, sizeof(kind), "%.*s", (int)(blank - text - 2), text + 2);
            r.seq++;
            r.epoch += text[0] - '0';
            r.at_ms += text[1];
            r.true_at_ms = r.at_ms - text[0] % 7;
            r.kind = kind;
            r.bytes = blank + 1;
            r.len = len - (size_t)(r.bytes - text);
            chain_next(chain, prev, &r, r.hash);
            ndjson_add(ret, &r, prev);
            memcpy(prev, r.hash, sizeof(prev));
        }
        size -= len + (end != NULL);
        text += len + (end != NULL);
    }
}

static bool keep(void *ctx, const char *text, size_t len)
{
    str_add_n(ctx, text, len);
    return true;
}

static void check_taken(const char *path, const struct journal_verdict *told, const char *text,
                        size_t size)
{
    CLEANUP(str_fini) struct str again = {0};
    struct journal_verdict verdict;
    struct journal *journal;
    struct stat st;
    struct err err;

    CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600);
    CHECK(journal_open_sqlite(path, true, &journal, &err) == 0);
    CHECK(journal_verify(journal, &verdict, &err) == 0);
    CHECK(verdict.records == told->records && told->records > 0);
    CHECK(memcmp(verdict.hash, told->hash, sizeof(verdict.hash)) == 0);
    CHECK(journal_export(journal, 1, keep, &again, &err) == 0);
    CHECK(again.len == size && memcmp(again.text, text, size) == 0);
    journal_close(journal);
}

static void import(const char *text, size_t size)
{
    int fd = memfd_create("lines", MFD_CLOEXEC);
    char from[32];
    char path[96];
    struct journal_verdict verdict;
    struct err err = {0};
    int rc;

    CHECK(fd >= 0 && write(fd, text, size) == (ssize_t)size);
    snprintf(from, sizeof(from), "/proc/self/fd/%d", fd);
    snprintf(path, sizeof(path), "%s/journal.db", folder);
    rc = import_export(from, path, &verdict, &err);
    if (rc == 0) {
        check_taken(path, &verdict, text, size);
        clear_folder();
    } else {
        CHECK(err.code == rc && strncmp(err.text, from, strlen(from)) == 0);
        CHECK(clear_folder() == 0);
    }
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(str_fini) struct str made = {0};

    if (folder[0] == '\0') {
        make_folder();
    }
    if (size >= 2 && data[0] == '=' && data[1] == '\n') {
        make_lines(&made, (const char *)data + 2, size - 2);
        import(made.text, made.len);
    } else {
        import((const char *)data, size);
    }
    return 0;
}
