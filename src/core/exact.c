/* exact - sets are made by adding one unit after the other, in the order in which they may lawfully
 * be taken: own ones, then the others by size.  What is unlawful, improper or not enough even with
 * all that could follow ends a branch, so most of the 2^n sets are never looked at, and a set costs
 * one unit more on the ledgers than the set before it.
 */
#include "core/exact.h"

#include "base/check.h"
#include "core/bid.h"
#include "core/state.h"

struct spot { /* a node that units lie on, for an ask of one task */
    int node;
    int64_t free_gu;   /* with the set gone */
    int64_t *rest_gu;  /* by place: what the units from there on hold here; the plan's */
    int64_t *units_gu; /* by place: what that unit holds here */
};

struct found {
    unsigned mask;
    struct harm harm;
};

struct tries {
    struct hunt *h;
    const struct claim_unit *units[CLAIM_EXACT_MAX];
    size_t count;
    int64_t rest_gu[CLAIM_EXACT_MAX + 1];
    int64_t free_gu; /* of the pool, with the set gone */
    VEC(struct spot) spots;
    bool anywhere; /* other nodes may have room too, or it takes several */
    unit_set set;  /* off the ledgers */
    VEC(struct found) found;
};

static int64_t unit_gu_on(const struct claim_unit *u, int node)
{
    const lease_tasks *tasks = units_tasks(u);
    int64_t gu = 0;

    for (size_t i = 0; i < tasks->count; i++) {
        if (tasks->items[i].node == node && (u->kind != UNIT_TASK || (int)i == u->at)) {
            gu += load_task_gu(&tasks->items[i]);
        }
    }
    return gu;
}

static void add_spot(struct tries *t, int node)
{
    struct core *c = t->h->c;
    struct spot s = {.node = node, .free_gu = node_idle_gu(c->nodes.items[node])};

    for (size_t i = 0; i < t->spots.count; i++) {
        if (t->spots.items[i].node == node) {
            return;
        }
    }
    s.rest_gu = arena_new(c->plan_arena, t->count + 1, sizeof(s.rest_gu[0]));
    s.units_gu = arena_new(c->plan_arena, t->count + 1, sizeof(s.units_gu[0]));
    for (size_t i = t->count; i-- > 0;) {
        s.units_gu[i] = unit_gu_on(t->units[i], node);
        s.rest_gu[i] = s.rest_gu[i + 1] + s.units_gu[i];
    }
    vec_push(&t->spots, s);
}

/* Where the one task could go: the nodes of the units; others only if they have the cards idle. */
static void find_spots(struct tries *t)
{
    const struct ask *ask = t->h->ask;
    const struct fact_group *want = &ask->job->ask->groups[ask->group < 0 ? 0 : ask->group];

    t->anywhere = !bid_one_task(ask) || want->gpus == 0;
    for (int f = (int)want->gpus; f <= POOL_CARDS_MAX && !t->anywhere; f++) {
        t->anywhere = ask->pool->by_free_count[f] > 0;
    }
    for (size_t i = 0; i < t->count && !t->anywhere; i++) {
        const lease_tasks *tasks = units_tasks(t->units[i]);

        for (size_t k = 0; k < tasks->count; k++) {
            add_spot(t, tasks->items[k].node);
        }
    }
}

static void order_units(struct tries *t, const unit_set *from)
{
    unit_set sorted = {0};

    for (size_t i = 0; i < from->count; i++) {
        vec_push(&sorted, from->items[i]);
    }
    hunt_sort(&sorted, hunt_by_size);
    for (int own = 1; own >= 0; own--) {
        for (size_t i = 0; i < sorted.count; i++) {
            if (sorted.items[i]->own == (own == 1)) {
                t->units[t->count++] = sorted.items[i];
            }
        }
    }
    vec_fini(&sorted);
    for (size_t i = t->count; i-- > 0;) {
        t->rest_gu[i] = t->rest_gu[i + 1] + t->units[i]->gu;
    }
}

/* By units: would the set, and all from this place on, be enough? */
static bool could_suffice(const struct tries *t, size_t from)
{
    int64_t need_gu = t->h->ask->need_gu;
    bool could = t->anywhere;

    for (size_t i = 0; i < t->spots.count && !could; i++) {
        could = t->spots.items[i].free_gu + t->spots.items[i].rest_gu[from] >= need_gu;
    }
    return could && t->free_gu + t->rest_gu[from] >= need_gu;
}

