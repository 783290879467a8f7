/* One file, two connections: the writer commits a batch in one transaction (WAL, synchronous=FULL,
 * so one fsync of the log a batch), the reader is read-only, so that a long read neither waits for
 * a commit nor delays one.  The write lock of SQLite is not what keeps two daemons apart (it is
 * free between batches): that is the lock on FILE.lock, and after a move of the file the epoch.
 *
 * A failed commit has two meanings.  SQLITE_FULL comes from writing the log before its commit
 * mark, so nothing was appended.  Anything else may have come after it (an fsync that failed): then
 * SQLite takes the batch back, and the next commit writes over it, but a crash before that finds it
 * in the log.  So the caller is told ERR_IO, and the tip is read anew before anything is appended.
 *
 * Whoever opens the file without a power cut in between finds such a batch too, and would append
 * behind it, though what the failed fsync did not save no later one saves: the next power cut would
 * end the log there.  So opening to write begins with writing the log over itself.
 */
#include "journal/journal.h"

#include "base/mem.h"
#include "journal/ballast.h"
#include "journal/chain.h"
#include "journal/lockfile.h"
#include "journal/logmove.h"
#include "journal/sqlite_db.h"
#include "journal/sqlite_snapshot.h"
#include "journal/vfsfile.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

/* How many records opening to write checks; verify checks all. */
#define TAIL_RECORDS 100

struct journal_sqlite {
    struct journal base;
    char *path;
    const char *vfs; /* NULL = the system's */
    sqlite3 *reader;
    sqlite3 *writer; /* NULL: read-only */
    sqlite3_stmt *begin;
    sqlite3_stmt *meta_get;
    sqlite3_stmt *insert;
    sqlite3_stmt *meta_put;
    sqlite3_stmt *commit;
    struct chain *chain; /* of the writer */
    struct ballast ballast;
    struct logmove logmove;
    int lock_fd;
    bool full;             /* the newest write found no room */
    bool unknown;          /* the tip must be read anew, see above */
    unsigned char *hashes; /* of the batch being written */
    size_t hash_room;
    char *snapshot_bytes; /* lent */
    pthread_mutex_t tip_lock;
    int64_t last_seq; /* under tip_lock, as is the hash */
    unsigned char last_hash[JOURNAL_HASH_BYTES];
};

static const char INSERT[] = "INSERT INTO journal(seq, epoch, at_ms, true_at_ms, precision_ms,"
                             " kind, version, bytes, hash) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)";
static const char META_GET[] = "SELECT (SELECT value FROM meta WHERE key='epoch'),"
                               " (SELECT value FROM meta WHERE key='last_seq')";
static const char META_PUT[] = "UPDATE meta SET value = iif(key='epoch', ?1, ?2)"
                               " WHERE key IN ('epoch', 'last_seq')";
static const char READ[] = "SELECT seq, epoch, at_ms, true_at_ms, precision_ms, kind, version,"
                           " bytes, hash FROM journal WHERE seq >= ? ORDER BY seq LIMIT ?";

/* ---- writing ---- */

