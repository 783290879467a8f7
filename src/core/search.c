/* claim_search: up to CLAIM_EXACT_MAX candidates all sets are tried (core/exact.c); above, node by
 * node for a claim of one task, and by greedy orders;
 * where many jobs run, core/bid.c looks at a part of them.  Sums refuse what could never do. */
#include "base/check.h"
#include "core/bid.h"
#include "core/exact.h"
#include "core/greedy.h"
#include "core/place.h"
#include "core/state.h"

#include <stdlib.h>

#define NODES_TRIED_MAX 16

void bid_try_units(struct hunt *h, const unit_set *units)
{
    if (units->count <= CLAIM_EXACT_MAX) {
        exact_try(h, units);
    } else {
        greedy_try(h, units);
    }
}

/* ---- a claim of one task: node by node ---- */

struct node_bid {
    int node;
    int64_t cost; /* of the cheapest units that free enough units there: a bound, not a plan */
    unit_set units;
};

static int by_bid(const void *a, const void *b)
{
    const struct node_bid *x = a;
    const struct node_bid *y = b;

    return x->cost != y->cost ? (x->cost < y->cost ? -1 : 1) : x->node - y->node;
}

/* List the unit with every node that one of its tasks lies on. */
static void list_by_node(const struct claim_unit *u, struct node_bid *by_node)
{
    const lease_tasks *tasks = units_tasks(u);

    for (size_t i = 0; i < tasks->count; i++) {
        unit_set *list = &by_node[tasks->items[i].node].units;

        if ((u->kind != UNIT_TASK || (int)i == u->at) &&
            (list->count == 0 || list->items[list->count - 1] != u)) {
            vec_push(list, u);
        }
    }
}

static void price_node(struct hunt *h, struct node_bid *bid)
{
    int64_t free_gu = node_idle_gu(h->c->nodes.items[bid->node]);

    hunt_sort(&bid->units, greedy_by_cost);
    for (size_t i = 0; i < bid->units.count && free_gu < h->ask->need_gu; i++) {
        free_gu += bid->units.items[i]->gu;
        bid->cost += bid->units.items[i]->cost_gu_ms;
    }
    if (free_gu < h->ask->need_gu) {
        vec_clear(&bid->units); /* not even all of them would do */
    }
}

static void try_nodes(struct hunt *h)
{
    size_t count = h->c->nodes.count;
    struct node_bid *bids = arena_new(h->c->plan_arena, count, sizeof(*bids));
    size_t tried = 0;

    for (size_t i = 0; i < h->units.count; i++) {
        list_by_node(&h->units.items[i], bids);
    }
    for (size_t i = 0; i < count; i++) {
        bids[i].node = (int)i;
        if (bids[i].units.count > 0) {
            price_node(h, &bids[i]);
        }
    }
    qsort(bids, count, sizeof(bids[0]), by_bid);
    for (size_t i = 0; i < count; i++) {
        if (bids[i].units.count > 0 && node_usable(h->c->nodes.items[bids[i].node]) &&
            (tried < NODES_TRIED_MAX || !h->found)) {
            tried++;
            bid_try_units(h, &bids[i].units);
        }
        vec_fini(&bids[i].units);
    }
}

/* ---- the search ---- */

/* What the candidates of other queues could give at the most, subtree by subtree below the common
 * ancestor: what it has over its reserve and one indivisible victim more. */
static int64_t others_could_give(const struct hunt *h)
{
    struct core *c = h->c;
    int pool = h->ask->pool->index;
    int64_t *most = arena_new(c->plan_arena, (size_t)c->queues->count + 1, sizeof(*most));
    int64_t *sum = arena_new(c->plan_arena, (size_t)c->queues->count + 1, sizeof(*sum));
    int64_t gu = 0;

    for (size_t i = 0; i < h->units.count; i++) {
        const struct claim_unit *u = &h->units.items[i];
        int common, q;

        if (u->own || u->kind == UNIT_TASK) {
            continue;
        }
        if (u->passer) {
            gu += u->gu;
            continue;
        }
        common = queue_common(c->queues, u->job->queue, h->ask->job->queue);
        q = hunt_below(c->queues, u->job->queue, common);
        sum[q] += u->gu;
        most[q] = u->gu > most[q] ? u->gu : most[q];
    }
    for (int q = 0; q < c->queues->count; q++) {
        int64_t bound = quota_borrowed(c->queues, pool, q) + most[q];

        gu += sum[q] < bound ? sum[q] : bound;
    }
    return gu;
}

/* Idle units, what is leaving and what candidates could give together: are they as much as is
 * asked? */