static void count_unit(struct tries *t, size_t at, int sign)
{
    t->free_gu += sign * t->units[at]->gu;
    for (size_t i = 0; i < t->spots.count; i++) {
        t->spots.items[i].free_gu += sign * t->spots.items[i].units_gu[at];
    }
}

/* A member of it could stay. */
static bool has_part_found(const struct tries *t, unsigned mask)
{
    for (size_t i = 0; i < t->found.count; i++) {
        if ((t->found.items[i].mask & mask) == t->found.items[i].mask) {
            return true;
        }
    }
    return false;
}

static bool works(struct tries *t, unsigned mask)
{
    struct found f = {.mask = mask};
    unit_set sorted = {0};
    bool does;

    if (!could_suffice(t, t->count)) {
        return false;
    }
    for (size_t i = 0; i < t->set.count; i++) {
        vec_push(&sorted, t->set.items[i]);
    }
    hunt_sort(&sorted, hunt_by_size);
    does = hunt_suffices(t->h, &sorted, &f.harm);
    if (does) {
        f.harm.units =
            arena_copy(t->h->c->plan_arena, sorted.items, sorted.count * sizeof(sorted.items[0]));
        vec_push(&t->found, f);
    }
    vec_fini(&sorted);
    return does;
}

static bool take(struct tries *t, size_t at, int *cover)
{
    const struct claim_unit *u = t->units[at];

    if (!hunt_is_proper(&t->set)) {
        return false;
    }
    if (!u->own) {
        return hunt_take(t->h, u, *cover);
    }
    claim_drop_unit(t->h->c, u, t->h->ask->pool->index);
    *cover = hunt_cover(t->h);
    return true;
}

static void put_on(struct tries *t, size_t at)
{
    vec_push(&t->set, t->units[at]);
    count_unit(t, at, 1);
}

static void put_off(struct tries *t, size_t at, size_t mark)
{
    load_undo(t->h->c, mark);
    count_unit(t, at, -1);
    t->set.count--;
}

/* Single ones first: few sets without those that work are left to look at. */
static void try_each(struct tries *t, int cover)
{
    for (size_t i = 0; i < t->count && could_suffice(t, i); i++) {
        size_t mark = load_mark(t->h->c);
        int its_cover = cover;

        put_on(t, i);
        if (take(t, i, &its_cover)) {
            (void)works(t, 1U << i);
        }
        put_off(t, i, mark);
    }
}

/* The set that is off, and one or more of the units from this place on. */
static void extend(struct tries *t, size_t from, unsigned mask, int cover)
{
    for (size_t i = from; i < t->count && could_suffice(t, i); i++) {
        size_t mark = load_mark(t->h->c);
        unsigned with = mask | 1U << i;
        int its_cover = cover;

        if (has_part_found(t, with)) {
            continue;
        }
        put_on(t, i);
        if (take(t, i, &its_cover) && (mask == 0 || !works(t, with))) {
            extend(t, i + 1, with, its_cover);
        }
        put_off(t, i, mark);
    }
}

/* Those of which no part works. */
static void keep_least(struct tries *t)
{
    for (size_t i = 0; i < t->found.count; i++) {
        const struct found *f = &t->found.items[i];
        bool least = true;

        for (size_t k = 0; k < t->found.count && least; k++) {
            unsigned other = t->found.items[k].mask;

            least = k == i || (other & f->mask) != other;
        }
        if (least) {
            vec_push(&t->h->works, f->harm);
            t->h->found = true;
        }
    }
}

void exact_try(struct hunt *h, const unit_set *units)
{
    struct tries t = {.h = h, .free_gu = h->ask->pool->capacity_gu - h->ask->pool->taken_gu};
    int cover = hunt_cover(h);

    CHECK(units->count <= CLAIM_EXACT_MAX);
    order_units(&t, units);
    find_spots(&t);
    try_each(&t, cover);
    extend(&t, 0, 0, cover);
    keep_least(&t);
    vec_fini(&t.spots);
    vec_fini(&t.set);
    vec_fini(&t.found);
}