/* Step a statement that gives no rows (or only its first), and leave it ready for the next time. */
static int step_once(sqlite3_stmt *stmt)
{
    int rc = sqlite3_step(stmt);

    sqlite3_reset(stmt);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int check_tip(struct journal_sqlite *s, int64_t epoch, struct err *err)
{
    int64_t had_epoch;
    int64_t had_seq;
    int rc = sqlite3_step(s->meta_get);

    had_epoch = rc == SQLITE_ROW ? sqlite3_column_int64(s->meta_get, 0) : 0;
    had_seq = rc == SQLITE_ROW ? sqlite3_column_int64(s->meta_get, 1) : 0;
    sqlite3_reset(s->meta_get);
    if (rc != SQLITE_ROW) {
        return sqlite_db_error(s->writer, rc, s->path, "append", err);
    }
    if (epoch < had_epoch) {
        return err_set(err, ERR_JOURNAL_EPOCH,
                       "%s: an append of epoch %" PRId64 " after one of %" PRId64
                       ": a newer owner has written",
                       s->path, epoch, had_epoch);
    }
    if (had_seq != s->last_seq) {
        return err_set(err, ERR_IO,
                       "%s: the last record is %" PRId64 ", not %" PRId64
                       ": something else has written to it",
                       s->path, had_seq, s->last_seq);
    }
    return 0;
}

static int insert_one(struct journal_sqlite *s, const struct journal_record *r, int64_t seq,
                      const unsigned char *hash)
{
    sqlite3_stmt *stmt = s->insert;

    sqlite3_bind_int64(stmt, 1, seq);
    sqlite3_bind_int64(stmt, 2, r->epoch);
    sqlite3_bind_int64(stmt, 3, r->at_ms);
    sqlite3_bind_int64(stmt, 4, r->true_at_ms);
    sqlite3_bind_int64(stmt, 5, r->precision_ms);
    sqlite3_bind_text(stmt, 6, r->kind, -1, SQLITE_STATIC);
    sqlite3_bind_int64(stmt, 7, r->version);
    sqlite3_bind_text64(stmt, 8, r->bytes, r->len, SQLITE_STATIC, SQLITE_UTF8);
    sqlite3_bind_blob(stmt, 9, hash, JOURNAL_HASH_BYTES, SQLITE_STATIC);
    return step_once(stmt);
}

/* Insert the batch and its new tip into the open transaction; the hashes go to s->hashes. */
static int insert_all(struct journal_sqlite *s, const struct journal_record *records, size_t count)
{
    const unsigned char *prev = s->last_hash;
    int rc = SQLITE_OK;

    if (count > s->hash_room) {
        s->hashes = mem_resize(s->hashes, count, JOURNAL_HASH_BYTES);
        s->hash_room = count;
    }
    for (size_t i = 0; i < count && rc == SQLITE_OK; i++) {
        unsigned char *hash = s->hashes + i * JOURNAL_HASH_BYTES;
        struct journal_record r = records[i];

        r.seq = s->last_seq + (int64_t)i + 1;
        chain_next(s->chain, prev, &r, hash);
        rc = insert_one(s, &r, r.seq, hash);
        prev = hash;
    }
    if (rc == SQLITE_OK) {
        sqlite3_bind_int64(s->meta_put, 1, records[count - 1].epoch);
        sqlite3_bind_int64(s->meta_put, 2, s->last_seq + (int64_t)count);
        rc = step_once(s->meta_put);
    }
    return rc;
}

/* End the open transaction, if SQLite has not done so already. */
static void roll_back(struct journal_sqlite *s)
{
    if (!sqlite3_get_autocommit(s->writer) &&
        sqlite3_exec(s->writer, "ROLLBACK", NULL, NULL, NULL) != SQLITE_OK) {
        s->unknown = true;
    }
}

static int commit_batch(struct journal_sqlite *s, struct journal_record *records, size_t count,
                        struct err *err)
{
    int rc = step_once(s->begin);
    int failed;

    if (rc == SQLITE_OK) {
        failed = check_tip(s, records[0].epoch, err);
        if (failed != 0) {
            roll_back(s);
            return failed;
        }
        rc = insert_all(s, records, count);
    }
    if (rc == SQLITE_OK) {
        rc = step_once(s->commit);
    }
    if (rc != SQLITE_OK) {
        failed = sqlite_db_error(s->writer, rc, s->path, "append", err);
        roll_back(s);
        return failed;
    }
    for (size_t i = 0; i < count; i++) {
        records[i].seq = s->last_seq + (int64_t)i + 1;
        memcpy(records[i].hash, s->hashes + i * JOURNAL_HASH_BYTES, JOURNAL_HASH_BYTES);
    }
    pthread_mutex_lock(&s->tip_lock);
    s->last_seq += (int64_t)count;
    memcpy(s->last_hash, records[count - 1].hash, JOURNAL_HASH_BYTES);
    pthread_mutex_unlock(&s->tip_lock);
    return 0;
}

/* The newest record's seq and hash as db has them; 0 and zero when there is none.  SQLITE_OK or the
 * failure. */
static int read_tip(sqlite3 *db, int64_t *ret_seq, unsigned char ret_hash[JOURNAL_HASH_BYTES])
{
    CLEANUP(sqlite_db_endp) sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(db, "SELECT seq, hash FROM journal ORDER BY seq DESC LIMIT 1", -1,
                                &stmt, NULL);

    rc = rc != SQLITE_OK ? rc : sqlite3_step(stmt);
    if (rc == SQLITE_ROW && sqlite3_column_bytes(stmt, 1) == JOURNAL_HASH_BYTES) {
        *ret_seq = sqlite3_column_int64(stmt, 0);
        memcpy(ret_hash, sqlite3_column_blob(stmt, 1), JOURNAL_HASH_BYTES);
        return SQLITE_OK;
    }
    if (rc == SQLITE_DONE) {
        *ret_seq = 0;
        memset(ret_hash, 0, JOURNAL_HASH_BYTES);
        return SQLITE_OK;
    }
    return rc == SQLITE_ROW ? SQLITE_CORRUPT : rc;
}

static int refresh_tip(struct journal_sqlite *s, sqlite3 *db)
{
    int rc;

    pthread_mutex_lock(&s->tip_lock);
    rc = read_tip(db, &s->last_seq, s->last_hash);
    pthread_mutex_unlock(&s->tip_lock);
    return rc;
}

static int check_writable(struct journal_sqlite *s, struct err *err)
{
    int rc;

    if (s->writer == NULL) {
        return err_set(err, ERR_UNSUPPORTED, "%s is open for reading only", s->path);
    }
    rc = s->unknown ? refresh_tip(s, s->writer) : SQLITE_OK;
    s->unknown = rc != SQLITE_OK;
    return rc == SQLITE_OK ? 0 : sqlite_db_error(s->writer, rc, s->path, "read its end", err);
}

/* After a failure that leaves open what is on disk, look. */
static int settle(struct journal_sqlite *s, int rc)
{
    s->full = rc == ERR_DISK_FULL;
    if (rc != 0 && rc != ERR_DISK_FULL && rc != ERR_JOURNAL_EPOCH) {
        s->unknown = refresh_tip(s, s->writer) != SQLITE_OK;
    }
    return rc;
}

static int sqlite_append(struct journal *j, struct journal_record *records, size_t count,
                         struct err *err)
{
    struct journal_sqlite *s = (struct journal_sqlite *)j;
    int rc = check_writable(s, err);

    /* Spent ballast is made again before other work may use the room that facts need. */
    rc = rc != 0 ? rc : ballast_make(&s->ballast, err);
    return rc != 0 ? rc : settle(s, commit_batch(s, records, count, err));
}

static int sqlite_append_urgent(struct journal *j, struct journal_record *records, size_t count,
                                struct err *err)
{
    struct journal_sqlite *s = (struct journal_sqlite *)j;
    int rc = check_writable(s, err);

    rc = rc != 0 ? rc : settle(s, commit_batch(s, records, count, err));
    if (rc == ERR_DISK_FULL && ballast_drop(&s->ballast)) {
        rc = settle(s, commit_batch(s, records, count, err));
    }
    return rc;
}

static int sqlite_room(struct journal *j, struct err *err)
{
    struct journal_sqlite *s = (struct journal_sqlite *)j;
    int rc = check_writable(s, err);

    rc = rc != 0 ? rc : ballast_make(&s->ballast, err);
    rc = rc != 0 || !s->full ? rc : ballast_probe(&s->ballast, err);
    s->full = s->full && rc != 0;
    return rc;
}

/* ---- reading ---- */

/* Damage may leave NULL or a wrong length where the schema allows neither. */
static bool load_record(sqlite3_stmt *stmt, struct journal_record *ret)
{
    const void *hash = sqlite3_column_blob(stmt, 8);

    ret->seq = sqlite3_column_int64(stmt, 0);
    ret->epoch = sqlite3_column_int64(stmt, 1);
    ret->at_ms = sqlite3_column_int64(stmt, 2);
    ret->true_at_ms = sqlite3_column_int64(stmt, 3);
    ret->precision_ms = sqlite3_column_int64(stmt, 4);
    ret->kind = (const char *)sqlite3_column_text(stmt, 5);
    ret->version = sqlite3_column_int64(stmt, 6);
    ret->bytes = (const char *)sqlite3_column_text(stmt, 7);
    ret->len = (size_t)sqlite3_column_bytes(stmt, 7);
    if (ret->kind == NULL || ret->bytes == NULL || hash == NULL ||
        sqlite3_column_bytes(stmt, 8) != JOURNAL_HASH_BYTES) {
        return false;
    }
    memcpy(ret->hash, hash, JOURNAL_HASH_BYTES);
    return true;
}

static int sqlite_read(struct journal *j, int64_t from_seq, int64_t max,
                       bool (*each)(void *ctx, const struct journal_record *r), void *ctx,
                       struct err *err)
{
    struct journal_sqlite *s = (struct journal_sqlite *)j;
    CLEANUP(sqlite_db_endp) sqlite3_stmt *stmt = NULL;
    struct journal_record record;
    int rc = sqlite_db_prepare(s->reader, s->path, READ, &stmt, err);

    if (rc != 0) {
        return rc;
    }
    sqlite3_bind_int64(stmt, 1, from_seq);
    sqlite3_bind_int64(stmt, 2, max);
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        if (!load_record(stmt, &record)) {
            return err_set(err, ERR_JOURNAL_DAMAGED, "a column is empty");
        }
        if (!each(ctx, &record)) {
            return 0;
        }
    }
    if ((rc & 0xff) == SQLITE_CORRUPT || (rc & 0xff) == SQLITE_NOTADB) {
        return err_set(err, ERR_JOURNAL_DAMAGED, "%s", sqlite3_errmsg(s->reader));
    }
    return rc == SQLITE_DONE ? 0 : sqlite_db_error(s->reader, rc, s->path, "read", err);
}

