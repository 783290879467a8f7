#include "journal/sqlite_snapshot.h"

#include "base/hash.h"
#include "base/mem.h"
#include "journal/sqlite_db.h"

#include <inttypes.h>
#include <string.h>

#define KEPT "2"

int sqlite_snapshot_check(sqlite3 *db, const char *path, const struct journal_snapshot *s,
                          struct err *err)
{
    CLEANUP(sqlite_db_endp) sqlite3_stmt *stmt = NULL;
    int rc = sqlite_db_prepare(db, path, "SELECT hash FROM journal WHERE seq = ?", &stmt, err);

    if (rc != 0) {
        return rc;
    }
    sqlite3_bind_int64(stmt, 1, s->seq);
    rc = sqlite3_step(stmt);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE) {
        return sqlite_db_error(db, rc, path, "read", err);
    }
    if (rc == SQLITE_DONE || sqlite3_column_bytes(stmt, 0) != JOURNAL_HASH_BYTES ||
        memcmp(sqlite3_column_blob(stmt, 0), s->hash, JOURNAL_HASH_BYTES) != 0) {
        return err_set(err, ERR_INVALID,
                       "the chain hash of a snapshot is not that of record %" PRId64, s->seq);
    }
    return 0;
}

static int insert(sqlite3 *db, const struct journal_snapshot *s)
{
    CLEANUP(sqlite_db_endp) sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(db,
                                "INSERT OR REPLACE INTO snapshot(seq, format, hash, state_hash,"
                                " bytes) VALUES(?, ?, ?, ?, ?)",
                                -1, &stmt, NULL);

    if (rc != SQLITE_OK) {
        return rc;
    }
    sqlite3_bind_int64(stmt, 1, s->seq);
    sqlite3_bind_int64(stmt, 2, s->format);
    sqlite3_bind_blob(stmt, 3, s->hash, JOURNAL_HASH_BYTES, SQLITE_STATIC);
    sqlite3_bind_blob(stmt, 4, s->state_hash, JOURNAL_HASH_BYTES, SQLITE_STATIC);
    sqlite3_bind_blob64(stmt, 5, s->bytes, s->len, SQLITE_STATIC);
    rc = sqlite3_step(stmt);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int sqlite_snapshot_put(sqlite3 *db, const char *path, const struct journal_snapshot *s,
                        struct err *err)
{
    int rc = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);

    rc = rc != SQLITE_OK ? rc : insert(db, s);
    rc = rc != SQLITE_OK ? rc
                         : sqlite3_exec(db,
                                        "DELETE FROM snapshot WHERE seq NOT IN (SELECT seq FROM"
                                        " snapshot ORDER BY seq DESC LIMIT " KEPT "); COMMIT",
                                        NULL, NULL, NULL);
    return rc == SQLITE_OK ? 0 : sqlite_db_error(db, rc, path, "write a snapshot", err);
}

/* False: this one is damaged or of another chain. */
static bool load(sqlite3 *db, const char *path, sqlite3_stmt *stmt, struct journal_snapshot *ret)
{
    const void *hash = sqlite3_column_blob(stmt, 2);
    const void *state_hash = sqlite3_column_blob(stmt, 3);
    unsigned char found[HASH_BYTES];

    ret->bytes = sqlite3_column_blob(stmt, 4);
    ret->len = (size_t)sqlite3_column_bytes(stmt, 4);
    if (ret->bytes == NULL || sqlite3_column_bytes(stmt, 2) != JOURNAL_HASH_BYTES ||
        sqlite3_column_bytes(stmt, 3) != JOURNAL_HASH_BYTES) {
        return false;
    }
    ret->seq = sqlite3_column_int64(stmt, 0);
    ret->format = sqlite3_column_int64(stmt, 1);
    memcpy(ret->hash, hash, JOURNAL_HASH_BYTES);
    memcpy(ret->state_hash, state_hash, JOURNAL_HASH_BYTES);
    hash_sha256(ret->bytes, ret->len, found);
    return memcmp(found, state_hash, sizeof(found)) == 0 &&
           sqlite_snapshot_check(db, path, ret, NULL) == 0;
}

int sqlite_snapshot_get(sqlite3 *db, const char *path, char **bytes, struct journal_snapshot *ret,
                        struct err *err)
{
    CLEANUP(sqlite_db_endp) sqlite3_stmt *stmt = NULL;
    struct journal_snapshot s = {0};
    int rc = sqlite_db_prepare(db, path,
                               "SELECT seq, format, hash, state_hash, bytes FROM snapshot"
                               " ORDER BY seq DESC",
                               &stmt, err);

    if (rc != 0) {
        return rc;
    }
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        if (load(db, path, stmt, &s)) {
            mem_freep(bytes);
            *bytes = mem_text_n(s.bytes, s.len);
            s.bytes = *bytes;
            *ret = s;
            return 0;
        }
    }
    if (rc != SQLITE_DONE && (rc & 0xff) != SQLITE_CORRUPT) {
        return sqlite_db_error(db, rc, path, "read a snapshot", err);
    }
    return err_set(err, ERR_NOT_FOUND, "%s has no snapshot", path);
}
