#include "core/bid.h"

#include "base/check.h"
#include "base/minmax.h"
#include "core/greedy.h"
#include "core/pick.h"
#include "core/place.h"
#include "core/prey.h"
#include "core/state.h"

#include <stdlib.h>

#define NODES_TRIED_MAX 16    /* roomy nodes that are compared, once one has worked */
#define TRIES_MAX       20000 /* of a search that finds nothing */

/* ---- whose jobs may go ---- */

struct bid_leaves bid_leaves(struct core *c, const struct ask *ask, int64_t leaving_gu)
{
    const struct queue_tree *t = c->queues;
    int pool = ask->pool->index;
    int leaf = ask->job->queue;
    struct bid_leaves ret = {.items = arena_new(c->plan_arena, (size_t)t->count + 1, sizeof(int))};
    int cover =
        quota_cover_job(t, leaf, pool, ask->need_gu + leaving_gu, ask->job->ask->nonpreemptible);

    if (cover < 0 && !ask->take) {
        return ret;
    }
    for (int q = 0; q < t->count; q++) {
        const struct queue *other = &t->items[q];

        if (q == leaf || other->active.count == 0 ||
            other->quotas[pool].used <= other->quotas[pool].mine ||
            (!ask->take && queue_covers(t, cover, q)) ||
            !quota_over(t, pool, q, queue_common(t, q, leaf))) {
            continue;
        }
        ret.items[ret.count++] = q;
        ret.jobs += (int64_t)other->active.count;
    }
    return ret;
}

/* A subtree below the common ancestor gives what it has over its reserve, and one indivisible
 * victim more. */
bool bid_suffices(const struct hunt *h, const struct bid_leaves *leaves)
{
    struct core *c = h->c;
    int pool = h->ask->pool->index;
    int64_t *most = arena_new(c->plan_arena, (size_t)c->queues->count + 1, sizeof(*most));
    int64_t *sum = arena_new(c->plan_arena, (size_t)c->queues->count + 1, sizeof(*sum));
    int64_t gu = h->ask->pool->capacity_gu - h->ask->pool->taken_gu;

    for (int i = 0; i < leaves->count; i++) {
        struct queue *leaf = &c->queues->items[leaves->items[i]];
        int common = queue_common(c->queues, leaf->index, h->ask->job->queue);
        int below = hunt_below(c->queues, leaf->index, common);

        prey_know(leaf);
        sum[below] += leaf->takeable_gu;
        most[below] = max64(most[below], leaf->largest_gu);
    }
    for (int q = 0; q < c->queues->count; q++) {
        gu += min64(sum[q], quota_borrowed(c->queues, pool, q) + most[q]);
        gu += c->queues->items[q].parent < 0 ? c->queues->items[q].quotas[pool].stopping : 0;
    }
    return gu >= h->ask->need_gu;
}

/* ---- their jobs in one sequence ---- */

enum course { COURSE_SURPLUS, COURSE_NOT_BELOW, COURSE_ANY, COURSE_COUNT };

struct cursor {
    const struct queue *leaf;
    size_t at;       /* in its by_loss */
    int64_t over_gu; /* what may go before it, or a queue above it, is below its reserve */
};

struct walk { /* a heap of cursors: on top the leaf whose next job loses least */
    struct hunt *h;
    enum course course;
    int64_t now_ms;
    struct cursor *heap;
    size_t count;
};

static bool loses_less(const struct cursor *a, const struct cursor *b)
{
    const struct job *x = a->leaf->by_loss.items[a->at];
    const struct job *y = b->leaf->by_loss.items[b->at];
    int64_t saved_x = prey_saved_ms(x);
    int64_t saved_y = prey_saved_ms(y);

    return saved_x != saved_y ? saved_x > saved_y : x->id > y->id;
}

static void sink(struct walk *w, size_t at)
{
    for (size_t child = 2 * at + 1; child < w->count; child = 2 * at + 1) {
        struct cursor held = w->heap[at];

        if (child + 1 < w->count && loses_less(&w->heap[child + 1], &w->heap[child])) {
            child++;
        }
        if (!loses_less(&w->heap[child], &held)) {
            return;
        }
        w->heap[at] = w->heap[child];
        w->heap[child] = held;
        at = child;
    }
}

static int64_t over_gu(const struct hunt *h, int leaf)
{
    const struct queue_tree *t = h->c->queues;
    int common = queue_common(t, leaf, h->ask->job->queue);
    int64_t over = INT64_MAX;

    for (int q = leaf; q != common; q = t->items[q].parent) {
        over = min64(over, quota_borrowed(t, h->ask->pool->index, q));
    }
    return over;
}

