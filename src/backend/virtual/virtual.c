/* virtual - tasks by (job, attempt, task) and what happens to them by (time, order).
 *
 * An event names its task; whether it still means anything is asked when it is due, so nothing is
 * ever taken out of the timeline.  Reports of a dark node wait on a list of their own until the
 * node is back.
 */
#include "backend/virtual/virtual.h"

#include "backend/virtual/virtual_impl.h"
#include "base/check.h"
#include "base/mem.h"
#include "base/quantity.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define PPM 1000000

static struct omap_key task_key(int64_t job, int64_t attempt, int64_t task)
{
    return (struct omap_key){job, attempt, task};
}

static bool chance(struct virtual_backend *v, int64_t ppm)
{
    return ppm > 0 && (int64_t)rng_below(&v->rng, PPM) < ppm;
}

/* ---- behaviour ---- */

struct virtual_behaviour virtual_behaviour_of(struct backend *b, int64_t job)
{
    const struct virtual_behaviour *own =
        omap_get(&virtual_self(b)->own, (struct omap_key){.a = job});

    return own != NULL ? *own : virtual_self(b)->usual;
}

void virtual_set_default(struct backend *b, const struct virtual_behaviour *how)
{
    virtual_self(b)->usual = *how;
}

void virtual_set_job(struct backend *b, int64_t job, const struct virtual_behaviour *how)
{
    struct virtual_behaviour *own = mem_new(1, sizeof(*own));

    *own = *how;
    mem_free(omap_put(&virtual_self(b)->own, (struct omap_key){.a = job}, own));
}

void virtual_set_faults(struct backend *b, const struct virtual_faults *faults)
{
    virtual_self(b)->faults = *faults;
    virtual_self(b)->rng = rng_init(faults->seed);
}

/* ---- reports ---- */

static void put_event(struct virtual_backend *v, const struct virtual_event *ev)
{
    struct virtual_event *copy = mem_new(1, sizeof(*copy));

    *copy = *ev;
    omap_put(&v->timeline, (struct omap_key){ev->at_ms, v->order++, 0}, copy);
}

/* Now, if it takes no time. */
static void schedule(struct virtual_backend *v, struct virtual_event ev, int64_t delay_ms)
{
    ev.at_ms = v->now_ms + delay_ms;
    if (delay_ms == 0) {
        virtual_happen(v, &ev);
    } else {
        put_event(v, &ev);
    }
}

struct virtual_event virtual_event_of(const struct virtual_task *t, enum virtual_what what)
{
    return (struct virtual_event){.born = t->born,
                                  .what = what,
                                  .job = t->job,
                                  .attempt = t->attempt,
                                  .task = t->task,
                                  .step = t->step,
                                  .node = t->node};
}

/* A report goes out, perhaps late, twice, or (task_running only) never. */
static void report(struct virtual_backend *v, const struct virtual_event *ev)
{
    struct virtual_event later = *ev;

    later.again = true;
    if (chance(v, v->faults.double_ppm)) {
        schedule(v, later, 1 + (int64_t)rng_below(&v->rng, (uint64_t)v->faults.late_ms + 1));
    }
    if (ev->what == WHAT_RUNNING && chance(v, v->faults.missing_ppm)) {
        return;
    }
    if (chance(v, v->faults.late_ppm)) {
        schedule(v, later, 1 + (int64_t)rng_below(&v->rng, (uint64_t)v->faults.late_ms + 1));
        return;
    }
    virtual_tell_event(v, ev);
}

/* ---- what happens to a task ---- */

static void begin_running(struct virtual_backend *v, struct virtual_task *t)
{
    const struct virtual_behaviour how = virtual_behaviour_of(&v->base, t->job);
    struct virtual_event end = virtual_event_of(t, WHAT_ENDED);
    struct virtual_event save = virtual_event_of(t, WHAT_CHECKPOINT);

    t->running = true;
    if (how.checkpoint_every_ms > 0 && t->task == 0) {
        schedule(v, save, how.checkpoint_every_ms);
    }
    end.status = how.status;
    if (how.run_ms != VIRTUAL_FOREVER) {
        schedule(v, end, how.run_ms > 0 ? how.run_ms : 1);
    }
}

