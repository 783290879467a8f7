/* core_check: the invariants of DESIGN section 10 on the state as it is, computed anew from leases.
 */
#include "base/check.h"
#include "core/place.h"
#include "core/state.h"

#include <string.h>

struct tally { /* of one device */
    int64_t gu[LEDGER_COUNT];
    int count[LEDGER_COUNT];
    int whole;
};

static const char *fault(struct arena *a, const char *what, const char *name, int64_t id)
{
    return arena_printf(a, "%s (%s %lld)", what, name, (long long)id);
}

/* ---- devices ---- */

static void count_tasks(const struct core *c, const lease_tasks *tasks, bool promised,
                        struct tally *const *by_node)
{
    for (size_t i = 0; i < tasks->count; i++) {
        const struct lease_task *t = &tasks->items[i];
        enum ledger l = promised ? LEDGER_PROMISED : load_ledger(t);

        for (int k = 0; k < t->device_count; k++) {
            const struct lease_device *part = &t->devices[k];
            const struct device *d = &c->nodes.items[t->node]->devices[part->slot];
            struct tally *sum = &by_node[t->node][part->slot];

            sum->gu[l] += part->gu;
            sum->count[l]++;
            sum->whole += !promised && part->profile < 0 && part->gu >= d->size_gu;
        }
    }
}

static const char *check_device(const struct node *n, const struct device *d,
                                const struct tally *sum, struct arena *a)
{
    const char *layout;

    for (int l = 0; l < LEDGER_COUNT; l++) {
        if (sum->gu[l] != d->gu[l] || sum->count[l] != d->count[l]) {
            return fault(a, "a device's ledger is not the sum of the leases on it", n->name,
                         d->slot);
        }
    }
    if (sum->gu[LEDGER_HELD] + sum->gu[LEDGER_LEAVING] > d->size_gu) {
        return arena_printf(
            a,
            "a device holds more than 100 %% (%s %lld): %lld held in %d, %lld leaving in %d, "
            "%lld promised in %d",
            n->name, (long long)d->slot, (long long)sum->gu[LEDGER_HELD], sum->count[LEDGER_HELD],
            (long long)sum->gu[LEDGER_LEAVING], sum->count[LEDGER_LEAVING],
            (long long)sum->gu[LEDGER_PROMISED], sum->count[LEDGER_PROMISED]);
    }
    if (sum->gu[LEDGER_HELD] + sum->gu[LEDGER_PROMISED] > d->size_gu) {
        return fault(a, "a device is promised more than it will have", n->name, d->slot);
    }
    if (sum->whole > 0 && sum->count[LEDGER_HELD] + sum->count[LEDGER_LEAVING] > 1) {
        return fault(a, "a whole-GPU task shares its device", n->name, d->slot);
    }
    if (d->table != NULL) {
        layout = slice_check(d->table, &d->layout);
        if (layout != NULL) {
            return fault(a, layout, n->name, d->slot);
        }
    }
    return d->soft != 0 ? fault(a, "a wish of the planner was left behind", n->name, d->slot)
                        : NULL;
}

static const char *check_devices(const struct core *c, struct arena *a)
{
    struct tally **by_node = arena_new(a, c->nodes.count + 1, sizeof(*by_node));

    for (size_t i = 0; i < c->nodes.count; i++) {
        by_node[i] =
            arena_new(a, (size_t)c->nodes.items[i]->device_count + 1, sizeof(struct tally));
    }
    for (const struct job *j = c->first_job; j != NULL; j = j->next) {
        count_tasks(c, &j->tasks, false, by_node);
        if (j->nomination.is) {
            count_tasks(c, &j->nomination.tasks, true, by_node);
        }
    }
    for (size_t i = 0; i < c->nodes.count; i++) {
        const struct node *n = c->nodes.items[i];

        for (int d = 0; d < n->device_count; d++) {
            const char *bad = check_device(n, &n->devices[d], &by_node[i][d], a);

            if (bad != NULL) {
                return bad;
            }
        }
    }
    return NULL;
}

/* ---- pools ---- */

static const char *check_pool(const struct core *c, const struct pool *p, struct arena *a)
{
    int64_t capacity = 0;
    int64_t taken = 0;
    int64_t held = 0;
    int64_t cards = 0;

    for (size_t i = 0; i < p->nodes.count; i++) {
        const struct node *n = c->nodes.items[p->nodes.items[i]];
        int free_cards = 0;

        for (int k = 0; k < n->device_count; k++) {
            capacity += n->devices[k].capacity_gu;
            taken += n->devices[k].taken_gu;
            held += n->devices[k].held_gu;
            free_cards += n->devices[k].free_whole;
        }
        cards += free_cards;
        if (free_cards != n->free_whole ||
            (p->by_free[free_cards][n->place / 64] >> (n->place % 64) & 1) == 0) {
            return fault(a, "a node's free cards are not what its pool says", n->name, n->id);
        }
    }
    if (capacity != p->capacity_gu || taken != p->taken_gu || held != p->held_gu ||
        cards != p->free_whole) {
        return fault(a, "a pool's sums are not those of its devices", p->name, p->id);
    }
    return NULL;
}

