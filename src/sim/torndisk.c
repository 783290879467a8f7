/* torndisk - two contents a file and, between them, the list of changes that wait.
 *
 * The bytes of the changes that wait lie in one buffer a file, which a sync empties, so that a
 * commit costs two copies and no allocation.
 */
#include "sim/torndisk.h"

#include "base/check.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/vec.h"

#include <string.h>

struct bytes {
    unsigned char *items;
    size_t len;
    size_t room;
};

struct change {
    bool truncates; /* to `at` */
    int64_t at;
    size_t len;
    size_t offset; /* in the file's buffer */
};

struct torndisk_file {
    char *name;
    bool deleted; /* and the deletion may not survive */
    struct bytes now;
    struct bytes safe;
    VEC(struct change) waiting;
    struct bytes buffer;
};

struct torndisk {
    VEC(struct torndisk_file *) files;
    struct rng rng;
    enum torndisk_fault fault;
    int64_t after; /* changes until the first that meets it */
    int64_t count; /* how many meet it */
    int64_t changes;
    int64_t faults;
    int64_t room_bytes;
    bool dead;
    bool unreadable;
};

/* ---- bytes ---- */

static void bytes_set_len(struct bytes *b, size_t len)
{
    if (len > b->room) {
        b->room = len > b->room * 2 ? len : b->room * 2;
        b->items = mem_resize(b->items, b->room, 1);
    }
    if (len > b->len) {
        memset(b->items + b->len, 0, len - b->len);
    }
    b->len = len;
}

static void bytes_put(struct bytes *b, size_t at, const void *from, size_t len)
{
    if (len == 0) {
        return;
    }
    if (at + len > b->len) {
        bytes_set_len(b, at + len);
    }
    memcpy(b->items + at, from, len);
}

static void bytes_copy(struct bytes *to, const struct bytes *from)
{
    to->len = 0;
    bytes_put(to, 0, from->items, from->len);
}

static void bytes_fini(struct bytes *b)
{
    mem_free(b->items);
}

/* ---- the disk ---- */

struct torndisk *torndisk_new(uint64_t seed)
{
    struct torndisk *d = mem_new(1, sizeof(*d));

    d->rng = rng_init(seed);
    d->room_bytes = -1;
    return d;
}

static void file_free(struct torndisk_file *f)
{
    bytes_fini(&f->now);
    bytes_fini(&f->safe);
    bytes_fini(&f->buffer);
    vec_fini(&f->waiting);
    mem_free(f->name);
    mem_free(f);
}

void torndisk_free(struct torndisk *d)
{
    size_t i;

    for (i = 0; i < d->files.count; i++) {
        file_free(d->files.items[i]);
    }
    vec_fini(&d->files);
    mem_free(d);
}

void torndisk_arm(struct torndisk *d, enum torndisk_fault fault, int64_t after, int64_t count)
{
    d->fault = fault;
    d->after = after;
    d->count = count;
}

void torndisk_disarm(struct torndisk *d)
{
    d->fault = TORNDISK_NO_FAULT;
}

bool torndisk_may_fail(const struct torndisk *d)
{
    return d->fault != TORNDISK_NO_FAULT || d->room_bytes >= 0;
}

void torndisk_set_unreadable(struct torndisk *d, bool unreadable)
{
    d->unreadable = unreadable;
}

void torndisk_set_room(struct torndisk *d, int64_t bytes)
{
    d->room_bytes = bytes;
}

int64_t torndisk_used_bytes(const struct torndisk *d)
{
    int64_t sum = 0;
    size_t i;

    for (i = 0; i < d->files.count; i++) {
        sum += d->files.items[i]->deleted ? 0 : (int64_t)d->files.items[i]->now.len;
    }
    return sum;
}

int64_t torndisk_changes(const struct torndisk *d)
{
    return d->changes;
}

int64_t torndisk_faults(const struct torndisk *d)
{
    return d->faults;
}

bool torndisk_is_dead(const struct torndisk *d)
{
    return d->dead;
}

void torndisk_crash(struct torndisk *d)
{
    d->dead = true;
    d->fault = TORNDISK_NO_FAULT;
}

/* The fault that this change meets.  A crash comes while the change is being made. */
static enum torndisk_fault meets(struct torndisk *d, bool is_sync)
{
    enum torndisk_fault fault = d->fault;

    d->changes++;
    if (fault == TORNDISK_NO_FAULT || (fault == TORNDISK_SYNC && !is_sync) || --d->after > 0) {
        return TORNDISK_NO_FAULT;
    }
    d->faults++;
    if (--d->count <= 0) {
        d->fault = TORNDISK_NO_FAULT;
    }
    return fault;
}

/* ---- files ---- */

static struct torndisk_file *file_of(const struct torndisk *d, const char *name)
{
    size_t i;

    for (i = 0; i < d->files.count; i++) {
        if (strcmp(d->files.items[i]->name, name) == 0) {
            return d->files.items[i];
        }
    }
    return NULL;
}

struct torndisk_file *torndisk_open(struct torndisk *d, const char *name, bool make)
{
    struct torndisk_file *f = file_of(d, name);