static void save_again(struct virtual_backend *v, const struct virtual_task *t)
{
    const struct virtual_behaviour how = virtual_behaviour_of(&v->base, t->job);

    if (how.checkpoint_every_ms > 0 && !t->signalled) {
        schedule(v, virtual_event_of(t, WHAT_CHECKPOINT), how.checkpoint_every_ms);
    }
}

/* The event takes place.  False: it means nothing any more. */
static bool take_place(struct virtual_backend *v, const struct virtual_event *ev)
{
    struct virtual_task *t = omap_get(&v->tasks, task_key(ev->job, ev->attempt, ev->task));

    if (t == NULL || t->ended || t->born != ev->born) {
        return false;
    }
    if (ev->what == WHAT_RUNNING && t->running) {
        return false;
    }
    if (ev->what == WHAT_ENDED || ev->what == WHAT_REFUSED) {
        t->ended = true;
    }
    return true;
}

/* A task was not there when the daemon asked, its node was dark, and it was started since. */
static bool is_overtaken(struct virtual_backend *v, const struct virtual_event *ev)
{
    const struct virtual_task *t = omap_get(&v->tasks, task_key(ev->job, ev->attempt, ev->task));

    return ev->born == 0 && t != NULL && t->step >= ev->step && !t->ended;
}

void virtual_happen(struct virtual_backend *v, const struct virtual_event *ev)
{
    struct virtual_task *t;

    if (virtual_is_dark(v, ev->node)) {
        vec_push(&v->waiting, *ev);
        return;
    }
    if (ev->again) {
        if (!is_overtaken(v, ev)) {
            virtual_tell_event(v, ev);
        }
        return;
    }
    if (!take_place(v, ev)) {
        return;
    }
    report(v, ev);
    t = omap_get(&v->tasks, task_key(ev->job, ev->attempt, ev->task));
    if (ev->what == WHAT_RUNNING) {
        begin_running(v, t);
    } else if (ev->what == WHAT_CHECKPOINT) {
        save_again(v, t);
    }
}

int64_t virtual_next_ms(struct backend *b)
{
    const struct omap_item *first = omap_first(&virtual_self(b)->timeline);

    return first != NULL ? first->key.a : INT64_MAX;
}

void virtual_run_until(struct backend *b, int64_t now_ms)
{
    struct virtual_backend *v = virtual_self(b);
    const struct omap_item *first;

    while ((first = omap_first(&v->timeline)) != NULL && first->key.a <= now_ms) {
        struct virtual_event *ev = omap_remove(&v->timeline, first->key);

        v->now_ms = ev->at_ms > v->now_ms ? ev->at_ms : v->now_ms;
        virtual_happen(v, ev);
        mem_free(ev);
    }
    v->now_ms = now_ms > v->now_ms ? now_ms : v->now_ms;
}

/* ---- the operations ---- */

/* Who cannot be proven gone may be gone: whether its device is used again is the operator's word.
 */
static bool is_there(const struct virtual_task *t)
{
    return !t->ended && !t->unprovable && !t->given_up;
}

static int64_t held_gu(const struct virtual_backend *v, int64_t node, int64_t slot)
{
    const struct omap_item *it;
    int64_t gu = 0;
    size_t i;

    for (it = omap_first(&v->tasks); it != NULL; it = omap_next(it)) {
        const struct virtual_task *t = it->value;

        for (i = 0; is_there(t) && t->node == node && i < t->device_count; i++) {
            gu += t->devices[i].slot == slot ? t->devices[i].gu : 0;
        }
    }
    return gu;
}