/* ---- queues ---- */

/* What the job adds to its leaf, by its lease and its promise. */
static void add_usage(const struct job *j, int pool, struct queue_quota *own)
{
    int64_t gu = 0;

    for (size_t k = 0; j->pool == pool && k < j->tasks.count; k++) {
        gu += load_task_gu(&j->tasks.items[k]);
        own->stopping +=
            j->tasks.items[k].state == TASK_STATE_STOPPING ? load_task_gu(&j->tasks.items[k]) : 0;
    }
    for (size_t k = 0;
         j->nomination.is && j->nomination.pool == pool && k < j->nomination.tasks.count; k++) {
        gu += load_task_gu(&j->nomination.tasks.items[k]);
    }
    own->plain += gu;
    own->used += gu;
    own->fixed += j->ask->nonpreemptible ? gu : 0;
}

static const char *check_queues(const struct core *c, int pool, struct arena *a)
{
    const struct queue_tree *t = c->queues;
    struct queue_quota *sums = arena_new(a, (size_t)t->count + 1, sizeof(*sums));
    int64_t unused = 0;

    for (const struct job *j = c->first_job; j != NULL; j = j->next) {
        add_usage(j, pool, &sums[j->queue < 0 ? t->count : j->queue]);
    }
    for (int q = t->count - 1; q >= 0; q--) {
        const struct queue_quota *have = &t->items[q].quotas[pool];
        int up = t->items[q].parent;

        if (sums[q].plain != have->plain || sums[q].used != have->used ||
            sums[q].stopping != have->stopping || sums[q].fixed != have->fixed) {
            return fault(a, "a queue's usage is not the sum of its leases", t->items[q].name,
                         t->items[q].id);
        }
        unused += have->keep > have->used ? have->keep - have->used : 0;
        if (up >= 0) {
            sums[up].plain += sums[q].plain;
            sums[up].stopping += sums[q].stopping;
            sums[up].fixed += sums[q].fixed;
            sums[up].used += sums[q].used > have->keep ? sums[q].used - have->keep : 0;
        }
    }
    return unused != t->unused_keep[pool] ? "the unused kept reserves do not add up" : NULL;
}

/* ---- jobs ---- */

static const char *check_job(const struct job *j, struct arena *a)
{
    if (job_is_active(j) != (j->pool >= 0) && !job_is_ended(j)) {
        return fault(a, "an active job lies in no pool, or one that is not does", j->name, j->id);
    }
    if (!job_is_active(j) && j->tasks.count > 0) {
        return fault(a, "a job that is not active holds devices", j->name, j->id);
    }
    for (size_t g = 0; job_is_active(j) && !j->stop.told && j->broken_ms == 0 && !j->ended_badly &&
                       !j->refused && j->tasks.count > 0 && g < j->ask->group_count;
         g++) {
        int64_t have = g < j->finished.count ? j->finished.items[g] : 0;

        for (size_t i = 0; i < j->tasks.count; i++) {
            have += j->tasks.items[i].group == (int16_t)g &&
                    j->tasks.items[i].state != TASK_STATE_STOPPING;
        }
        if (have < j->ask->groups[g].min_tasks) {
            return fault(a, "a gang is below its minimum", j->name, j->id);
        }
    }
    if (j->ask->nonpreemptible && j->stop.told && j->stop.claimed) {
        return fault(a, "a job that is not preemptible is a victim", j->name, j->id);
    }
    return NULL;
}

/* A victim that is stopping for a claim: the claimant has its promise, unless that was ended by
 * name. */
static const char *check_jobs(const struct core *c, struct arena *a)
{
    int64_t waiting = 0;

    for (const struct job *j = c->first_job; j != NULL; j = j->next) {
        const char *bad = check_job(j, a);

        if (bad != NULL) {
            return bad;
        }
        waiting += job_is_waiting(j);
    }
    return waiting != c->waiting_count ? "the waiting jobs do not add up" : NULL;
}

const char *core_check(const struct core *c, struct arena *a)
{
    const char *bad = NULL;

    if (c->policy == NULL) {
        return NULL;
    }
    bad = check_devices(c, a);
    for (size_t p = 0; bad == NULL && p < c->pools.count; p++) {
        bad = check_pool(c, c->pools.items[p], a);
        bad = bad != NULL ? bad : check_queues(c, (int)p, a);
    }
    bad = bad != NULL ? bad : check_jobs(c, a);
    return bad != NULL ? bad : meter_check(c);
}
