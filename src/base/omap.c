/* A treap whose heat is a mix of the key: a tree that is ordered by key from left to right and by
 * heat from top to bottom.  Its shape depends on the keys alone, not on history or on a random
 * source, so two machines that hold the same keys walk the same tree.  AVL and red-black trees were
 * rejected for their length, a skip list because it needs a random source. */
#include "base/omap.h"

#include "base/mem.h"

#include <stdbool.h>

static int cmp_int(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

int omap_key_cmp(struct omap_key a, struct omap_key b)
{
    int order = cmp_int(a.a, b.a);

    if (order == 0) {
        order = cmp_int(a.b, b.b);
    }
    return order != 0 ? order : cmp_int(a.c, b.c);
}

/* The finish of splitmix64: neighbouring keys get heats that have nothing to do with each other. It
 * is cheaper to compute again than to keep: an item is a cache line. */
static uint64_t heat_of(struct omap_key key)
{
    uint64_t z = (uint64_t)key.a + (uint64_t)key.b * 0x9e3779b97f4a7c15U +
                 (uint64_t)key.c * 0xd1342543de82ef95U;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

static bool is_hotter(const struct omap_item *a, const struct omap_item *b)
{
    return heat_of(a->key) > heat_of(b->key);
}

static struct omap_item *leftmost(struct omap_item *item)
{
    while (item != NULL && item->left != NULL) {
        item = item->left;
    }
    return item;
}

static struct omap_item *rightmost(struct omap_item *item)
{
    while (item != NULL && item->right != NULL) {
        item = item->right;
    }
    return item;
}

/* Is key behind all that there is?  Ids and times rise, so most new items are. */
static bool is_behind(const struct omap *m, struct omap_key key)
{
    return m->last == NULL || omap_key_cmp(key, m->last->key) > 0;
}

/* Put item where old hangs; item may be NULL. */
static void replace(struct omap *m, struct omap_item *old, struct omap_item *item)
{
    if (old->up == NULL) {
        m->root = item;
    } else if (old->up->left == old) {
        old->up->left = item;
    } else {
        old->up->right = item;
    }
    if (item != NULL) {
        item->up = old->up;
    }
}

/* Turn item and the one above it, so that item is above. */
static void rise(struct omap *m, struct omap_item *item)
{
    struct omap_item *above = item->up;
    struct omap_item *inner;

    replace(m, above, item);
    if (above->left == item) {
        inner = item->right;
        above->left = inner;
        item->right = above;
    } else {
        inner = item->left;
        above->right = inner;
        item->left = above;
    }
    above->up = item;
    if (inner != NULL) {
        inner->up = above;
    }
}

void omap_fini(struct omap *m)
{
    struct omap_item *item = m->root;

    /* From the leaves up, without recursion: the depth is the input's. */
    while (item != NULL) {
        struct omap_item *next = item->left != NULL ? item->left : item->right;

        if (next == NULL) {
            next = item->up;
            replace(m, item, NULL);
            mem_free(item);
        }
        item = next;
    }
    *m = (struct omap){0};
}

void *omap_put(struct omap *m, struct omap_key key, void *value)
{
    bool behind = is_behind(m, key);
    struct omap_item *above = behind ? m->last : NULL;
    struct omap_item **at = behind && above != NULL ? &above->right : &m->root;
    struct omap_item *item;

    while (*at != NULL) {
        int order = omap_key_cmp(key, (*at)->key);

        if (order == 0) {
            void *old = (*at)->value;

            (*at)->value = value;
            return old;
        }
        above = *at;
        at = order < 0 ? &above->left : &above->right;
    }
    item = mem_resize(NULL, 1, sizeof(*item));
    *item = (struct omap_item){.key = key, .value = value, .up = above};
    *at = item;
    m->count++;
    if (m->first == NULL || omap_key_cmp(key, m->first->key) < 0) {
        m->first = item;
    }
    if (behind) {
        m->last = item;
    }
    while (item->up != NULL && is_hotter(item, item->up)) {
        rise(m, item);
    }
    return NULL;
}

void *omap_remove(struct omap *m, struct omap_key key)
{
    struct omap_item *item = omap_find(m, key);
    void *value;

    if (item == NULL) {
        return NULL;
    }
    if (item == m->first) {
        m->first = omap_next(item);
    }
    if (item == m->last) {
        m->last = omap_prev(item);
    }
    while (item->left != NULL && item->right != NULL) {
        rise(m, is_hotter(item->left, item->right) ? item->left : item->right);
    }
    replace(m, item, item->left != NULL ? item->left : item->right);
    value = item->value;
    mem_free(item);
    m->count--;
    return value;
}

void *omap_get(const struct omap *m, struct omap_key key)
{
    const struct omap_item *item = omap_find(m, key);

    return item != NULL ? item->value : NULL;
}

struct omap_item *omap_find(const struct omap *m, struct omap_key key)
{
    struct omap_item *item = m->root;
    int order;

    if (item == NULL || is_behind(m, key)) {
        return NULL;
    }
    order = omap_key_cmp(key, m->first->key);
    if (order <= 0) { /* what is oldest is looked for, and goes, most often */
        return order == 0 ? m->first : NULL;
    }
    while (item != NULL) {
        order = omap_key_cmp(key, item->key);
        if (order == 0) {
            break;
        }
        item = order < 0 ? item->left : item->right;
    }
    return item;
}

struct omap_item *omap_lower_bound(const struct omap *m, struct omap_key key)
{
    struct omap_item *item = m->root;
    struct omap_item *best = NULL;

    while (item != NULL) {
        if (omap_key_cmp(item->key, key) >= 0) {
            best = item;
            item = item->left;
        } else {
            item = item->right;
        }
    }
    return best;
}

struct omap_item *omap_first(const struct omap *m)
{
    return m->first;
}

struct omap_item *omap_last(const struct omap *m)
{
    return m->last;
}

struct omap_item *omap_next(const struct omap_item *item)
{
    if (item->right != NULL) {
        return leftmost(item->right);
    }
    while (item->up != NULL && item->up->right == item) {
        item = item->up;
    }
    return item->up;
}

struct omap_item *omap_prev(const struct omap_item *item)
{
    if (item->left != NULL) {
        return rightmost(item->left);
    }
    while (item->up != NULL && item->up->left == item) {
        item = item->up;
    }
    return item->up;
}

const char *omap_check(const struct omap *m)
{
    const struct omap_item *last = NULL;
    size_t count = 0;

    for (const struct omap_item *i = leftmost(m->root); i != NULL; i = omap_next(i)) {
        if (last != NULL && omap_key_cmp(last->key, i->key) >= 0) {
            return "the keys of a walk rise strictly";
        }
        if (i->up != NULL && is_hotter(i, i->up)) {
            return "no item is hotter than the one above it";
        }
        last = i;
        count++;
    }
    if (count != m->count) {
        return "count is the number of items";
    }
    if (m->last != last) {
        return "last is the item with the greatest key";
    }
    return m->first == leftmost(m->root) ? NULL : "first is the item with the least key";
}
