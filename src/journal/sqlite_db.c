/* A file is made beside its name and renamed, so a crash while making it leaves no half journal: an
 * existing file that is empty or has no tables is always damage, never a beginning. */
#include "journal/sqlite_db.h"

#include "base/check.h"
#include "base/mem.h"
#include "base/str.h"
#include "journal/journal.h"
#include "journal/vfsfile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define APPLICATION_ID 0x6d757374 /* "must" */

/* Only a person with the sqlite3 program can be in the way for a moment. */
#define BUSY_MS 5000

/* What the write-ahead log shrinks to after a long read made it grow. */
#define WAL_BYTES_MAX "16777216"

static const char SCHEMA[] =
    "BEGIN;"
    "CREATE TABLE journal(seq INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, at_ms INTEGER NOT NULL,"
    " true_at_ms INTEGER NOT NULL, precision_ms INTEGER NOT NULL, kind TEXT NOT NULL,"
    " version INTEGER NOT NULL, bytes TEXT NOT NULL, hash BLOB NOT NULL) STRICT;"
    "CREATE TABLE snapshot(seq INTEGER PRIMARY KEY, format INTEGER NOT NULL, hash BLOB NOT NULL,"
    " state_hash BLOB NOT NULL, bytes BLOB NOT NULL) STRICT;"
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
    "CREATE TRIGGER journal_no_update BEFORE UPDATE ON journal"
    " BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;"
    "CREATE TRIGGER journal_no_delete BEFORE DELETE ON journal"
    " BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;";

static bool is_full(int error)
{
    return error == ENOSPC || error == EDQUOT;
}

int sqlite_db_error(sqlite3 *db, int rc, const char *path, const char *what, struct err *err)
{
    const char *said = db == NULL ? sqlite3_errstr(rc) : sqlite3_errmsg(db);

    switch (rc & 0xff) {
    case SQLITE_FULL:
        return err_set(err, ERR_DISK_FULL, "%s: cannot %s: the disk is full", path, what);
    case SQLITE_ERROR: /* our fixed statements are refused: the tables are not ours */
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return err_set(err, ERR_JOURNAL_DAMAGED,
                       "%s is damaged (%s); nothing was changed, restore it from a copy", path,
                       said);
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_READONLY:
        return err_set(err, ERR_IO, "%s: cannot %s: %s; user id %u needs to read and write it",
                       path, what,
                       db != NULL && sqlite3_system_errno(db) != 0
                           ? strerror(sqlite3_system_errno(db))
                           : said,
                       (unsigned)geteuid());
    default:
        return err_set(err, ERR_IO, "%s: cannot %s: %s", path, what, said);
    }
}

/* Before anything was written, a full disk may also show as a file that cannot be made. */
static int opening_error(sqlite3 *db, int rc, const char *path, struct err *err)
{
    if (db != NULL && is_full(sqlite3_system_errno(db))) {
        rc = SQLITE_FULL;
    }
    return sqlite_db_error(db, rc, path, "open it", err);
}

int sqlite_db_run(sqlite3 *db, const char *path, const char *sql, struct err *err)
{
    int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);

    return rc == SQLITE_OK ? 0 : sqlite_db_error(db, sqlite3_extended_errcode(db), path, sql, err);
}

int sqlite_db_prepare(sqlite3 *db, const char *path, const char *sql, sqlite3_stmt **ret,
                      struct err *err)
{
    int rc = sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, ret, NULL);

    return rc == SQLITE_OK ? 0 : sqlite_db_error(db, rc, path, "prepare a statement", err);
}

void sqlite_db_endp(sqlite3_stmt **stmt)
{
    sqlite3_finalize(*stmt);
    *stmt = NULL;
}

void sqlite_db_close(sqlite3 *db)
{
    sqlite3_close(db);
}