    if (f != NULL && !f->deleted) {
        return f;
    }
    if (!make || d->dead) {
        return NULL;
    }
    if (f == NULL) {
        f = mem_new(1, sizeof(*f));
        f->name = mem_text(name);
        vec_push(&d->files, f);
    }
    f->deleted = false; /* what was safe of the old one is truncated by a change that waits */
    return f;
}

bool torndisk_exists(const struct torndisk *d, const char *name)
{
    const struct torndisk_file *f = file_of(d, name);

    return f != NULL && !f->deleted;
}

int64_t torndisk_size(const struct torndisk_file *f)
{
    return (int64_t)f->now.len;
}

static void forget(struct torndisk *d, struct torndisk_file *f)
{
    size_t i;

    for (i = 0; d->files.items[i] != f; i++) {
    }
    vec_remove(&d->files, i);
    file_free(f);
}

static void wait_for_sync(struct torndisk_file *f, struct change change, const void *bytes)
{
    change.offset = f->buffer.len;
    bytes_put(&f->buffer, f->buffer.len, bytes, change.truncates ? 0 : change.len);
    vec_push(&f->waiting, change);
}

bool torndisk_delete(struct torndisk *d, const char *name, bool synced)
{
    struct torndisk_file *f = file_of(d, name);
    enum torndisk_fault fault;

    if (f == NULL || f->deleted) {
        return false;
    }
    fault = d->dead ? TORNDISK_EIO : meets(d, false);
    if (fault == TORNDISK_EIO || fault == TORNDISK_SYNC) {
        return false;
    }
    if (synced && fault != TORNDISK_CRASH) {
        forget(d, f);
        return true;
    }
    f->deleted = true;
    f->now.len = 0;
    wait_for_sync(f, (struct change){.truncates = true}, NULL);
    if (fault == TORNDISK_CRASH) {
        torndisk_crash(d);
    }
    return fault != TORNDISK_CRASH;
}

/* ---- contents ---- */

enum torndisk_rc torndisk_read(struct torndisk *d, const struct torndisk_file *f, void *ret,
                               size_t len, int64_t at, size_t *ret_len)
{
    size_t from = (size_t)at;
    size_t have = from < f->now.len ? f->now.len - from : 0;

    if (d->unreadable) {
        d->faults++;
        return TORNDISK_ERROR;
    }
    have = have < len ? have : len;
    if (have > 0) {
        memcpy(ret, f->now.items + from, have);
    }
    memset((unsigned char *)ret + have, 0, len - have);
    *ret_len = have;
    return TORNDISK_OK;
}

/* How much of a write at `at` the disk has room for. */
static size_t room_for(const struct torndisk *d, const struct torndisk_file *f, int64_t at,
                       size_t len)
{
    int64_t grows = at + (int64_t)len - (int64_t)f->now.len;
    int64_t left = d->room_bytes - torndisk_used_bytes(d);

    if (d->room_bytes < 0 || grows <= 0 || grows <= left) {
        return len;
    }
    left = left > 0 ? left : 0;
    return grows - left < (int64_t)len ? len - (size_t)(grows - left) : 0;
}

static void write_now(struct torndisk_file *f, const void *bytes, size_t len, int64_t at)
{
    bytes_put(&f->now, (size_t)at, bytes, len);
    wait_for_sync(f, (struct change){.at = at, .len = len}, bytes);
}

enum torndisk_rc torndisk_write(struct torndisk *d, struct torndisk_file *f, const void *bytes,
                                size_t len, int64_t at)
{
    enum torndisk_fault fault;
    size_t part = len;

    if (d->dead) {
        return TORNDISK_ERROR;
    }
    fault = meets(d, false);
    if (fault == TORNDISK_EIO) {
        part = (size_t)rng_below(&d->rng, len + 1);
    }
    part = room_for(d, f, at, part) < part ? room_for(d, f, at, part) : part;
    if (part > 0) {
        write_now(f, bytes, part, at);
    }
    if (fault == TORNDISK_CRASH) {
        torndisk_crash(d);
    }
    if (fault != TORNDISK_NO_FAULT) {
        return TORNDISK_ERROR;
    }
    if (part < len) {
        d->faults++;
        return TORNDISK_FULL;
    }
    return TORNDISK_OK;
}

enum torndisk_rc torndisk_truncate(struct torndisk *d, struct torndisk_file *f, int64_t size)
{
    enum torndisk_fault fault = d->dead ? TORNDISK_EIO : meets(d, false);

    if (fault == TORNDISK_EIO) {
        return TORNDISK_ERROR;
    }
    bytes_set_len(&f->now, (size_t)size);
    wait_for_sync(f, (struct change){.truncates = true, .at = size}, NULL);
    if (fault == TORNDISK_CRASH) {
        torndisk_crash(d);
        return TORNDISK_ERROR;
    }
    return TORNDISK_OK;
}

enum torndisk_rc torndisk_reserve(struct torndisk *d, struct torndisk_file *f, int64_t size)
{
    size_t grows = size > (int64_t)f->now.len ? (size_t)size - f->now.len : 0;

