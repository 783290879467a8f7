/* What people and the world say of jobs. */
#include "core/fold.h"

#include "base/check.h"
#include "core/prey.h"
#include "core/shape.h"

#include <string.h>

const char *const JOB_STATE_NAMES[] = {"held",      "queued", "starting",  "running", "stopping",
                                       "succeeded", "failed", "cancelled", NULL};
const char *const TASK_STATE_NAMES[] = {"starting", "running", "stopping", NULL};

bool job_has_passed(const struct job *j, int64_t head)
{
    for (size_t i = 0; i < j->passes.count; i++) {
        if (j->passes.items[i] == head) {
            return true;
        }
    }
    return false;
}

int64_t job_unsaved_ms(const struct job *j, int64_t now_ms)
{
    int64_t since = j->started_ms > j->checkpoint_ms ? j->started_ms : j->checkpoint_ms;

    return now_ms > since ? now_ms - since : 0;
}

static void link_job(struct core *c, struct job *j)
{
    j->prev = c->last_job;
    *(c->last_job != NULL ? &c->last_job->next : &c->first_job) = j;
    c->last_job = j;
    idmap_put(&c->job_of_id, j->id, j);
}

static void unlink_job(struct core *c, struct job *j)
{
    *(j->prev != NULL ? &j->prev->next : &c->first_job) = j->next;
    *(j->next != NULL ? &j->next->prev : &c->last_job) = j->prev;
    idmap_remove(&c->job_of_id, j->id);
}

void fold_job_free(struct core *c, struct job *j)
{
    if (j == NULL) {
        return;
    }
    fold_free_tasks(&j->tasks);
    fold_free_tasks(&j->nomination.tasks);
    vec_fini(&j->tasks);
    vec_fini(&j->nomination.tasks);
    vec_fini(&j->nomination.victims);
    vec_fini(&j->passes);
    vec_fini(&j->finished);
    arena_free(j->why_arena);
    if (job_is_waiting(j)) {
        omap_remove(&j->shape->waiting, (struct omap_key){j->age_ms, j->id, 0});
    }
    shape_unref(c, j->shape);
    unlink_job(c, j);
    mem_free(j);
}

/* ---- sets and timers ---- */

static int64_t earlier(int64_t due, int64_t at)
{
    return due == 0 || at < due ? at : due;
}

static int64_t stop_due(const struct core *c, const struct job *j)
{
    if (!j->stop.killed) {
        return j->stop.deadline_ms;
    }
    return j->stop.stuck ? 0 : j->stop.killed_ms + c->queues->items[j->queue].row->stop_stuck_ms;
}

static int64_t job_due(const struct core *c, const struct job *j)
{
    const struct policy_queue *row = c->queues->items[j->queue].row;
    int64_t due = 0;

    if (job_is_waiting(j)) {
        return j->not_before_ms > c->now_ms ? j->not_before_ms : 0;
    }
    if (!job_is_active(j) || j->tasks.count == 0) {
        return 0;
    }
    if (j->stop.told || j->stopping_gu > 0 || j->stop.deadline_ms > 0) {
        due = stop_due(c, j);
    }
    if (j->stop.told) {
        return due;
    }
    if (j->state == JOB_STATE_STARTING) {
        due = earlier(due, j->started_ms + row->start_timeout_ms);
    }
    if (j->running_ms > 0 && j->ask->limit_ms > 0) {
        due = earlier(due, j->running_ms + j->ask->limit_ms);
    }
    if (j->broken_ms > 0) {
        due = earlier(due, j->broken_ms + row->gang_repair_ms);
    }
    return due;
}

static void set_member(struct omap *set, struct omap_key key, struct job *j, bool in)
{
    if (in) {
        omap_put(set, key, j);
    } else if (set->count > 0) {
        omap_remove(set, key);
    }
}

