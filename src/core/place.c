/* Whole cards go through the pool's bitmaps of nodes by free cards, so a single task costs the
 * buckets between its size and the tightest fit, not the nodes.  Slices and shares look at the
 * nodes that have them. */
#include "core/place.h"

#include "base/check.h"
#include "core/pick.h"
#include "core/state.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct search { /* one group being placed */
    struct core *c;
    const struct job *job;
    struct pool *pool;
    const struct fact_group *want;
    int group;
    const int64_t *numbers;
    int64_t left; /* tasks still to place; numbers points at the next */
    enum ledger ledger;
    lease_tasks *ret;
};

int place_level(const struct core *c, const char *name)
{
    for (size_t i = 0; i < c->policy->level_count; i++) {
        if (strcmp(c->policy->levels[i], name) == 0) {
            return (int)i;
        }
    }
    return strcmp(name, "node") == 0 ? (int)c->policy->level_count : -1;
}

int64_t place_first_task(const struct fact_job_submitted *ask, int group)
{
    int64_t first = 0;

    for (int g = 0; g < group; g++) {
        first += ask->groups[g].tasks;
    }
    return first;
}

/* ---- one node ---- */

static void put_on(struct search *s, struct node *n, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        struct lease_task task = {.task = (int32_t)*s->numbers,
                                  .group = (int16_t)s->group,
                                  .state = TASK_STATE_STARTING,
                                  .node = n->index,
                                  .cpu_milli = s->want->cpu_milli,
                                  .memory_bytes = s->want->memory_bytes};
        struct lease_task *kept = arena_new(s->c->plan_arena, 1, sizeof(*kept));

        if (!pick_devices(s->c, s->job, n, s->want, &task)) {
            return;
        }
        *kept = task;
        load_put(s->c, s->job, kept, s->ledger);
        vec_push(s->ret, task);
        s->numbers++;
        s->left--;
    }
}

/* Fill the node with as many tasks as it takes.  False: none, though it was counted as roomy
 * (memory of shares, slices over several cards): the search ends there. */
static bool fill(struct search *s, struct node *n)
{
    int64_t fits = pick_count(s->c, s->job, n, s->want);
    int64_t before = s->left;

    put_on(s, n, fits < s->left ? fits : s->left);
    return s->left < before;
}

/* ---- whole cards over the pool, by the bitmaps ---- */

static struct node *next_in_bucket(struct search *s, int free_count, int *at)
{
    const struct pool *p = s->pool;

    if (p->by_free_count[free_count] == 0) {
        return NULL;
    }
    for (size_t w = (size_t)*at / 64; w < p->words; w++) {
        uint64_t bits = p->by_free[free_count][w];

        if (w == (size_t)*at / 64) {
            bits &= ~(uint64_t)0 << (*at % 64);
        }
        if (bits != 0) {
            int place = (int)(w * 64) + __builtin_ctzll(bits);

            *at = place + 1;
            return s->c->nodes.items[p->nodes.items[place]];
        }
    }
    return NULL;
}

/* The node with the fewest free cards that takes all tasks that are left. */
static struct node *tightest(struct search *s)
{
    int64_t need = s->left * s->want->gpus;

    for (int f = need > POOL_CARDS_MAX ? POOL_CARDS_MAX + 1 : (int)need; f <= POOL_CARDS_MAX; f++) {
        struct node *n;
        struct node *best = NULL;
        int at = 0;

        while ((best == NULL || best->vacated > 0) && (n = next_in_bucket(s, f, &at)) != NULL) {
            if ((best == NULL || n->vacated < best->vacated) &&
                pick_count(s->c, s->job, n, s->want) >= s->left) {
                best = n;
            }
        }
        if (best != NULL) {
            return best;
        }
    }
    return NULL;
}

/* The node that takes the most tasks, lowest id first. */
static struct node *roomiest(struct search *s)
{
    struct node *best = NULL;
    int64_t most = 0;

    for (int f = POOL_CARDS_MAX; f >= s->want->gpus; f--) {
        struct node *n;
        int at = 0;

        if (s->want->gpus > 0 && f / s->want->gpus <= most) {
            break; /* no node with so few free cards can take more */
        }
        while ((n = next_in_bucket(s, f, &at)) != NULL) {
            int64_t fits = pick_count(s->c, s->job, n, s->want);

            if (fits > most) {
                most = fits;
                best = n;
                if (s->want->gpus > 0 && most == f / s->want->gpus) {
                    break;
                }
            }
        }
    }
    return best;
}

static bool place_whole(struct search *s)
{
    while (s->left > 0) {
        struct node *n = tightest(s);

        if (n == NULL) {
            n = roomiest(s);
        }
        if (n == NULL || !fill(s, n)) {
            return false;
        }
    }
    return true;
}

