/* journal - the append-only, hash-chained record of everything.
 *
 * A record is a kind, a version and bytes; the journal knows nothing of jobs.  seq is dense from 1.
 * hash = SHA-256(previous hash, seq, epoch, at_ms, true_at_ms, precision_ms, kind, version, bytes)
 * in the encoding of journal/chain.h; the first previous hash is 32 zero bytes.  What
 * journal_append returned 0 for is on disk (fsync) and is never lost or changed.
 */
#ifndef MUSTER_JOURNAL_JOURNAL_H
#define MUSTER_JOURNAL_JOURNAL_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JOURNAL_HASH_BYTES 32
#define JOURNAL_FORMAT     1 /* a program refuses a journal of a newer one: ERR_JOURNAL_NEWER */

struct journal_record {
    int64_t seq; /* given by append */
    int64_t epoch;
    int64_t at_ms;
    int64_t true_at_ms;
    int64_t precision_ms; /* of true_at_ms */
    const char *kind;
    int64_t version;   /* of the kind's fields */
    const char *bytes; /* JSON text, hashed as stored */
    size_t len;
    unsigned char hash[JOURNAL_HASH_BYTES]; /* given by append */
};

struct journal_snapshot {
    int64_t seq; /* state after this record */
    int64_t format;
    unsigned char hash[JOURNAL_HASH_BYTES];       /* chain hash at seq */
    unsigned char state_hash[JOURNAL_HASH_BYTES]; /* SHA-256 of bytes */
    const char *bytes;
    size_t len;
};

struct journal;

struct journal_ops {
    /* Append all or none, durably, in one commit; fills seq and hash of each.
     * ERR_DISK_FULL: nothing was appended, the journal goes on answering reads.
     * ERR_JOURNAL_EPOCH: a newer owner has written.  ERR_IO: unknown whether it is on disk; reopen
     * and replay. */
    int (*append)(struct journal *j, struct journal_record *records, size_t count, struct err *err);
    /* Read up to max records from seq on, in order; the callback may stop by returning false. Bytes
     * are lent. */
    int (*read)(struct journal *j, int64_t from_seq, int64_t max,
                bool (*each)(void *ctx, const struct journal_record *r), void *ctx,
                struct err *err);
    int64_t (*last_seq)(struct journal *j);
    void (*last_hash)(struct journal *j, unsigned char ret[JOURNAL_HASH_BYTES]);
    int (*snapshot_put)(struct journal *j, const struct journal_snapshot *s, struct err *err);
    /* The newest snapshot; ERR_NOT_FOUND.  Its bytes are lent until the next call. */
    int (*snapshot_get)(struct journal *j, struct journal_snapshot *ret, struct err *err);
    void (*close)(struct journal *j);
};

struct journal { /* first member of every implementation */
    const struct journal_ops *ops;
};

struct journal_verdict {
    int64_t records;                        /* read and found good */
    int64_t bad_seq;                        /* the first damaged or missing, 0 = none */
    unsigned char hash[JOURNAL_HASH_BYTES]; /* of the last good one */
    char text[200];                         /* what is wrong */
};

/* Open or make the SQLite journal in file path.  ERR_LOCKED: another process has it (flock on
 * path.lock). ERR_JOURNAL_DAMAGED, ERR_JOURNAL_NEWER, ERR_IO (no rights, with the path).  read_only
 * takes no lock. */
MUST_CHECK int journal_open_sqlite(const char *path, bool read_only, struct journal **ret,
                                   struct err *err);
/* A journal in memory, for tests and simulation. */
struct journal *journal_open_mem(void);

MUST_CHECK int journal_append(struct journal *j, struct journal_record *records, size_t count,
                              struct err *err);
MUST_CHECK int journal_read(struct journal *j, int64_t from_seq, int64_t max,
                            bool (*each)(void *ctx, const struct journal_record *r), void *ctx,
                            struct err *err);
int64_t journal_last_seq(struct journal *j);
void journal_last_hash(struct journal *j, unsigned char ret[JOURNAL_HASH_BYTES]);
MUST_CHECK int journal_snapshot_put(struct journal *j, const struct journal_snapshot *s,
                                    struct err *err);
MUST_CHECK int journal_snapshot_get(struct journal *j, struct journal_snapshot *ret,
                                    struct err *err);
void journal_close(struct journal *j); /* NULL is fine */

/* Walk the whole chain.  0 = good; ERR_JOURNAL_DAMAGED with ret saying where. */
MUST_CHECK int journal_verify(struct journal *j, struct journal_verdict *ret, struct err *err);

/* One line of NDJSON a record:
 * {"seq":…,"epoch":…,"at_ms":…,"true_at_ms":…,"precision_ms":…,"kind":…,"version":…,"body":BYTES,"prev":HEX,"hash":HEX};
 * what an outsider needs to check the chain.  write returns false to stop (ERR_IO). */
MUST_CHECK int journal_export(struct journal *j, int64_t from_seq,
                              bool (*write)(void *ctx, const char *text, size_t len), void *ctx,
                              struct err *err);

#endif
