/* What holds for every implementation: the checks before an append, and the walk that reads,
 * verifies and exports.  Every read checks the chain (about half a microsecond a record), so a
 * replay cannot believe a damaged record; there is no faster path that trusts. */
#include "journal/journal.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include "journal/chain.h"
#include "journal/ndjson.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool is_kind(const char *kind)
{
    size_t len = kind == NULL ? 0 : strspn(kind, "abcdefghijklmnopqrstuvwxyz0123456789_.");

    return len > 0 && len <= JOURNAL_KIND_MAX && kind[len] == '\0';
}

/* One line of an export must hold it. */
static bool is_body(const char *bytes, size_t len)
{
    if (bytes == NULL || len == 0 || len > JOURNAL_BYTES_MAX) {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)bytes[i] < ' ') {
            return false;
        }
    }
    return str_is_utf8(bytes, len);
}

static int check_records(const struct journal_record *records, size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        const struct journal_record *r = &records[i];

        if (!is_kind(r->kind)) {
            return err_set(err, ERR_INVALID, "record %zu of the batch: a kind is [a-z0-9_.]{1,%d}",
                           i + 1, JOURNAL_KIND_MAX);
        }
        if (!is_body(r->bytes, r->len)) {
            return err_set(err, ERR_INVALID,
                           "record %zu of the batch (%s): the bytes must be 1 to %d of UTF-8 "
                           "without control characters",
                           i + 1, r->kind, JOURNAL_BYTES_MAX);
        }
        if (i > 0 && r->epoch < records[i - 1].epoch) {
            return err_set(err, ERR_INVALID,
                           "record %zu of the batch: epoch %" PRId64 " after %" PRId64, i + 1,
                           r->epoch, records[i - 1].epoch);
        }
    }
    return 0;
}

int journal_append(struct journal *j, struct journal_record *records, size_t count, struct err *err)
{
    int rc = check_records(records, count, err);

    return rc != 0 || count == 0 ? rc : j->ops->append(j, records, count, err);
}

int journal_append_urgent(struct journal *j, struct journal_record *records, size_t count,
                          struct err *err)
{
    int rc = check_records(records, count, err);

    if (rc != 0 || count == 0) {
        return rc;
    }
    return j->ops->append_urgent != NULL ? j->ops->append_urgent(j, records, count, err)
                                         : j->ops->append(j, records, count, err);
}

int journal_room(struct journal *j, struct err *err)
{
    return j->ops->room != NULL ? j->ops->room(j, err) : 0;
}

typedef bool walk_each(void *ctx, const struct journal_record *r, const unsigned char *prev);

struct walk {
    struct chain *chain;
    int64_t from_seq;
    int64_t next_seq;
    walk_each *each;
    void *ctx;
    bool stopped;
    struct journal_verdict verdict; /* hash: of the record before next_seq */
};

static bool damaged(struct walk *w, const char *what)
{
    w->verdict.bad_seq = w->next_seq;
    snprintf(w->verdict.text, sizeof(w->verdict.text), "%s", what);
    return false;
}

static bool visit(void *ctx, const struct journal_record *r)
{
    struct walk *w = ctx;
    unsigned char hash[JOURNAL_HASH_BYTES];
    unsigned char prev[JOURNAL_HASH_BYTES];

    if (r->seq != w->next_seq) {
        return damaged(w, "it is missing");
    }
    w->next_seq++;
    if (r->seq < w->from_seq) { /* read for its hash only */
        memcpy(w->verdict.hash, r->hash, sizeof(hash));
        return true;
    }
    chain_next(w->chain, w->verdict.hash, r, hash);
    if (memcmp(hash, r->hash, sizeof(hash)) != 0) {
        w->next_seq--;
        return damaged(w, "its hash does not match, so it or the one before was changed");
    }
    memcpy(prev, w->verdict.hash, sizeof(prev));
    memcpy(w->verdict.hash, hash, sizeof(hash));
    w->verdict.records++;
    w->stopped = w->each != NULL && !w->each(w->ctx, r, prev);
    return !w->stopped;
}