/* The next plan must decide something about this job that needs no capacity. */
static bool wants_attention(const struct job *j)
{
    if (j->nomination.is && !j->nomination.move) {
        bool growing = j->nomination.step > 1;

        if (growing ? (j->state != JOB_STATE_RUNNING && j->state != JOB_STATE_STARTING)
                    : !job_is_waiting(j)) {
            return true;
        }
    }
    if (job_is_ended(j)) {
        return false;
    }
    if (!job_is_active(j)) {
        return j->cancel_asked;
    }
    if (j->tasks.count == 0) {
        return true;
    }
    if (j->cancel_asked && j->stop.told && j->stop.claimed) {
        return false; /* it is stopping already; its end will say cancelled */
    }
    return !j->stop.told && (j->cancel_asked || j->requeue_asked || j->ended_badly || j->refused);
}

static bool is_leaving(const struct job *j)
{
    for (size_t i = 0; i < j->tasks.count; i++) {
        if (j->tasks.items[i].state == TASK_STATE_STOPPING) {
            return true;
        }
    }
    return false;
}

static int64_t wanted_tasks(const struct job *j)
{
    int64_t wanted = 0;

    for (size_t g = 0; g < j->ask->group_count; g++) {
        wanted += j->ask->groups[g].tasks;
    }
    return wanted;
}