/* A task other than t that is on the device, NULL if there is none. */
static const struct virtual_task *other_on(const struct virtual_backend *v,
                                           const struct virtual_task *t, int64_t slot)
{
    const struct omap_item *it;
    size_t i;

    for (it = omap_first(&v->tasks); it != NULL; it = omap_next(it)) {
        const struct virtual_task *o = it->value;

        for (i = 0; o != t && is_there(o) && o->node == t->node && i < o->device_count; i++) {
            if (o->devices[i].slot == slot) {
                return o;
            }
        }
    }
    return NULL;
}

static void complain(struct virtual_backend *v, const struct virtual_task *t)
{
    size_t i;

    for (i = 0; i < t->device_count && v->complaint[0] == '\0'; i++) {
        int64_t slot = t->devices[i].slot;
        int64_t gu = held_gu(v, t->node, slot);
        const struct virtual_task *o = other_on(v, t, slot);

        if (gu > GU_PER_GPU && o != NULL) {
            (void)snprintf(v->complaint, sizeof(v->complaint),
                           "slot %" PRId64 " of node %" PRId64 " is given %" PRId64
                           " units with task %" PRId64 ".%" PRId64 ".%" PRId64
                           " besides task %" PRId64 ".%" PRId64 ".%" PRId64,
                           slot, t->node, gu, t->job, t->attempt, t->task, o->job, o->attempt,
                           o->task);
        }
    }
}

static void task_free(struct virtual_task *t)
{
    if (t == NULL) {
        return;
    }
    mem_free(t->devices);
    mem_free(t);
}

static void start_task(struct virtual_backend *v, const struct backend_job *job, size_t index)
{
    const struct fact_grant *grant = &job->tasks[index];
    const struct virtual_behaviour how = virtual_behaviour_of(&v->base, job->job);
    struct virtual_task *t = mem_new(1, sizeof(*t));
    struct virtual_event ev;

    t->job = job->job;
    t->attempt = job->attempt;
    t->task = grant->task;
    t->step = backend_step_of(job, index);
    t->node = grant->node;
    t->device_count = grant->device_count;
    t->devices = mem_new(grant->device_count + 1, sizeof(*t->devices));
    if (grant->device_count > 0) {
        memcpy(t->devices, grant->devices, grant->device_count * sizeof(*t->devices));
    }
    t->born = ++v->order;
    task_free(omap_put(&v->tasks, task_key(t->job, t->attempt, t->task), t));
    complain(v, t);
    ev = virtual_event_of(t, WHAT_RUNNING);
    if (how.refuses || chance(v, v->faults.refuse_ppm)) {
        ev.what = WHAT_REFUSED;
        ev.node_fault = how.node_fault;
    }
    if (how.start_ms != VIRTUAL_FOREVER) {
        schedule(v, ev, how.start_ms);
    }
}

/* Is the start that is asked for already made, or that of a later step?  A task that has ended, or
 * that was given up with its node, makes way for the new one of its number. */
static bool is_started(struct virtual_backend *v, const struct backend_job *job, size_t index)
{
    const struct virtual_task *t =
        omap_get(&v->tasks, task_key(job->job, job->attempt, job->tasks[index].task));

    if (t == NULL) {
        return false;
    }
    if (t->step >= backend_step_of(job, index)) {
        return true;
    }
    if (!t->ended && !t->killed && v->complaint[0] == '\0') {
        (void)snprintf(v->complaint, sizeof(v->complaint),
                       "task %" PRId64 ".%" PRId64 ".%" PRId64 " is started anew while it runs",
                       t->job, t->attempt, t->task);
    }
    return false;
}

static int virtual_start(struct backend *b, const struct backend_job *job, struct err *err)
{
    struct virtual_backend *v = virtual_self(b);
    size_t i;

    (void)err;
    for (i = 0; i < job->task_count; i++) {
        if (!is_started(v, job, i)) {
            start_task(v, job, i);
        }
    }
    return 0;
}

