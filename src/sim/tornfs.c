/* tornfs - the methods of the VFS.  One thread; a lock that cannot be had is told at once, and
 * nobody sleeps.
 */
#include "sim/tornfs.h"

#include "base/check.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/vec.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#define NAME_MAX_BYTES 200
#define PAGE_BYTES     4096

struct tornfs_node { /* what the connections to one file share */
    char *name;
    VEC(struct tornfs_handle *) open;
    VEC(void *) shared; /* memory, in parts of one size */
};

struct tornfs {
    sqlite3_vfs base;
    struct torndisk *disk;
    struct rng rng;
    VEC(struct tornfs_node *) nodes;
    char name[32];
};

/* What SQLite allocates for an open file. */
struct tornfs_handle {
    sqlite3_file base;
    struct tornfs *fs;
    struct tornfs_node *node;
    struct torndisk_file *file;
    int level;           /* of the lock on the file */
    unsigned shm_shared; /* slots, a bit each */
    unsigned shm_alone;
    bool delete_on_close;
};

static struct tornfs_handle *handle_of(sqlite3_file *file)
{
    return (struct tornfs_handle *)file;
}

/* ---- nodes ---- */

static struct tornfs_node *node_of(struct tornfs *fs, const char *name)
{
    struct tornfs_node *n;
    size_t i;

    for (i = 0; i < fs->nodes.count; i++) {
        if (strcmp(fs->nodes.items[i]->name, name) == 0) {
            return fs->nodes.items[i];
        }
    }
    n = mem_new(1, sizeof(*n));
    n->name = mem_text(name);
    vec_push(&fs->nodes, n);
    return n;
}

static void drop_shared(struct tornfs_node *n)
{
    size_t i;

    for (i = 0; i < n->shared.count; i++) {
        mem_free(n->shared.items[i]);
    }
    vec_clear(&n->shared);
}

static void node_free(struct tornfs_node *n)
{
    drop_shared(n);
    vec_fini(&n->shared);
    vec_fini(&n->open);
    mem_free(n->name);
    mem_free(n);
}

static void leave(struct tornfs_handle *h)
{
    size_t i;

    for (i = 0; i < h->node->open.count && h->node->open.items[i] != h; i++) {
    }
    if (i < h->node->open.count) {
        vec_remove(&h->node->open, i);
    }
    if (h->node->open.count == 0) {
        drop_shared(h->node);
    }
}

/* ---- files ---- */

static int file_close(sqlite3_file *file)
{
    struct tornfs_handle *h = handle_of(file);

    leave(h);
    if (h->delete_on_close) {
        (void)torndisk_delete(h->fs->disk, h->node->name, false);
    }
    h->base.pMethods = NULL;
    return SQLITE_OK;
}

