/* Open addressing with linear probing; an id's own slot is its last bits, so that a row of ids lies
 * in a row of slots.  What is removed leaves no mark: those behind it move up. */
#include "base/idmap.h"

#include "base/check.h"
#include "base/mem.h"

#define ROOM_MIN ((size_t)16)

static size_t own_slot(const struct idmap *m, int64_t id)
{
    return (size_t)id & (m->room - 1);
}

/* Where the id is, or the empty slot where it would go. */
static size_t find(const struct idmap *m, int64_t id)
{
    size_t at = own_slot(m, id);

    while (m->slots[at].id != 0 && m->slots[at].id != id) {
        at = (at + 1) & (m->room - 1);
    }
    return at;
}

void idmap_fini(struct idmap *m)
{
    mem_free(m->slots);
    *m = (struct idmap){0};
}

static void grow(struct idmap *m)
{
    struct idmap old = *m;

    m->room = old.room == 0 ? ROOM_MIN : old.room * 2;
    m->slots = mem_new(m->room, sizeof(m->slots[0]));
    for (size_t i = 0; i < old.room; i++) {
        if (old.slots[i].id != 0) {
            m->slots[find(m, old.slots[i].id)] = old.slots[i];
        }
    }
    mem_free(old.slots);
}

void idmap_put(struct idmap *m, int64_t id, void *value)
{
    size_t at;

    CHECK(id > 0 && value != NULL);
    if (m->count + 1 > m->room / 8 * 7) {
        grow(m);
    }
    at = find(m, id);
    CHECK(m->slots[at].id == 0);
    m->slots[at] = (struct idmap_slot){id, value};
    m->count++;
}

/* How far behind its own slot what lies at `at` is. */
static size_t distance(const struct idmap *m, size_t at)
{
    return (at - own_slot(m, m->slots[at].id)) & (m->room - 1);
}

void *idmap_remove(struct idmap *m, int64_t id)
{
    size_t gap = m->count > 0 ? find(m, id) : 0;
    void *value;

    if (m->count == 0 || m->slots[gap].id != id) {
        return NULL;
    }
    value = m->slots[gap].value;
    for (size_t at = (gap + 1) & (m->room - 1); m->slots[at].id != 0;
         at = (at + 1) & (m->room - 1)) {
        if (distance(m, at) >= ((at - gap) & (m->room - 1))) {
            m->slots[gap] = m->slots[at];
            gap = at;
        }
    }
    m->slots[gap] = (struct idmap_slot){0};
    m->count--;
    return value;
}

void *idmap_get(const struct idmap *m, int64_t id)
{
    const struct idmap_slot *s;

    if (m->count == 0 || id <= 0) {
        return NULL;
    }
    s = &m->slots[find(m, id)];
    return s->id == id ? s->value : NULL;
}

const char *idmap_check(const struct idmap *m)
{
    size_t count = 0;

    for (size_t i = 0; i < m->room; i++) {
        if (m->slots[i].id == 0) {
            continue;
        }
        if (find(m, m->slots[i].id) != i) {
            return "every id is found from its own slot on, before an empty one";
        }
        count++;
    }
    return count == m->count && count <= m->room / 8 * 7
               ? NULL
               : "count is the number of ids, at most 7 of 8 slots";
}
