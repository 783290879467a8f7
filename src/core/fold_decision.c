/* What the core decided, once it is journaled.  Nothing is computed again: devices, split, victims
 * and their cost are what the decision says. */
#include "core/fold.h"

#include "base/check.h"
#include "core/shape.h"

#include <string.h>

static int need_job(struct core *c, int64_t id, struct job **ret, struct err *err)
{
    *ret = core_job(c, id);
    if (*ret == NULL) {
        return err_set(err, ERR_NOT_FOUND, "no job %lld", (long long)id);
    }
    return 0;
}

static int need_attempt(struct core *c, int64_t id, int64_t attempt, struct job **ret,
                        struct err *err)
{
    int rc = need_job(c, id, ret, err);

    if (rc == 0 && (!job_is_active(*ret) || (*ret)->attempt != attempt)) {
        return err_set(err, ERR_INVALID, "job %lld has no attempt %lld that runs", (long long)id,
                       (long long)attempt);
    }
    return rc;
}

/* ---- starts ---- */

static int grant_all(const struct core *c, const struct fact_grant *from, size_t count,
                     lease_tasks *ret, struct err *err)
{
    vec_reserve_exact(ret, count);
    for (size_t i = 0; i < count; i++) {
        struct lease_task t;
        int rc = fold_grant(c, &from[i], &t, err);

        if (rc != 0) {
            fold_free_tasks(ret);
            vec_fini(ret);
            return rc;
        }
        vec_push(ret, t);
    }
    return 0;
}

static bool holds_task(const struct job *j, int32_t task)
{
    for (size_t i = 0; i < j->tasks.count; i++) {
        if (j->tasks.items[i].task == task) {
            return true;
        }
    }
    return false;
}

static void enter_task(struct core *c, struct job *j, struct lease_task *t)
{
    int64_t gu = load_task_gu(t);

    t->step = t->step != 0 ? t->step : (int32_t)j->step;
    load_put(c, j, t, LEDGER_HELD);
    load_quota(c, j, j->pool, gu, false, 1);
    j->leased_gu += gu;
}

/* No number is there twice, if they rise. */
static bool is_rising(const lease_tasks *tasks)
{
    for (size_t i = 1; i < tasks->count; i++) {
        if (tasks->items[i - 1].task >= tasks->items[i].task) {
            return false;
        }
    }
    return true;
}

static void add_tasks(struct core *c, struct job *j, lease_tasks *fresh)
{
    if (j->tasks.count == 0 && is_rising(fresh)) { /* a start: they are its tasks, as they lie */
        vec_fini(&j->tasks);
        memcpy(&j->tasks, fresh, sizeof(j->tasks));
        for (size_t i = 0; i < j->tasks.count; i++) {
            enter_task(c, j, &j->tasks.items[i]);
        }
        return;
    }
    for (size_t i = 0; i < fresh->count; i++) {
        struct lease_task *t = &fresh->items[i];

        if (holds_task(j, t->task)) {
            mem_free(t->devices);
            continue;
        }
        vec_push(&j->tasks, *t);
        enter_task(c, j, &j->tasks.items[j->tasks.count - 1]);
    }
    vec_fini(fresh);
}

static void begin_attempt(struct core *c, struct job *j, const struct fact_job_started *d,
                          int64_t now_ms)
{
    shape_leave(c, j);
    j->attempt = d->attempt;
    j->state = JOB_STATE_STARTING;
    j->started_ms = now_ms;
    j->running_ms = 0;
    j->not_before_ms = 0;
    j->stop = (struct job_stop){0};
    j->broken_ms = 0;
    j->unsaved_gu_ms = 0;
    j->end_status = j->end_signal = 0;
    j->ended_badly = j->ended_by_loss = j->refused = j->done_said = j->requeue_asked = false;
    j->fault_node = 0;
    vec_clear(&j->finished);
    vec_clear(&j->passes);
}

