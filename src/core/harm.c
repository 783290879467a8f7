#include "core/harm.h"

#include "base/check.h"
#include "core/state.h"

#include <stdlib.h>

static bool queue_below(const struct core *c, const struct ask *ask, int leaf)
{
    int common = queue_common(c->queues, leaf, ask->job->queue);

    for (int q = leaf; q != common; q = c->queues->items[q].parent) {
        const struct queue_quota *own = &c->queues->items[q].quotas[ask->pool->index];

        if (own->used < own->mine) {
            return true;
        }
    }
    return false;
}

struct harm harm_of(const struct core *c, const struct ask *ask,
                    const struct claim_unit *const *units, int count)
{
    struct harm h = {.units = units, .count = count, .oldest_start_ms = INT64_MAX};

    for (int i = 0; i < count; i++) {
        const struct claim_unit *u = units[i];
        bool seen = false;

        for (int k = 0; k < i && !seen; k++) {
            seen = units[k]->job == u->job;
        }
        h.jobs += !seen;
        h.whole = h.whole || u->kind == UNIT_WHOLE;
        h.own = h.own || u->own;
        h.cost_gu_ms += u->cost_gu_ms;
        if (u->job->started_ms < h.oldest_start_ms) {
            h.oldest_start_ms = u->job->started_ms;
        }
        h.below = h.below || (!u->own && queue_below(c, ask, u->job->queue));
    }
    return h;
}

static int by_priority_down(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;

    return x < y ? 1 : x > y ? -1 : 0;
}

#define PRIORITIES_MAX 256

static int priorities(const struct harm *h, int queue, int64_t *ret)
{
    int count = 0;

    for (int i = 0; i < h->count && count < PRIORITIES_MAX; i++) {
        bool seen = false;

        for (int k = 0; k < i && !seen; k++) {
            seen = h->units[k]->job == h->units[i]->job;
        }
        if (!seen && h->units[i]->job->queue == queue) {
            ret[count++] = h->units[i]->job->ask->priority;
        }
    }
    qsort(ret, (size_t)count, sizeof(ret[0]), by_priority_down);
    return count;
}

/* Below 0: a evicts lower priorities in this queue.  A list that ends first says nothing. */
static int compare_queue(const struct harm *a, const struct harm *b, int queue)
{
    int64_t of_a[PRIORITIES_MAX];
    int64_t of_b[PRIORITIES_MAX];
    int count_a = priorities(a, queue, of_a);
    int count_b = priorities(b, queue, of_b);

    for (int i = 0; i < count_a && i < count_b; i++) {
        if (of_a[i] != of_b[i]) {
            return of_a[i] < of_b[i] ? -1 : 1;
        }
    }
    return 0;
}

/* Priorities count inside one queue only; where the queues disagree they say nothing. */
static int compare_priorities(const struct harm *a, const struct harm *b)
{
    bool lower = false;
    bool higher = false;

    for (int i = 0; i < a->count; i++) {
        int queue = a->units[i]->job->queue;
        bool seen = false;
        int verdict;

        for (int k = 0; k < i && !seen; k++) {
            seen = a->units[k]->job->queue == queue;
        }
        verdict = seen ? 0 : compare_queue(a, b, queue);
        lower = lower || verdict < 0;
        higher = higher || verdict > 0;
    }
    return lower == higher ? 0 : lower ? -1 : 1;
}

static int compare_ids(const struct harm *a, const struct harm *b)
{
    for (int i = 0; i < a->count && i < b->count; i++) {
        if (a->units[i]->job->id != b->units[i]->job->id) {
            return a->units[i]->job->id > b->units[i]->job->id ? -1 : 1; /* the newer one goes */
        }
        if (a->units[i]->at != b->units[i]->at) {
            return a->units[i]->at > b->units[i]->at ? -1 : 1;
        }
    }
    return a->count - b->count;
}

bool harm_beats_by_priority(const struct harm *a, const struct harm *b)
{
    return a->whole == b->whole && a->below == b->below && a->own == b->own &&
           compare_priorities(a, b) < 0;
}

bool harm_less(const struct harm *a, const struct harm *b)
{
    if (a->whole != b->whole) {
        return !a->whole;
    }
    if (a->below != b->below) {
        return !a->below;
    }
    if (a->own != b->own) {
        return !a->own;
    }
    if (a->cost_gu_ms != b->cost_gu_ms) {
        return a->cost_gu_ms < b->cost_gu_ms;
    }
    if (a->jobs != b->jobs) {
        return a->jobs < b->jobs;
    }
    if (a->oldest_start_ms != b->oldest_start_ms) {
        return a->oldest_start_ms > b->oldest_start_ms;
    }
    return compare_ids(a, b) < 0;
}
