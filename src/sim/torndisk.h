/* torndisk - a disk in memory that keeps apart what was written and what is safe, and fails on
 * demand.
 *
 * A file has two contents: what a program reads back, and what would be left after a power cut.
 * A change goes to the first at once and waits for a sync (or chance) to reach the second.  At a
 * crash every change that waits is kept, dropped, or torn: some of its sectors, and of one sector
 * a first part.  Of two changes of one place the older never lands on the newer, as in a page
 * cache; across places and files any order is possible.  A file whose deletion was not synced may
 * come back.
 *
 * Changes (writes, truncations, syncs, deletions) are counted, and a fault is armed for the n-th
 * from now on.  All chance comes from one seed.
 */
#ifndef MUSTER_SIM_TORNDISK_H
#define MUSTER_SIM_TORNDISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TORNDISK_SECTOR 512

enum torndisk_rc { TORNDISK_OK, TORNDISK_ERROR, TORNDISK_FULL };

enum torndisk_fault {
    TORNDISK_NO_FAULT,
    TORNDISK_CRASH, /* the power goes: nothing changes any more until torndisk_revive */
    TORNDISK_EIO,   /* the change fails, a write perhaps after a part of it */
    TORNDISK_SYNC,  /* the next sync fails, and what it should have saved is saved or will never be
                     */
};

struct torndisk;
struct torndisk_file; /* by name; stays until it is deleted for good */

struct torndisk *torndisk_new(uint64_t seed);
void torndisk_free(struct torndisk *d);

/* The after-th change from now (1 = the next) meets the fault, and so do the count - 1 behind it.
 */
void torndisk_arm(struct torndisk *d, enum torndisk_fault fault, int64_t after, int64_t count);
void torndisk_disarm(struct torndisk *d);
/* May a change fail now?  Armed, or with an end of its room. */
bool torndisk_may_fail(const struct torndisk *d);
/* Reads fail (true) or work again. */
void torndisk_set_unreadable(struct torndisk *d, bool unreadable);
/* So many bytes for all files together; -1 = endless. */
void torndisk_set_room(struct torndisk *d, int64_t bytes);
int64_t torndisk_used_bytes(const struct torndisk *d);
int64_t torndisk_changes(const struct torndisk *d); /* so far */
int64_t torndisk_faults(const struct torndisk *d);  /* met so far */
bool torndisk_is_dead(const struct torndisk *d);
/* The power is back: what survived is all there is.  Nobody may have a file open. */
void torndisk_revive(struct torndisk *d);
/* All that waits is safe now, deletions too. */
void torndisk_flush(struct torndisk *d);
/* Everything is again as it is safe, and the power is on: what waits never was. */
void torndisk_rewind(struct torndisk *d);
/* The power goes now, between two changes. */
void torndisk_crash(struct torndisk *d);

/* NULL: there is none and it was not to be made. */
struct torndisk_file *torndisk_open(struct torndisk *d, const char *name, bool make);
bool torndisk_exists(const struct torndisk *d, const char *name);
/* False: the disk refused. */
bool torndisk_delete(struct torndisk *d, const char *name, bool synced);

int64_t torndisk_size(const struct torndisk_file *f);
/* Fill ret; what lies beyond the end is 0.  *ret_len is how much there was. */
enum torndisk_rc torndisk_read(struct torndisk *d, const struct torndisk_file *f, void *ret,
                               size_t len, int64_t at, size_t *ret_len);
enum torndisk_rc torndisk_write(struct torndisk *d, struct torndisk_file *f, const void *bytes,
                                size_t len, int64_t at);
enum torndisk_rc torndisk_truncate(struct torndisk *d, struct torndisk_file *f, int64_t size);
enum torndisk_rc torndisk_sync(struct torndisk *d, struct torndisk_file *f);
/* Zeros up to size, if there is room. */
enum torndisk_rc torndisk_reserve(struct torndisk *d, struct torndisk_file *f, int64_t size);

/* A bit of a file turns, as if it had always been so. */
void torndisk_flip(struct torndisk_file *f, int64_t byte, int bit);

#endif