static void walk_start(struct walk *w, const struct bid_leaves *leaves)
{
    struct core *c = w->h->c;

    w->heap = arena_new(c->plan_arena, (size_t)leaves->count + 1, sizeof(w->heap[0]));
    for (int i = 0; i < leaves->count; i++) {
        struct queue *leaf = &c->queues->items[leaves->items[i]];
        int64_t over = over_gu(w->h, leaf->index);

        prey_know(leaf);
        if ((w->course == COURSE_SURPLUS && leaf->elastic == 0) ||
            (w->course == COURSE_NOT_BELOW && leaf->smallest_gu > over)) {
            continue;
        }
        prey_sort(leaf);
        if (leaf->by_loss.count > 0) {
            w->heap[w->count++] = (struct cursor){.leaf = leaf, .over_gu = over};
        }
    }
    for (size_t i = w->count / 2; i-- > 0;) {
        sink(w, i);
    }
}

static bool on_course(const struct walk *w, const struct job *j, int64_t over)
{
    int64_t gu = 0;

    if (w->course == COURSE_SURPLUS) {
        return j->shape->elastic && job_is_active(j);
    }
    if (w->course == COURSE_ANY) {
        return true;
    }
    gu = j->leased_gu - j->stopping_gu;
    for (size_t i = 0; !job_is_active(j) && i < j->nomination.tasks.count; i++) {
        gu += load_task_gu(&j->nomination.tasks.items[i]);
    }
    return gu <= over;
}

static struct job *walk_next(struct walk *w)
{
    while (w->count > 0) {
        struct cursor *top = &w->heap[0];
        struct job *j = top->leaf->by_loss.items[top->at];
        bool suits = on_course(w, j, top->over_gu);

        top->at++;
        if (top->at == top->leaf->by_loss.count) {
            *top = w->heap[--w->count];
        }
        sink(w, 0);
        if (suits && units_may_go(w->h->c, w->h->ask, j, w->now_ms)) {
            return j;
        }
    }
    return NULL;
}

/* ---- on their nodes ---- */

struct laid {
    struct claim_unit unit;
    bool taken; /* into the order of a gang's try */
};

struct node_bid {
    int node;
    bool suits;
    int64_t cost_gu_ms;
    int64_t free_gu; /* and what its units hold there */
    int64_t tasks;   /* of the claimant, that it could take if they went */
    size_t tried;    /* units it had when it was tried */
    unit_set units;
};

struct bids {
    struct hunt *h;
    int *of_node; /* place in `nodes` + 1, 0 = none */
    VEC(struct node_bid) nodes;
    int64_t task_gu;
    int64_t tasks; /* over all nodes */
    int tries;
};

static struct node_bid *bid_of(struct bids *b, int node)
{
    const struct node *n = b->h->c->nodes.items[node];
    const struct fact_job_submitted *want = b->h->ask->job->ask;
    struct node_bid fresh = {.node = node};

    if (b->of_node[node] > 0) {
        return &b->nodes.items[b->of_node[node] - 1];
    }
    fresh.suits = node_usable(n) && n->pool == b->h->ask->pool->index &&
                  (want->group_count > 1 || pick_node_suits(n, &want->groups[0]));
    fresh.free_gu = node_idle_gu(n);
    vec_push(&b->nodes, fresh);
    b->of_node[node] = (int)b->nodes.count;
    return &b->nodes.items[b->nodes.count - 1];
}

static void lay(struct bids *b, const struct claim_unit *u)
{
    const lease_tasks *tasks = units_tasks(u);

    for (size_t i = 0; i < tasks->count; i++) {
        const struct lease_task *t = &tasks->items[i];
        struct node_bid *bid;
        int64_t fit;

        if ((u->kind == UNIT_TASK && (int)i != u->at) ||
            (u->kind == UNIT_WHOLE && load_ledger(t) != LEDGER_HELD)) {
            continue;
        }
        bid = bid_of(b, t->node);
        if (bid->units.count == 0 || bid->units.items[bid->units.count - 1] != u) {
            vec_push(&bid->units, u);
            bid->cost_gu_ms += u->cost_gu_ms;
        }
        bid->free_gu += load_task_gu(t);
        fit = bid->suits && b->task_gu > 0 ? bid->free_gu / b->task_gu : 0;
        b->tasks += fit - bid->tasks;
        bid->tasks = fit;
    }
}