static bool sums_suffice(const struct hunt *h)
{
    const struct pool *p = h->ask->pool;
    int64_t gu = p->capacity_gu - p->taken_gu;

    for (int q = 0; q < h->c->queues->count; q++) {
        if (h->c->queues->items[q].parent < 0) {
            gu += h->c->queues->items[q].quotas[p->index].stopping;
        }
    }
    for (size_t i = 0; i < h->units.count; i++) {
        gu +=
            h->units.items[i].own && h->units.items[i].kind != UNIT_TASK ? h->units.items[i].gu : 0;
    }
    return gu >= h->ask->need_gu || gu + others_could_give(h) >= h->ask->need_gu;
}

/* One task on whole cards: could some node hold it by units, with every candidate gone? */
static bool has_roomy_node(const struct hunt *h, int64_t cards)
{
    struct core *c = h->c;
    int64_t *gone_gu = arena_new(c->plan_arena, c->nodes.count + 1, sizeof(*gone_gu));

    for (int f = (int)cards; f <= POOL_CARDS_MAX; f++) {
        if (h->ask->pool->by_free_count[f] > 0) {
            return true;
        }
    }
    for (size_t i = 0; i < h->units.count; i++) {
        const struct claim_unit *u = &h->units.items[i];
        const lease_tasks *tasks = units_tasks(u);

        for (size_t k = 0; u->kind != UNIT_TASK && k < tasks->count; k++) {
            int node = tasks->items[k].node;

            if (gone_gu[node] == 0) {
                gone_gu[node] = node_idle_gu(c->nodes.items[node]);
            }
            gone_gu[node] += load_task_gu(&tasks->items[k]);
            if (gone_gu[node] >= h->ask->need_gu) {
                return true;
            }
        }
    }
    return false;
}

/* With every candidate gone, lawful or not: if it cannot be placed even then, no set will do.
 * (Several groups are placed one after the other, where more room can lead astray: they are
 * searched.) */
static bool hopeless(struct hunt *h)
{
    struct core *c = h->c;
    size_t mark = load_mark(c);
    lease_tasks tasks = {0};
    int64_t cards;
    bool placed;

    if (h->ask->group < 0 && h->ask->job->ask->group_count > 1) {
        return false;
    }
    cards = h->ask->job->ask->groups[h->ask->group < 0 ? 0 : h->ask->group].gpus;
    if (bid_one_task(h->ask) && cards > 0) {
        return !has_roomy_node(h, cards);
    }
    for (size_t i = 0; i < h->units.count; i++) {
        const struct claim_unit *u = &h->units.items[i];

        if (u->kind != UNIT_TASK) { /* single tasks go with their whole job */
            claim_drop_unit(c, u, h->ask->pool->index);
        }
    }
    placed = claim_place(c, h->ask, LEDGER_PROMISED, &tasks);
    load_undo(c, mark);
    vec_fini(&tasks);
    return !placed;
}

static void hunt_all(struct hunt *h)
{
    unit_set all = {0};

    for (size_t i = 0; i < h->units.count; i++) {
        vec_push(&all, &h->units.items[i]);
    }
    if (all.count <= CLAIM_EXACT_MAX) {
        exact_try(h, &all);
        h->exact = true;
    } else {
        if (bid_one_task(h->ask)) {
            try_nodes(h);
        }
        if (!h->found || !bid_one_task(h->ask)) {
            greedy_try(h, &all);
        }
    }
    vec_fini(&all);
}

static bool conclude(struct hunt *h, struct trial *ret, size_t mark)
{
    struct core *c = h->c;
    const struct ask *ask = h->ask;
    struct lease_task *tasks;

    /* place once more as the search did, on the ledgers without victims: the tasks are the promise
     */
    for (size_t i = 0; i < h->best.count; i++) {
        claim_drop_unit(c, h->best.items[i], ask->pool->index);
    }
    if (!claim_place(c, ask, LEDGER_PROMISED, &ret->tasks)) {
        CHECK(false); /* a set that worked works again */
    }
    load_undo(c, mark);
    for (size_t i = 0; i < h->best.count; i++) {
        vec_push(&ret->victims, *h->best.items[i]);
    }
    claim_settle(c, ask, ret);
    tasks = arena_copy(c->plan_arena, ret->tasks.items, ret->tasks.count * sizeof(*tasks));
    for (size_t i = 0; i < ret->tasks.count; i++) {
        load_put(c, ask->job, &tasks[i], LEDGER_PROMISED); /* the log outlives the trial */
    }
    load_quota(c, ask->job, ask->pool->index, ask->need_gu, false, 1);
    ret->kind = TRIAL_CLAIM;
    ret->pool = ask->pool;
    ret->need_gu = ask->need_gu;
    ret->candidates = h->candidates;
    ret->exact = h->exact;
    return true;
}

