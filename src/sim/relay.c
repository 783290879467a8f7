/* relay - the sets of what is durable only grow; a life is short. */
#include "sim/relay.h"

#include <inttypes.h>
#include <stdio.h>

#define PPM 1000000

static struct relay *self(struct backend *b)
{
    return (struct relay *)b;
}

static struct omap_key attempt_key(int64_t job, int64_t attempt)
{
    return (struct omap_key){job, attempt, 0};
}

static void complain(struct relay *r, const char *call, int64_t job, int64_t attempt)
{
    if (r->complaint[0] == '\0') {
        (void)snprintf(r->complaint, sizeof(r->complaint),
                       "%s of attempt %" PRId64 ".%" PRId64 " without a durable decision", call,
                       job, attempt);
    }
}

static bool is_down(const struct relay *r)
{
    return r->down || (r->disk != NULL && torndisk_is_dead(r->disk));
}

static bool fails(struct relay *r)
{
    return r->fail_ppm > 0 && (int64_t)rng_below(&r->rng, PPM) < r->fail_ppm;
}

/* ---- what is durable ---- */

static uintptr_t mix(uintptr_t sum, int64_t value)
{
    return (sum ^ (uintptr_t)value) * (uintptr_t)0x9e3779b97f4a7c15U;
}

/* Of who runs where on what. */
static uintptr_t hash_of(const struct fact_grant *tasks, size_t count)
{
    uintptr_t sum = count;
    size_t i, k;

    for (i = 0; i < count; i++) {
        sum = mix(mix(sum, tasks[i].task), tasks[i].node);
        for (k = 0; k < tasks[i].device_count; k++) {
            sum = mix(mix(sum, tasks[i].devices[k].slot), tasks[i].devices[k].gu);
        }
    }
    return sum | 1; /* never NULL */
}

void relay_note(struct relay *r, const struct fact *fact)
{
    size_t i;

    if (fact->kind == FACT_JOB_STARTED) {
        const struct fact_job_started *s = fact_of(fact, JOB_STARTED);

        omap_put(&r->starts, (struct omap_key){s->job, s->attempt, s->step},
                 (void *)hash_of(s->tasks, s->task_count)); /* NOLINT: a number as a value */
    } else if (fact->kind == FACT_JOB_CLAIMED) {
        const struct fact_job_claimed *c = fact_of(fact, JOB_CLAIMED);

        for (i = 0; i < c->victim_count; i++) {
            omap_put(&r->told, attempt_key(c->victims[i].job, c->victims[i].attempt), r);
        }
    } else if (fact->kind == FACT_JOB_STOPPED) {
        const struct fact_job_stopped *s = fact_of(fact, JOB_STOPPED);

        omap_put(&r->told, attempt_key(s->job, s->attempt), r);
    } else if (fact->kind == FACT_JOB_KILLED) {
        const struct fact_job_killed *k = fact_of(fact, JOB_KILLED);

        omap_put(&r->killed, attempt_key(k->job, k->attempt), r);
    } else if (fact->kind == FACT_NODE_LOST) {
        r->nodes_lost++;
    }
}

/* ---- the operations ---- */

static int relay_adopt(struct backend *b, const struct backend_held *held, size_t count,
                       struct err *err)
{
    struct relay *r = self(b);

    return is_down(r) ? 0 : r->inner->ops->adopt(r->inner, held, count, err);
}

static int relay_observe(struct backend *b, const struct policy *policy, struct err *err)
{
    struct relay *r = self(b);

    return is_down(r) ? 0 : r->inner->ops->observe(r->inner, policy, err);
}

static int relay_start(struct backend *b, const struct backend_job *job, struct err *err)
{
    struct relay *r = self(b);
    const struct omap_item *had;

    if (is_down(r)) {
        return 0;
    }
    r->calls++;
    had = omap_find(&r->starts, (struct omap_key){job->job, job->attempt, job->step});
    if (had == NULL || (uintptr_t)had->value != hash_of(job->tasks, job->task_count)) {
        complain(r, "start", job->job, job->attempt);
    }
    if (fails(r)) {
        return err_set(err, ERR_IO, "the call did not get through");
    }
    return r->inner->ops->start(r->inner, job, err);
}

static int relay_signal(struct backend *b, const struct backend_signal *what, struct err *err)
{
    struct relay *r = self(b);

    if (is_down(r)) {
        return 0;
    }
    r->calls++;
    if (omap_find(&r->told, attempt_key(what->job, what->attempt)) == NULL) {
        complain(r, "signal", what->job, what->attempt);
    }
    if (fails(r)) {
        return err_set(err, ERR_IO, "the call did not get through");
    }
    return r->inner->ops->signal(r->inner, what, err);
}

static int relay_kill(struct backend *b, int64_t job, int64_t attempt,
                      const struct backend_task *tasks, size_t task_count, struct err *err)
{
    struct relay *r = self(b);

    if (is_down(r)) {
        return 0;
    }
    r->calls++;
    if (omap_find(&r->killed, attempt_key(job, attempt)) == NULL && r->nodes_lost == 0) {
        complain(r, "kill", job, attempt);
    }
    return r->inner->ops->kill(r->inner, job, attempt, tasks, task_count, err);
}

static void relay_forget(struct backend *b, int64_t job, int64_t attempt)
{
    struct relay *r = self(b);

    if (!is_down(r)) {
        r->inner->ops->forget(r->inner, job, attempt);
    }
}

static void relay_free(struct backend *b)
{
    (void)b;
}

/* What happened is said by the daemon's clock, which is that of the machine it runs on. */
static void relay_sink(void *ctx, const struct fact *fact)
{
    struct relay *r = ctx;
    struct fact told = *fact;

    if (is_down(r) || r->base.sink == NULL) {
        return;
    }
    if (told.true_at_ms != 0) {
        told.true_at_ms += r->skew_ms;
    }
    r->base.sink(r->base.sink_ctx, &told);
}

void relay_init(struct relay *r, struct backend *inner)
{
    static const struct backend_ops OPS = {
        .name = "virtual",
        .adopt = relay_adopt,
        .observe = relay_observe,
        .start = relay_start,
        .signal = relay_signal,
        .kill = relay_kill,
        .forget = relay_forget,
        .free = relay_free,
    };

    *r = (struct relay){.base = {.ops = &OPS}, .inner = inner};
    inner->sink = relay_sink;
    inner->sink_ctx = r;
}

void relay_fini(struct relay *r)
{
    omap_fini(&r->starts);
    omap_fini(&r->told);
    omap_fini(&r->killed);
}
