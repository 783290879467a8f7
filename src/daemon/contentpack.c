/* One file an entry was tried first: a submission then costs a file made, written and renamed, and
 * one sync has hundreds of files to care for.  An index on disk was not: walking a million entries
 * takes less than a second, once a start.
 *
 * The index is a hash table with open addressing.  Its key is the start of the digest, which is as
 * good as random; who makes two texts with the same start gains nothing, as the whole digest in the
 * entry is compared.  Nothing is ever removed. */
#include "daemon/contentpack.h"

#include "base/check.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENTRY_MAX  ((uint64_t)1 << 30)
#define SLOTS_MIN  1024
#define FRESH_MAX  ((size_t)1 << 20)
#define ROOM_BYTES ((uint64_t)64 << 10) /* reserved at a time */
#define HEAD_BYTES sizeof(struct head)

static const char MAGIC[8] = {'m', 'u', 's', 't', 'e', 'r', '1', '\n'};

struct head {
    char magic[8];
    unsigned char len[8];
    unsigned char digest[HASH_BYTES];
};

struct slot {
    uint64_t key;
    uint64_t at; /* of the entry in the file, + 1; 0 = empty */
};

struct contentpack {
    int fd;
    char *path;
    uint64_t end;     /* of the file */
    uint64_t room;    /* up to here it may grow without more of the disk; UINT64_MAX = not known */
    struct str fresh; /* what comes behind it */
    struct slot *slots;
    size_t slot_count; /* a power of two */
    size_t used;
};

static int io_error(const struct contentpack *p, struct err *err)
{
    bool full = errno == ENOSPC || errno == EDQUOT;

    return err_set(err, full ? ERR_DISK_FULL : ERR_IO, "%s: %s", p->path, strerror(errno));
}

static uint64_t head_len(const struct head *h)
{
    uint64_t len = 0;

    for (size_t i = sizeof(h->len); i > 0; i--) {
        len = len << 8 | h->len[i - 1];
    }
    return len;
}

/* ---- the index ---- */

static uint64_t key_of(const unsigned char digest[HASH_BYTES])
{
    uint64_t key;

    memcpy(&key, digest, sizeof(key));
    return key;
}

static void place(struct slot *slots, size_t count, const struct slot *slot)
{
    size_t i = (size_t)slot->key & (count - 1);

    while (slots[i].at != 0) {
        i = (i + 1) & (count - 1);
    }
    slots[i] = *slot;
}

static void index_add(struct contentpack *p, const unsigned char digest[HASH_BYTES], uint64_t at)
{
    const struct slot slot = {key_of(digest), at + 1};

    if ((p->used + 1) * 3 > p->slot_count * 2) {
        size_t count = p->slot_count == 0 ? SLOTS_MIN : p->slot_count * 2;
        struct slot *slots = mem_new(count, sizeof(*slots));

        for (size_t i = 0; i < p->slot_count; i++) {
            if (p->slots[i].at != 0) {
                place(slots, count, &p->slots[i]);
            }
        }
        mem_free(p->slots);
        p->slots = slots;
        p->slot_count = count;
    }
    place(p->slots, p->slot_count, &slot);
    p->used++;
}

/* No entry lies on both sides of the file's end. */
static bool read_at(const struct contentpack *p, void *ret, size_t len, uint64_t at)
{
    if (at >= p->end) {
        CHECK(at - p->end <= p->fresh.len && len <= p->fresh.len - (at - p->end));
        memcpy(ret, p->fresh.text + (at - p->end), len);
        return true;
    }
    return pread(p->fd, ret, len, (off_t)at) == (ssize_t)len;
}

/* The head of the entry and where it begins.  ERR_NOT_FOUND has no text: it is the usual case. */
static int find(const struct contentpack *p, const unsigned char digest[HASH_BYTES],
                struct head *ret, uint64_t *ret_at, struct err *err)
{
    size_t mask = p->slot_count - 1;
    uint64_t key = key_of(digest);