int fold_started(struct core *c, const struct fact *f, struct err *err)
{
    const struct fact_job_started *d = fact_of(f, JOB_STARTED);
    const struct pool *p = core_pool_of_id(c, d->pool);
    lease_tasks fresh = {0};
    struct job *j;
    int rc = need_job(c, d->job, &j, err);

    if (rc != 0) {
        return rc;
    }
    if (p == NULL ||
        (d->step == 1 ? !job_is_waiting(j) : !job_is_active(j) || d->attempt != j->attempt)) {
        return err_set(err, ERR_INVALID, "job %lld is %s and cannot start step %lld",
                       (long long)j->id, JOB_STATE_NAMES[j->state], (long long)d->step);
    }
    rc = grant_all(c, d->tasks, d->task_count, &fresh, err);
    if (rc != 0) {
        return rc;
    }
    if (j->nomination.is) {
        fold_drop_nomination(c, j);
    }
    if (d->step == 1) {
        begin_attempt(c, j, d, f->at_ms);
        j->pool = p->index;
        j->pool_id = p->id;
    } else {
        j->broken_ms = 0;
    }
    j->step = d->step;
    add_tasks(c, j, &fresh);
    fold_broken(c, j, f->at_ms);
    j->reserved_gu = d->reserved_gu;
    j->borrowed_gu = d->borrowed_gu;
    for (size_t i = 0; i < d->pass_count; i++) {
        if (!job_has_passed(j, d->passes[i])) {
            vec_push(&j->passes, d->passes[i]);
        }
    }
    fold_reason(j, &d->why, f->seq);
    fold_index_job(c, j);
    shape_retry(&c->queues->items[j->queue]); /* a higher priority of its queue may stop it */
    if (c->policy->consolidation) {
        fold_wake(c, j->pool); /* it may be moved for what could not start */
        return 0;
    }
    for (int q = j->queue; q >= 0; q = c->queues->items[q].parent) {
        if (quota_borrowed(c->queues, j->pool, q) > 0) {
            fold_wake(c, j->pool); /* the queue is over its reserve now: its jobs can be victims */
            break;
        }
    }
    return 0;
}

/* ---- stops ---- */

static void stop_task(struct core *c, struct job *j, struct lease_task *t)
{
    int64_t gu = load_task_gu(t);

    if (t->state == TASK_STATE_STOPPING) {
        return;
    }
    load_take(c, j, t, LEDGER_HELD);
    t->state = TASK_STATE_STOPPING;
    load_put(c, j, t, LEDGER_LEAVING);
    load_quota(c, j, j->pool, gu, false, -1);
    load_quota(c, j, j->pool, gu, true, 1);
    j->stopping_gu += gu;
}

static void stop_whole(struct core *c, struct job *j, int64_t now_ms, int64_t deadline_ms)
{
    for (size_t i = 0; i < j->tasks.count; i++) {
        stop_task(c, j, &j->tasks.items[i]);
    }
    j->state = JOB_STATE_STOPPING;
    j->stop.told = true;
    j->stop.told_ms = now_ms;
    j->stop.deadline_ms = deadline_ms;
    j->stop.killed = false;
    j->broken_ms = 0;
}

static void stop_some(struct core *c, struct job *j, const struct fact_victim *v, int64_t now_ms)
{
    for (size_t k = 0; k < v->task_count; k++) {
        for (size_t i = 0; i < j->tasks.count; i++) {
            if (j->tasks.items[i].task == v->tasks[k]) {
                stop_task(c, j, &j->tasks.items[i]);
            }
        }
    }
    j->stop.told_ms = now_ms;
    j->stop.deadline_ms = v->deadline_ms;
    j->stop.killed = false;
}

int fold_stopped(struct core *c, const struct fact *f, struct err *err)
{
    const struct fact_job_stopped *d = fact_of(f, JOB_STOPPED);
    struct job *j;
    int rc = need_attempt(c, d->job, d->attempt, &j, err);

    if (rc != 0) {
        return rc;
    }
    stop_whole(c, j, f->at_ms, d->deadline_ms);
    j->stop.claimed = false;
    j->stop.cause = d->cause;
    j->stop.lost_gu_ms = d->lost_gu_ms;
    fold_reason(j, &d->why, f->seq);
    fold_index_job(c, j);
    fold_wake(c, j->pool);
    return 0;
}

int fold_killed(struct core *c, const struct fact *f, struct err *err)
{
    const struct fact_job_killed *d = fact_of(f, JOB_KILLED);
    struct job *j;
    int rc = need_attempt(c, d->job, d->attempt, &j, err);

    if (rc != 0) {
        return rc;
    }
    j->stop.killed = true;
    j->stop.killed_ms = f->at_ms;
    if (d->lost_gu_ms > j->stop.lost_gu_ms) {
        j->stop.lost_gu_ms = d->lost_gu_ms;
    }
    fold_index_job(c, j);
    return 0;
}

/* ---- claims ---- */

void fold_drop_nomination(struct core *c, struct job *j)
{
    struct nomination *n = &j->nomination;

    for (size_t i = 0; i < n->tasks.count; i++) {
        load_take(c, j, &n->tasks.items[i], LEDGER_PROMISED);
        load_quota(c, j, n->pool, load_task_gu(&n->tasks.items[i]), false, -1);
    }
    fold_free_tasks(&n->tasks);
    vec_clear(&n->victims);
    n->is = false;
    n->move = n->returns = false;
    fold_wake(c, n->pool);
}