static int file_read(sqlite3_file *file, void *to, int count, sqlite3_int64 at)
{
    struct tornfs_handle *h = handle_of(file);
    size_t had = 0;

    if (torndisk_read(h->fs->disk, h->file, to, (size_t)count, at, &had) != TORNDISK_OK) {
        return SQLITE_IOERR_READ;
    }
    return had == (size_t)count ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

static int code_of(enum torndisk_rc rc, int failure)
{
    return rc == TORNDISK_OK ? SQLITE_OK : rc == TORNDISK_FULL ? SQLITE_FULL : failure;
}

static int file_write(sqlite3_file *file, const void *from, int count, sqlite3_int64 at)
{
    struct tornfs_handle *h = handle_of(file);

    return code_of(torndisk_write(h->fs->disk, h->file, from, (size_t)count, at),
                   SQLITE_IOERR_WRITE);
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    struct tornfs_handle *h = handle_of(file);

    return code_of(torndisk_truncate(h->fs->disk, h->file, size), SQLITE_IOERR_TRUNCATE);
}

static int file_sync(sqlite3_file *file, int flags)
{
    struct tornfs_handle *h = handle_of(file);

    (void)flags;
    return code_of(torndisk_sync(h->fs->disk, h->file), SQLITE_IOERR_FSYNC);
}

static int file_size(sqlite3_file *file, sqlite3_int64 *ret)
{
    *ret = torndisk_size(handle_of(file)->file);
    return SQLITE_OK;
}

/* A hint of the size reserves room in a new file only: SQLite gives hints for its own as well. */
static int file_control(sqlite3_file *file, int op, void *arg)
{
    struct tornfs_handle *h = handle_of(file);
    sqlite3_int64 bytes;

    if (op != SQLITE_FCNTL_SIZE_HINT) {
        return SQLITE_NOTFOUND;
    }
    memcpy(&bytes, arg, sizeof(bytes));
    if (torndisk_size(h->file) > 0) {
        return SQLITE_OK;
    }
    return code_of(torndisk_reserve(h->fs->disk, h->file, bytes), SQLITE_IOERR_WRITE);
}

static int file_sector(sqlite3_file *file)
{
    (void)file;
    return PAGE_BYTES;
}

static int file_traits(sqlite3_file *file)
{
    (void)file;
    return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

/* ---- locks ---- */

/* The highest lock that another connection has. */
static int level_of_others(const struct tornfs_handle *h)
{
    int level = SQLITE_LOCK_NONE;
    size_t i;

    for (i = 0; i < h->node->open.count; i++) {
        const struct tornfs_handle *o = h->node->open.items[i];

        if (o != h && o->level > level) {
            level = o->level;
        }
    }
    return level;
}

static int file_lock(sqlite3_file *file, int level)
{
    struct tornfs_handle *h = handle_of(file);
    int others = level_of_others(h);

    if (level <= h->level) {
        return SQLITE_OK;
    }
    if (others >= SQLITE_LOCK_PENDING || (level >= SQLITE_LOCK_RESERVED && others >= level) ||
        (level >= SQLITE_LOCK_RESERVED && others >= SQLITE_LOCK_RESERVED)) {
        return SQLITE_BUSY;
    }
    if (level == SQLITE_LOCK_EXCLUSIVE && others > SQLITE_LOCK_NONE) {
        h->level = SQLITE_LOCK_PENDING;
        return SQLITE_BUSY;
    }
    h->level = level;
    return SQLITE_OK;
}

static int file_unlock(sqlite3_file *file, int level)
{
    handle_of(file)->level = level;
    return SQLITE_OK;
}

static int file_check_lock(sqlite3_file *file, int *ret)
{
    struct tornfs_handle *h = handle_of(file);

    *ret = h->level >= SQLITE_LOCK_RESERVED || level_of_others(h) >= SQLITE_LOCK_RESERVED;
    return SQLITE_OK;
}

/* ---- shared memory ---- */

static int shm_map(sqlite3_file *file, int part, int size, int extend, void volatile **ret)
{
    struct tornfs_node *n = handle_of(file)->node;

    *ret = NULL;
    if (n->shared.count <= (size_t)part && !extend) {
        return SQLITE_OK;
    }
    while (n->shared.count <= (size_t)part) {
        vec_push(&n->shared, mem_new(1, (size_t)size));
    }
    *ret = n->shared.items[part];
    return SQLITE_OK;
}

static bool others_have(const struct tornfs_handle *h, unsigned mask, bool alone)
{
    size_t i;

    for (i = 0; i < h->node->open.count; i++) {
        const struct tornfs_handle *o = h->node->open.items[i];

        if (o != h && ((o->shm_alone & mask) != 0 || (alone && (o->shm_shared & mask) != 0))) {
            return true;
        }
    }
    return false;
}

static int shm_lock(sqlite3_file *file, int offset, int count, int flags)
{
    struct tornfs_handle *h = handle_of(file);
    unsigned mask = ((1U << count) - 1U) << offset;
    bool alone = (flags & SQLITE_SHM_EXCLUSIVE) != 0;

    if ((flags & SQLITE_SHM_UNLOCK) != 0) {
        h->shm_shared &= ~mask;
        h->shm_alone &= ~mask;
        return SQLITE_OK;
    }
    if (others_have(h, mask, alone)) {
        return SQLITE_BUSY;
    }
    if (alone) {
        h->shm_alone |= mask;
    } else {
        h->shm_shared |= mask;
    }
    return SQLITE_OK;
}

static void shm_barrier(sqlite3_file *file)
{
    (void)file;
}

static int shm_unmap(sqlite3_file *file, int drop)
{
    struct tornfs_handle *h = handle_of(file);

    h->shm_shared = 0;
    h->shm_alone = 0;
    if (drop && h->node->open.count == 1) {
        drop_shared(h->node);
    }
    return SQLITE_OK;
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
    .xShmMap = shm_map,
    .xShmLock = shm_lock,
    .xShmBarrier = shm_barrier,
    .xShmUnmap = shm_unmap,
};

/* ---- the file system ---- */

static struct tornfs *fs_of(sqlite3_vfs *vfs)
{
    return (struct tornfs *)vfs;
}

static int fs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *ret)
{
    struct tornfs *fs = fs_of(vfs);
    struct tornfs_handle *h = handle_of(file);
    char made[32];

    *h = (struct tornfs_handle){.fs = fs};
    if (name == NULL) { /* a file that only this connection knows */
        (void)snprintf(made, sizeof(made), "temporary-%u", (unsigned)rng_below(&fs->rng, 1 << 30));
        name = made;
    }
    h->file = torndisk_open(fs->disk, name, (flags & SQLITE_OPEN_CREATE) != 0);
    if (h->file == NULL) {
        return SQLITE_CANTOPEN;
    }
    h->node = node_of(fs, name);
    h->delete_on_close = (flags & SQLITE_OPEN_DELETEONCLOSE) != 0;
    h->base.pMethods = &METHODS;
    vec_push(&h->node->open, h);
    if (ret != NULL) {
        *ret = flags;
    }
    return SQLITE_OK;
}

static int fs_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
    struct tornfs *fs = fs_of(vfs);

    if (!torndisk_exists(fs->disk, name)) {
        return SQLITE_IOERR_DELETE_NOENT;
    }
    return torndisk_delete(fs->disk, name, sync != 0) ? SQLITE_OK : SQLITE_IOERR_DELETE;
}