    for (size_t i = (size_t)key & mask; p->slot_count > 0 && p->slots[i].at != 0;
         i = (i + 1) & mask) {
        const struct slot *slot = &p->slots[i];

        if (slot->key != key) {
            continue;
        }
        if (!read_at(p, ret, HEAD_BYTES, slot->at - 1)) {
            return io_error(p, err);
        }
        if (memcmp(ret->digest, digest, HASH_BYTES) == 0) {
            *ret_at = slot->at - 1;
            return 0;
        }
    }
    return ERR_NOT_FOUND;
}

/* ---- opening ---- */

/* Does what lies at `at` look like a whole entry? */
static bool is_entry(const char *map, uint64_t end, uint64_t at, struct head *ret)
{
    if (end - at < HEAD_BYTES) {
        return false;
    }
    memcpy(ret, map + at, HEAD_BYTES);
    return memcmp(ret->magic, MAGIC, sizeof(MAGIC)) == 0 && head_len(ret) <= ENTRY_MAX &&
           head_len(ret) <= end - at - HEAD_BYTES;
}

static bool is_proven(const char *map, uint64_t at, const struct head *head)
{
    unsigned char digest[HASH_BYTES];

    hash_sha256(map + at + HEAD_BYTES, (size_t)head_len(head), digest);
    return memcmp(digest, head->digest, HASH_BYTES) == 0;
}

/* An entry that another follows is believed.  The last one, one before or behind what is none:
 * their bytes must prove them, as what a crash cut reaches into the entries that came later. */
static void walk(struct contentpack *p, const char *map)
{
    struct head head;
    struct head next;
    uint64_t at = 0;
    bool doubt = false;

    while (at < p->end) {
        bool good = is_entry(map, p->end, at, &head);
        uint64_t behind = good ? at + HEAD_BYTES + head_len(&head) : at;
        const char *found;

        if (good && (doubt || !is_entry(map, p->end, behind, &next))) {
            good = is_proven(map, at, &head);
        }
        doubt = !good;
        if (good) {
            index_add(p, head.digest, at);
            at = behind;
            continue;
        }
        found = memmem(map + at + 1, (size_t)(p->end - at - 1), MAGIC, sizeof(MAGIC));
        if (found == NULL) {
            return;
        }
        at = (uint64_t)(found - map);
    }
}

static int read_index(struct contentpack *p, struct err *err)
{
    struct stat st;
    void *map;

    if (fstat(p->fd, &st) != 0) {
        return io_error(p, err);
    }
    p->end = (uint64_t)st.st_size;
    if (p->end == 0) {
        return 0;
    }
    map = mmap(NULL, (size_t)p->end, PROT_READ, MAP_PRIVATE, p->fd, 0);
    if (map == MAP_FAILED) {
        return io_error(p, err);
    }
    walk(p, map);
    munmap(map, (size_t)p->end);
    return 0;
}

int contentpack_open(int dir, const char *name, const char *path, struct contentpack **ret,
                     struct err *err)
{
    struct contentpack *p = mem_new(1, sizeof(*p));
    struct str s = {0};
    int rc = 0;

