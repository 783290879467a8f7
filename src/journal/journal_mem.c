#include "journal/journal.h"

#include "base/arena.h"
#include "base/mem.h"
#include "base/vec.h"
#include "journal/chain.h"

#include <inttypes.h>
#include <string.h>

struct journal_mem {
    struct journal base;
    struct arena *arena; /* kinds and bytes */
    struct chain *chain;
    VEC(struct journal_record) records; /* seq n at n - 1 */
    struct journal_snapshot snapshot;   /* owns its bytes; len 0 = none */
};

static int mem_append(struct journal *j, struct journal_record *records, size_t count,
                      struct err *err)
{
    struct journal_mem *m = (struct journal_mem *)j;
    unsigned char hash[JOURNAL_HASH_BYTES];
    size_t had = m->records.count;

    if (had > 0 && records[0].epoch < m->records.items[had - 1].epoch) {
        return err_set(err, ERR_JOURNAL_EPOCH,
                       "an append of epoch %" PRId64 " after one of %" PRId64
                       ": a newer owner has written",
                       records[0].epoch, m->records.items[had - 1].epoch);
    }
    j->ops->last_hash(j, hash);
    for (size_t i = 0; i < count; i++) {
        struct journal_record *r = &records[i];
        struct journal_record kept;

        r->seq = (int64_t)(had + i + 1);
        chain_next(m->chain, hash, r, hash);
        memcpy(r->hash, hash, sizeof(hash));
        kept = *r;
        kept.kind = arena_text(m->arena, r->kind);
        kept.bytes = arena_copy(m->arena, r->bytes, r->len);
        vec_push(&m->records, kept);
    }
    return 0;
}

static int mem_read(struct journal *j, int64_t from_seq, int64_t max,
                    bool (*each)(void *ctx, const struct journal_record *r), void *ctx,
                    struct err *err)
{
    struct journal_mem *m = (struct journal_mem *)j;

    (void)err;
    for (int64_t seq = from_seq; max > 0 && seq <= (int64_t)m->records.count; seq++, max--) {
        struct journal_record r = m->records.items[seq - 1];

        if (!each(ctx, &r)) {
            break;
        }
    }
    return 0;
}

static int64_t mem_last_seq(struct journal *j)
{
    return (int64_t)((struct journal_mem *)j)->records.count;
}

static void mem_last_hash(struct journal *j, unsigned char ret[JOURNAL_HASH_BYTES])
{
    struct journal_mem *m = (struct journal_mem *)j;

    if (m->records.count == 0) {
        memset(ret, 0, JOURNAL_HASH_BYTES);
    } else {
        memcpy(ret, m->records.items[m->records.count - 1].hash, JOURNAL_HASH_BYTES);
    }
}

static int mem_snapshot_put(struct journal *j, const struct journal_snapshot *s, struct err *err)
{
    struct journal_mem *m = (struct journal_mem *)j;
    char *bytes;

    if (memcmp(s->hash, m->records.items[s->seq - 1].hash, sizeof(s->hash)) != 0) {
        return err_set(err, ERR_INVALID,
                       "the chain hash of a snapshot is not that of record %" PRId64, s->seq);
    }
    if (s->seq < m->snapshot.seq) { /* the newest is what counts */
        return 0;
    }
    bytes = mem_text_n(s->bytes, s->len);
    mem_freep(&m->snapshot.bytes);
    m->snapshot = *s;
    m->snapshot.bytes = bytes;
    return 0;
}

static int mem_snapshot_get(struct journal *j, struct journal_snapshot *ret, struct err *err)
{
    struct journal_mem *m = (struct journal_mem *)j;

    if (m->snapshot.len == 0) {
        return err_set(err, ERR_NOT_FOUND, "the journal has no snapshot");
    }
    *ret = m->snapshot;
    return 0;
}

static void mem_close(struct journal *j)
{
    struct journal_mem *m = (struct journal_mem *)j;

    vec_fini(&m->records);
    mem_freep(&m->snapshot.bytes);
    arena_free(m->arena);
    chain_free(m->chain);
    mem_free(m);
}

static const struct journal_ops MEM_OPS = {
    .append = mem_append,
    .read = mem_read,
    .last_seq = mem_last_seq,
    .last_hash = mem_last_hash,
    .snapshot_put = mem_snapshot_put,
    .snapshot_get = mem_snapshot_get,
    .close = mem_close,
};

struct journal *journal_open_mem(void)
{
    struct journal_mem *m = mem_new(1, sizeof(*m));

    m->base = (struct journal){&MEM_OPS, "memory"};
    m->arena = arena_make();
    m->chain = chain_new();
    return &m->base;
}