static int fs_access(sqlite3_vfs *vfs, const char *name, int flags, int *ret)
{
    (void)flags;
    *ret = torndisk_exists(fs_of(vfs)->disk, name);
    return SQLITE_OK;
}

static int fs_full_name(sqlite3_vfs *vfs, const char *name, int room, char *ret)
{
    (void)vfs;
    return snprintf(ret, (size_t)room, "%s", name) < room ? SQLITE_OK : SQLITE_CANTOPEN;
}

static int fs_random(sqlite3_vfs *vfs, int count, char *ret)
{
    int i;

    for (i = 0; i < count; i++) {
        ret[i] = (char)(unsigned char)rng_below(&fs_of(vfs)->rng, 256);
    }
    return count;
}

static int fs_sleep(sqlite3_vfs *vfs, int us)
{
    (void)vfs;
    return us;
}

/* Half a day past 2020-01-01 in the Julian days that SQLite counts in, times a day's ms. */
static int fs_time(sqlite3_vfs *vfs, sqlite3_int64 *ret)
{
    (void)vfs;
    *ret = (sqlite3_int64)2458850 * 86400000;
    return SQLITE_OK;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the type is SQLite's */
static int fs_error(sqlite3_vfs *vfs, int room, char *text)
{
    (void)vfs;
    (void)room;
    (void)text;
    return 0;
}

struct tornfs *tornfs_new(const char *name, struct torndisk *disk)
{
    struct tornfs *fs = mem_new(1, sizeof(*fs));

    fs->disk = disk;
    fs->rng = rng_init(1);
    (void)snprintf(fs->name, sizeof(fs->name), "%s", name);
    fs->base = (sqlite3_vfs){
        .iVersion = 2,
        .szOsFile = (int)sizeof(struct tornfs_handle),
        .mxPathname = NAME_MAX_BYTES,
        .zName = fs->name,
        .xOpen = fs_open,
        .xDelete = fs_delete,
        .xAccess = fs_access,
        .xFullPathname = fs_full_name,
        .xRandomness = fs_random,
        .xSleep = fs_sleep,
        .xGetLastError = fs_error,
        .xCurrentTimeInt64 = fs_time,
    };
    CHECK(sqlite3_vfs_register(&fs->base, 0) == SQLITE_OK);
    return fs;
}

void tornfs_free(struct tornfs *fs)
{
    size_t i;

    if (fs == NULL) {
        return;
    }
    (void)sqlite3_vfs_unregister(&fs->base);
    for (i = 0; i < fs->nodes.count; i++) {
        CHECK(fs->nodes.items[i]->open.count == 0);
        node_free(fs->nodes.items[i]);
    }
    vec_fini(&fs->nodes);
    mem_free(fs);
}
