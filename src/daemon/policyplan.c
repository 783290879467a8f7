#include "daemon/policyplan.h"

#include "base/check.h"
#include "base/quantity.h"
#include "core/why.h"
#include "daemon/jsonout.h"
#include "daemon/trycore.h"

#include <stdarg.h>
#include <stdio.h>

struct trial {
    struct daemon *d;
    struct arena *arena;
    struct trycore old; /* under the policy in force */
    struct trycore new;
    int64_t now_ms;
    json_t *effects;
};

static void effect(const struct trial *t, int64_t job, const char *fmt, ...) PRINTF_LIKE(3, 4);

static void effect(const struct trial *t, int64_t job, const char *fmt, ...)
{
    char text[1024];
    json_t *o = json_object();
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    jsonout_id(o, "job", job);
    jsonout_text(o, "text", text);
    json_array_append_new(t->effects, o);
}

/* Would it be refused if it were submitted today? */
static bool is_never(const struct trycore *c, const struct job *j, struct err *err)
{
    struct fact_job_submitted ask = *j->ask;

    ask.id = 0;
    ask.name = j->name;
    ask.subject = j->subject;
    ask.spec = j->spec;
    return core_submit_check(c->core, &ask, err) != 0;
}

/* The first blocker that the job does not have today. */
static const struct why_blocker *new_blocker(const struct why *old, const struct why *new)
{
    for (size_t i = 0; i < new->blocker_count; i++) {
        size_t k = 0;

        while (k < old->blocker_count && old->blockers[k].code != new->blockers[i].code) {
            k++;
        }
        if (k == old->blocker_count) {
            return &new->blockers[i];
        }
    }
    return NULL;
}

static void compare_job(const struct trial *t, const struct job *j)
{
    bool before = trycore_starts(&t->old, j->id);
    bool after = trycore_starts(&t->new, j->id);
    const struct why_blocker *blocker;
    struct why old;
    struct why new;
    struct err err;

    if (is_never(&t->new, j, &err) && !is_never(&t->old, j, NULL)) {
        effect(t, j->id, "job %lld (%s) could never run: %s", (long long)j->id, j->name, err.text);
        return;
    }
    if (before != after) {
        effect(t, j->id,
               after ? "job %lld (%s) would start now"
                     : "job %lld (%s) would no longer "
                       "start now",
               (long long)j->id, j->name);
        return;
    }
    if (after || why_job(t->old.core, j->id, t->now_ms, t->arena, &old, NULL) != 0 ||
        why_job(t->new.core, j->id, t->now_ms, t->arena, &new, NULL) != 0) {
        return;
    }
    blocker = new_blocker(&old, &new);
    if (blocker != NULL) {
        effect(t, j->id, "job %lld (%s) would wait: %s", (long long)j->id, j->name, blocker->text);
    } else if (new.earliest_ms > old.earliest_ms && old.earliest_ms != 0) {
        char text[QUANTITY_TEXT_MAX];

        quantity_duration_text(new.earliest_ms - old.earliest_ms, text);
        effect(t, j->id, "job %lld (%s) would wait %s longer", (long long)j->id, j->name, text);
    }
}

/* Queues that would be above a limit, and pools whose reserves nobody can deliver. */
static void check_limits(const struct trial *t)
{
    const struct queue_tree *tree = view_queues(t->new.core);

    for (int q = 0; tree != NULL && q < tree->count; q++) {
        for (int p = 0; p < view_pool_count(t->new.core); p++) {
            const struct queue_quota *quota = &tree->items[q].quotas[p];
            char used[QUANTITY_TEXT_MAX];
            char limit[QUANTITY_TEXT_MAX];

            if (quota->limit == QUEUE_NO_LIMIT || quota->plain <= quota->limit) {
                continue;
            }
            quantity_gpus_text(quota->plain, used);
            quantity_gpus_text(quota->limit, limit);
            effect(t, 0,
                   "queue %s uses %s GPUs of pool %s, its limit would be %s: nothing is stopped, "
                   "nothing of it starts until it is under",
                   tree->items[q].name, used, view_pool(t->new.core, p)->name, limit);
        }
    }
}

/* Told to stop for a claim that the new policy allows: reserves have moved. */
static void check_victims(const struct trial *t)
{
    for (size_t i = 0; i < t->new.decisions.count; i++) {
        const struct fact *f = &t->new.decisions.items[i];
        const struct fact_job_claimed *claim;

        if (f->kind != FACT_JOB_CLAIMED) {
            continue;
        }
        claim = fact_of(f, JOB_CLAIMED);
        for (size_t v = 0; v < claim->victim_count; v++) {
            effect(t, claim->victims[v].job,
                   "job %lld would be asked to stop for job %lld, which becomes entitled",
                   (long long)claim->victims[v].job, (long long)claim->job);
        }
    }
}

static void compare_jobs(const struct trial *t)
{
    const struct core *core = engine_core(t->d->engine);
    int told = 0;

    for (const struct job *j = view_job_next(core, 0); j != NULL && told < POLICYPLAN_JOBS_MAX;
         j = view_job_next(core, j->id)) {
        if (job_is_waiting(j)) {
            compare_job(t, j);
            told++;
        }
    }
}

int policyplan_effects(struct daemon *d, const struct policy *policy, json_t **ret, struct err *err)
{
    struct trial t = {.d = d, .now_ms = daemon_now_ms(d)};
    struct fact_policy_set body = {.subject = "", .policy = *policy};
    struct fact fact = {.kind = FACT_POLICY_SET, .body.as_POLICY_SET = &body};
    int rc = trycore_init(&t.old, d, NULL, err);

    t.arena = arena_make();
    t.effects = json_array();
    if (rc == 0) {
        rc = trycore_init(&t.new, d, &fact, err);
    }
    if (rc == 0) {
        check_limits(&t);
        check_victims(&t);
        compare_jobs(&t);
        *ret = json_incref(t.effects);
    }
    json_decref(t.effects);
    trycore_fini(&t.old);
    trycore_fini(&t.new);
    arena_free(t.arena);
    return rc;
}