static void nominate(struct core *c, struct job *j, const struct pool *p, lease_tasks *tasks)
{
    struct nomination *n = &j->nomination;

    CHECK(!n->is);
    vec_fini(&n->tasks);
    n->is = true;
    n->pool = p->index;
    n->pool_id = p->id;
    n->tasks.items = tasks->items;
    n->tasks.count = tasks->count;
    n->tasks.room = tasks->room;
    n->lost_gu_ms = 0;
    n->latest_ms = 0;
    n->step = 1;
    vec_clear(&n->victims);
    for (size_t i = 0; i < n->tasks.count; i++) {
        load_put(c, j, &n->tasks.items[i], LEDGER_PROMISED);
        load_quota(c, j, p->index, load_task_gu(&n->tasks.items[i]), false, 1);
    }
}

static int check_claim(struct core *c, const struct fact_job_claimed *d, struct err *err)
{
    for (size_t i = 0; i < d->victim_count; i++) {
        const struct fact_victim *v = &d->victims[i];
        const struct job *j = core_job(c, v->job);

        if (j == NULL ||
            (v->nominee ? !j->nomination.is : !job_is_active(j) || j->attempt != v->attempt)) {
            return err_set(err, ERR_INVALID, "job %lld cannot be a victim", (long long)v->job);
        }
    }
    return 0;
}

/* Victims leave before anything is promised to anyone: a moved victim may be promised what another
 * frees. */
static int take_victims(struct core *c, const struct fact_job_claimed *d, const struct fact *f,
                        struct err *err)
{
    for (size_t i = 0; i < d->victim_count; i++) {
        const struct fact_victim *v = &d->victims[i];
        struct job *j = core_job(c, v->job);

        if (v->nominee) {
            fold_drop_nomination(c, j);
        } else if (v->task_count > 0) {
            stop_some(c, j, v, f->at_ms);
        } else {
            stop_whole(c, j, f->at_ms, v->deadline_ms);
            j->stop.claimed = true;
            j->stop.by = d->job;
            j->stop.lost_gu_ms = v->lost_gu_ms;
            fold_reason(j, &d->why, f->seq);
        }
        fold_index_job(c, j);
    }
    for (size_t i = 0; i < d->victim_count; i++) {
        const struct fact_victim *v = &d->victims[i];
        lease_tasks moved = {0};

        if (v->moved_count > 0) {
            struct job *j = core_job(c, v->job);
            int rc = grant_all(c, v->moved, v->moved_count, &moved, err);

            CHECK(rc == 0);
            nominate(c, j, core_pool_of_id(c, d->pool), &moved);
            j->nomination.move = true;
            j->nomination.since_ms = f->at_ms;
            fold_index_job(c, j);
        }
    }
    return 0;
}

int fold_claimed(struct core *c, const struct fact *f, struct err *err)
{
    const struct fact_job_claimed *d = fact_of(f, JOB_CLAIMED);
    const struct pool *p = core_pool_of_id(c, d->pool);
    lease_tasks fresh = {0};
    struct job *j;
    int rc = need_job(c, d->job, &j, err);

    if (rc == 0 && (p == NULL || j->nomination.is || job_is_ended(j))) {
        rc = err_set(err, ERR_INVALID, "job %lld cannot claim in pool %lld", (long long)d->job,
                     (long long)d->pool);
    }
    if (rc == 0) {
        rc = check_claim(c, d, err);
    }
    if (rc == 0) {
        rc = grant_all(c, d->tasks, d->task_count, &fresh, err);
    }
    if (rc == 0) {
        rc = take_victims(c, d, f, err);
    }
    if (rc != 0) {
        return rc;
    }
    nominate(c, j, p, &fresh);
    j->nomination.move = j->nomination.returns = j->state == JOB_STATE_STOPPING;
    j->nomination.step = d->step;
    j->nomination.since_ms = f->at_ms;
    for (size_t i = 0; i < d->victim_count; i++) {
        vec_push(&j->nomination.victims, d->victims[i].job);
        j->nomination.lost_gu_ms += d->victims[i].lost_gu_ms;
        if (d->victims[i].deadline_ms > j->nomination.latest_ms) {
            j->nomination.latest_ms = d->victims[i].deadline_ms;
        }
    }
    fold_reason(j, &d->why, f->seq);
    fold_index_job(c, j);
    fold_wake(c, p->index);
    return 0;
}