/* Where the job stands, or would, among the active ones of its queue. */
static size_t active_place(const struct queue *q, int64_t id)
{
    size_t from = 0, to = q->active.count;

    while (from < to) {
        size_t middle = from + (to - from) / 2;

        if (q->active.items[middle]->id < id) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return from;
}

static void list_active(struct core *c, struct job *j)
{
    struct queue *q = &c->queues->items[j->queue];
    bool in = job_is_active(j) || j->nomination.is;
    size_t at;

    if (in || j->listed) {
        prey_forget(q);
    }
    if (in == j->listed) {
        return;
    }
    j->listed = in;
    at = active_place(q, j->id);
    if (in) {
        vec_insert(&q->active, at, j);
    } else {
        CHECK(at < q->active.count && q->active.items[at] == j);
        vec_remove(&q->active, at);
    }
}

static void count_timed(struct core *c, struct job *j)
{
    /* one that passed a head ends, for that head, whenever it likes */
    bool known = j->ask->limit_ms > 0 || j->ask->predicted_ms > 0 || j->passes.count > 0;
    int in = job_is_active(j) && known ? j->pool : -1;

    if (in != j->timed_in) {
        if (j->timed_in >= 0) {
            c->pools.items[j->timed_in]->timed--;
        }
        if (in >= 0) {
            c->pools.items[in]->timed++;
        }
        j->timed_in = in;
    }
}

void fold_timer_set(struct core *c, int64_t due_ms)
{
    if (due_ms <= c->planned_to_ms) {
        c->planned_to_ms = due_ms - 1; /* it is due already: the next plan must see it */
    }
}

void fold_index_job(struct core *c, struct job *j)
{
    struct omap_key id = {j->id, 0, 0};
    bool lives = job_is_active(j) && !j->stop.told;
    bool leaves = job_is_active(j) && is_leaving(j);
    int64_t due;

    if (lives && !leaves) {
        j->stop = (struct job_stop){0}; /* what was to shrink has shrunk */
    }
    due = job_is_ended(j) ? 0 : job_due(c, j);

    set_member(&c->attention, id, j, wants_attention(j));
    set_member(&c->leaving, id, j, leaves);
    set_member(&c->broken, id, j, lives && j->broken_ms > 0);
    set_member(&c->growing, id, j,
               lives && j->shape->elastic && (int64_t)j->tasks.count < wanted_tasks(j));
    set_member(&c->nominated, id, j, j->nomination.is);
    list_active(c, j);
    count_timed(c, j);
    if (due != j->timer_ms) {
        if (j->timer_ms != 0) {
            omap_remove(&c->timers, (struct omap_key){j->timer_ms, j->id, 0});
        }
        if (due != 0) {
            omap_put(&c->timers, (struct omap_key){due, j->id, 0}, j);
            fold_timer_set(c, due);
        }
        j->timer_ms = due;
    }
}

/* ---- submit ---- */

static int check_submitted(const struct core *c, const struct fact_job_submitted *ask,
                           struct err *err)
{
    int q;

    if (c->policy == NULL) {
        return err_set(err, ERR_INVALID, "job %lld comes before any policy", (long long)ask->id);
    }
    if (ask->id < c->next_job || ask->id > CORE_ID_MAX) {
        return err_set(err, ERR_INVALID, "job id %lld is not new", (long long)ask->id);
    }
    q = queue_index(c->queues, ask->queue);
    if (q < 0) {
        return err_set(err, ERR_NOT_FOUND, "no queue %lld", (long long)ask->queue);
    }
    if (!queue_is_leaf(&c->queues->items[q])) {
        return err_set(err, ERR_QUEUE_NOT_LEAF, "queue %s has queues below it; work goes to those",
                       c->queues->items[q].name);
    }
    return submit_check_form(ask, err);
}

/* Its texts follow it in one piece of memory. */
static struct job *make_job(const struct fact_job_submitted *ask)
{
    size_t name = strlen(ask->name) + 1, subject = strlen(ask->subject) + 1;
    size_t spec = strlen(ask->spec) + 1;
    struct job *j = mem_new(1, sizeof(*j) + name + subject + spec);
    char *to = (char *)(j + 1);

    j->name = memcpy(to, ask->name, name);
    j->subject = memcpy(to + name, ask->subject, subject);
    j->spec = memcpy(to + name + subject, ask->spec, spec);
    j->subject_key = shape_text_hash(ask->subject);
    return j;
}

struct job *fold_job_new(struct core *c, const struct fact_job_submitted *ask)
{
    struct job *j = make_job(ask);

    j->id = ask->id;
    j->shape = shape_take(c, ask);
    j->ask = j->shape->ask;
    j->array = ask->array;
    j->element = ask->element;
    j->queue_id = ask->queue;
    j->queue = queue_index(c->queues, ask->queue);
    j->pool = -1;
    j->timed_in = -1;
    link_job(c, j);
    return j;
}

int fold_submitted(struct core *c, const struct fact *f, struct err *err)
{
    const struct fact_job_submitted *ask = fact_of(f, JOB_SUBMITTED);
    struct job *j;
    int rc = check_submitted(c, ask, err);

    if (rc != 0) {
        return rc;
    }
    j = fold_job_new(c, ask);
    c->next_job = ask->id + 1;
    j->submitted_ms = f->at_ms;
    j->age_ms = f->at_ms;
    j->state = ask->held ? JOB_STATE_HELD : JOB_STATE_QUEUED;
    j->held_since_ms = ask->held ? f->at_ms : 0;
    if (job_is_waiting(j)) {
        shape_enter(c, j);
    }
    fold_index_job(c, j);
    return 0;
}

/* ---- what people ask ---- */

static int wrong_state(const struct job *j, const char *verb, struct err *err)
{
    return err_set(err, ERR_JOB_STATE, "job %lld is %s and cannot be %s", (long long)j->id,
                   JOB_STATE_NAMES[j->state], verb);
}

static int hold(struct core *c, struct job *j, int64_t now_ms, struct err *err)
{
    if (!job_is_waiting(j)) {
        return wrong_state(j, "held", err);
    }
    shape_leave(c, j);
    j->state = JOB_STATE_HELD;
    j->held_since_ms = now_ms;
    return 0;
}

static int release(struct core *c, struct job *j, int64_t now_ms, struct err *err)
{
    if (j->state != JOB_STATE_HELD) {
        return wrong_state(j, "released", err);
    }
    j->age_ms += now_ms - j->held_since_ms;
    j->held_since_ms = 0;
    j->state = JOB_STATE_QUEUED;
    shape_enter(c, j);
    return 0;
}

int fold_asked(struct core *c, const struct fact *f, struct err *err)
{
    const struct fact_job_asked *asked = f->body.any;
    struct job *j = core_job(c, asked->job);
    int rc = 0;

    if (j == NULL) {
        return err_set(err, ERR_NOT_FOUND, "no job %lld", (long long)asked->job);
    }
    if (f->kind == FACT_JOB_HELD) {
        rc = hold(c, j, f->at_ms, err);
    } else if (f->kind == FACT_JOB_RELEASED) {
        rc = release(c, j, f->at_ms, err);
    } else if (f->kind == FACT_JOB_CANCEL) {
        if (job_is_ended(j)) {
            return wrong_state(j, "cancelled", err);
        }
        j->cancel_asked = true;
    } else if (f->kind == FACT_JOB_REQUEUE) {
        if (!job_is_active(j) || j->stop.told) {
            return wrong_state(j, "requeued", err);
        }
        j->requeue_asked = true;
    } else {
        if (!job_is_active(j) || asked->attempt != j->attempt) {
            return wrong_state(j, "done", err);
        }
        j->done_said = true;
    }
    if (rc == 0) {
        fold_index_job(c, j);
    }
    return rc;
}

int fold_checkpointed(struct core *c, const struct fact *f, struct err *err)
{
    const struct fact_job_checkpointed *said = fact_of(f, JOB_CHECKPOINTED);
    struct job *j = core_job(c, said->job);
    int64_t when = f->true_at_ms != 0 ? f->true_at_ms : f->at_ms;

    if (j == NULL || !job_is_active(j) || said->attempt != j->attempt) {
        return err_set(err, ERR_INVALID, "job %lld has no attempt %lld that could save",
                       (long long)said->job, (long long)said->attempt);
    }
    if (when > f->at_ms) {
        when = f->at_ms;
    }
    if (when > j->checkpoint_ms) {
        j->checkpoint_ms = when;
        if (c->move_too_dear) {
            fold_wake(c, -1);
            c->move_too_dear = false;
        }
        prey_forget(&c->queues->items[j->queue]);
    }
    return 0;
}

/* ---- tasks ---- */

void fold_drop_task(struct core *c, struct job *j, size_t at)
{
    struct lease_task t = j->tasks.items[at];
    bool stopping = t.state == TASK_STATE_STOPPING;
    int64_t gu = load_task_gu(&t);

    load_take(c, j, &j->tasks.items[at], load_ledger(&t));
    load_quota(c, j, j->pool, gu, stopping, -1);
    j->unsaved_gu_ms += gu * job_unsaved_ms(j, c->applying_ms);
    j->leased_gu -= gu;
    j->stopping_gu -= stopping ? gu : 0;
    mem_free(t.devices);
    vec_remove(&j->tasks, at);
    prey_forget(&c->queues->items[j->queue]);
}

void fold_broken(struct core *c, struct job *j, int64_t now_ms)
{
    (void)c;
    if (j->stop.told || j->broken_ms > 0 || j->tasks.count == 0) {
        return;
    }
    for (size_t g = 0; g < j->ask->group_count; g++) {
        int64_t have = g < j->finished.count ? j->finished.items[g] : 0;

        for (size_t i = 0; i < j->tasks.count; i++) {
            have += j->tasks.items[i].group == (int16_t)g &&
                    j->tasks.items[i].state != TASK_STATE_STOPPING;
        }
        if (have < j->ask->groups[g].min_tasks) {
            j->broken_ms = now_ms;
            return;
        }
    }
}

static void task_ended(struct core *c, struct job *j, size_t at, const struct fact_task_ended *end,
                       int64_t now_ms)
{
    struct lease_task *t = &j->tasks.items[at];
    bool well = end->cause == TASK_EXITED && end->status == 0;
    bool stopping = t->state == TASK_STATE_STOPPING;

    if (well && !stopping) {
        while (j->finished.count < j->ask->group_count) {
            vec_push(&j->finished, 0);
        }
        j->finished.items[t->group]++;
    }
    if (end->cause == TASK_LOST) {
        j->ended_by_loss = true;
        j->fault_node = c->nodes.items[t->node]->id;
    } else if (!well && !j->ended_badly && (!stopping || j->stop.told)) {
        j->ended_badly = !stopping;
        j->end_status = end->cause == TASK_EXITED ? end->status : 0;
        j->end_signal = end->cause == TASK_SIGNALLED ? end->status : 0;
    }
    fold_drop_task(c, j, at);
    if (end->cause == TASK_LOST) {
        fold_broken(c, j, now_ms);
    }
}

static void task_running(struct job *j, struct lease_task *t, int64_t now_ms)
{
    if (t->state != TASK_STATE_STARTING) {
        return;
    }
    t->state = TASK_STATE_RUNNING;
    if (j->state != JOB_STATE_STARTING) {
        return;
    }
    for (size_t i = 0; i < j->tasks.count; i++) {
        if (j->tasks.items[i].state == TASK_STATE_STARTING) {
            return;
        }
    }
    j->state = JOB_STATE_RUNNING;
    j->running_ms = now_ms;
}

/* Which task a fact is about; the kinds differ in what else they say. */
static struct fact_task_running head_of(const struct fact *f)
{
    if (f->kind == FACT_TASK_ENDED) {
        const struct fact_task_ended *e = fact_of(f, TASK_ENDED);

        return (struct fact_task_running){e->job, e->attempt, e->task, e->step};
    }
    if (f->kind == FACT_TASK_REFUSED) {
        const struct fact_task_refused *r = fact_of(f, TASK_REFUSED);

        return (struct fact_task_running){r->job, r->attempt, r->task, r->step};
    }
    return *fact_of(f, TASK_RUNNING);
}

/* The lease's row of the task.  A number that was granted again since belongs to another task. */
static int find_task(const struct job *j, const struct fact_task_running *head, size_t *ret,
                     struct err *err)
{
    size_t at = 0;

    while (at < j->tasks.count && j->tasks.items[at].task != head->task) {
        at++;
    }
    if (at == j->tasks.count) {
        return err_set(err, ERR_INVALID, "attempt %lld of job %lld holds no task %lld",
                       (long long)head->attempt, (long long)head->job, (long long)head->task);
    }
    if (head->step != 0 && head->step != j->tasks.items[at].step) {
        return err_set(err, ERR_INVALID, "task %lld of job %lld is of step %d, not %lld",
                       (long long)head->task, (long long)head->job, j->tasks.items[at].step,
                       (long long)head->step);
    }
    *ret = at;
    return 0;
}

int fold_task(struct core *c, const struct fact *f, struct err *err)
{
    const struct fact_task_running head = head_of(f);
    struct job *j = core_job(c, head.job);
    size_t at = 0;
    int rc;

    if (j == NULL || !job_is_active(j) || j->attempt != head.attempt) {
        return err_set(err, ERR_INVALID, "job %lld has no attempt %lld that runs",
                       (long long)head.job, (long long)head.attempt);
    }
    rc = find_task(j, &head, &at, err);
    if (rc != 0) {
        return rc;
    }
    if (f->kind == FACT_TASK_RUNNING) {
        task_running(j, &j->tasks.items[at], f->at_ms);
    } else if (f->kind == FACT_TASK_ENDED) {
        task_ended(c, j, at, fact_of(f, TASK_ENDED), f->at_ms);
    } else {
        j->refused = true;
        if (fact_of(f, TASK_REFUSED)->node_fault) {
            j->fault_node = c->nodes.items[j->tasks.items[at].node]->id;
        }
        fold_drop_task(c, j, at);
    }
    if (f->kind != FACT_TASK_RUNNING) {
        fold_wake(c, j->pool);
    }
    fold_index_job(c, j);
    return 0;
}