static int64_t sqlite_last_seq(struct journal *j)
{
    struct journal_sqlite *s = (struct journal_sqlite *)j;
    int64_t seq;

    if (s->writer == NULL) { /* beside another process's writer */
        refresh_tip(s, s->reader);
    }
    pthread_mutex_lock(&s->tip_lock);
    seq = s->last_seq;
    pthread_mutex_unlock(&s->tip_lock);
    return seq;
}

static void sqlite_last_hash(struct journal *j, unsigned char ret[JOURNAL_HASH_BYTES])
{
    struct journal_sqlite *s = (struct journal_sqlite *)j;

    if (s->writer == NULL) {
        refresh_tip(s, s->reader);
    }
    pthread_mutex_lock(&s->tip_lock);
    memcpy(ret, s->last_hash, JOURNAL_HASH_BYTES);
    pthread_mutex_unlock(&s->tip_lock);
}

/* ---- snapshots ---- */

static int sqlite_put_snapshot(struct journal *j, const struct journal_snapshot *snapshot,
                               struct err *err)
{
    struct journal_sqlite *s = (struct journal_sqlite *)j;
    int rc = check_writable(s, err);

    rc = rc != 0 ? rc : ballast_make(&s->ballast, err);
    rc = rc != 0 ? rc : sqlite_snapshot_check(s->writer, s->path, snapshot, err);
    if (rc != 0) {
        return rc;
    }
    rc = sqlite_snapshot_put(s->writer, s->path, snapshot, err);
    if (rc != 0) {
        roll_back(s);
    }
    return settle(s, rc);
}

