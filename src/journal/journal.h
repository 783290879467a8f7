/* journal - the append-only, hash-chained record of everything.
 *
 * A record is a kind, a version and bytes; the journal knows nothing of jobs.  seq is dense from 1.
 * hash = SHA-256(previous hash, seq, epoch, at_ms, true_at_ms, precision_ms, kind, version, bytes)
 * in the encoding of journal/chain.h; the first previous hash is 32 zero bytes.  What
 * journal_append returned 0 for is on disk (fsync) and is never lost or changed.
 *
 * Threads: append, append_urgent, room and snapshot_put belong to one thread at a time, read,
 * verify, export and snapshot_get to one, which may be another; last_seq and last_hash may be asked
 * by both.
 */
#ifndef MUSTER_JOURNAL_JOURNAL_H
#define MUSTER_JOURNAL_JOURNAL_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JOURNAL_HASH_BYTES 32
#define JOURNAL_KIND_MAX   63                  /* [a-z0-9_.]{1,63} */
#define JOURNAL_BYTES_MAX  (256 * 1024 * 1024) /* of one record or snapshot */
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
     * ERR_JOURNAL_EPOCH: a newer owner has written.  ERR_IO: the write failed; last_seq tells
     * whether the batch is there, and a crash before the next append may still bring it back, so
     * replay and do not call it refused. */
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
    /* append that may spend the ballast, and whether there is room for more than facts.  NULL: no
     * disk that could be full. */
    int (*append_urgent)(struct journal *j, struct journal_record *records, size_t count,
                         struct err *err);
    int (*room)(struct journal *j, struct err *err);
};

struct journal { /* first member of every implementation */
    const struct journal_ops *ops;
    const char *path; /* for messages; lives as long as the journal */
};

struct journal_verdict {
    int64_t records;                        /* read and found good */
    int64_t bad_seq;                        /* the first damaged or missing, 0 = none */
    unsigned char hash[JOURNAL_HASH_BYTES]; /* of the last good one */
    char text[ERR_TEXT_MAX];                /* what is wrong */
};

/* Open or make the SQLite journal in file path, and its directory (0700) if only that is missing.
 * ERR_LOCKED: another process has it (flock on path.lock).  ERR_JOURNAL_DAMAGED (nothing is
 * changed), ERR_JOURNAL_NEWER, ERR_IO (no rights, with the path), ERR_DISK_FULL.  Opening checks
 * the last records and the count, not the whole chain.  read_only takes no lock, changes nothing
 * and works beside a writer; ERR_NOT_FOUND: there is no such file. */
MUST_CHECK int journal_open_sqlite(const char *path, bool read_only, struct journal **ret,
                                   struct err *err);
/* How a SQLite journal is opened. */
struct journal_sqlite_options {
    bool read_only;
    const char
        *vfs; /* SQLite VFS by name that all files of it are on, ballast too; lent for the
                 life of the journal.  Nothing is locked there.  NULL = files of the system */
};
MUST_CHECK int journal_open_sqlite_with(const char *path,
                                        const struct journal_sqlite_options *options,
                                        struct journal **ret, struct err *err);
/* Copy a journal, running or not, to a new file (0600): whole, as of one moment.  ERR_CONFLICT:
 * `to` is there already. */
MUST_CHECK int journal_copy_sqlite(const char *from, const char *to, struct err *err);
/* A journal in memory, for tests and simulation. */
struct journal *journal_open_mem(void);

/* kind, bytes and len must be set, bytes being one line of UTF-8 without control characters;
 * ERR_INVALID: they are not, or an epoch falls within the batch.  seq and hash are written on
 * success only. */
MUST_CHECK int journal_append(struct journal *j, struct journal_record *records, size_t count,
                              struct err *err);
/* The same for a batch that holds only what has happened already (facts): on a full disk the
 * ballast is given up for it.  ERR_DISK_FULL: even that was not enough. */
MUST_CHECK int journal_append_urgent(struct journal *j, struct journal_record *records,
                                     size_t count, struct err *err);
/* 0 = a journal_append may be tried; ERR_DISK_FULL: the last write found no room and there is still
 * less than a ballast of it, or the ballast is spent and cannot be made again, so that
 * journal_append refuses at once.  Tries to make it. */
MUST_CHECK int journal_room(struct journal *j, struct err *err);
/* Read up to max records from from_seq on (below 1 counts as 1) and check their chain on the way;
 * each may be NULL.  ERR_JOURNAL_DAMAGED: the good records before the damage have been given. */
MUST_CHECK int journal_read(struct journal *j, int64_t from_seq, int64_t max,
                            bool (*each)(void *ctx, const struct journal_record *r), void *ctx,
                            struct err *err);
int64_t journal_last_seq(struct journal *j);
void journal_last_hash(struct journal *j, unsigned char ret[JOURNAL_HASH_BYTES]);
/* The last two are kept.  ERR_INVALID: seq, hash or state_hash are not those of this journal. */
MUST_CHECK int journal_snapshot_put(struct journal *j, const struct journal_snapshot *s,
                                    struct err *err);
/* The newest that is whole and belongs to this chain; ERR_NOT_FOUND: none.  Its bytes are lent
 * until the next call. */
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
