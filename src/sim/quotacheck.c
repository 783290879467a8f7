/* quotacheck - spare, T, keep and U of every queue, computed anew from leaves to tops. */
#include "sim/quotacheck.h"

#include <string.h>

struct sums { /* of one queue in the pool */
    const struct policy_queue *row;
    int parent; /* index, -1 = top */
    int64_t reserved;
    int64_t limit;
    int64_t lend;
    int64_t borrow;
    int64_t mine;   /* T */
    int64_t keep;   /* never leaves it */
    int64_t plain;  /* u */
    int64_t used;   /* U */
    int64_t fixed;  /* part of u that is not preemptible */
    int64_t others; /* U without the job in question */
};

struct tree {
    struct sums *items;
    int count;
};

static void read_row(struct tree *t, int i, const struct policy_queue *row, int64_t pool)
{
    struct sums *q = &t->items[i];
    size_t k;
    int up;

    *q = (struct sums){
        .row = row, .parent = -1, .limit = POLICY_NONE, .lend = POLICY_NONE, .borrow = POLICY_NONE};
    for (k = 0; k < row->quota_count; k++) {
        if (row->quotas[k].pool == pool) {
            q->reserved = row->quotas[k].reserved_gu;
            q->limit = row->quotas[k].limit_gu;
            q->lend = row->quotas[k].lend_gu;
            q->borrow = row->quotas[k].borrow_gu;
        }
    }
    for (up = 0; up < i; up++) {
        q->parent = t->items[up].row->id == row->parent ? up : q->parent;
    }
}

static int index_of(const struct tree *t, int64_t queue)
{
    int i;

    for (i = 0; i < t->count && t->items[i].row->id != queue; i++) {
    }
    return i;
}

/* T and keep; children come behind their parents. */
static void fill_reserves(struct tree *t)
{
    int i;

    for (i = 0; i < t->count; i++) {
        t->items[i].mine = t->items[i].reserved;
    }
    for (i = t->count - 1; i >= 0; i--) {
        struct sums *q = &t->items[i];
        bool keeps = q->lend != POLICY_NONE && q->row->state != QUEUE_CLOSED && q->mine > q->lend;

        q->keep = keeps ? q->mine - q->lend : 0;
        if (q->parent >= 0) {
            t->items[q->parent].mine += q->mine - q->keep - q->reserved;
        }
    }
}

static int64_t above(int64_t amount, int64_t kept)
{
    return amount > kept ? amount - kept : 0;
}

/* What the job holds and keeps. */
static int64_t kept_gu(const struct roll_job *j)
{
    int64_t gu = 0;
    size_t i, k;

    for (i = 0; i < j->tasks.count; i++) {
        const struct roll_task *task = &j->tasks.items[i];

        for (k = 0; !task->stopping && k < task->devices.count; k++) {
            gu += task->devices.items[k].gu;
        }
    }
    return gu;
}

static void add_usage(struct tree *t, const struct roll_job *j, int64_t gu, bool other)
{
    int at = index_of(t, j->queue);

    if (at < t->count) {
        t->items[at].plain += gu;
        t->items[at].used += gu;
        /* where such work may borrow it may be beyond the reserve of any level */
        t->items[at].fixed +=
            j->preemptible || t->items[at].row->nonpreemptible_may_borrow ? 0 : gu;
        t->items[at].others += other ? gu : 0;
    }
}

static void fill_usage(struct tree *t, const struct roll *roll, const struct roll_job *job)
{
    const struct omap_item *it;
    int i;

    for (it = omap_first(&roll->holding); it != NULL; it = omap_next(it)) {
        const struct roll_job *j = it->value;

        if (j->pool == job->pool) {
            add_usage(t, j, kept_gu(j), j != job);
        }
    }
    for (it = omap_first(&roll->promised); it != NULL; it = omap_next(it)) {
        const struct roll_job *j = it->value;

        if (j->promised_pool == job->pool) {
            add_usage(t, j, j->promised_gu, true);
        }
    }
    for (i = t->count - 1; i >= 0; i--) {
        const struct sums *q = &t->items[i];
        struct sums *up = q->parent >= 0 ? &t->items[q->parent] : NULL;

        if (up != NULL) {
            up->plain += q->plain;
            up->fixed += q->fixed;
            up->used += above(q->used, q->keep);
            up->others += above(q->others, q->keep);
        }
    }
}

/* fixed: work of this job's kind must stay within what is reserved. */
static const char *check_level(const struct sums *q, const struct roll_job *job, bool fixed,
                               struct arena *a)
{
    const char *rule = NULL;
    int64_t have = 0, most = 0;

    if (q->limit != POLICY_NONE && q->plain > q->limit) {
        rule = "its limit";
        have = q->plain;
        most = q->limit;
    } else if (q->borrow != POLICY_NONE && q->used > q->others && q->used > q->mine + q->borrow) {
        rule = "its reserve and borrow limit";
        have = q->used;
        most = q->mine + q->borrow;
    } else if (fixed && q->fixed > q->reserved) {
        rule = "its reserve with work that is not preemptible";
        have = q->fixed;
        most = q->reserved;
    }
    return rule == NULL ? NULL
                        : arena_printf(a, "job %lld takes queue %s above %s: %lld units of %lld",
                                       (long long)job->id, q->row->name, rule, (long long)have,
                                       (long long)most);
}

/* What queues keep for themselves is there for them, beside all that is held. */
static const char *check_kept(const struct tree *t, const struct roll_job *job, int64_t capacity_gu,
                              struct arena *a)
{
    int64_t with = -capacity_gu;
    int64_t without = -capacity_gu;
    int i;

    for (i = 0; i < t->count; i++) {
        const struct sums *q = &t->items[i];

        with += above(q->keep, q->used) + (q->parent < 0 ? q->plain : 0);
        without += above(q->keep, q->others) + (q->parent < 0 ? q->plain : 0);
    }
    without -= kept_gu(job);
    if (with <= 0 || with <= without) {
        return NULL;
    }
    return arena_printf(a, "job %lld takes %lld units that a queue keeps for itself",
                        (long long)job->id, (long long)with);
}

const char *quotacheck(const struct policy *policy, const struct roll *roll, int64_t job,
                       int64_t capacity_gu, struct arena *arena)
{
    const struct roll_job *j = roll_job(roll, job);
    struct tree t = {.count = (int)policy->queue_count};
    const char *bad;
    bool fixed = false;
    int i;

    if (j == NULL || kept_gu(j) == 0) {
        return NULL;
    }
    t.items = arena_new(arena, policy->queue_count + 1, sizeof(*t.items));
    for (i = 0; i < t.count; i++) {
        read_row(&t, i, &policy->queues[i], j->pool);
        fixed = fixed || (!j->preemptible && t.items[i].reserved > 0);
    }
    fill_reserves(&t);
    fill_usage(&t, roll, j);
    i = index_of(&t, j->queue);
    bad =
        i == t.count ? "a job without a queue has started" : check_kept(&t, j, capacity_gu, arena);
    fixed = fixed && i < t.count && !t.items[i].row->nonpreemptible_may_borrow;
    for (; bad == NULL && i >= 0; i = t.items[i].parent) {
        bad = check_level(&t.items[i], j, fixed, arena);
    }
    return bad;
}