static int sqlite_get_snapshot(struct journal *j, struct journal_snapshot *ret, struct err *err)
{
    struct journal_sqlite *s = (struct journal_sqlite *)j;

    return sqlite_snapshot_get(s->reader, s->path, &s->snapshot_bytes, ret, err);
}

/* ---- opening and closing ---- */

static void sqlite_close(struct journal *j)
{
    struct journal_sqlite *s = (struct journal_sqlite *)j;

    sqlite_db_endp(&s->begin);
    sqlite_db_endp(&s->meta_get);
    sqlite_db_endp(&s->insert);
    sqlite_db_endp(&s->meta_put);
    sqlite_db_endp(&s->commit);
    sqlite_db_close(s->reader);
    sqlite_db_close(s->writer); /* the last one moves the log into the file */
    lockfile_drop(s->lock_fd);
    ballast_fini(&s->ballast);
    chain_free(s->chain);
    mem_free(s->hashes);
    mem_free(s->snapshot_bytes);
    pthread_mutex_destroy(&s->tip_lock);
    mem_free(s->path);
    mem_free(s);
}

static const struct journal_ops SQLITE_OPS = {
    .append = sqlite_append,
    .read = sqlite_read,
    .last_seq = sqlite_last_seq,
    .last_hash = sqlite_last_hash,
    .snapshot_put = sqlite_put_snapshot,
    .snapshot_get = sqlite_get_snapshot,
    .close = sqlite_close,
    .append_urgent = sqlite_append_urgent,
    .room = sqlite_room,
};

static int open_writer(struct journal_sqlite *s, struct err *err)
{
    int rc = sqlite_db_open_on(s->vfs, s->path, true, &s->writer, err);

    rc = rc != 0 ? rc : sqlite_db_prepare(s->writer, s->path, "BEGIN IMMEDIATE", &s->begin, err);
    rc = rc != 0 ? rc : sqlite_db_prepare(s->writer, s->path, META_GET, &s->meta_get, err);
    rc = rc != 0 ? rc : sqlite_db_prepare(s->writer, s->path, INSERT, &s->insert, err);
    rc = rc != 0 ? rc : sqlite_db_prepare(s->writer, s->path, META_PUT, &s->meta_put, err);
    rc = rc != 0 ? rc : sqlite_db_prepare(s->writer, s->path, "COMMIT", &s->commit, err);
    if (rc == 0) {
        logmove_init(&s->logmove, s->writer);
    }
    return rc;
}