static void signal_task(struct virtual_backend *v, struct virtual_task *t)
{
    const struct virtual_behaviour how = virtual_behaviour_of(&v->base, t->job);
    struct virtual_event end = virtual_event_of(t, WHAT_ENDED);

    if (t->ended || t->signalled) {
        return;
    }
    t->signalled = true;
    if (how.on_signal != VIRTUAL_STOPS) {
        return;
    }
    if (how.saves_on_signal && t->task == 0) {
        schedule(v, virtual_event_of(t, WHAT_CHECKPOINT), how.stop_ms);
    }
    if (how.says_done && t->task == 0) {
        schedule(v, virtual_event_of(t, WHAT_DONE), how.stop_ms);
    }
    end.status = how.stop_status;
    schedule(v, end, how.stop_ms);
}

static void kill_task(struct virtual_backend *v, struct virtual_task *t)
{
    const struct virtual_behaviour how = virtual_behaviour_of(&v->base, t->job);
    struct virtual_event end = virtual_event_of(t, WHAT_ENDED);

    if (t->ended || t->killed) {
        return;
    }
    t->killed = true;
    end.cause = TASK_SIGNALLED;
    end.status = SIGKILL;
    /* A backend says that a node is back only once what was to be killed there is proven gone; the
     * report of its end, which nobody waits for, may come later. */
    t->given_up = virtual_is_dark(v, t->node);
    t->unprovable = how.on_signal == VIRTUAL_STUCK && !virtual_is_dark(v, t->node);
    if (!t->unprovable) {
        /* On a dark node the kill waits there and is the first that happens when it is back. */
        schedule(v, end, virtual_is_dark(v, t->node) ? 0 : how.kill_ms);
    }
}

/* Each task of the attempt that is listed, or all. */
static void for_tasks(struct virtual_backend *v, int64_t job, int64_t attempt,
                      const struct backend_task *tasks, size_t count,
                      void (*each)(struct virtual_backend *v, struct virtual_task *t))
{
    struct omap_item *it = omap_lower_bound(&v->tasks, task_key(job, attempt, INT64_MIN));

    for (; it != NULL && it->key.a == job && it->key.b == attempt; it = omap_next(it)) {
        struct virtual_task *t = it->value;

        if (backend_task_among(tasks, count, t->task, t->step)) {
            each(v, t);
        }
    }
}

static int virtual_signal(struct backend *b, const struct backend_signal *what, struct err *err)
{
    (void)err;
    for_tasks(virtual_self(b), what->job, what->attempt, what->tasks, what->task_count,
              signal_task);
    return 0;
}

static int virtual_kill(struct backend *b, int64_t job, int64_t attempt,
                        const struct backend_task *tasks, size_t task_count, struct err *err)
{
    (void)err;
    for_tasks(virtual_self(b), job, attempt, tasks, task_count, kill_task);
    return 0;
}

static void virtual_forget(struct backend *b, int64_t job, int64_t attempt)
{
    struct virtual_backend *v = virtual_self(b);
    struct omap_item *it = omap_lower_bound(&v->tasks, task_key(job, attempt, INT64_MIN));

    while (it != NULL && it->key.a == job && it->key.b == attempt) {
        struct omap_item *next = omap_next(it);

        task_free(omap_remove(&v->tasks, it->key));
        it = next;
    }
}

static bool is_held(const struct virtual_task *t, const struct backend_held *held, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++) {
        if (held[i].job == t->job && held[i].attempt == t->attempt &&
            backend_task_is(&held[i].task, t->task, t->step)) {
            return true;
        }
    }
    return false;
}

static int virtual_adopt(struct backend *b, const struct backend_held *held, size_t count,
                         struct err *err)
{
    struct virtual_backend *v = virtual_self(b);
    struct omap_item *it = omap_first(&v->tasks);
    size_t i;

