/* roll - each record changes one job or takes the tasks of one node. */
#include "sim/roll.h"

#include "base/mem.h"
#include "base/quantity.h"
#include "base/str.h"

#include <stdio.h>

static void complain(struct roll *f, const char *what, int64_t one, int64_t two)
{
    if (f->complaint[0] == '\0') {
        (void)snprintf(f->complaint, sizeof(f->complaint), "%s (%lld, %lld)", what, (long long)one,
                       (long long)two);
    }
}

/* sign 1: the task takes its part of the device, -1: it leaves. */
static void load(struct roll *f, int64_t node, const struct roll_device *d, int sign)
{
    const struct omap_key key = {node, d->slot, 0};
    struct roll_load *sum = omap_get(&f->loads, key);

    if (sum == NULL) {
        sum = mem_new(1, sizeof(*sum));
        omap_put(&f->loads, key, sum);
    }
    sum->gu += sign * d->gu;
    sum->tasks += sign;
    sum->whole += d->gu == GU_PER_GPU && *d->profile == '\0' ? sign : 0;
    if (sign > 0 && sum->gu > GU_PER_GPU) {
        complain(f, "a device is above 100 % (node, slot)", node, d->slot);
    }
    if (sign > 0 && sum->whole > 0 && sum->tasks > 1) {
        complain(f, "a whole-GPU task shares its device (node, slot)", node, d->slot);
    }
}

static void task_fini(struct roll *f, struct roll_task *t)
{
    size_t i;

    for (i = 0; i < t->devices.count; i++) {
        load(f, t->node, &t->devices.items[i], -1);
        mem_free(t->devices.items[i].profile);
    }
    vec_fini(&t->devices);
}

static void drop_tasks(struct roll *f, struct roll_job *j)
{
    size_t i;

    for (i = 0; i < j->tasks.count; i++) {
        task_fini(f, &j->tasks.items[i]);
    }
    vec_clear(&j->tasks);
}

static void drop_task(struct roll *f, struct roll_job *j, int64_t attempt, int64_t task)
{
    size_t i;

    for (i = 0; i < j->tasks.count; i++) {
        if (j->attempt == attempt && j->tasks.items[i].task == task) {
            task_fini(f, &j->tasks.items[i]);
            vec_remove(&j->tasks, i);
            return;
        }
    }
}

void roll_fini(struct roll *f)
{
    struct omap_item *it;

    for (it = omap_first(&f->jobs); it != NULL; it = omap_next(it)) {
        struct roll_job *j = it->value;

        drop_tasks(f, j);
        vec_fini(&j->tasks);
        mem_free(j->name);
        mem_free(j);
    }
    for (it = omap_first(&f->nodes); it != NULL; it = omap_next(it)) {
        struct roll_node *n = it->value;

        mem_free(n->name);
        mem_free(n);
    }
    for (it = omap_first(&f->loads); it != NULL; it = omap_next(it)) {
        mem_free(it->value);
    }
    omap_fini(&f->loads);
    omap_fini(&f->holding);
    omap_fini(&f->promised);
    omap_fini(&f->jobs);
    omap_fini(&f->nodes);
}

struct roll_job *roll_job(const struct roll *f, int64_t id)
{
    return omap_get(&f->jobs, (struct omap_key){.a = id});
}

struct roll_job *roll_job_of_name(const struct roll *f, const char *name)
{
    const struct omap_item *it;

    for (it = omap_last(&f->jobs); it != NULL; it = omap_prev(it)) {
        struct roll_job *j = it->value;

        if (str_cmp(j->name, name) == 0) {
            return j;
        }
    }
    return NULL;
}

const char *roll_node_name(const struct roll *f, int64_t id)
{
    const struct roll_node *n = omap_get(&f->nodes, (struct omap_key){.a = id});

    return n != NULL ? n->name : "";
}

int64_t roll_job_gu(const struct roll_job *j)
{
    int64_t gu = 0;
    size_t i, k;

    for (i = 0; i < j->tasks.count; i++) {
        for (k = 0; k < j->tasks.items[i].devices.count; k++) {
            gu += j->tasks.items[i].devices.items[k].gu;
        }
    }
    return gu;
}

