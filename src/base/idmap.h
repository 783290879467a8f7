/* idmap - from ids above 0 to pointers, to look them up at once; a walk in order is omap's.
 *
 * `struct idmap m = {0}` is an empty map; idmap_fini ends it.  Values are the caller's, and not
 * NULL. Ids that rise by one, as those of the core do, never meet: a look-up is one step.
 *
 * Invariants (idmap_check):
 *   1. every id is found from its own slot on, before an empty one;
 *   2. count is the number of ids, at most 7 of 8 slots.
 */
#ifndef MUSTER_BASE_IDMAP_H
#define MUSTER_BASE_IDMAP_H

#include <stddef.h>
#include <stdint.h>

struct idmap_slot {
    int64_t id; /* 0 = empty */
    void *value;
};

struct idmap {
    struct idmap_slot *slots;
    size_t room; /* slots: 0 or a power of two */
    size_t count;
};

void idmap_fini(struct idmap *m);

/* Set the value of an id that has none. */
void idmap_put(struct idmap *m, int64_t id, void *value);
/* Returns the removed value, or NULL if there was none. */
void *idmap_remove(struct idmap *m, int64_t id);
/* The value of the id, or NULL. */
void *idmap_get(const struct idmap *m, int64_t id);

/* The first invariant that does not hold, in words, or NULL. */
const char *idmap_check(const struct idmap *m);

#endif