/* What is leaving is promised without a victim to those within reserve, to a planned start, and
 * back to a victim whose claimant went away; a borrower uses what is idle. */
static bool may_wait_only(const struct core *c, const struct ask *ask)
{
    return ask->planned || ask->leaving_only ||
           quota_cover_job(c->queues, ask->job->queue, ask->pool->index, ask->need_gu,
                           ask->job->ask->nonpreemptible) >= 0;
}

#define GATHERED_MAX 2000 /* candidates that are weighed all together */

/* Many jobs run that could go.  Others before the own; where they are lawful only once the own are
 * gone, the own alone, then both. */
static void hunt_many(struct hunt *h, const struct bid_leaves *leaves, int64_t now_ms)
{
    if (leaves->count > 0) {
        bid_hunt(h, leaves, now_ms);
    }
    if (h->found || h->units.count == 0) {
        return;
    }
    if (!hopeless(h)) {
        hunt_all(h);
    }
    if (!h->found) {
        bid_hunt_after_own(h, now_ms);
    }
    if (!h->found) {
        vec_clear(&h->units);
        units_gather(h->c, h->ask, now_ms, &h->units);
        h->c->inexact = h->c->inexact || h->units.count > GATHERED_MAX;
        if (h->units.count <= GATHERED_MAX && !hopeless(h)) {
            hunt_all(h);
        }
    }
    h->exact = false;
}

/* Could those that are lawful now, and the own candidates with what they make lawful, be many? */
static bool are_many(const struct hunt *h, const struct bid_leaves *leaves)
{
    return leaves->jobs >= BID_JOBS_MIN ||
           (h->units.count > 0 && h->c->queues->over_leaves[h->ask->pool->index] >= BID_JOBS_MIN);
}

/* Before what is leaving is off, candidates are never fewer than after.  False: sums refuse. */
static bool gather(struct hunt *h, struct bid_leaves *ret_leaves, int64_t now_ms, bool *ret_many)
{
    const struct ask *ask = h->ask;

    *ret_many = false;
    if (ask->leaving_only) {
        return sums_suffice(h);
    }
    if (!ask->planned) {
        units_gather_own(h->c, ask, now_ms, &h->units);
        *ret_leaves = bid_leaves(h->c, ask, 0); /* what is leaving counts still */
        *ret_many = are_many(h, ret_leaves);
    }
    if (!*ret_many) {
        vec_clear(&h->units);
        units_gather(h->c, ask, now_ms, &h->units);
        h->candidates = (int64_t)h->units.count;
        return sums_suffice(h);
    }
    h->candidates = (int64_t)h->units.count;
    return h->units.count > 0 || bid_suffices(h, ret_leaves);
}

bool claim_could(struct core *c, const struct ask *ask, int64_t now_ms)
{
    struct hunt h = {.c = c, .ask = ask};
    struct bid_leaves leaves = {0};
    bool many;
    bool could = gather(&h, &leaves, now_ms, &many);

    vec_fini(&h.units);
    return could;
}

bool claim_search(struct core *c, const struct ask *ask, int64_t now_ms, struct trial *ret)
{
    struct hunt h = {.c = c, .ask = ask};
    struct bid_leaves leaves = {0};
    size_t mark = load_mark(c);
    unit_set none = {0};
    struct harm harm;
    bool wait_only;
    bool many;
    bool found;

    h.leaving_gu = c->queues->items[ask->job->queue].quotas[ask->pool->index].stopping;
    wait_only = may_wait_only(c, ask);
    if (!gather(&h, &leaves, now_ms, &many)) {
        vec_fini(&h.units);
        return false;
    }
    claim_drop_leaving(c, ask->pool->index);
    if (hunt_works(&h, &none, &harm)) {
        h.found = wait_only; /* what is leaving anyway is enough: take nobody, and promise it to
                                those who may be */
        h.exact = true;
    } else if (many) {
        hunt_many(&h, &leaves, now_ms);
    } else if (h.units.count > 0 && !hopeless(&h)) {
        hunt_all(&h);
    }
    found = h.found;
    hunt_choose(&h);
    if (found) {
        conclude(&h, ret, mark);
    } else {
        load_undo(c, mark);
    }
    vec_fini(&none);
    vec_fini(&h.best);
    vec_fini(&h.works);
    vec_fini(&h.units);
    return found;
}
