#include "journal/verify_run.h"

#include "base/check.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include "journal/ndjson.h"
#include "journal/signcheck.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_BYTES_MAX 65536 /* of a key or a witness */

bool verify_run_is_export(const char *path)
{
    bool is_stdin = strcmp(path, "-") == 0;
    FILE *file = is_stdin ? NULL : fopen(path, "re");
    int first = file == NULL ? EOF : fgetc(file);

    if (file != NULL) {
        fclose(file);
    }
    return is_stdin || first == '{';
}

static FILE *open_text(const char *path, struct err *err)
{
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");

    if (file == NULL) {
        err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "cannot open %s: %s", path,
                strerror(errno));
    }
    return file;
}

static void close_text(FILE *file)
{
    if (file != NULL && file != stdin) {
        fclose(file);
    }
}

/* ---- keys and witnesses ---- */

static int read_small(const char *path, struct str *ret, struct err *err)
{
    struct err why;
    FILE *file = open_text(path, &why);
    char chunk[4096];
    size_t n;
    int rc = 0;

    if (file == NULL) {
        return err_set(err, why.code, "%s", why.text);
    }
    while (ret->len <= FILE_BYTES_MAX && (n = fread(chunk, 1, sizeof(chunk), file)) > 0) {
        str_add_n(ret, chunk, n);
    }
    if (ferror(file)) {
        rc = err_set(err, ERR_IO, "cannot read %s: %s", path, strerror(errno));
    }
    close_text(file);
    return rc;
}

static int take_key(struct signcheck *check, const char *path, struct err *err)
{
    CLEANUP(str_fini) struct str text = {0};
    struct signkey *key = NULL;
    struct err why;
    int rc = read_small(path, &text, err);

    if (rc != 0) {
        return rc;
    }
    if (signkey_of_public(str_text(&text), text.len, &key, &why) != 0) {
        return err_set(err, ERR_INVALID, "%s: %s; muster journal key prints it", path, why.text);
    }
    signcheck_trust(check, key);
    return 0;
}

static int take_witness(struct signcheck *check, const char *path, struct err *err)
{
    CLEANUP(str_fini) struct str text = {0};
    struct attest_checkpoint witness;
    struct err why;
    int rc = read_small(path, &text, err);

    if (rc != 0) {
        return rc;
    }
    if (attest_checkpoint_of_document(str_text(&text), text.len, &witness, &why) != 0) {
        return err_set(err, ERR_INVALID, "%s: is no witness: %s", path, why.text);
    }
    signcheck_witness(check, &witness);
    return 0;
}

/* NULL in ret if nobody asked for signatures. */
static int prepare(const struct verify_run *v, struct signcheck **ret, struct err *err)
{
    struct signcheck *check;
    int rc = 0;

    *ret = NULL;
    if (v->keys[0] == NULL) {
        return 0;
    }
    check = signcheck_new();
    for (size_t i = 0; rc == 0 && v->keys[i] != NULL; i++) {
        rc = take_key(check, v->keys[i], err);
    }
    for (size_t i = 0; rc == 0 && v->witnesses[i] != NULL; i++) {
        rc = take_witness(check, v->witnesses[i], err);
    }
    if (rc != 0) {
        signcheck_free(check);
        return rc;
    }
    *ret = check;
    return 0;
}

/* ---- the result ---- */

static void print_notes(const char *notes)
{
    for (const char *at = notes; *at != '\0';) {
        int len = (int)strcspn(at, "\n");

        printf("note: %.*s\n", len, at);
        at += len + 1;
    }
}

static void print_range(int64_t from, int64_t to)
{
    if (from == to) {
        printf("record %" PRId64, from);
    } else {
        printf("records %" PRId64 " to %" PRId64, from, to);
    }
}

static void print_signed(const struct signcheck *check)
{
    struct signcheck_verdict v;

    signcheck_verdict(check, &v);
    printf("signed: ");
    print_range(v.first_seq, v.signed_seq);
    printf(", checkpoints: %" PRId64 ", the newest by key %s\n", v.checkpoints, v.key);
    if (v.last_seq > v.signed_seq) {
        printf("not signed: ");
        print_range(v.signed_seq + 1, v.last_seq);
        printf(": no checkpoint covers this end yet, who can write the file could have changed "
               "it\n");
    }
    print_notes(signcheck_notes(check));
}

static int finish(struct signcheck *check, struct err *err)
{
    int rc = check == NULL ? 0 : signcheck_end(check, err);

    if (rc == 0 && check != NULL) {
        print_signed(check);
    }
    return rc;
}

/* ---- a journal ---- */

struct walk {
    struct signcheck *check;
    unsigned char prev[JOURNAL_HASH_BYTES];
    int rc;
    struct err err;
};

static bool check_one(void *ctx, const struct journal_record *r)
{
    struct walk *w = ctx;

    w->rc = signcheck_record(w->check, r, w->prev, &w->err);
    memcpy(w->prev, r->hash, sizeof(w->prev));
    return w->rc == 0;
}