    (void)err;
    while (it != NULL) {
        struct omap_item *next = omap_next(it);

        if (!is_held(it->value, held, count)) {
            task_free(omap_remove(&v->tasks, it->key));
        }
        it = next;
    }
    for (i = 0; i < count; i++) {
        const struct virtual_task *t =
            omap_get(&v->tasks, task_key(held[i].job, held[i].attempt, held[i].task.task));
        struct virtual_event ev = {.at_ms = v->now_ms,
                                   .born = t != NULL ? t->born : 0,
                                   .what = WHAT_ENDED,
                                   .job = held[i].job,
                                   .attempt = held[i].attempt,
                                   .task = held[i].task.task,
                                   .step = held[i].task.step,
                                   .node = held[i].node,
                                   .cause = TASK_LOST,
                                   .again = true};

        if (t == NULL || t->ended) {
            virtual_happen(v, &ev);
        } else if (t->running) {
            ev.what = WHAT_RUNNING; /* the report may have been lost with the last life */
            virtual_happen(v, &ev);
        }
    }
    return 0;
}

/* ---- the caller's hand ---- */

void virtual_end_job(struct backend *b, int64_t job, int64_t status)
{
    struct virtual_backend *v = virtual_self(b);
    struct omap_item *it = omap_lower_bound(&v->tasks, task_key(job, INT64_MIN, INT64_MIN));

    for (; it != NULL && it->key.a == job; it = omap_next(it)) {
        struct virtual_event ev = virtual_event_of(it->value, WHAT_ENDED);

        ev.status = status;
        schedule(v, ev, 0);
    }
}

void virtual_fail_task(struct backend *b, int64_t job, int64_t task, int64_t number)
{
    struct virtual_backend *v = virtual_self(b);
    struct omap_item *it = omap_lower_bound(&v->tasks, task_key(job, INT64_MIN, INT64_MIN));

    for (; it != NULL && it->key.a == job; it = omap_next(it)) {
        struct virtual_event ev = virtual_event_of(it->value, WHAT_ENDED);

        ev.cause = TASK_SIGNALLED;
        ev.status = number;
        if (it->key.c == task) {
            schedule(v, ev, 0);
        }
    }
}

size_t virtual_task_count(struct backend *b)
{
    const struct omap_item *it;
    size_t count = 0;

    for (it = omap_first(&virtual_self(b)->tasks); it != NULL; it = omap_next(it)) {
        const struct virtual_task *t = it->value;

        count += t->ended ? 0 : 1;
    }
    return count;
}

const char *virtual_complaint(struct backend *b)
{
    return virtual_self(b)->complaint[0] != '\0' ? virtual_self(b)->complaint : NULL;
}

/* ---- life ---- */

static void virtual_free(struct backend *b)
{
    struct virtual_backend *v = virtual_self(b);
    struct omap_item *it;
    size_t i;

    for (it = omap_first(&v->timeline); it != NULL; it = omap_next(it)) {
        mem_free(it->value);
    }
    for (it = omap_first(&v->tasks); it != NULL; it = omap_next(it)) {
        task_free(it->value);
    }
    for (it = omap_first(&v->own); it != NULL; it = omap_next(it)) {
        mem_free(it->value);
    }
    for (i = 0; i < v->places.count; i++) {
        mem_free(v->places.items[i].name);
    }
    omap_fini(&v->timeline);
    omap_fini(&v->tasks);
    omap_fini(&v->own);
    vec_fini(&v->waiting);
    vec_fini(&v->places);
    mem_free(v->cluster);
    mem_free(v);
}

struct backend *virtual_new(const char *cluster)
{
    static const struct backend_ops OPS = {
        .name = "virtual",
        .adopt = virtual_adopt,
        .observe = virtual_observe,
        .start = virtual_start,
        .signal = virtual_signal,
        .kill = virtual_kill,
        .forget = virtual_forget,
        .free = virtual_free,
    };
    struct virtual_backend *v = mem_new(1, sizeof(*v));

    v->base.ops = &OPS;
    v->cluster = mem_text(cluster);
    v->usual = (struct virtual_behaviour){.run_ms = VIRTUAL_FOREVER};
    return &v->base;
}
