/* Records are appended by the hundreds, so that a sync of the disk serves many.  A batch that the
 * journal refuses is appended again one by one: the first that is refused is the line at fault. */
#include "journal/import.h"

#include "base/arena.h"
#include "base/check.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "journal/ndjson.h"
#include "journal/sqlite_db.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BATCH_RECORDS 1000
#define BATCH_BYTES   ((size_t)8 * 1024 * 1024)

struct import {
    const char *name;
    int64_t line; /* number of the last one read; the number of its record, too */
    struct journal *journal;
    struct ndjson_check *check;
    struct arena *arena; /* of the batch */
    VEC(struct journal_record) batch;
    size_t bytes;
};

static int append_singly(struct import *in, struct err *err)
{
    int64_t first = in->line - (int64_t)in->batch.count + 1;
    struct err why;

    for (size_t i = 0; i < in->batch.count; i++) {
        if (journal_append(in->journal, &in->batch.items[i], 1, &why) != 0) {
            return err_set(err, why.code, "%s:%" PRId64 ": %s", in->name, first + (int64_t)i,
                           why.text);
        }
    }
    return 0;
}

static int append(struct import *in, struct err *err)
{
    int rc = journal_append(in->journal, in->batch.items, in->batch.count, err);

    if (rc == ERR_INVALID || rc == ERR_JOURNAL_EPOCH) {
        rc = append_singly(in, err);
    }
    vec_clear(&in->batch);
    arena_reset(in->arena);
    in->bytes = 0;
    return rc;
}

static int take_line(struct import *in, const char *text, size_t len, struct err *err)
{
    struct ndjson_line line;
    struct err why;
    int rc = ndjson_check_line(in->check, text, len, &why);

    rc = rc != 0 ? rc : ndjson_read(text, len, &line, &why);
    if (rc != 0) {
        return err_set(err, why.code, "%s:%" PRId64 ": %s", in->name, in->line, why.text);
    }
    if (line.record.seq != in->line) {
        return err_set(err, ERR_INVALID,
                       "%s:1: the export begins with record %" PRId64
                       ": a journal is made of all of them, from 1 on",
                       in->name, line.record.seq);
    }
    line.record.kind = arena_text(in->arena, line.record.kind);
    line.record.bytes = arena_text_n(in->arena, line.record.bytes, line.record.len);
    vec_push(&in->batch, line.record);
    in->bytes += line.record.len;
    return in->batch.count >= BATCH_RECORDS || in->bytes >= BATCH_BYTES ? append(in, err) : 0;
}

static int take_lines(struct import *in, FILE *file, struct err *err)
{
    char *text = NULL;
    size_t room = 0;
    ssize_t len;
    int rc = 0;

    while (rc == 0 && (len = getline(&text, &room, file)) > 0) {
        in->line++;
        rc = text[len - 1] == '\n' ? take_line(in, text, (size_t)len - 1, err)
                                   : err_set(err, ERR_SYNTAX, "%s:%" PRId64 ": the line is cut off",
                                             in->name, in->line);
    }
    free(text);
    if (rc == 0 && ferror(file)) {
        return err_set(err, ERR_IO, "cannot read %s: %s", in->name, strerror(errno));
    }
    if (rc == 0 && in->line == 0) {
        return err_set(err, ERR_SYNTAX, "%s: there is no line in it", in->name);
    }
    return rc != 0 ? rc : append(in, err);
}

/* What lies on the disk now, read again, must be what was read. */
static int verify(struct import *in, struct journal_verdict *ret, struct err *err)
{
    struct journal_verdict read;
    struct journal_verdict written;
    int64_t first;
    int rc = journal_verify(in->journal, &written, err);

    ndjson_check_verdict(in->check, &first, &read);
    if (rc == 0 && (written.records != read.records ||
                    memcmp(written.hash, read.hash, sizeof(read.hash)) != 0)) {
        rc = err_set(err, ERR_IO, "%s: what was written is not what was read", in->journal->path);
    }
    if (rc == 0) {
        *ret = written;
    }
    return rc;
}

static int fill(FILE *file, const char *name, const char *path, struct journal_verdict *ret,
                struct err *err)
{
    struct import in = {.name = name};
    int rc = journal_open_sqlite(path, false, &in.journal, err);

    if (rc != 0) {
        return rc;
    }
    in.check = ndjson_check_new();
    in.arena = arena_make();
    rc = take_lines(&in, file, err);
    rc = rc != 0 ? rc : verify(&in, ret, err);
    vec_fini(&in.batch);
    arena_free(in.arena);
    ndjson_check_free(in.check);
    journal_close(in.journal);
    return rc;
}

static void remove_all(const char *path)
{
    static const char *const SUFFIXES[] = {"", "-wal", "-shm", ".lock", ".ballast"};
    struct str name = {0};

    for (size_t i = 0; i < sizeof(SUFFIXES) / sizeof(SUFFIXES[0]); i++) {
        str_clear(&name);
        str_addf(&name, "%s%s", path, SUFFIXES[i]);
        unlink(name.text);
    }
    str_fini(&name);
}

static int refuse_existing(const char *path, const char *suffix, const char *what, struct err *err)
{
    struct str name = {0};
    struct stat st;
    int rc = 0;

    str_addf(&name, "%s%s", path, suffix);
    if (lstat(name.text, &st) == 0) {
        rc = err_set(err, ERR_CONFLICT, "%s %s", name.text, what);
    }
    str_fini(&name);
    return rc;
}

/* Give the whole journal its name.  link, as rename would replace what another made meanwhile. */
static int name_it(const char *part, const char *to, struct err *err)
{
    if (link(part, to) != 0) {
        return err_set(err, errno == EEXIST ? ERR_CONFLICT : ERR_IO, "cannot make %s: %s", to,
                       strerror(errno));
    }
    return sqlite_db_sync_directory(to, err);
}

static int import_file(FILE *file, const char *from, const char *to, struct journal_verdict *ret,
                       struct err *err)
{
    CLEANUP(str_fini) struct str part = {0};
    struct journal_verdict verdict;
    int rc = refuse_existing(to, "", "is there already: name a new file", err);

    rc = rc != 0 ? rc : refuse_existing(to, "-wal", "is there already: name a new file", err);
    rc = rc != 0 ? rc
                 : refuse_existing(to, ".part", "is left of an import that did not end: remove it",
                                   err);
    if (rc != 0) {
        return rc;
    }
    str_addf(&part, "%s.part", to);
    rc = fill(file, from, part.text, &verdict, err);
    rc = rc != 0 ? rc : name_it(part.text, to, err);
    if (rc != ERR_LOCKED) { /* else another import writes it just now */
        remove_all(part.text);
    }
    if (rc == 0) {
        *ret = verdict;
    }
    return rc;
}

int import_export(const char *from, const char *to, struct journal_verdict *ret, struct err *err)
{
    FILE *file = strcmp(from, "-") == 0 ? stdin : fopen(from, "re");
    int rc;

    if (file == NULL) {
        return err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "cannot open %s: %s", from,
                       strerror(errno));
    }
    rc = import_file(file, from, to, ret, err);
    if (file != stdin) {
        fclose(file);
    }
    return rc;
}