/* ---- a list of nodes (a domain, or the nodes that have slices) ---- */

static bool place_listed(struct search *s, const int *nodes, size_t count)
{
    while (s->left > 0) {
        struct node *best = NULL;
        int64_t best_fits = 0;

        for (size_t i = 0; i < count; i++) {
            struct node *n = s->c->nodes.items[nodes[i]];
            int64_t fits = pick_count(s->c, s->job, n, s->want);
            bool all = fits >= s->left;
            bool best_all = best_fits >= s->left;

            if (fits == 0 || (best_all && !all)) {
                continue;
            }
            if (best == NULL || (all && !best_all) ||
                (all ? pick_is_tighter(n, best, s->want) : fits > best_fits)) {
                best = n;
                best_fits = fits;
            }
        }
        if (best == NULL || !fill(s, best)) {
            return false;
        }
    }
    return true;
}

static bool by_cards(const struct fact_group *g)
{
    return g->profile[0] == '\0' && g->share_gu == 0;
}

static bool place_anywhere(struct search *s)
{
    if (by_cards(s->want)) {
        return place_whole(s);
    }
    if (s->want->profile[0] != '\0') {
        return place_listed(s, s->pool->slice_nodes.items, s->pool->slice_nodes.count);
    }
    return place_listed(s, s->pool->nodes.items, s->pool->nodes.count);
}

/* ---- topology ---- */

static int64_t domain_fits(struct search *s, const struct domain *d)
{
    int64_t fits = 0;

    for (size_t i = 0; i < d->nodes.count && fits < s->left; i++) {
        fits += pick_count(s->c, s->job, s->c->nodes.items[d->nodes.items[i]], s->want);
    }
    return fits;
}

/* The domain of this level with the fewest free cards that takes all tasks; inside `within` (-1 =
 * anywhere). */
static struct domain *tightest_domain(struct search *s, int level, int within)
{
    struct domain *best = NULL;
    int64_t need = by_cards(s->want) ? s->left * s->want->gpus : 0;

    for (size_t i = 0; i < s->pool->domains.count; i++) {
        struct domain *d = &s->pool->domains.items[i];
        int up = (int)i;

        if (d->level != level || d->free_whole < need ||
            (best != NULL && d->free_whole >= best->free_whole)) {
            continue;
        }
        while (up >= 0 && up != within && within >= 0) {
            up = s->pool->domains.items[up].parent;
        }
        if ((within < 0 || up == within) && domain_fits(s, d) >= s->left) {
            best = d;
        }
    }
    return best;
}

/* On the one node that takes all with the least left over, if there is one: the node is the
 * innermost level. */
static bool place_on_one(struct search *s, const int *nodes, size_t count)
{
    struct node *best = NULL;

    for (size_t i = 0; i < count; i++) {
        struct node *n = s->c->nodes.items[nodes[i]];

        if (pick_count(s->c, s->job, n, s->want) >= s->left &&
            (best == NULL || pick_is_tighter(n, best, s->want))) {
            best = n;
        }
    }
    return best != NULL && fill(s, best) && s->left == 0;
}

/* In the innermost domain that takes all, else spread over what `within` has. */
static bool place_within(struct search *s, int within, int outer_level)
{
    for (int level = s->pool->level_count - 1; level > outer_level; level--) {
        struct domain *d = tightest_domain(s, level, within);

        if (d != NULL) {
            return place_listed(s, d->nodes.items, d->nodes.count);
        }
    }
    if (within >= 0) {
        const struct domain *d = &s->pool->domains.items[within];

        return place_listed(s, d->nodes.items, d->nodes.count);
    }
    return place_anywhere(s);
}

/* A node on which a task of this group runs already, NULL = none: what is required binds growth
 * too. */
static struct node *anchor(struct search *s)
{
    for (size_t i = 0; i < s->job->tasks.count; i++) {
        if (s->job->tasks.items[i].group == s->group) {
            return s->c->nodes.items[s->job->tasks.items[i].node];
        }
    }
    return NULL;
}

static bool place_required(struct search *s, int level)
{
    struct node *near = anchor(s);
    int within;

    if (level == s->pool->level_count) {
        if (near == NULL) {
            return place_on_one(s, s->pool->nodes.items, s->pool->nodes.count);
        }
        return place_listed(s, &near->index, 1);
    }
    if (near != NULL) {
        within = near->domains[level];
    } else {
        struct domain *d = tightest_domain(s, level, -1);

        if (d != NULL && place_on_one(s, s->pool->nodes.items, s->pool->nodes.count)) {
            return true;
        }
        within = d != NULL ? (int)(d - s->pool->domains.items) : -1;
    }
    return within >= 0 && place_within(s, within, level);
}