/* file:PATH?immutable=1 with what means something in a URI escaped. */
static void add_uri(struct str *s, const char *path)
{
    str_add(s, "file:");
    for (; *path != '\0'; path++) {
        if (*path == '%' || *path == '?' || *path == '#') {
            str_addf(s, "%%%02x", (unsigned)(unsigned char)*path);
        } else {
            str_add_char(s, *path);
        }
    }
    str_add(s, "?immutable=1");
}

static bool has_log(const char *path)
{
    struct str wal = {0};
    struct stat st;
    bool has;

    str_addf(&wal, "%s-wal", path);
    has = stat(wal.text, &st) == 0 && st.st_size > 0;
    str_fini(&wal);
    return has;
}

static int connect_on(const char *vfs, const char *name, int flags, const char *path, sqlite3 **ret,
                      struct err *err)
{
    sqlite3 *db = NULL;
    int rc = sqlite3_open_v2(name, &db, flags | SQLITE_OPEN_FULLMUTEX, vfs);

    if (rc == SQLITE_OK) {
        sqlite3_extended_result_codes(db, 1);
        sqlite3_busy_timeout(db, BUSY_MS);
        /* The first read finds out whether it is a database, and whether the log can be had. */
        rc = sqlite3_exec(db,
                          "PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON;"
                          "SELECT count(*) FROM sqlite_schema",
                          NULL, NULL, NULL);
    }
    if (rc != SQLITE_OK) {
        rc = opening_error(db, rc, path, err);
        sqlite3_close(db);
        return rc;
    }
    *ret = db;
    return 0;
}

static int connect(const char *name, int flags, const char *path, sqlite3 **ret, struct err *err)
{
    return connect_on(NULL, name, flags, path, ret, err);
}