/* Everything that could go of one job; ret_first is the first of ret_count units. */
static struct laid *lay_job(struct bids *b, const struct walk *w, struct job *j, size_t *ret_count)
{
    struct core *c = b->h->c;
    claim_units units = {0};
    struct laid *laid;
    size_t count = 0;

    units_add(c, j, w->now_ms, &units);
    laid = arena_new(c->plan_arena, units.count + 1, sizeof(*laid));
    for (size_t i = 0; i < units.count; i++) {
        if (w->course != COURSE_SURPLUS || units.items[i].kind == UNIT_TASK) {
            laid[count].unit = units.items[i];
            lay(b, &laid[count++].unit);
        }
    }
    b->h->candidates += (int64_t)count;
    vec_fini(&units);
    *ret_count = count;
    return laid;
}

/* ---- a claim of one task: one node is enough ---- */

/* With all of them gone, lawful or not: is there room? */
static bool has_room(struct hunt *h, const unit_set *units)
{
    struct core *c = h->c;
    size_t mark = load_mark(c);
    lease_tasks tasks = {0};
    bool placed;

    for (size_t i = 0; i < units->count; i++) {
        if (units->items[i]->kind != UNIT_TASK) {
            claim_drop_unit(c, units->items[i], h->ask->pool->index);
        }
    }
    placed = claim_place(c, h->ask, LEDGER_PROMISED, &tasks);
    load_undo(c, mark);
    vec_fini(&tasks);
    return placed;
}

static void try_bid(struct bids *b, struct node_bid *bid)
{
    if (bid->tasks < 1 || bid->tried == bid->units.count) {
        return;
    }
    bid->tried = bid->units.count;
    b->tries++;
    if (bid->units.items[0]->kind == UNIT_TASK || has_room(b->h, &bid->units)) {
        bid_try_units(b->h, &bid->units);
    }
}

static void try_nodes_of(struct bids *b, const struct laid *laid, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct claim_unit *u = &laid[i].unit;
        const lease_tasks *tasks = units_tasks(u);

        for (size_t k = 0; k < tasks->count; k++) {
            int place = b->of_node[tasks->items[k].node];

            if (place > 0) {
                try_bid(b, &b->nodes.items[place - 1]);
            }
        }
    }
}

static void hunt_one(struct bids *b, struct walk *w)
{
    struct job *j;

    while ((j = walk_next(w)) != NULL && b->tries < (b->h->found ? NODES_TRIED_MAX : TRIES_MAX)) {
        size_t count;
        struct laid *laid = lay_job(b, w, j, &count);

        try_nodes_of(b, laid, count);
    }
    if (!b->h->found && b->tries >= TRIES_MAX) {
        b->h->c->inexact = true;
    }
}

/* ---- a gang: several nodes ---- */

static int by_cost_a_task(const void *pa, const void *pb)
{
    const struct node_bid *a = *(const struct node_bid *const *)pa;
    const struct node_bid *b = *(const struct node_bid *const *)pb;
    int128 left = (int128)a->cost_gu_ms * b->tasks;
    int128 right = (int128)b->cost_gu_ms * a->tasks;

    if (left != right) {
        return left < right ? -1 : 1;
    }
    return a->node - b->node;
}

/* Append the units of the roomy nodes, the cheapest nodes first. */
static void order_units(struct bids *b, unit_set *ret)
{
    size_t had = ret->count;
    VEC(struct node_bid *) roomy = {0};

    for (size_t i = 0; i < b->nodes.count; i++) {
        if (b->nodes.items[i].tasks > 0) {
            vec_push(&roomy, &b->nodes.items[i]);
        }
    }
    if (roomy.count > 1) {
        qsort(roomy.items, roomy.count, sizeof(roomy.items[0]), by_cost_a_task);
    }
    for (size_t i = 0; i < roomy.count; i++) {
        for (size_t k = 0; k < roomy.items[i]->units.count; k++) {
            struct laid *u = (struct laid *)(uintptr_t)roomy.items[i]->units.items[k];

            if (!u->taken) {
                u->taken = true;
                vec_push(ret, &u->unit);
            }
        }
    }
    for (size_t i = had; i < ret->count; i++) {
        ((struct laid *)(uintptr_t)ret->items[i])->taken = false;
    }
    vec_fini(&roomy);
}