static int check_journal(struct journal *j, struct signcheck *check, struct err *err)
{
    struct walk w = {.check = check};
    int rc = journal_read(j, 1, INT64_MAX, check_one, &w, err);

    if (rc == 0 && w.rc == 0) {
        w.rc = finish(check, &w.err);
    }
    return rc == 0 && w.rc != 0 ? err_set(err, w.err.code, "%s: %s", j->path, w.err.text) : rc;
}

struct expecting {
    const struct verify_run *run;
    bool met;
};

static bool compare_expected(void *ctx, const struct journal_record *r)
{
    struct expecting *e = ctx;

    e->met = memcmp(r->hash, e->run->expect_hash, sizeof(r->hash)) == 0;
    return false;
}

static int check_expected(struct journal *j, const struct verify_run *v, struct err *err)
{
    struct expecting e = {v, false};
    int rc = journal_read(j, v->expect_seq, 1, compare_expected, &e, err);

    if (rc == 0 && !e.met) {
        return err_set(err, ERR_JOURNAL_DAMAGED,
                       "%s: record %" PRId64 " is not the one with the hash expected: the chain is "
                       "whole, but it is another or was cut",
                       j->path, v->expect_seq);
    }
    return rc;
}

int verify_run_journal(struct journal *j, const struct verify_run *v, struct err *err)
{
    CLEANUP(signcheck_freep) struct signcheck *check = NULL;
    struct journal_verdict verdict;
    char hash[HASH_TEXT_MAX];
    int rc = prepare(v, &check, err);

    rc = rc != 0 ? rc : journal_verify(j, &verdict, err);
    if (rc == 0 && v->expects) {
        rc = check_expected(j, v, err);
    }
    if (rc != 0) {
        return rc;
    }
    hash_hex(verdict.hash, HASH_BYTES, hash);
    printf("good: %" PRId64 " records, last hash %s\n", verdict.records, hash);
    return check == NULL ? 0 : check_journal(j, check, err);
}

/* ---- an export ---- */

struct lines {
    const char *path;
    FILE *file;
    struct ndjson_check *chain;
    struct signcheck *check; /* NULL = only the chain */
};

static int check_line(struct lines *l, const char *line, size_t len, struct err *err)
{
    const struct ndjson_line *last;
    int rc = ndjson_check_line(l->chain, line, len, err);

    if (rc == 0 && l->check != NULL) {
        last = ndjson_check_last(l->chain);
        rc = signcheck_record(l->check, &last->record, last->prev, err);
    }
    return rc;
}

static int check_lines(struct lines *l, struct err *err)
{
    char *line = NULL;
    size_t room = 0;
    int64_t number = 0;
    struct err why;
    ssize_t len;
    int rc = 0;

    while (rc == 0 && (len = getline(&line, &room, l->file)) > 0) {
        number++;
        if (line[len - 1] != '\n') {
            rc = err_set(err, ERR_SYNTAX, "%s:%" PRId64 ": the line is cut off", l->path, number);
        } else if (check_line(l, line, (size_t)len - 1, &why) != 0) {
            rc = err_set(err, why.code, "%s:%" PRId64 ": %s", l->path, number, why.text);
        }
    }
    if (rc == 0 && ferror(l->file)) {
        rc = err_set(err, ERR_IO, "cannot read %s: %s", l->path, strerror(errno));
    }
    free(line);
    return rc;
}

static void print_chain(const struct ndjson_check *chain)
{
    struct journal_verdict verdict;
    char hash[HASH_TEXT_MAX];
    int64_t first_seq;

    ndjson_check_verdict(chain, &first_seq, &verdict);
    hash_hex(verdict.hash, HASH_BYTES, hash);
    if (first_seq > 1) {
        printf("good: %" PRId64 " records from %" PRId64 " on (what was before is not in this "
               "export), last hash %s\n",
               verdict.records, first_seq, hash);
    } else {
        printf("good: %" PRId64 " records, last hash %s\n", verdict.records, hash);
    }
}

/* A record of an export lies in a line of its own, in order. */
static int end_of_export(struct lines *l, struct err *err)
{
    struct signcheck_verdict v;
    struct err why;
    int rc;

    print_chain(l->chain);
    rc = finish(l->check, &why);
    if (rc == 0) {
        return 0;
    }
    signcheck_verdict(l->check, &v);
    if (v.bad_seq == 0) {
        return err_set(err, why.code, "%s: %s", l->path, why.text);
    }
    return err_set(err, why.code, "%s:%" PRId64 ": %s", l->path, v.bad_seq - v.first_seq + 1,
                   why.text);
}

int verify_run_export(const struct verify_run *v, struct err *err)
{
    CLEANUP(ndjson_check_freep) struct ndjson_check *chain = ndjson_check_new();
    CLEANUP(signcheck_freep) struct signcheck *check = NULL;
    struct lines l = {.path = v->path, .chain = chain};
    int rc = prepare(v, &check, err);

    if (rc != 0) {
        return rc;
    }
    l.check = check;
    l.file = open_text(v->path, err);
    if (l.file == NULL) {
        return err == NULL ? ERR_IO : (int)err->code;
    }
    rc = check_lines(&l, err);
    close_text(l.file);
    return rc != 0 ? rc : end_of_export(&l, err);
}
