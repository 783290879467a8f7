/* The dispatcher, what all folds share, and the rebuilding of everything derived. */
#include "core/fold.h"

#include "base/check.h"
#include "core/shape.h"

#include <string.h>

typedef int fold_fn(struct core *c, const struct fact *f, struct err *err);

static int fold_nothing(struct core *c, const struct fact *f, struct err *err)
{
    (void)c;
    (void)f;
    (void)err;
    return 0;
}

static fold_fn *const FOLDS[FACT_KIND_COUNT] = {
    [FACT_POLICY_SET] = fold_policy,
    [FACT_NODE_SEEN] = fold_node_seen,
    [FACT_NODE_STATE] = fold_node_state,
    [FACT_NODE_DRAIN] = fold_node_drain,
    [FACT_DEVICE_STATE] = fold_device_state,
    [FACT_JOB_SUBMITTED] = fold_submitted,
    [FACT_JOB_HELD] = fold_asked,
    [FACT_JOB_RELEASED] = fold_asked,
    [FACT_JOB_CANCEL] = fold_asked,
    [FACT_JOB_REQUEUE] = fold_asked,
    [FACT_JOB_DONE] = fold_asked,
    [FACT_JOB_CHECKPOINTED] = fold_checkpointed,
    [FACT_TASK_RUNNING] = fold_task,
    [FACT_TASK_ENDED] = fold_task,
    [FACT_TASK_REFUSED] = fold_task,
    [FACT_CLOCK_STEPPED] = fold_nothing,
    [FACT_DAEMON_STARTED] = fold_nothing,
    [FACT_DAEMON_STOPPED] = fold_nothing,
    [FACT_POLICY_REFUSED] = fold_nothing,
    [FACT_TOKEN_CREATED] = fold_token,
    [FACT_TOKEN_REVOKED] = fold_token,
    [FACT_JOURNAL_KEY] = fold_nothing,
    [FACT_JOURNAL_CHECKPOINT] = fold_nothing,
    [FACT_JOB_STARTED] = fold_started,
    [FACT_JOB_CLAIMED] = fold_claimed,
    [FACT_JOB_STOPPED] = fold_stopped,
    [FACT_JOB_KILLED] = fold_killed,
    [FACT_NOMINATION_ENDED] = fold_nomination_ended,
    [FACT_ATTEMPT_ENDED] = fold_attempt_ended,
    [FACT_DEVICE_STUCK] = fold_device_stuck,
    [FACT_NODE_LOST] = fold_node_lost,
};

int core_apply(struct core *c, const struct fact *fact, struct err *err)
{
    int rc;

    if (fact->kind <= FACT_NONE || fact->kind >= FACT_KIND_COUNT) {
        return err_set(err, ERR_INVALID, "fact kind %d is not known", (int)fact->kind);
    }
    if (fact->at_ms < c->now_ms) {
        return err_set(err, ERR_INVALID, "%s at %lld comes before the last fact at %lld",
                       fact_kind_name(fact->kind), (long long)fact->at_ms, (long long)c->now_ms);
    }
    CHECK(c->undo.items.count == 0);
    c->undo.off = true;
    c->applying_ms = fact->at_ms;
    meter_sample(c, fact->at_ms);
    rc = FOLDS[fact->kind](c, fact, err);
    c->undo.off = false;
    if (rc == 0) {
        meter_commit(c);
        c->now_ms = fact->at_ms;
    }
    return rc;
}

struct core *core_new(void)
{
    struct core *c = mem_new(1, sizeof(*c));

    c->next_job = c->next_node = c->next_token = c->next_pool = c->next_queue = 1;
    c->plan_arena = arena_make();
    c->wake_ms = INT64_MAX;
    return c;
}

static void free_pools(struct core *c)
{
    for (size_t i = 0; i < c->pools.count; i++) {
        struct pool *p = c->pools.items[i];

        for (int f = 0; f <= POOL_CARDS_MAX; f++) {
            mem_free(p->by_free[f]);
        }
        for (size_t d = 0; d < p->domains.count; d++) {
            vec_fini(&p->domains.items[d].nodes);
        }
        vec_fini(&p->domains);
        vec_fini(&p->nodes);
        vec_fini(&p->slice_nodes);
        mem_free(p);
    }
    vec_clear(&c->pools);
}