bool place_group(struct core *c, struct place_ask ask, enum ledger ledger, lease_tasks *ret)
{
    struct search s = {.c = c,
                       .job = ask.job,
                       .pool = ask.pool,
                       .want = &ask.job->ask->groups[ask.group],
                       .group = ask.group,
                       .numbers = ask.numbers,
                       .left = ask.count,
                       .ledger = ledger,
                       .ret = ret};
    size_t mark = load_mark(c);
    size_t had = ret->count;
    bool fits;

    if (ask.count == 0) {
        return true;
    }
    if (s.want->required[0] != '\0') {
        int level = place_level(c, s.want->required);

        fits = level >= 0 && place_required(&s, level);
    } else if (ask.count == 1 || ask.pool->level_count == 0) {
        fits = place_anywhere(&s);
    } else {
        fits = place_on_one(&s, ask.pool->nodes.items, ask.pool->nodes.count) ||
               place_within(&s, -1, -1);
    }
    if (!fits || s.left > 0) {
        load_undo(c, mark);
        ret->count = had;
        return false;
    }
    return true;
}

/* Of two groups the one whose tasks are harder to place goes first: it is bound to a level, or
 * takes more of a node. */
static bool is_harder(const struct core *c, const struct pool *pool, const struct fact_group *a,
                      const struct fact_group *b)
{
    bool bound_a = a->required[0] != '\0';
    bool bound_b = b->required[0] != '\0';
    int64_t gu_a = place_task_gu(c, pool, a);
    int64_t gu_b = place_task_gu(c, pool, b);

    if (bound_a != bound_b) {
        return bound_a;
    }
    if (gu_a != gu_b) {
        return gu_a > gu_b;
    }
    return a->cpu_milli != b->cpu_milli ? a->cpu_milli > b->cpu_milli
                                        : a->memory_bytes > b->memory_bytes;
}

static const int *hardest_first(struct core *c, const struct pool *pool,
                                const struct fact_job_submitted *ask)
{
    int *groups = arena_new(c->plan_arena, ask->group_count + 1, sizeof(*groups));

    for (int g = 0; g < (int)ask->group_count; g++) {
        int at = g;

        while (at > 0 && is_harder(c, pool, &ask->groups[g], &ask->groups[groups[at - 1]])) {
            groups[at] = groups[at - 1];
            at--;
        }
        groups[at] = g;
    }
    return groups;
}

static int by_task(const void *a, const void *b)
{
    return ((const struct lease_task *)a)->task - ((const struct lease_task *)b)->task;
}

bool place_start(struct core *c, const struct job *job, struct pool *pool, enum ledger ledger,
                 lease_tasks *ret)
{
    const int *groups = hardest_first(c, pool, job->ask);
    size_t mark = load_mark(c);

    for (size_t k = 0; k < job->ask->group_count; k++) {
        const struct fact_group *want = &job->ask->groups[groups[k]];
        int64_t first = place_first_task(job->ask, groups[k]);
        int64_t *numbers = arena_new(c->plan_arena, (size_t)want->min_tasks, sizeof(*numbers));

        for (int64_t i = 0; i < want->min_tasks; i++) {
            numbers[i] = first + i;
        }
        if (!place_group(c, (struct place_ask){job, pool, groups[k], numbers, want->min_tasks},
                         ledger, ret)) {
            load_undo(c, mark);
            ret->count = 0;
            return false;
        }
    }
    if (job->ask->group_count > 1) {
        qsort(ret->items, ret->count, sizeof(ret->items[0]), by_task);
    }
    return true;
}

int64_t place_task_gu(const struct core *c, const struct pool *pool, const struct fact_group *g)
{
    if (g->share_gu > 0) {
        return g->share_gu;
    }
    if (g->profile[0] == '\0') {
        return g->gpus * GU_PER_GPU;
    }
    for (size_t i = 0; i < pool->slice_nodes.count; i++) {
        const struct node *n = c->nodes.items[pool->slice_nodes.items[i]];

        for (int d = 0; d < n->device_count; d++) {
            int64_t gu = pick_slice_gu(c, &n->devices[d], g->profile);

            if (gu >= 0) {
                return gu * g->slices;
            }
        }
    }
    return -1;
}

int64_t place_need_gu(const struct core *c, const struct pool *pool,
                      const struct fact_job_submitted *ask)
{
    int64_t need = 0;

    for (size_t g = 0; g < ask->group_count; g++) {
        int64_t gu = place_task_gu(c, pool, &ask->groups[g]);

        if (gu < 0 || (gu > 0 && ask->groups[g].min_tasks > INT64_MAX / 4 / gu)) {
            return -1;
        }
        need += gu * ask->groups[g].min_tasks;
    }
    return need;
}
