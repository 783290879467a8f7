/* omap - an ordered map from three integers to a pointer, for indices of the core: the order of
 * iteration is the order of the keys, whatever the order of insertion.
 *
 * `struct omap m = {0}` is an empty map; omap_fini ends it.  Keys compare by a, then b, then c; a
 * field that is not needed stays 0.  Values are the caller's.  An item stays where it is until it
 * is removed, so a walk may remove the item it stands on once it has asked for the next one. Cost:
 * put, remove and find are O(log n) expected, first and last are O(1), next O(1) amortised over a
 * walk; to put behind the last and to take away the first or the last is O(1) expected.
 *
 * Invariants (omap_check):
 *   1. the keys of a walk rise strictly;
 *   2. no item is hotter than the one above it;
 *   3. count is the number of items;
 *   4. first is the item with the least key, last the one with the greatest.
 */
#ifndef MUSTER_BASE_OMAP_H
#define MUSTER_BASE_OMAP_H

#include <stddef.h>
#include <stdint.h>

struct omap_key {
    int64_t a;
    int64_t b;
    int64_t c;
};

struct omap_item {
    struct omap_key key; /* read only */
    void *value;         /* may be set in place */
    struct omap_item *up, *left, *right;
};

struct omap {
    struct omap_item *root;
    struct omap_item *first;
    struct omap_item *last;
    size_t count;
};

void omap_fini(struct omap *m);

/* Set the value of key.  Returns the value it had, or NULL. */
void *omap_put(struct omap *m, struct omap_key key, void *value);
/* Returns the removed value, or NULL if there was none. */
void *omap_remove(struct omap *m, struct omap_key key);
/* The value of key, or NULL. */
void *omap_get(const struct omap *m, struct omap_key key);

/* The item with this key, or NULL. */
struct omap_item *omap_find(const struct omap *m, struct omap_key key);
/* The first item whose key is not below key, or NULL. */
struct omap_item *omap_lower_bound(const struct omap *m, struct omap_key key);
struct omap_item *omap_first(const struct omap *m);
struct omap_item *omap_last(const struct omap *m);
struct omap_item *omap_next(const struct omap_item *item);
struct omap_item *omap_prev(const struct omap_item *item);

/* Below 0, 0 or above 0 as a is below, equal to or above b. */
int omap_key_cmp(struct omap_key a, struct omap_key b);

/* The first invariant that does not hold, in words, or NULL. */
const char *omap_check(const struct omap *m);

#endif