static void add_node(struct roll *f, const struct fact_node_seen *seen)
{
    struct roll_node *n = mem_new(1, sizeof(*n));
    struct roll_node *old;

    n->id = seen->id;
    n->name = mem_text(seen->name != NULL ? seen->name : "");
    old = omap_put(&f->nodes, (struct omap_key){.a = seen->id}, n);
    if (old != NULL) {
        mem_free(old->name);
        mem_free(old);
    }
}

static void add_job(struct roll *f, const struct fact_job_submitted *s)
{
    struct roll_job *j = mem_new(1, sizeof(*j));
    size_t i;

    j->id = s->id;
    j->name = mem_text(s->name != NULL ? s->name : "");
    j->queue = s->queue;
    j->preemptible = !s->nonpreemptible;
    for (i = 0; i < s->group_count; i++) {
        j->needed += s->groups[i].min_tasks;
    }
    omap_put(&f->jobs, (struct omap_key){.a = s->id}, j);
}

static void add_task(struct roll *f, struct roll_job *j, const struct fact_grant *grant)
{
    struct roll_task t = {.task = grant->task, .node = grant->node};
    size_t i;

    for (i = 0; i < grant->device_count; i++) {
        const struct fact_grant_device *d = &grant->devices[i];

        vec_push(&t.devices, (struct roll_device){d->slot, d->gu, d->start,
                                                  mem_text(d->profile != NULL ? d->profile : "")});
    }
    for (i = 0; i < t.devices.count; i++) {
        load(f, t.node, &t.devices.items[i], 1);
    }
    vec_push(&j->tasks, t);
}

static struct roll_task *task_of(struct roll_job *j, int64_t task)
{
    size_t i;

    for (i = 0; i < j->tasks.count; i++) {
        if (j->tasks.items[i].task == task) {
            return &j->tasks.items[i];
        }
    }
    return NULL;
}

/* A promise to the job, instead of the one it had; none = it has no more. */
static void promise(struct roll *f, struct roll_job *j, int64_t pool,
                    const struct fact_grant *tasks, size_t count)
{
    size_t i, k;

    j->promised_gu = 0;
    j->promised_pool = pool;
    for (i = 0; i < count; i++) {
        for (k = 0; k < tasks[i].device_count; k++) {
            j->promised_gu += tasks[i].devices[k].gu;
        }
    }
    if (count > 0) {
        omap_put(&f->promised, (struct omap_key){.a = j->id}, j);
    } else {
        omap_remove(&f->promised, (struct omap_key){.a = j->id});
    }
}

static void started(struct roll *f, const struct fact_job_started *s)
{
    struct roll_job *j = roll_job(f, s->job);
    size_t i;

    if (j == NULL) {
        return;
    }
    if (s->step == 1) {
        drop_tasks(f, j);
        if ((int64_t)s->task_count < j->needed) {
            complain(f, "a gang starts below its minimum (job, tasks)", s->job,
                     (int64_t)s->task_count);
        }
    }
    j->attempt = s->attempt;
    j->pool = s->pool;
    promise(f, j, 0, NULL, 0);
    j->state = ROLL_HOLDING;
    omap_put(&f->holding, (struct omap_key){.a = j->id}, j);
    for (i = 0; i < s->task_count; i++) {
        if (task_of(j, s->tasks[i].task) == NULL) {
            add_task(f, j, &s->tasks[i]);
        }
    }
}

/* The tasks that are listed, or all. */
static void told_to_stop(struct roll_job *j, const int64_t *tasks, size_t count)
{
    size_t i, k;

    for (i = 0; i < j->tasks.count; i++) {
        for (k = 0; k < count && tasks[k] != j->tasks.items[i].task; k++) {
        }
        j->tasks.items[i].stopping |= count == 0 || k < count;
    }
}

static void claimed(struct roll *f, const struct fact_job_claimed *c)
{
    size_t i;

    if (c->victim_count > 0 && c->task_count == 0) {
        complain(f, "an eviction without a promise to the claimant (claimant, victims)", c->job,
                 (int64_t)c->victim_count);
    }
    if (roll_job(f, c->job) != NULL) {
        promise(f, roll_job(f, c->job), c->pool, c->tasks, c->task_count);
    }
    for (i = 0; i < c->victim_count; i++) {
        struct roll_job *j = roll_job(f, c->victims[i].job);

        if (j != NULL && (c->victims[i].nominee || c->victims[i].moved_count > 0)) {
            promise(f, j, c->pool, c->victims[i].moved, c->victims[i].moved_count);
        }

        if (j != NULL && !c->victims[i].nominee) {
            j->evictions++;
            told_to_stop(j, c->victims[i].tasks, c->victims[i].task_count);
            if (!j->preemptible) {
                complain(f, "a job that is not preemptible is evicted (job, claimant)", j->id,
                         c->job);
            }
        }
    }
}

