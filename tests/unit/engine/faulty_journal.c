#include "faulty_journal.h"

#include "base/mem.h"

static struct faulty_journal *self(struct journal *j)
{
    return (struct faulty_journal *)j;
}

static int faulty_append(struct journal *j, struct journal_record *records, size_t count,
                         struct err *err)
{
    struct faulty_journal *f = self(j);
    bool fails;

    f->appends++;
    fails = f->fail_at > 0 && (f->for_ever ? f->appends >= f->fail_at : f->appends == f->fail_at);
    if (f->full) {
        return err_set(err, ERR_DISK_FULL, "no space left");
    }
    if (fails && f->lands) {
        int rc = journal_append(f->under, records, count, err);

        return rc != 0 ? rc : err_set(err, f->rc, "nobody knows");
    }
    if (fails) {
        return err_set(err, f->rc, "the append fails");
    }
    return journal_append(f->under, records, count, err);
}

static int faulty_append_urgent(struct journal *j, struct journal_record *records, size_t count,
                                struct err *err)
{
    struct faulty_journal *f = self(j);

    if (f->full && !f->urgent) {
        return err_set(err, ERR_DISK_FULL, "the ballast is spent");
    }
    return journal_append(f->under, records, count, err);
}

static int faulty_room(struct journal *j, struct err *err)
{
    return self(j)->full ? err_set(err, ERR_DISK_FULL, "no space left") : 0;
}

static int faulty_read(struct journal *j, int64_t from_seq, int64_t max,
                       bool (*each)(void *ctx, const struct journal_record *r), void *ctx,
                       struct err *err)
{
    struct faulty_journal *f = self(j);

    f->reads++;
    return f->under->ops->read(f->under, from_seq, max, each, ctx, err);
}

static int64_t faulty_last_seq(struct journal *j)
{
    return journal_last_seq(self(j)->under);
}

static void faulty_last_hash(struct journal *j, unsigned char ret[JOURNAL_HASH_BYTES])
{
    journal_last_hash(self(j)->under, ret);
}

static int faulty_snapshot_put(struct journal *j, const struct journal_snapshot *s, struct err *err)
{
    return journal_snapshot_put(self(j)->under, s, err);
}

static int faulty_snapshot_get(struct journal *j, struct journal_snapshot *ret, struct err *err)
{
    return journal_snapshot_get(self(j)->under, ret, err);
}

static void faulty_close(struct journal *j)
{
    journal_close(self(j)->under);
    mem_free(j);
}

struct faulty_journal *faulty_journal_open(void)
{
    static const struct journal_ops OPS = {
        .append = faulty_append,
        .read = faulty_read,
        .last_seq = faulty_last_seq,
        .last_hash = faulty_last_hash,
        .snapshot_put = faulty_snapshot_put,
        .snapshot_get = faulty_snapshot_get,
        .close = faulty_close,
        .append_urgent = faulty_append_urgent,
        .room = faulty_room,
    };
    struct faulty_journal *f = mem_new(1, sizeof(*f));

    f->base = (struct journal){&OPS, "faulty"};
    f->under = journal_open_mem();
    f->rc = ERR_IO;
    return f;
}