/* Make the file if there is none and it may be made; an empty file is damage. */
static int find_file(const struct journal_sqlite *s, bool read_only, struct err *err)
{
    struct stat st;

    if (s->vfs != NULL) {
        return read_only || vfsfile_exists(s->vfs, s->path)
                   ? 0
                   : sqlite_db_create_on(s->vfs, s->path, err);
    }
    if (stat(s->path, &st) == 0) {
        return st.st_size > 0 ? 0
                              : err_set(err, ERR_JOURNAL_DAMAGED,
                                        "%s is empty, which a journal never is; restore it from a "
                                        "copy, or begin anew in another directory",
                                        s->path);
    }
    if (errno != ENOENT) {
        return err_set(err, ERR_IO, "cannot open %s: %s", s->path, strerror(errno));
    }
    return read_only ? err_set(err, ERR_NOT_FOUND, "there is no file %s", s->path)
                     : sqlite_db_create(s->path, err);
}

/* Before SQLite looks at the log, so that it sees only what is safe. */
static int save_log(const struct journal_sqlite *s, struct err *err)
{
    int error = vfsfile_save_log(s->vfs, s->path);

    if (error == 0) {
        return 0;
    }
    return err_set(err, error == ENOSPC || error == EDQUOT ? ERR_DISK_FULL : ERR_IO,
                   "%s: cannot save its log %s-wal again: %s", s->path, s->path, strerror(error));
}

/* Everything is checked through the reader before there is a connection that could write. */
static int open_all(struct journal_sqlite *s, bool read_only, struct err *err)
{
    struct sqlite_meta meta;
    int rc = find_file(s, read_only, err);

    rc = rc != 0 || read_only ? rc : save_log(s, err);
    rc = rc != 0 ? rc : sqlite_db_open_on(s->vfs, s->path, false, &s->reader, err);
    rc = rc != 0 ? rc : sqlite_db_check(s->reader, s->path, &meta, err);
    if (rc != 0) {
        return rc;
    }
    if (refresh_tip(s, s->reader) != SQLITE_OK) {
        return sqlite_db_error(s->reader, sqlite3_extended_errcode(s->reader), s->path, "read",
                               err);
    }
    if (read_only) { /* whoever only looks may see what is good before the damage */
        return 0;
    }
    rc = journal_read(&s->base, meta.last_seq - TAIL_RECORDS + 1, TAIL_RECORDS, NULL, NULL, err);
    return rc != 0 ? rc : open_writer(s, err);
}

static int try_open(const char *path, const struct journal_sqlite_options *o, int lock_fd,
                    struct journal **ret, struct err *err)
{
    struct journal_sqlite *s = mem_new(1, sizeof(*s));
    int rc;

    s->path = mem_text(path);
    s->vfs = o->vfs;
    s->base = (struct journal){&SQLITE_OPS, s->path};
    s->lock_fd = -1;
    s->chain = chain_new();
    pthread_mutex_init(&s->tip_lock, NULL);
    ballast_init(&s->ballast, path);
    s->ballast.vfs = o->vfs;
    rc = open_all(s, o->read_only, err);
    if (rc != 0) {
        sqlite_close(&s->base);
        return rc;
    }
    s->lock_fd = lock_fd;
    *ret = &s->base;
    return 0;
}

int journal_open_sqlite_with(const char *path, const struct journal_sqlite_options *o,
                             struct journal **ret, struct err *err)
{
    const bool read_only = o->read_only;
    struct ballast ballast;
    int lock_fd = -1;
    int rc = read_only || o->vfs != NULL ? 0 : lockfile_take(path, &lock_fd, err);

    if (rc != 0) {
        return rc;
    }
    rc = try_open(path, o, lock_fd, ret, err);
    if (rc == ERR_DISK_FULL && !read_only) { /* the log's index needs a little room of its own */
        ballast_init(&ballast, path);
        ballast.vfs = o->vfs;
        if (ballast_drop(&ballast)) {
            rc = try_open(path, o, lock_fd, ret, err);
        }
        ballast_fini(&ballast);
    }
    if (rc != 0) {
        lockfile_drop(lock_fd);
        return rc;
    }
    /* A full disk is no reason not to start: what runs must be watched, and appends will tell. */
    rc = read_only ? 0 : journal_room(*ret, NULL);
    return rc == ERR_DISK_FULL ? 0 : rc;
}

int journal_open_sqlite(const char *path, bool read_only, struct journal **ret, struct err *err)
{
    const struct journal_sqlite_options options = {.read_only = read_only};

    return journal_open_sqlite_with(path, &options, ret, err);
}

int journal_copy_sqlite(const char *from, const char *to, struct err *err)
{
    struct journal *j = NULL;
    int rc = journal_open_sqlite(from, true, &j, err);

    if (rc != 0) {
        return rc;
    }
    rc = sqlite_db_copy(((struct journal_sqlite *)j)->reader, to, err);
    journal_close(j);
    return rc;
}
