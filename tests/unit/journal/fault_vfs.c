#include "fault_vfs.h"

#include "base/check.h"

#include <sqlite3.h>
#include <string.h>

/* What SQLite allocates for an open file: ours, then the real one's. */
struct fault_file {
    sqlite3_file base;
    sqlite3_file *real;
};

static struct fault_vfs setting;
static sqlite3_vfs *real_vfs;
static sqlite3_vfs vfs;

static sqlite3_file *real_of(sqlite3_file *file)
{
    return ((struct fault_file *)file)->real;
}

static bool fails(enum fault_kind kind)
{
    if (kind != setting.kind) {
        return false;
    }
    setting.count++;
    if (setting.fail_at != 0 && (setting.count == setting.fail_at ||
                                 (setting.for_ever && setting.count > setting.fail_at))) {
        setting.failed = true;
        return true;
    }
    return false;
}

static int file_close(sqlite3_file *file)
{
    return real_of(file)->pMethods->xClose(real_of(file));
}

static int file_read(sqlite3_file *file, void *to, int count, sqlite3_int64 at)
{
    return fails(FAULT_READ) ? SQLITE_IOERR_READ
                             : real_of(file)->pMethods->xRead(real_of(file), to, count, at);
}

static int file_write(sqlite3_file *file, const void *from, int count, sqlite3_int64 at)
{
    sqlite3_file *real = real_of(file);

    setting.unsynced = true;
    if (!fails(FAULT_CHANGE)) {
        return real->pMethods->xWrite(real, from, count, at);
    }
    if (count > 1) {
        (void)real->pMethods->xWrite(real, from, count / 2, at);
    }
    return setting.full ? SQLITE_FULL : SQLITE_IOERR_WRITE;
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    return fails(FAULT_CHANGE) ? SQLITE_IOERR_TRUNCATE
                               : real_of(file)->pMethods->xTruncate(real_of(file), size);
}

static int file_sync(sqlite3_file *file, int flags)
{
    (void)file;
    (void)flags;
    setting.unsynced = false;
    setting.syncs++;
    return fails(FAULT_CHANGE) ? SQLITE_IOERR_FSYNC : SQLITE_OK;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *ret)
{
    return real_of(file)->pMethods->xFileSize(real_of(file), ret);
}

static int file_lock(sqlite3_file *file, int level)
{
    return real_of(file)->pMethods->xLock(real_of(file), level);
}

static int file_unlock(sqlite3_file *file, int level)
{
    return real_of(file)->pMethods->xUnlock(real_of(file), level);
}

static int file_check_lock(sqlite3_file *file, int *ret)
{
    return real_of(file)->pMethods->xCheckReservedLock(real_of(file), ret);
}

static int file_control(sqlite3_file *file, int op, void *arg)
{
    return real_of(file)->pMethods->xFileControl(real_of(file), op, arg);
}

static int file_sector(sqlite3_file *file)
{
    return real_of(file)->pMethods->xSectorSize(real_of(file));
}

static int file_traits(sqlite3_file *file)
{
    return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file));
}

static int file_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **ret)
{
    return fails(FAULT_MAP)
               ? SQLITE_IOERR_SHMMAP
               : real_of(file)->pMethods->xShmMap(real_of(file), page, size, extend, ret);
}

static int file_shm_lock(sqlite3_file *file, int offset, int count, int flags)
{
    return real_of(file)->pMethods->xShmLock(real_of(file), offset, count, flags);
}

static void file_shm_barrier(sqlite3_file *file)
{
    real_of(file)->pMethods->xShmBarrier(real_of(file));
}

static int file_shm_unmap(sqlite3_file *file, int remove)
{
    return real_of(file)->pMethods->xShmUnmap(real_of(file), remove);
}

static const sqlite3_io_methods METHODS = {
    .iVersion = 2,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_check_lock,
    .xFileControl = file_control,
    .xSectorSize = file_sector,
    .xDeviceCharacteristics = file_traits,
    .xShmMap = file_shm_map,
    .xShmLock = file_shm_lock,
    .xShmBarrier = file_shm_barrier,
    .xShmUnmap = file_shm_unmap,
};

static int vfs_open(sqlite3_vfs *self, const char *name, sqlite3_file *file, int flags, int *ret)
{
    struct fault_file *f = (struct fault_file *)file;
    int rc;

    (void)self;
    f->real = (sqlite3_file *)(f + 1);
    rc = fails(FAULT_OPEN) ? SQLITE_CANTOPEN : real_vfs->xOpen(real_vfs, name, f->real, flags, ret);
    f->base.pMethods = rc == SQLITE_OK ? &METHODS : NULL;
    return rc;
}

static int vfs_delete(sqlite3_vfs *self, const char *name, int sync)
{
    (void)self;
    (void)sync;
    return real_vfs->xDelete(real_vfs, name, 0);
}

struct fault_vfs *fault_vfs_install(void)
{
    if (real_vfs == NULL) {
        real_vfs = sqlite3_vfs_find(NULL);
        CHECK(real_vfs != NULL);
        vfs = *real_vfs;
        vfs.zName = "fault";
        vfs.szOsFile = (int)sizeof(struct fault_file) + real_vfs->szOsFile;
        vfs.xOpen = vfs_open;
        vfs.xDelete = vfs_delete;
        CHECK(sqlite3_vfs_register(&vfs, 1) == SQLITE_OK);
    }
    return &setting;
}