    str_addf(&s, "%s/%s", path, name);
    p->path = str_take(&s);
    p->fd = openat(dir, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (p->fd < 0 || fsync(dir) != 0) { /* the file itself is there from now on */
        rc = io_error(p, err);
    } else {
        rc = read_index(p, err);
    }
    if (rc != 0) {
        contentpack_close(p);
        return rc;
    }
    *ret = p;
    return 0;
}

void contentpack_close(struct contentpack *p)
{
    if (p == NULL) {
        return;
    }
    if (p->fd >= 0) {
        (void)!contentpack_flush(p, NULL); /* what a record names was written before it */
        close(p->fd);
    }
    str_fini(&p->fresh);
    mem_free(p->slots);
    mem_free(p->path);
    mem_free(p);
}

int contentpack_fd(const struct contentpack *p)
{
    return p->fd;
}

/* ---- entries ---- */

int contentpack_flush(struct contentpack *p, struct err *err)
{
    ssize_t n;
    int rc;

    if (p->fresh.len == 0) {
        return 0;
    }
    n = pwrite(p->fd, p->fresh.text, p->fresh.len, (off_t)p->end);
    if (n == (ssize_t)p->fresh.len) {
        p->end += (uint64_t)n;
        str_clear(&p->fresh);
        return 0;
    }
    errno = n >= 0 ? ENOSPC : errno; /* a part of it was written: the next byte had no room */
    rc = io_error(p, err);
    if (ftruncate(p->fd, (off_t)p->end) != 0) {
        return rc; /* the part stays, and is written over the next time */
    }
    return rc;
}

/* A full disk is told by contentpack_put, before anything rests on the entry: when it is written,
 * its place is its own already. */
static int reserve(struct contentpack *p, uint64_t end, struct err *err)
{
    if (end <= p->room) {
        return 0;
    }
    for (int more = 1; more >= 0; more--) {
        uint64_t room = end + (more > 0 ? ROOM_BYTES : 0);

        if (fallocate(p->fd, FALLOC_FL_KEEP_SIZE, (off_t)p->end, (off_t)(room - p->end)) == 0) {
            p->room = room;
            return 0;
        }
    }
    if (errno == ENOSPC || errno == EDQUOT) {
        return io_error(p, err);
    }
    p->room = UINT64_MAX; /* not every file system can */
    return 0;
}

int contentpack_put(struct contentpack *p, const unsigned char digest[HASH_BYTES],
                    const char *bytes, size_t len, bool *ret_new, struct err *err)
{
    struct head head;
    uint64_t at = p->end;
    int rc = find(p, digest, &head, &at, err);

    CHECK(len <= ENTRY_MAX);
    if (rc != ERR_NOT_FOUND) {
        *ret_new = false;
        return rc;
    }
    if (p->fresh.len + HEAD_BYTES + len > FRESH_MAX) {
        rc = contentpack_flush(p, err);
        if (rc != 0) {
            return rc;
        }
    }
    at = p->end + p->fresh.len;
    rc = reserve(p, at + HEAD_BYTES + len, err);
    if (rc != 0) {
        return rc;
    }
    memcpy(head.magic, MAGIC, sizeof(MAGIC));
    for (size_t i = 0; i < sizeof(head.len); i++) {
        head.len[i] = (unsigned char)((uint64_t)len >> (8 * i));
    }
    memcpy(head.digest, digest, HASH_BYTES);
    str_add_n(&p->fresh, (const char *)&head, HEAD_BYTES);
    str_add_n(&p->fresh, bytes, len);
    index_add(p, digest, at);
    *ret_new = true;
    return 0;
}

int contentpack_get(struct contentpack *p, const unsigned char digest[HASH_BYTES], struct str *ret,
                    struct err *err)
{
    CLEANUP(mem_freep) char *bytes = NULL;
    unsigned char found[HASH_BYTES];
    struct head head;
    uint64_t at = 0;
    size_t len;
    int rc = find(p, digest, &head, &at, err);

    if (rc == ERR_NOT_FOUND) {
        return err_set(err, ERR_NOT_FOUND, "%s has no such entry", p->path);
    }
    if (rc != 0) {
        return rc;
    }
    len = (size_t)head_len(&head);
    bytes = mem_new(len + 1, 1);
    if (!read_at(p, bytes, len, at + HEAD_BYTES)) {
        return io_error(p, err);
    }
    hash_sha256(bytes, len, found);
    if (memcmp(found, digest, HASH_BYTES) != 0) {
        return err_set(err, ERR_IO, "%s: the entry at byte %llu is damaged", p->path,
                       (unsigned long long)at);
    }
    str_add_n(ret, bytes, len);
    return 0;
}
