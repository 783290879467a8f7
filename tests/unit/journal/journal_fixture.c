#include "journal_fixture.h"

#include "base/check.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BATCH_MAX 300

void fixture_init(struct fixture *f)
{
    snprintf(f->dir, sizeof(f->dir), "/tmp/muster-journal-XXXXXX");
    CHECK(mkdtemp(f->dir) != NULL);
    snprintf(f->path, sizeof(f->path), "%s/journal.db", f->dir);
}

void fixture_name(const struct fixture *f, const char *name, char ret[128])
{
    snprintf(ret, 128, "%s/%s", f->dir, name);
}

void fixture_fini(struct fixture *f)
{
    DIR *dir = opendir(f->dir);
    const struct dirent *entry;
    char path[400];

    CHECK(dir != NULL);
    while ((entry = readdir(dir)) != NULL) {
        snprintf(path, sizeof(path), "%s/%s", f->dir, entry->d_name);
        unlink(path);
    }
    closedir(dir);
    rmdir(f->dir);
}

struct journal_record fixture_record(int64_t seq, char text[FIXTURE_TEXT_MAX])
{
    static const char *const KINDS[] = {"job_submitted", "job_started", "node_seen"};
    int len = snprintf(text, FIXTURE_TEXT_MAX, "{\"n\":%" PRId64 ",\"text\":\"%.*s\\u00e9 é\"}",
                       seq, (int)(seq * 7 % 300),
                       "............................................................"
                       "............................................................"
                       "............................................................"
                       "............................................................"
                       "............................................................");

    return (struct journal_record){
        .epoch = 0,
        .at_ms = 1700000000000 + seq,
        .true_at_ms = 1700000000000 - seq,
        .precision_ms = seq % 5,
        .kind = KINDS[seq % 3],
        .version = 1 + seq % 2,
        .bytes = text,
        .len = (size_t)len,
    };
}

int fixture_append(struct journal *j, size_t count, bool urgent, struct err *err)
{
    static char texts[BATCH_MAX][FIXTURE_TEXT_MAX];
    static struct journal_record records[BATCH_MAX];
    int64_t last = journal_last_seq(j);

    CHECK(count <= BATCH_MAX);
    for (size_t i = 0; i < count; i++) {
        records[i] = fixture_record(last + (int64_t)i + 1, texts[i]);
    }
    return urgent ? journal_append_urgent(j, records, count, err)
                  : journal_append(j, records, count, err);
}

void fixture_make(const struct fixture *f, size_t count)
{
    struct journal *j = NULL;
    struct err err = {0};

    CHECK(journal_open_sqlite(f->path, false, &j, &err) == 0);
    CHECK(fixture_append(j, count, false, &err) == 0);
    journal_close(j);
}

static bool is_as_made(void *ctx, const struct journal_record *r)
{
    int64_t *next = ctx;
    char text[FIXTURE_TEXT_MAX];
    struct journal_record made = fixture_record(*next, text);

    if (r->seq != *next || r->epoch != made.epoch || r->at_ms != made.at_ms ||
        r->true_at_ms != made.true_at_ms || r->precision_ms != made.precision_ms ||
        strcmp(r->kind, made.kind) != 0 || r->version != made.version || r->len != made.len ||
        memcmp(r->bytes, made.bytes, made.len) != 0) {
        return false;
    }
    (*next)++;
    return true;
}

bool fixture_holds(struct journal *j, int64_t count)
{
    int64_t next = 1;
    struct err err;

    return journal_read(j, 1, INT64_MAX, is_as_made, &next, &err) == 0 && next == count + 1 &&
           journal_last_seq(j) == count;
}

char *fixture_slurp(const char *path, size_t *ret_len)
{
    FILE *file = fopen(path, "re");
    char *bytes;
    long len;

    CHECK(file != NULL && fseek(file, 0, SEEK_END) == 0);
    len = ftell(file);
    CHECK(len >= 0 && fseek(file, 0, SEEK_SET) == 0);
    bytes = mem_new((size_t)len + 1, 1);
    CHECK(fread(bytes, 1, (size_t)len, file) == (size_t)len);
    fclose(file);
    *ret_len = (size_t)len;
    return bytes;
}

void fixture_spit(const char *path, const char *bytes, size_t len)
{
    FILE *file = fopen(path, "we");

    CHECK(file != NULL && fwrite(bytes, 1, len, file) == len);
    CHECK(fclose(file) == 0);
}

void fixture_copy(const char *from, const char *to)
{
    CLEANUP(mem_freep) char *bytes = NULL;
    size_t len;

    if (access(from, F_OK) != 0) {
        CHECK(unlink(to) == 0 || errno == ENOENT);
        return;
    }
    bytes = fixture_slurp(from, &len);
    fixture_spit(to, bytes, len);
}

void fixture_sql(const char *path, const char *sql)
{
    sqlite3 *db = NULL;

    CHECK(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK);
    CHECK(sqlite3_exec(db,
                       "DROP TRIGGER IF EXISTS journal_no_update;"
                       "DROP TRIGGER IF EXISTS journal_no_delete",
                       NULL, NULL, NULL) == SQLITE_OK);
    CHECK(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK);
    CHECK(sqlite3_close(db) == SQLITE_OK);
}