static void ended(struct roll *f, const struct fact_attempt_ended *e)
{
    struct roll_job *j = roll_job(f, e->job);

    if (j == NULL) {
        return;
    }
    drop_tasks(f, j);
    omap_remove(&f->holding, (struct omap_key){.a = j->id});
    if (e->outcome != OUTCOME_REQUEUED) {
        promise(f, j, 0, NULL, 0);
    }
    j->outcome = e->outcome;
    j->state = e->outcome == OUTCOME_REQUEUED ? ROLL_WAITING : ROLL_ENDED;
}

static void gone(struct roll *f, int64_t job, int64_t attempt, int64_t task)
{
    struct roll_job *j = roll_job(f, job);

    if (j != NULL) {
        drop_task(f, j, attempt, task);
    }
}

static void node_lost(struct roll *f, int64_t node)
{
    struct omap_item *it;
    size_t i;

    for (it = omap_first(&f->holding); it != NULL; it = omap_next(it)) {
        struct roll_job *j = it->value;

        for (i = j->tasks.count; i-- > 0;) {
            if (j->tasks.items[i].node == node) {
                drop_task(f, j, j->attempt, j->tasks.items[i].task);
            }
        }
    }
}

static void running(struct roll *f, const struct fact_task_running *r)
{
    struct roll_job *j = roll_job(f, r->job);
    struct roll_task *t = j != NULL && j->attempt == r->attempt ? task_of(j, r->task) : NULL;

    if (t != NULL) {
        t->running = true;
    }
}

static void stopped(struct roll *f, const struct fact_job_stopped *s)
{
    struct roll_job *j = roll_job(f, s->job);

    if (j != NULL) {
        j->stops++;
        told_to_stop(j, NULL, 0);
    }
}

static void add_decision(struct roll *f, const struct fact *fact)
{
    if (fact->kind == FACT_JOB_STARTED) {
        started(f, fact_of(fact, JOB_STARTED));
    } else if (fact->kind == FACT_JOB_CLAIMED) {
        claimed(f, fact_of(fact, JOB_CLAIMED));
    } else if (fact->kind == FACT_JOB_STOPPED) {
        stopped(f, fact_of(fact, JOB_STOPPED));
    } else if (fact->kind == FACT_ATTEMPT_ENDED) {
        ended(f, fact_of(fact, ATTEMPT_ENDED));
    } else if (fact->kind == FACT_DEVICE_STUCK) {
        const struct fact_device_stuck *s = fact_of(fact, DEVICE_STUCK);

        gone(f, s->job, s->attempt, s->task);
    } else if (fact->kind == FACT_NOMINATION_ENDED) {
        struct roll_job *j = roll_job(f, fact_of(fact, NOMINATION_ENDED)->job);

        if (j != NULL) {
            promise(f, j, 0, NULL, 0);
        }
    } else if (fact->kind == FACT_NODE_LOST) {
        node_lost(f, fact_of(fact, NODE_LOST)->node);
    }
}

void roll_add(struct roll *f, const struct fact *fact)
{
    f->records++;
    if (fact_kind_is_decision(fact->kind)) {
        f->decisions++;
        add_decision(f, fact);
    } else if (fact->kind == FACT_NODE_SEEN) {
        add_node(f, fact_of(fact, NODE_SEEN));
    } else if (fact->kind == FACT_JOB_SUBMITTED) {
        add_job(f, fact_of(fact, JOB_SUBMITTED));
    } else if (fact->kind == FACT_TASK_RUNNING) {
        running(f, fact_of(fact, TASK_RUNNING));
    } else if (fact->kind == FACT_TASK_ENDED) {
        const struct fact_task_ended *e = fact_of(fact, TASK_ENDED);

        gone(f, e->job, e->attempt, e->task);
    } else if (fact->kind == FACT_TASK_REFUSED) {
        const struct fact_task_refused *r = fact_of(fact, TASK_REFUSED);

        gone(f, r->job, r->attempt, r->task);
    }
}
