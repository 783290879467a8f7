#include "core/due.h"

#include "base/check.h"
#include "core/claim.h"
#include "core/decide.h"

#define BACKOFF_MS_MAX ((int64_t)3600 * 1000)

/* ---- the end of an attempt ---- */

static int64_t backoff_of(const struct core *c, const struct job *j)
{
    int64_t ms = j->ask->backoff_ms > 0 ? j->ask->backoff_ms : c->policy->backoff_ms;

    for (int64_t i = 0; i < j->retries_used && ms < BACKOFF_MS_MAX; i++) {
        ms *= 2;
    }
    return ms < BACKOFF_MS_MAX ? ms : BACKOFF_MS_MAX;
}

static void fail_or_retry(struct core *c, const struct job *j, struct fact_attempt_ended *d,
                          int64_t now_ms)
{
    if (j->refused && j->fault_node != 0) {
        d->outcome = OUTCOME_REQUEUED; /* not the job's fault: no retry is used up */
        d->not_before_ms = now_ms + backoff_of(c, j);
        d->avoid_node = j->fault_node;
        d->why = decide_reason(c, "node_fault",
                               "could not be started on its node; waits and tries another");
    } else if (j->retries_used < j->ask->retries) {
        d->outcome = OUTCOME_REQUEUED;
        d->retry = true;
        d->not_before_ms = now_ms + backoff_of(c, j);
        d->why = decide_reason(c, "retry", "failed; is tried again");
        decide_number(&d->why, "retry", j->retries_used + 1);
        decide_number(&d->why, "retries", j->ask->retries);
    } else {
        d->outcome = OUTCOME_FAILED;
        d->why = decide_reason(c, "failed", "failed and has no retry left");
    }
    decide_number(&d->why, "status", j->end_status);
    decide_number(&d->why, "signal", j->end_signal);
}

static void requeue(struct core *c, const struct job *j, struct fact_attempt_ended *d,
                    const char *rule, const char *text)
{
    d->outcome = OUTCOME_REQUEUED;
    d->lost_gu_ms = j->unsaved_gu_ms;
    d->why = decide_reason(c, rule, text);
    decide_number(&d->why, "lost_gu_ms", d->lost_gu_ms);
    if (j->stop.by != 0) {
        decide_job(c, &d->why, j->stop.by);
    }
}

static void end_stopped(struct core *c, const struct job *j, struct fact_attempt_ended *d,
                        int64_t now_ms)
{
    enum stop_cause cause = (enum stop_cause)j->stop.cause;

    if (j->done_said) {
        d->outcome = OUTCOME_SUCCEEDED;
        d->why = decide_reason(c, "done", "said done before it stopped");
    } else if (j->stop.claimed) {
        requeue(c, j, d, "preempted", "stopped for a claim; is queued again with its first age");
    } else if (cause == STOP_LIMIT) {
        d->outcome = OUTCOME_FAILED;
        d->why = decide_reason(c, "limit", "reached its time limit");
    } else if (cause == STOP_BROKEN_GANG) {
        requeue(c, j, d, "broken_gang", "its gang could not be made whole again; is queued again");
    } else if (cause == STOP_DRAIN) {
        requeue(c, j, d, "drain", "its node is drained; is queued again");
    } else if (cause == STOP_REQUEUED) {
        requeue(c, j, d, "requeued", "stopped as asked; is queued again");
    } else {
        fail_or_retry(c, j, d, now_ms);
    }
}

static void end_attempt(struct core *c, const struct job *j, int64_t now_ms)
{
    struct fact_attempt_ended *d = decide_new(c, FACT_ATTEMPT_ENDED);

    d->job = j->id;
    d->attempt = job_is_active(j) ? j->attempt : 0;
    d->status = j->end_status;
    d->signal = j->end_signal;
    if (j->cancel_asked && !(j->done_said && job_is_active(j))) {
        d->outcome = OUTCOME_CANCELLED;
        d->why = decide_reason(c, "cancelled", "cancelled as asked");
    } else if (j->stop.told) {
        end_stopped(c, j, d, now_ms);
    } else if (j->ended_badly || j->refused) {
        fail_or_retry(c, j, d, now_ms);
    } else if (j->ended_by_loss) {
        requeue(c, j, d, "node_lost", "lost with its node; is queued again");
    } else {
        d->outcome = OUTCOME_SUCCEEDED;
        d->why = decide_reason(c, "ended", "all its tasks ended well");
    }
}

/* ---- stops ---- */

