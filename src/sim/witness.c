#include "sim/witness.h"

#include "base/mem.h"

#include <string.h>

static struct witness *self(struct journal *j)
{
    return (struct witness *)j;
}

static void add_line(struct str *s, const char *kind, const char *bytes, size_t len)
{
    str_add(s, kind);
    str_add_char(s, ' ');
    str_add_n(s, bytes, len);
    str_add_char(s, '\n');
}

static void try_fini(struct witness_try *t)
{
    str_fini(&t->text);
    str_fini(&t->state);
}

void witness_settle(struct witness *w)
{
    size_t i;

    for (i = 0; i < w->tries.count; i++) {
        try_fini(&w->tries.items[i]);
    }
    vec_clear(&w->tries);
}

static void remember(struct witness *w, const struct journal_record *records, size_t count)
{
    struct witness_try t = {.base_seq = journal_last_seq(w->real), .count = (int64_t)count};
    size_t i;

    for (i = 0; i < count; i++) {
        add_line(&t.text, records[i].kind, records[i].bytes, records[i].len);
    }
    if (w->takes_state) {
        w->state(w->state_ctx, &t.state);
    }
    if (w->tries.count == WITNESS_TRIES_MAX) {
        try_fini(&w->tries.items[0]);
        vec_remove(&w->tries, 0);
    }
    vec_push(&w->tries, t);
}

static int append(struct witness *w, struct journal_record *records, size_t count, bool urgent,
                  struct err *err)
{
    int rc;

    if (torndisk_may_fail(w->disk)) {
        remember(w, records, count);
    }
    rc = urgent ? journal_append_urgent(w->real, records, count, err)
                : journal_append(w->real, records, count, err);
    /* The power may go right after the commit, as the log is moved into the file: nobody hears. */
    if (rc == 0 && w->tries.count > 0 && !torndisk_is_dead(w->disk)) {
        witness_settle(w);
    }
    return rc;
}

static int witness_append(struct journal *j, struct journal_record *records, size_t count,
                          struct err *err)
{
    return append(self(j), records, count, false, err);
}

static int witness_append_urgent(struct journal *j, struct journal_record *records, size_t count,
                                 struct err *err)
{
    return append(self(j), records, count, true, err);
}

static int witness_room(struct journal *j, struct err *err)
{
    return journal_room(self(j)->real, err);
}

static int witness_read(struct journal *j, int64_t from_seq, int64_t max,
                        bool (*each)(void *ctx, const struct journal_record *r), void *ctx,
                        struct err *err)
{
    struct journal *real = self(j)->real;

    return real->ops->read(real, from_seq, max, each, ctx, err);
}

static int64_t witness_last_seq(struct journal *j)
{
    return journal_last_seq(self(j)->real);
}

static void witness_last_hash(struct journal *j, unsigned char ret[JOURNAL_HASH_BYTES])
{
    journal_last_hash(self(j)->real, ret);
}

static int witness_snapshot_put(struct journal *j, const struct journal_snapshot *s,
                                struct err *err)
{
    return journal_snapshot_put(self(j)->real, s, err);
}

static int witness_snapshot_get(struct journal *j, struct journal_snapshot *ret, struct err *err)
{
    return journal_snapshot_get(self(j)->real, ret, err);
}

static void witness_close(struct journal *j)
{
    (void)j;
}

static const struct journal_ops OPS = {
    .append = witness_append,
    .read = witness_read,
    .last_seq = witness_last_seq,
    .last_hash = witness_last_hash,
    .snapshot_put = witness_snapshot_put,
    .snapshot_get = witness_snapshot_get,
    .close = witness_close,
    .append_urgent = witness_append_urgent,
    .room = witness_room,
};

void witness_init(struct witness *w)
{
    *w = (struct witness){.base = {&OPS, "journal"}};
}

void witness_fini(struct witness *w)
{
    witness_settle(w);
    vec_fini(&w->tries);
}

static bool collect(void *ctx, const struct journal_record *r)
{
    add_line(ctx, r->kind, r->bytes, r->len);
    return true;
}

const struct witness_try *witness_match(const struct witness *w, struct journal *j,
                                        int64_t from_seq)
{
    const struct witness_try *found = NULL;
    struct str text = {0};
    size_t i;

    if (journal_read(j, from_seq, INT64_MAX, collect, &text, NULL) == 0) {
        for (i = 0; i < w->tries.count; i++) {
            const struct witness_try *t = &w->tries.items[i];

            if (t->base_seq + 1 == from_seq && strcmp(str_text(&t->text), str_text(&text)) == 0) {
                found = t;
            }
        }
    }
    str_fini(&text);
    return found;
}