int sqlite_db_open_on(const char *vfs, const char *path, bool write, sqlite3 **ret, struct err *err)
{
    struct str uri = {0};
    struct err first;
    int rc;

    if (write) {
        rc = connect_on(vfs, path, SQLITE_OPEN_READWRITE, path, ret, err);
        return rc != 0
                   ? rc
                   : sqlite_db_run(
                         *ret, path,
                         "PRAGMA synchronous=FULL; PRAGMA journal_size_limit=" WAL_BYTES_MAX, err);
    }
    rc = connect_on(vfs, path, SQLITE_OPEN_READONLY, path, ret, &first);
    if (rc == ERR_IO && vfs == NULL && faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0 &&
        !has_log(path)) {
        add_uri(&uri, path);
        rc = connect(uri.text, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, path, ret, &first);
        str_fini(&uri);
    }
    if (rc != 0) {
        return err_set(err, first.code, "%s", first.text);
    }
    sqlite3_db_config(*ret, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    return 0;
}

int sqlite_db_open(const char *path, bool write, sqlite3 **ret, struct err *err)
{
    return sqlite_db_open_on(NULL, path, write, ret, err);
}

/* ---- making it ---- */

int sqlite_db_sync_directory(const char *path, struct err *err)
{
    struct str dir = {0};
    const char *slash = strrchr(path, '/');
    int rc = 0;
    int fd;

    str_add_n(&dir, path, slash == NULL ? 0 : (size_t)(slash - path) + 1);
    fd = open(dir.len == 0 ? "." : dir.text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fsync(fd) != 0) {
        rc = err_set(err, ERR_IO, "cannot sync the directory of %s: %s", path, strerror(errno));
    }
    if (fd >= 0) {
        close(fd);
    }
    str_fini(&dir);
    return rc;
}

static int fill(const char *vfs, const char *path, struct err *err)
{
    struct str sql = {0};
    struct timespec now;
    sqlite3 *db = NULL;
    int rc = connect_on(vfs, path, SQLITE_OPEN_READWRITE | (vfs != NULL ? SQLITE_OPEN_CREATE : 0),
                        path, &db, err);

    if (rc != 0) {
        return rc;
    }
    clock_gettime(CLOCK_REALTIME, &now);
    str_addf(&sql,
             "PRAGMA synchronous=FULL; PRAGMA application_id=%d; PRAGMA user_version=%d; %s"
             "INSERT INTO meta VALUES('format', %d), ('epoch', 0), ('last_seq', 0),"
             "('created_ms', %" PRId64 "); COMMIT; PRAGMA journal_mode=WAL",
             APPLICATION_ID, JOURNAL_FORMAT, SCHEMA, JOURNAL_FORMAT,
             (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000);
    rc = sqlite3_exec(db, sql.text, NULL, NULL, NULL);
    rc = rc == SQLITE_OK ? 0 : sqlite_db_error(db, rc, path, "make it", err);
    str_fini(&sql);
    /* Closing moves the log into the file and removes it; what fails there fails here. */
    if (sqlite3_close(db) != SQLITE_OK || (rc == 0 && vfs == NULL && has_log(path))) {
        rc = rc != 0 ? rc : err_set(err, ERR_IO, "%s: cannot finish it", path);
    }
    return rc;
}

static void remove_all(const char *path)
{
    static const char *const SUFFIXES[] = {"", "-journal", "-wal", "-shm"};
    struct str name = {0};

    for (size_t i = 0; i < sizeof(SUFFIXES) / sizeof(SUFFIXES[0]); i++) {
        str_clear(&name);
        str_addf(&name, "%s%s", path, SUFFIXES[i]);
        unlink(name.text);
    }
    str_fini(&name);
}

static int make_file(const char *path, struct err *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    int error = errno;

    if (fd < 0) {
        return err_set(err,
                       is_full(error)    ? ERR_DISK_FULL
                       : error == EEXIST ? ERR_CONFLICT
                                         : ERR_IO,
                       "cannot make %s: %s", path, strerror(error));
    }
    close(fd);
    return 0;
}

int sqlite_db_create(const char *path, struct err *err)
{
    struct str aside = {0};
    int rc;

    if (has_log(path)) {
        return err_set(err, ERR_JOURNAL_DAMAGED,
                       "%s is gone but its log %s-wal is there: restore the file, or move the log "
                       "away to begin anew",
                       path, path);
    }
    str_addf(&aside, "%s.new", path);
    remove_all(aside.text);
    rc = make_file(aside.text, err);
    rc = rc != 0 ? rc : fill(NULL, aside.text, err);
    if (rc == 0 && rename(aside.text, path) != 0) {
        rc = err_set(err, ERR_IO, "cannot make %s: %s", path, strerror(errno));
    }
    if (rc == 0) {
        rc = sqlite_db_sync_directory(path, err);
    } else {
        remove_all(aside.text);
    }
    str_fini(&aside);
    return rc;
}

int sqlite_db_create_on(const char *vfs, const char *path, struct err *err)
{
    struct str log = {0};
    bool left;

    str_addf(&log, "%s-wal", path);
    left = vfsfile_exists(vfs, log.text);
    str_fini(&log);
    return left ? err_set(err, ERR_JOURNAL_DAMAGED, "%s is gone but its log is there", path)
                : fill(vfs, path, err);
}

int sqlite_db_copy(sqlite3 *db, const char *to, struct err *err)
{
    sqlite3_backup *backup;
    sqlite3 *copy = NULL;
    int rc = make_file(to, err);

    if (rc != 0) {
        return rc;
    }
    rc = connect(to, SQLITE_OPEN_READWRITE, to, &copy, err);
    if (rc == 0) {
        backup = sqlite3_backup_init(copy, "main", db, "main");
        CHECK(backup != NULL); /* only misuse of it fails */
        (void)sqlite3_backup_step(backup, -1);
        rc = sqlite3_backup_finish(backup);
        rc = rc == SQLITE_OK ? 0 : sqlite_db_error(copy, rc, to, "copy", err);
        sqlite3_close(copy);
    }
    if (rc != 0) {
        remove_all(to);
    }
    return rc;
}

/* ---- knowing it ---- */

/* The integer that sql gives; damage if it gives none. */
static int ask(sqlite3 *db, const char *path, const char *sql, int64_t *ret, struct err *err)
{
    CLEANUP(sqlite_db_endp) sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);

    if (rc == SQLITE_OK) {
        rc = sqlite3_step(stmt);
    }
    if (rc == SQLITE_ROW && sqlite3_column_type(stmt, 0) == SQLITE_INTEGER) {
        *ret = sqlite3_column_int64(stmt, 0);
        return 0;
    }
    if (rc == SQLITE_ROW || rc == SQLITE_DONE || (rc & 0xff) == SQLITE_ERROR) {
        return err_set(
            err, ERR_JOURNAL_DAMAGED,
            "%s is damaged (no answer to %s); nothing was changed, restore it from a copy", path,
            sql);
    }
    return opening_error(db, rc, path, err);
}

struct facts {
    int64_t format;
    int64_t epoch;
    int64_t meta_last_seq;
    int64_t first_seq;
    int64_t last_seq;
};

static int check_kind_of_file(sqlite3 *db, const char *path, struct err *err)
{
    int64_t application;
    int64_t format;
    int rc = ask(db, path, "PRAGMA application_id", &application, err);

    rc = rc != 0 ? rc : ask(db, path, "PRAGMA user_version", &format, err);
    if (rc != 0) {
        return rc;
    }
    if (application != APPLICATION_ID) {
        return err_set(err, ERR_JOURNAL_DAMAGED,
                       "%s is a database but not a journal of muster (application id %" PRId64
                       " instead of %d); nothing was changed",
                       path, application, APPLICATION_ID);
    }
    if (format > JOURNAL_FORMAT) {
        return err_set(err, ERR_JOURNAL_NEWER,
                       "%s has format %" PRId64 " of a newer muster; this one reads up to %d", path,
                       format, JOURNAL_FORMAT);
    }
    return 0;
}

static int load_facts(sqlite3 *db, const char *path, struct facts *ret, struct err *err)
{
    const struct {
        const char *sql;
        int64_t *ret;
    } QUESTIONS[] = {
        {"SELECT value FROM meta WHERE key='format'", &ret->format},
        {"SELECT value FROM meta WHERE key='epoch'", &ret->epoch},
        {"SELECT value FROM meta WHERE key='last_seq'", &ret->meta_last_seq},
        {"SELECT ifnull(min(seq), 1) FROM journal", &ret->first_seq},
        {"SELECT ifnull(max(seq), 0) FROM journal", &ret->last_seq},
    };
    int rc = 0;

    for (size_t i = 0; i < sizeof(QUESTIONS) / sizeof(QUESTIONS[0]) && rc == 0; i++) {
        rc = ask(db, path, QUESTIONS[i].sql, QUESTIONS[i].ret, err);
    }
    return rc;
}

int sqlite_db_check(sqlite3 *db, const char *path, struct sqlite_meta *ret, struct err *err)
{
    struct facts f = {0};
    int rc = check_kind_of_file(db, path, err);

    /* One read transaction, as a writer may be at work. */
    rc = rc != 0 ? rc : sqlite_db_run(db, path, "BEGIN", err);
    if (rc != 0) {
        return rc;
    }
    rc = load_facts(db, path, &f, err);
    if (sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK && rc == 0) {
        rc = sqlite_db_error(db, sqlite3_extended_errcode(db), path, "read", err);
    }
    if (rc != 0) {
        return rc;
    }
    if (f.format != JOURNAL_FORMAT || f.first_seq != 1 || f.last_seq != f.meta_last_seq) {
        return err_set(err, ERR_JOURNAL_DAMAGED,
                       "%s is damaged: it holds records %" PRId64 " to %" PRId64
                       " of format %" PRId64 ", and should hold 1 to %" PRId64
                       " of format %d; nothing was changed, restore it from a copy",
                       path, f.first_seq, f.last_seq, f.format, f.meta_last_seq, JOURNAL_FORMAT);
    }
    *ret = (struct sqlite_meta){f.epoch, f.last_seq};
    return 0;
}