static void try_gang(struct bids *b)
{
    unit_set order = {0};

    order_units(b, &order);
    if (order.count > 0) {
        greedy_in_order(b->h, &order);
    }
    vec_fini(&order);
}

/* Tasks that would fit on what is free. */
static int64_t free_tasks(const struct bids *b)
{
    const struct pool *p = b->h->ask->pool;
    int64_t cards = b->task_gu / GU_PER_GPU;
    int64_t tasks = 0;

    for (int f = 1; f <= POOL_CARDS_MAX && cards > 0; f++) {
        tasks += p->by_free_count[f] * (f / cards);
    }
    return tasks;
}

static void hunt_gang(struct bids *b, struct walk *w)
{
    int64_t missing = b->task_gu > 0 ? b->h->ask->need_gu / b->task_gu - free_tasks(b) : 0;
    int64_t goal = max64(missing, 1);
    bool news = false;
    struct job *j;

    while (!b->h->found && (j = walk_next(w)) != NULL) {
        size_t count;

        lay_job(b, w, j, &count);
        news = true;
        if (b->tasks >= goal) {
            try_gang(b);
            news = false;
            goal = b->tasks * 2;
        }
    }
    if (!b->h->found && news && b->tasks >= missing) {
        try_gang(b);
    }
}

/* ---- both ---- */

bool bid_one_task(const struct ask *ask)
{
    const struct fact_job_submitted *want = ask->job->ask;

    if (ask->group >= 0) {
        return ask->count == 1;
    }
    return want->group_count == 1 && want->groups[0].min_tasks == 1;
}

/* Units of the smallest task that is asked. */
static int64_t least_task_gu(const struct hunt *h)
{
    const struct fact_job_submitted *want = h->ask->job->ask;
    int64_t least = INT64_MAX;

    for (size_t g = 0; g < want->group_count; g++) {
        if (h->ask->group < 0 || (int)g == h->ask->group) {
            int64_t gu = place_task_gu(h->c, h->ask->pool, &want->groups[g]);

            least = gu > 0 ? min64(least, gu) : least;
        }
    }
    return least == INT64_MAX ? 0 : least;
}

static void fini_bids(struct bids *b)
{
    for (size_t i = 0; i < b->nodes.count; i++) {
        vec_fini(&b->nodes.items[i].units);
    }
    vec_fini(&b->nodes);
}

static void run_course(struct hunt *h, const struct bid_leaves *leaves, enum course course,
                       int64_t now_ms)
{
    struct bids b = {.h = h, .task_gu = least_task_gu(h)};
    struct walk w = {.h = h, .course = course, .now_ms = now_ms};

    walk_start(&w, leaves);
    if (w.count > 0) {
        b.of_node = arena_new(h->c->plan_arena, h->c->nodes.count, sizeof(int));
        if (bid_one_task(h->ask)) {
            hunt_one(&b, &w);
        } else {
            hunt_gang(&b, &w);
        }
    }
    fini_bids(&b);
}

void bid_hunt_after_own(struct hunt *h, int64_t now_ms)
{
    struct core *c = h->c;
    size_t mark = load_mark(c);
    struct bids b = {.h = h, .task_gu = least_task_gu(h)};
    struct walk w = {.h = h, .course = COURSE_ANY, .now_ms = now_ms};
    struct bid_leaves leaves;
    unit_set order = {0};
    int64_t goal;
    struct job *j;

    for (size_t i = 0; i < h->units.count; i++) {
        vec_push(&order, &h->units.items[i]);
        if (h->units.items[i].kind != UNIT_TASK) {
            claim_drop_unit(c, &h->units.items[i], h->ask->pool->index);
        }
    }
    leaves = bid_leaves(c, h->ask, h->leaving_gu);
    walk_start(&w, &leaves);
    b.of_node = arena_new(c->plan_arena, c->nodes.count, sizeof(int));
    goal = b.task_gu > 0 ? 2 * (h->ask->need_gu / b.task_gu) + 1 : 1;
    while (b.tasks < goal && (j = walk_next(&w)) != NULL) {
        size_t count;

        lay_job(&b, &w, j, &count);
    }
    load_undo(c, mark);
    order_units(&b, &order);
    greedy_in_order(h, &order);
    vec_fini(&order);
    fini_bids(&b);
}

void bid_hunt(struct hunt *h, const struct bid_leaves *leaves, int64_t now_ms)
{
    for (int course = 0; course < COURSE_COUNT && !h->found; course++) {
        run_course(h, leaves, (enum course)course, now_ms);
    }
}
