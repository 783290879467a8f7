/* The room is asked for with SQLITE_FCNTL_SIZE_HINT, which a VFS that keeps no account of its room
 * may leave unanswered: then nothing is reserved and there is no ballast. */
#include "journal/vfsfile.h"

#include "base/mem.h"
#include "base/str.h"

#include <errno.h>
#include <sqlite3.h>
#include <string.h>

#define PART_BYTES 65536

bool vfsfile_exists(const char *vfs, const char *path)
{
    sqlite3_vfs *v = sqlite3_vfs_find(vfs);
    int is = 0;

    return v != NULL && v->xAccess(v, path, SQLITE_ACCESS_EXISTS, &is) == SQLITE_OK && is != 0;
}

bool vfsfile_remove(const char *vfs, const char *path)
{
    sqlite3_vfs *v = sqlite3_vfs_find(vfs);

    return v != NULL && v->xDelete(v, path, 1) == SQLITE_OK;
}

static int errno_of(int rc)
{
    if (rc == SQLITE_OK) {
        return 0;
    }
    return rc == SQLITE_FULL ? ENOSPC : rc == SQLITE_NOTFOUND ? EOPNOTSUPP : EIO;
}

int vfsfile_reserve(const char *vfs, const char *path, int64_t bytes)
{
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MAIN_DB;
    sqlite3_vfs *v = sqlite3_vfs_find(vfs);
    sqlite3_int64 hint = bytes;
    sqlite3_file *file;
    int rc;

    if (v == NULL) {
        return ENOENT;
    }
    file = mem_new(1, (size_t)v->szOsFile);
    rc = v->xOpen(v, path, file, flags, NULL);
    if (rc == SQLITE_OK) {
        rc = file->pMethods->xFileControl(file, SQLITE_FCNTL_SIZE_HINT, &hint);
        (void)file->pMethods->xClose(file);
        if (rc != SQLITE_OK) {
            (void)vfsfile_remove(vfs, path);
        }
    }
    mem_free(file);
    return errno_of(rc);
}

/* In place and with the very same bytes, so that a crash in the middle changes nothing. */
static int write_over(sqlite3_file *file)
{
    unsigned char *part = mem_new(1, PART_BYTES);
    sqlite3_int64 size = 0;
    sqlite3_int64 at;
    int rc = file->pMethods->xFileSize(file, &size);

    for (at = 0; at < size && rc == SQLITE_OK; at += PART_BYTES) {
        int len = size - at < PART_BYTES ? (int)(size - at) : PART_BYTES;

        rc = file->pMethods->xRead(file, part, len, at);
        rc = rc != SQLITE_OK ? rc : file->pMethods->xWrite(file, part, len, at);
    }
    mem_free(part);
    return rc != SQLITE_OK || size == 0 ? rc : file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
}

static int save(sqlite3_vfs *v, const char *path)
{
    sqlite3_file *file = mem_new(1, (size_t)v->szOsFile);
    int error;

    errno = 0;
    if (v->xOpen(v, path, file, SQLITE_OPEN_READWRITE | SQLITE_OPEN_WAL, NULL) == SQLITE_OK) {
        error = errno_of(write_over(file));
        (void)file->pMethods->xClose(file);
    } else {
        error = errno != 0 ? errno : EIO;
    }
    mem_free(file);
    return error;
}

int vfsfile_save_log(const char *vfs, const char *path)
{
    sqlite3_vfs *v = sqlite3_vfs_find(vfs);
    struct str log = {0};
    char *full;
    int error = 0;

    if (v == NULL) {
        return ENOENT;
    }
    /* SQLite follows links and puts the log beside the file itself. */
    full = mem_new((size_t)v->mxPathname + 1, 1);
    if ((v->xFullPathname(v, path, v->mxPathname + 1, full) & 0xff) != SQLITE_OK) {
        error = EIO;
    }
    str_addf(&log, "%s-wal", full);
    if (error == 0 && vfsfile_exists(vfs, log.text)) {
        error = save(v, log.text);
    }
    str_fini(&log);
    mem_free(full);
    return error;
}