void core_free(struct core *c)
{
    if (c == NULL) {
        return;
    }
    while (c->first_job != NULL) {
        fold_job_free(c, c->first_job);
    }
    for (struct omap_item *i = omap_first(&c->tokens); i != NULL; i = omap_next(i)) {
        arena_free(((struct token *)i->value)->arena);
    }
    for (size_t i = 0; i < c->nodes.count; i++) {
        fold_node_free(c->nodes.items[i]);
    }
    free_pools(c);
    vec_fini(&c->pools);
    vec_fini(&c->nodes);
    vec_fini(&c->ended);
    vec_fini(&c->decisions);
    vec_fini(&c->touched);
    vec_fini(&c->heads);
    vec_fini(&c->undo.items);
    vec_fini(&c->undo.layouts);
    idmap_fini(&c->job_of_id);
    omap_fini(&c->node_names);
    omap_fini(&c->tokens);
    omap_fini(&c->shapes);
    omap_fini(&c->nominated);
    omap_fini(&c->attention);
    omap_fini(&c->timers);
    omap_fini(&c->leaving);
    omap_fini(&c->broken);
    omap_fini(&c->growing);
    meter_fini(&c->meter);
    queue_tree_free(c->queues);
    arena_free(c->policy_arena);
    arena_free(c->plan_arena);
    mem_free(c);
}

struct job *core_job(const struct core *c, int64_t id)
{
    return idmap_get(&c->job_of_id, id);
}

struct node *core_node(const struct core *c, int64_t id)
{
    size_t low = 0;
    size_t high = c->nodes.count;

    while (low < high) {
        size_t mid = (low + high) / 2;

        if (c->nodes.items[mid]->id < id) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low < c->nodes.count && c->nodes.items[low]->id == id ? c->nodes.items[low] : NULL;
}

struct pool *core_pool_of_id(const struct core *c, int64_t id)
{
    for (size_t i = 0; i < c->pools.count; i++) {
        if (c->pools.items[i]->id == id) {
            return c->pools.items[i];
        }
    }
    return NULL;
}

void fold_wake(struct core *c, int pool)
{
    for (size_t i = 0; i < c->pools.count; i++) {
        if (pool < 0 || pool == (int)i) {
            c->pools.items[i]->generation = ++c->generation;
        }
    }
}

void fold_free_tasks(lease_tasks *tasks)
{
    for (size_t i = 0; i < tasks->count; i++) {
        mem_free(tasks->items[i].devices);
    }
    vec_clear(tasks);
}

/* 128 TiB: what 65,536 tasks of a node hold adds up within int64. */
#define AMOUNT_MAX (INT64_MAX / 65536)

static bool within(int64_t value, int64_t max)
{
    return value >= 0 && value <= max;
}

int fold_grant(const struct core *c, const struct fact_grant *g, struct lease_task *ret,
               struct err *err)
{
    const struct node *n = core_node(c, g->node);