static void stop_job(struct core *c, const struct job *j, enum stop_cause cause, const char *text,
                     int64_t now_ms)
{
    struct fact_job_stopped *d = decide_new(c, FACT_JOB_STOPPED);

    d->job = j->id;
    d->attempt = j->attempt;
    d->cause = (int)cause;
    d->deadline_ms = decide_deadline(c, j, now_ms);
    d->lost_gu_ms = claim_lost(c, j, -1, now_ms);
    d->why = decide_reason(c, STOP_CAUSE_NAMES[cause], text);
    decide_number(&d->why, "deadline_ms", d->deadline_ms);
}

static void end_nomination(struct core *c, const struct job *j, const char *reason)
{
    struct fact_nomination_ended *d = decide_new(c, FACT_NOMINATION_ENDED);

    d->job = j->id;
    d->reason = reason;
    d->lost_gu_ms = j->nomination.lost_gu_ms;
    d->victims = arena_copy(c->plan_arena, j->nomination.victims.items,
                            j->nomination.victims.count * sizeof(int64_t));
    d->victim_count = j->nomination.victims.count;
}

/* A promise of a start is one to a waiting job, a promise of growth goes with its attempt. */
static bool outlived(const struct job *j)
{
    if (!j->nomination.is || j->nomination.move) {
        return false;
    }
    return j->nomination.step > 1 ? !job_is_active(j) || j->stop.told || j->tasks.count == 0
                                  : !job_is_waiting(j);
}

static void attend(struct core *c, const struct job *j, int64_t now_ms)
{
    if (outlived(j)) {
        end_nomination(c, j,
                       j->cancel_asked                         ? "cancelled"
                       : job_is_active(j) || job_is_waiting(j) ? "stopped"
                                                               : "held");
    }
    if (job_is_active(j) ? j->tasks.count == 0 : j->cancel_asked) {
        if (j->nomination.is && job_is_waiting(j) && !outlived(j)) {
            end_nomination(c, j, "cancelled");
        }
        end_attempt(c, j, now_ms);
    } else if (job_is_active(j) && !j->stop.told) {
        if (j->cancel_asked) {
            stop_job(c, j, STOP_CANCELLED, "is stopped: cancelled", now_ms);
        } else if (j->requeue_asked) {
            stop_job(c, j, STOP_REQUEUED, "is stopped: to be queued again, as asked", now_ms);
        } else if (j->ended_badly || j->refused) {
            stop_job(c, j, STOP_FAILED, "is stopped whole: one of its tasks failed", now_ms);
        }
    }
}

/* ---- timers ---- */

static void kill_job(struct core *c, const struct job *j, int64_t now_ms)
{
    struct fact_job_killed *d = decide_new(c, FACT_JOB_KILLED);

    d->job = j->id;
    d->attempt = j->attempt;
    d->tasks = arena_new(c->plan_arena, j->tasks.count + 1, sizeof(int64_t));
    for (size_t i = 0; i < j->tasks.count; i++) {
        const struct lease_task *t = &j->tasks.items[i];

        if (t->state == TASK_STATE_STOPPING) {
            d->tasks[d->task_count++] = t->task;
            d->lost_gu_ms += j->stop.told ? load_task_gu(t) * job_unsaved_ms(j, now_ms) : 0;
        }
    }
}

static void give_up_devices(struct core *c, const struct job *j)
{
    for (size_t i = 0; i < j->tasks.count; i++) {
        const struct lease_task *t = &j->tasks.items[i];
        struct fact_device_stuck *d;

        if (t->state != TASK_STATE_STOPPING) {
            continue;
        }
        d = decide_new(c, FACT_DEVICE_STUCK);
        d->job = j->id;
        d->attempt = j->attempt;
        d->task = t->task;
        d->node = c->nodes.items[t->node]->id;
        d->slots = arena_new(c->plan_arena, (size_t)t->device_count + 1, sizeof(int64_t));
        for (int k = 0; k < t->device_count; k++) {
            d->slots[d->slot_count++] = t->devices[k].slot;
        }
    }
}

static bool is_stopping(const struct job *j)
{
    return j->stop.told || j->stopping_gu > 0 || j->stop.deadline_ms > 0;
}

static bool has_stopping_task(const struct job *j)
{
    for (size_t i = 0; i < j->tasks.count; i++) {
        if (j->tasks.items[i].state == TASK_STATE_STOPPING) {
            return true;
        }
    }
    return false;
}

