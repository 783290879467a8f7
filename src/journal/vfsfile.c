/* The room is asked for with SQLITE_FCNTL_SIZE_HINT, which a VFS that keeps no account of its room
 * may leave unanswered: then nothing is reserved and there is no ballast. */
#include "journal/vfsfile.h"

#include "base/mem.h"

#include <errno.h>
#include <sqlite3.h>
#include <string.h>

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