int fold_nomination_ended(struct core *c, const struct fact *f, struct err *err)
{
    const struct fact_nomination_ended *d = fact_of(f, NOMINATION_ENDED);
    struct job *j;
    int rc = need_job(c, d->job, &j, err);

    if (rc != 0) {
        return rc;
    }
    if (!j->nomination.is) {
        return err_set(err, ERR_INVALID, "job %lld has no nomination", (long long)d->job);
    }
    fold_drop_nomination(c, j);
    fold_index_job(c, j);
    return 0;
}

/* ---- ends ---- */

/* Older ones are in the journal only. */
static void forget_oldest(struct core *c)
{
    int64_t most = c->policy->ended_jobs > 0 ? c->policy->ended_jobs : POLICY_ENDED_JOBS;

    while ((int64_t)(c->ended.count - c->ended_from) > most) {
        fold_job_free(c, core_job(c, c->ended.items[c->ended_from++]));
    }
    if (c->ended_from > c->ended.count / 2) { /* so a list of any length costs little an end */
        c->ended.count -= c->ended_from;
        memmove(c->ended.items, c->ended.items + c->ended_from,
                c->ended.count * sizeof(c->ended.items[0]));
        c->ended_from = 0;
    }
}

static void end_lease(struct core *c, struct job *j)
{
    while (j->tasks.count > 0) { /* devices that were given up go with their task */
        fold_drop_task(c, j, j->tasks.count - 1);
    }
    j->pool = -1;
    j->pool_id = 0;
    j->leased_gu = j->stopping_gu = 0;
    j->broken_ms = 0;
    vec_clear(&j->passes);
}

static void requeue(struct core *c, struct job *j, const struct fact_attempt_ended *d)
{
    j->preemptions +=
        j->stop.told && j->stop.claimed && (!j->nomination.move || j->nomination.returns);
    j->retries_used += d->retry;
    j->not_before_ms = d->not_before_ms;
    j->avoid_node = d->avoid_node;
    j->nomination.move = j->nomination.returns = false;
    j->stop = (struct job_stop){0};
    j->requeue_asked = false;
    j->state = JOB_STATE_QUEUED;
    shape_enter(c, j);
}

int fold_attempt_ended(struct core *c, const struct fact *f, struct err *err)
{
    static const enum job_state STATES[] = {JOB_STATE_SUCCEEDED, JOB_STATE_FAILED,
                                            JOB_STATE_CANCELLED};
    const struct fact_attempt_ended *d = fact_of(f, ATTEMPT_ENDED);
    struct job *j;
    int pool;
    int rc = need_job(c, d->job, &j, err);

    if (rc != 0) {
        return rc;
    }
    if (job_is_ended(j) || (d->attempt != 0 && (!job_is_active(j) || d->attempt != j->attempt)) ||
        (d->attempt == 0 && job_is_active(j))) {
        return err_set(err, ERR_INVALID, "job %lld has no attempt %lld to end", (long long)j->id,
                       (long long)d->attempt);
    }
    pool = j->pool;
    if (job_is_waiting(j)) {
        shape_leave(c, j);
    }
    end_lease(c, j);
    j->lost_gu_ms += d->lost_gu_ms;
    meter_lost(c, j->queue_id, d->lost_gu_ms);
    fold_reason(j, &d->why, f->seq);
    if (d->outcome == OUTCOME_REQUEUED) {
        requeue(c, j, d);
    } else {
        j->state = STATES[d->outcome];
        j->end_status = d->status;
        j->end_signal = d->signal;
        j->ended_ms = f->at_ms;
        vec_push(&c->ended, j->id);
        if (j->nomination.is) {
            fold_drop_nomination(c, j);
        }
    }
    fold_index_job(c, j);
    if (pool >= 0) {
        fold_wake(c, pool);
    }
    forget_oldest(c);
    return 0;
}

int fold_device_stuck(struct core *c, const struct fact *f, struct err *err)
{
    const struct fact_device_stuck *d = fact_of(f, DEVICE_STUCK);
    struct node *n = core_node(c, d->node);
    struct job *j;
    size_t at = 0;
    int rc = need_job(c, d->job, &j, err);

    if (rc != 0) {
        return rc;
    }
    while (at < j->tasks.count && j->tasks.items[at].task != d->task) {
        at++;
    }
    if (n == NULL || at == j->tasks.count) {
        return err_set(err, ERR_INVALID, "job %lld holds no task %lld", (long long)d->job,
                       (long long)d->task);
    }
    for (size_t i = 0; i < d->slot_count; i++) {
        n->devices[d->slots[i]].out = true;
        n->devices[d->slots[i]].out_reason = "not proven free after a kill";
    }
    fold_drop_task(c, j, at);
    j->stop.stuck = true;
    load_refresh_node(c, n);
    fold_index_job(c, j);
    fold_wake(c, n->pool);
    return 0;
}