    if (d->dead) {
        return TORNDISK_ERROR;
    }
    if (room_for(d, f, (int64_t)f->now.len, grows) < grows) {
        d->faults++;
        return TORNDISK_FULL;
    }
    return grows > 0 ? torndisk_truncate(d, f, size) : TORNDISK_OK;
}

static void apply_whole(struct torndisk_file *f, const struct change *c)
{
    if (c->truncates) {
        bytes_set_len(&f->safe, (size_t)c->at);
    } else {
        bytes_put(&f->safe, (size_t)c->at, f->buffer.items + c->offset, c->len);
    }
}

static void settle(struct torndisk_file *f)
{
    vec_clear(&f->waiting);
    f->buffer.len = 0;
}

enum torndisk_rc torndisk_sync(struct torndisk *d, struct torndisk_file *f)
{
    enum torndisk_fault fault = d->dead ? TORNDISK_CRASH : meets(d, true);
    bool fails = fault == TORNDISK_EIO || fault == TORNDISK_SYNC;
    size_t i;

    if (fault == TORNDISK_CRASH) {
        torndisk_crash(d);
        return TORNDISK_ERROR;
    }
    for (i = 0; i < f->waiting.count; i++) {
        if (!fails || rng_below(&d->rng, 2) == 0) {
            apply_whole(f, &f->waiting.items[i]);
        }
    }
    settle(f); /* what a failed sync did not save is clean for the system: no later one saves it */
    return fails ? TORNDISK_ERROR : TORNDISK_OK;
}

void torndisk_flush(struct torndisk *d)
{
    size_t i, k;

    for (i = d->files.count; i-- > 0;) {
        struct torndisk_file *f = d->files.items[i];

        for (k = 0; k < f->waiting.count; k++) {
            apply_whole(f, &f->waiting.items[k]);
        }
        settle(f);
        if (f->deleted) {
            forget(d, f);
        }
    }
}

void torndisk_rewind(struct torndisk *d)
{
    size_t i;

    for (i = d->files.count; i-- > 0;) {
        struct torndisk_file *f = d->files.items[i];

        settle(f);
        f->deleted = false;
        if (f->safe.len == 0) {
            forget(d, f); /* it was not there */
        } else {
            bytes_copy(&f->now, &f->safe);
        }
    }
    d->dead = false;
}

/* ---- the crash ---- */

/* Some sectors of the change, and of the last of them perhaps only a first part. */
static void apply_torn(struct torndisk *d, struct torndisk_file *f, const struct change *c)
{
    int64_t at = c->at;
    int64_t end = c->at + (int64_t)c->len;

    if (c->truncates) {
        return;
    }
    while (at < end) {
        int64_t next = (at / TORNDISK_SECTOR + 1) * TORNDISK_SECTOR;
        size_t len = (size_t)((next < end ? next : end) - at);
        uint64_t fate = rng_below(&d->rng, 8);

        if (fate == 0) {
            len = (size_t)rng_below(&d->rng, len + 1);
        }
        if (fate < 5) {
            bytes_put(&f->safe, (size_t)at, f->buffer.items + c->offset + (at - c->at), len);
        }
        at = next;
    }
}

enum mood { KEEP_ALL, DROP_ALL, PREFIX, ANY, MOODS };

static void survive(struct torndisk *d, struct torndisk_file *f, enum mood mood)
{
    size_t kept = mood == PREFIX ? (size_t)rng_below(&d->rng, f->waiting.count + 1)
                                 : (mood == KEEP_ALL ? f->waiting.count : 0);
    size_t i;

    for (i = 0; i < f->waiting.count; i++) {
        uint64_t fate = rng_below(&d->rng, 3);

        if (i < kept || (mood == ANY && fate == 0)) {
            apply_whole(f, &f->waiting.items[i]);
        } else if ((mood == PREFIX && i == kept) || (mood == ANY && fate == 1)) {
            apply_torn(d, f, &f->waiting.items[i]);
        }
    }
    settle(f);
    bytes_copy(&f->now, &f->safe);
}

void torndisk_revive(struct torndisk *d)
{
    enum mood mood = (enum mood)rng_below(&d->rng, MOODS);
    size_t i;

    for (i = d->files.count; i-- > 0;) {
        struct torndisk_file *f = d->files.items[i];

        if (f->deleted && rng_below(&d->rng, 2) == 0) {
            forget(d, f);
            continue;
        }
        if (f->deleted) { /* the deletion did not reach the disk, nor did what came before it */
            f->deleted = false;
            vec_clear(&f->waiting);
        }
        survive(d, f, mood);
    }
    d->dead = false;
    d->unreadable = false;
    d->fault = TORNDISK_NO_FAULT;
}

void torndisk_flip(struct torndisk_file *f, int64_t byte, int bit)
{
    CHECK(byte >= 0 && byte < (int64_t)f->now.len);
    f->now.items[byte] ^= (unsigned char)(1U << bit);
    if (byte < (int64_t)f->safe.len) {
        f->safe.items[byte] ^= (unsigned char)(1U << bit);
    }
}