/* Walk up to max records from w->from_seq on. */
static int walk(struct journal *j, struct walk *w, int64_t max, struct err *err)
{
    CLEANUP(chain_freep) struct chain *chain = chain_new();
    int64_t last_seq = j->ops->last_seq(j);
    struct err why = {0};
    int rc;

    if (w->from_seq < 1) {
        w->from_seq = 1;
    }
    if (max <= 0 || w->from_seq > last_seq) {
        return 0;
    }
    w->chain = chain;
    w->next_seq = w->from_seq > 1 ? w->from_seq - 1 : 1;
    rc = j->ops->read(j, w->next_seq, max < INT64_MAX && w->from_seq > 1 ? max + 1 : max, visit, w,
                      &why);
    if (rc == ERR_JOURNAL_DAMAGED) {
        damaged(w, why.text);
    } else if (rc != 0) {
        return err_set(err, why.code, "%s", why.text);
    }
    if (w->verdict.bad_seq == 0 && !w->stopped && w->verdict.records < max &&
        w->next_seq <= last_seq) {
        damaged(w, "it is missing");
    }
    if (w->verdict.bad_seq != 0) {
        return err_set(err, ERR_JOURNAL_DAMAGED,
                       "%s: record %" PRId64 ": %s; nothing was changed, restore it from a copy",
                       j->path, w->verdict.bad_seq, w->verdict.text);
    }
    return 0;
}

struct reading {
    bool (*each)(void *ctx, const struct journal_record *r);
    void *ctx;
};

static bool hand_on(void *ctx, const struct journal_record *r, const unsigned char *prev)
{
    struct reading *reading = ctx;

    (void)prev;
    return reading->each(reading->ctx, r);
}

int journal_read(struct journal *j, int64_t from_seq, int64_t max,
                 bool (*each)(void *ctx, const struct journal_record *r), void *ctx,
                 struct err *err)
{
    struct reading reading = {each, ctx};
    struct walk w = {.from_seq = from_seq, .each = each != NULL ? hand_on : NULL, .ctx = &reading};

    return walk(j, &w, max, err);
}

int journal_verify(struct journal *j, struct journal_verdict *ret, struct err *err)
{
    struct walk w = {.from_seq = 1};
    int rc = walk(j, &w, INT64_MAX, err);

    if (rc == 0 || rc == ERR_JOURNAL_DAMAGED) {
        *ret = w.verdict;
    }
    return rc;
}

struct exporting {
    bool (*write)(void *ctx, const char *text, size_t len);
    void *ctx;
    struct str line;
    bool failed;
};

static bool export_one(void *ctx, const struct journal_record *r, const unsigned char *prev)
{
    struct exporting *e = ctx;

    str_clear(&e->line);
    ndjson_add(&e->line, r, prev);
    e->failed = !e->write(e->ctx, e->line.text, e->line.len);
    return !e->failed;
}

int journal_export(struct journal *j, int64_t from_seq,
                   bool (*write)(void *ctx, const char *text, size_t len), void *ctx,
                   struct err *err)
{
    struct exporting e = {.write = write, .ctx = ctx};
    struct walk w = {.from_seq = from_seq, .each = export_one, .ctx = &e};
    int rc = walk(j, &w, INT64_MAX, err);

    str_fini(&e.line);
    if (rc == 0 && e.failed) {
        return err_set(err, ERR_IO, "the export was stopped at record %" PRId64 ": cannot write",
                       w.next_seq - 1);
    }
    return rc;
}

int64_t journal_last_seq(struct journal *j)
{
    return j->ops->last_seq(j);
}

void journal_last_hash(struct journal *j, unsigned char ret[JOURNAL_HASH_BYTES])
{
    j->ops->last_hash(j, ret);
}

int journal_snapshot_put(struct journal *j, const struct journal_snapshot *s, struct err *err)
{
    unsigned char hash[HASH_BYTES];

    if (s->len == 0 || s->len > JOURNAL_BYTES_MAX) {
        return err_set(err, ERR_TOO_LARGE, "a snapshot of %zu bytes: it must be 1 to %d", s->len,
                       JOURNAL_BYTES_MAX);
    }
    if (s->seq < 1 || s->seq > j->ops->last_seq(j)) {
        return err_set(err, ERR_INVALID, "a snapshot after record %" PRId64 ", which is not there",
                       s->seq);
    }
    hash_sha256(s->bytes, s->len, hash);
    if (memcmp(hash, s->state_hash, sizeof(hash)) != 0) {
        return err_set(err, ERR_INVALID, "the state hash of a snapshot is not that of its bytes");
    }
    return j->ops->snapshot_put(j, s, err);
}

int journal_snapshot_get(struct journal *j, struct journal_snapshot *ret, struct err *err)
{
    return j->ops->snapshot_get(j, ret, err);
}

void journal_close(struct journal *j)
{
    if (j != NULL) {
        j->ops->close(j);
    }
}