    if (n == NULL || n->pool < 0) {
        return err_set(err, ERR_INVALID, "no node %lld in any pool", (long long)g->node);
    }
    if (!within(g->task, INT32_MAX) || !within(g->step, INT32_MAX) ||
        !within(g->group, INT16_MAX) || g->device_count > INT16_MAX ||
        !within(g->cpu_milli, AMOUNT_MAX) || !within(g->memory_bytes, AMOUNT_MAX)) {
        return err_set(err, ERR_INVALID, "task %lld has a number that no grant can have",
                       (long long)g->task);
    }
    *ret = (struct lease_task){.task = (int32_t)g->task,
                               .step = (int32_t)g->step,
                               .group = (int16_t)g->group,
                               .state = TASK_STATE_STARTING,
                               .node = n->index,
                               .device_count = (int16_t)g->device_count,
                               .cpu_milli = g->cpu_milli,
                               .memory_bytes = g->memory_bytes};
    for (size_t i = 0; i < g->device_count; i++) {
        const struct fact_grant_device *from = &g->devices[i];
        const struct device *d;

        if (from->slot < 0 || from->slot >= n->device_count) {
            return err_set(err, ERR_INVALID, "node %s has no device %lld", n->name,
                           (long long)from->slot);
        }
        d = &n->devices[from->slot];
        if (!within(from->gu, GU_PER_GPU) || !within(from->memory_bytes, AMOUNT_MAX) ||
            !within(from->start + 1, SLICE_CUT_MAX)) {
            return err_set(err, ERR_INVALID, "device %lld of %s: no grant is as large",
                           (long long)from->slot, n->name);
        }
        if (from->profile[0] != '\0' && d->profile[0] == '\0' &&
            (d->table == NULL || slice_profile_of(d->table, from->profile) < 0)) {
            return err_set(err, ERR_INVALID, "device %lld of %s cannot be cut into %s",
                           (long long)from->slot, n->name, from->profile);
        }
    }
    ret->devices = mem_new(g->device_count, sizeof(ret->devices[0]));
    for (size_t i = 0; i < g->device_count; i++) {
        const struct fact_grant_device *from = &g->devices[i];
        const struct device *d = &n->devices[from->slot];
        bool cut = from->profile[0] != '\0' && d->profile[0] == '\0';

        ret->devices[i] =
            (struct lease_device){.slot = (int32_t)from->slot,
                                  .start = cut ? (int16_t)from->start : (int16_t)-1,
                                  .profile =
                                      cut ? (int16_t)slice_profile_of(d->table, from->profile)
                                          : (int16_t)-1,
                                  .gu = from->gu,
                                  .memory_bytes = from->memory_bytes};
    }
    return 0;
}

static const char *text_or_empty(const char *text)
{
    return text != NULL ? text : "";
}

/* The text goes to *to, which moves behind it. */
static const char *put_text(char **to, const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = memcpy(*to, text, bytes);

    *to += bytes;
    return copy;
}

/* One piece of memory for all of it. */
void fold_reason(struct job *j, const struct fact_reason *why, int64_t seq)
{
    size_t numbers = why->number_count * sizeof(why->numbers[0]);
    size_t jobs = why->job_count * sizeof(why->jobs[0]);
    size_t texts = strlen(text_or_empty(why->rule)) + strlen(text_or_empty(why->text)) + 2;
    char *to;

    for (size_t i = 0; i < why->number_count; i++) {
        texts += strlen(why->numbers[i].name) + 1;
    }
    if (j->why_arena == NULL) {
        j->why_arena = arena_make_sized(numbers + jobs + texts);
    }
    arena_reset(j->why_arena);
    to = arena_new(j->why_arena, numbers + jobs + texts, 1);
    j->why = *why;
    j->why.numbers = (struct fact_number *)(void *)to;
    to += numbers;
    j->why.jobs = (int64_t *)(void *)to;
    to += jobs;
    if (jobs > 0) {
        memcpy(j->why.jobs, why->jobs, jobs);
    }
    j->why.rule = put_text(&to, text_or_empty(why->rule));
    j->why.text = put_text(&to, text_or_empty(why->text));
    for (size_t i = 0; i < why->number_count; i++) {
        j->why.numbers[i].name = put_text(&to, why->numbers[i].name);
        j->why.numbers[i].value = why->numbers[i].value;
    }
    j->why_seq = seq;
}

/* ---- everything derived, anew ---- */

static void reset_device(struct device *d)
{
    for (int l = 0; l < LEDGER_COUNT; l++) {
        d->gu[l] = 0;
        d->memory[l] = 0;
        d->count[l] = 0;
    }
    d->whole = 0;
    d->share_count = 0;
    d->share_tops = d->share_tops_sq = 0;
    d->share_subjects = d->share_subjects_sq = 0;
    d->share_mps = 0;
    d->soft = 0;
    d->capacity_gu = d->taken_gu = d->held_gu = 0;
    d->free_whole = false;
    d->promised = (struct slice){0};
    for (int i = 0; i < d->layout.count; i++) {
        d->layout.cuts[i].held = false; /* stays cut; its holder is put on it again below */
    }
}

static int pool_index_of_node(const struct core *c, const struct node *n)
{
    for (size_t i = 0; i < c->pools.count; i++) {
        if (c->pools.items[i]->id == n->pool_id) {
            return (int)i;
        }
    }
    return -1;
}

static void make_pools(struct core *c)
{
    free_pools(c);
    for (size_t i = 0; i < c->policy->pool_count; i++) {
        struct pool *p = mem_new(1, sizeof(*p));

        p->row = &c->policy->pools[i];
        p->id = p->row->id;
        p->name = p->row->name;
        p->index = (int)i;
        p->level_count = (int)c->policy->level_count;
        p->generation = ++c->generation;
        vec_push(&c->pools, p);
    }
}

/* In a pool where no queue states a reserve the single top queue has it all. */
static void settle_reserves(struct core *c)
{
    for (size_t p = 0; p < c->pools.count; p++) {
        struct pool *pool = c->pools.items[p];
        int tops = 0;
        int top = -1;

        pool->no_reserve = true;
        for (int i = 0; i < c->queues->count; i++) {
            const struct queue *q = &c->queues->items[i];

            if (q->parent < 0) {
                tops++;
                top = i;
            }
            for (size_t k = 0; k < q->row->quota_count; k++) {
                if (q->row->quotas[k].pool == pool->id && q->row->quotas[k].reserved_gu > 0) {
                    pool->no_reserve = false;
                }
            }
        }
        pool->no_reserve = pool->no_reserve && tops == 1;
        if (pool->no_reserve) {
            c->queues->items[top].quotas[p].reserved = pool->nominal_gu;
        }
        queue_settle(c->queues, (int)p);
    }
}

void fold_nominal(struct core *c)
{
    settle_reserves(c);
}

static void put_lease(struct core *c, struct job *j)
{
    int64_t stopping = 0;

    j->leased_gu = 0;
    for (size_t i = 0; i < j->tasks.count; i++) {
        const struct lease_task *t = &j->tasks.items[i];
        int64_t gu = load_task_gu(t);

        load_put(c, j, t, load_ledger(t));
        j->leased_gu += gu;
        stopping += t->state == TASK_STATE_STOPPING ? gu : 0;
    }
    j->stopping_gu = stopping;
    if (j->pool >= 0) {
        load_quota(c, j, j->pool, j->leased_gu - stopping, false, 1);
        load_quota(c, j, j->pool, stopping, true, 1);
    }
    for (size_t i = 0; j->nomination.is && i < j->nomination.tasks.count; i++) {
        const struct lease_task *t = &j->nomination.tasks.items[i];

        load_put(c, j, t, LEDGER_PROMISED);
        load_quota(c, j, j->nomination.pool, load_task_gu(t), false, 1);
    }
}

/* A pool that something lies in is never removed (core_policy_check). */
static int index_of_pool(const struct core *c, int64_t id)
{
    const struct pool *p = core_pool_of_id(c, id);

    CHECK(p != NULL);
    return p->index;
}

static void reenter_job(struct core *c, struct job *j)
{
    j->queue = queue_index(c->queues, j->queue_id);
    j->shape->queue = j->queue;
    mem_free(j->shape->failed);
    j->shape->failed = NULL;
    if (j->pool_id != 0) {
        j->pool = index_of_pool(c, j->pool_id);
    }
    if (j->nomination.is) {
        j->nomination.pool = index_of_pool(c, j->nomination.pool_id);
    }
    if (job_is_ended(j)) {
        return;
    }
    if (job_is_waiting(j)) {
        shape_enter(c, j);
    }
    put_lease(c, j);
    j->timed_in = -1;
    j->listed = false;
    fold_index_job(c, j);
}

void fold_rebuild(struct core *c)
{
    bool off = c->undo.off;

    c->undo.off = true;
    c->rebuilding = true;
    for (struct job *j = c->first_job; j != NULL; j = j->next) {
        omap_fini(&j->shape->waiting);
    }
    omap_fini(&c->leaving);
    omap_fini(&c->broken);
    omap_fini(&c->growing);
    omap_fini(&c->attention);
    omap_fini(&c->timers);
    omap_fini(&c->nominated);
    c->waiting_count = 0;
    queue_tree_free(c->queues);
    make_pools(c);
    c->site_stamp++;
    c->queues = queue_tree_new(c->policy);
    for (size_t i = 0; i < c->nodes.count; i++) {
        struct node *n = c->nodes.items[i];

        n->index = (int)i;
        n->pool = pool_index_of_node(c, n);
        memset(n->cpu, 0, sizeof(n->cpu));
        memset(n->memory, 0, sizeof(n->memory));
        n->task_count = 0;
        n->free_whole = 0;
        n->timer_ms = 0;
        for (int d = 0; d < n->device_count; d++) {
            reset_device(&n->devices[d]);
        }
        fold_enter_pool(c, n);
    }
    settle_reserves(c);
    for (struct job *j = c->first_job; j != NULL; j = j->next) {
        j->timer_ms = 0;
        reenter_job(c, j);
    }
    c->rebuilding = false;
    c->undo.off = off;
}