static void job_due_now(struct core *c, const struct job *j, int64_t now_ms)
{
    const struct policy_queue *row = c->queues->items[j->queue].row;

    if (!job_is_active(j) || j->tasks.count == 0) {
        return; /* a backoff that is over: the job simply competes again */
    }
    if (is_stopping(j) && has_stopping_task(j)) {
        if (!j->stop.killed && now_ms >= j->stop.deadline_ms) {
            kill_job(c, j, now_ms);
        } else if (j->stop.killed && !j->stop.stuck &&
                   now_ms >= j->stop.killed_ms + row->stop_stuck_ms) {
            give_up_devices(c, j);
        }
    }
    if (j->stop.told) {
        return;
    }
    if (j->running_ms > 0 && j->ask->limit_ms > 0 && now_ms >= j->running_ms + j->ask->limit_ms) {
        stop_job(c, j, STOP_LIMIT, "is stopped: its time limit is reached", now_ms);
    } else if (j->broken_ms > 0 && now_ms >= j->broken_ms + row->gang_repair_ms) {
        stop_job(c, j, STOP_BROKEN_GANG, "is stopped whole: its missing tasks could not be placed",
                 now_ms);
    } else if (j->state == JOB_STATE_STARTING && now_ms >= j->started_ms + row->start_timeout_ms) {
        stop_job(c, j, STOP_START_TIMEOUT, "is stopped: it did not run within start_timeout",
                 now_ms);
    }
}

static void stop_on_node(struct core *c, const struct node *n, int64_t now_ms)
{
    for (const struct job *j = c->first_job; j != NULL; j = j->next) {
        bool there = false;

        for (size_t k = 0; job_is_active(j) && !j->stop.told && k < j->tasks.count; k++) {
            there = there || j->tasks.items[k].node == n->index;
        }
        if (there) {
            stop_job(c, j, STOP_DRAIN, "is stopped: its node is drained now", now_ms);
        }
    }
}

static void lose_node(struct core *c, const struct node *n)
{
    struct fact_node_lost *d = decide_new(c, FACT_NODE_LOST);

    d->node = n->id;
    d->reason = n->gone ? "the engine says it is gone" : "unknown for longer than node_lost";
}

/* Nodes before jobs, and what each leads to before the next: a job whose node is lost holds no task
 * any more, one that stands on two drained nodes is stopped once. */
static void timers_due(struct core *c, int64_t now_ms)
{
    const struct omap_key from = {c->planned_to_ms + 1, INT64_MIN, INT64_MIN};
    struct omap_item *first = omap_lower_bound(&c->timers, from);

    for (struct omap_item *i = first; i != NULL && i->key.a <= now_ms; i = omap_next(i)) {
        if (i->key.b < 0 && ((const struct node *)i->value)->health == HEALTH_UNKNOWN) {
            lose_node(c, i->value);
        }
    }
    for (struct omap_item *i = first; i != NULL && i->key.a <= now_ms && c->decisions.count == 0;
         i = omap_next(i)) {
        const struct node *n = i->value;

        if (i->key.b < 0 && n->drain && n->drain_by_ms > 0 && now_ms >= n->drain_by_ms) {
            stop_on_node(c, n, now_ms);
        }
    }
    if (c->decisions.count > 0) {
        return;
    }
    for (struct omap_item *i = first; i != NULL && i->key.a <= now_ms; i = omap_next(i)) {
        if (i->key.b >= 0) {
            job_due_now(c, i->value, now_ms);
        }
    }
}

/* A promise on a device that is no longer in service is void. */
static void check_nominations(struct core *c)
{
    for (struct omap_item *i = omap_first(&c->nominated); i != NULL; i = omap_next(i)) {
        const struct job *j = i->value;
        bool lost = false;

        for (size_t k = 0; k < j->nomination.tasks.count && !lost; k++) {
            const struct lease_task *t = &j->nomination.tasks.items[k];
            const struct node *n = c->nodes.items[t->node];

            lost = !node_usable(n);
            for (int d = 0; d < t->device_count && !lost; d++) {
                lost = n->devices[t->devices[d].slot].out;
            }
        }
        if (lost) {
            end_nomination(c, j, "device_lost");
        }
    }
}

bool due_decide(struct core *c, int64_t now_ms)
{
    for (struct omap_item *i = omap_first(&c->attention); i != NULL; i = omap_next(i)) {
        attend(c, i->value, now_ms);
    }
    if (c->decisions.count > 0) {
        return true; /* what they end or stop may change what the timers mean */
    }
    timers_due(c, now_ms);
    if (c->decisions.count > 0) {
        return true;
    }
    check_nominations(c);
    if (c->decisions.count > 0) {
        return true;
    }
    c->planned_to_ms = now_ms;
    return false;
}
