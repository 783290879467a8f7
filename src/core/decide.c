#include "core/decide.h"

#include "base/check.h"

void *decide_new(struct core *c, enum fact_kind kind)
{
    void *body = arena_new(c->plan_arena, 1, fact_kind_schema(kind)->size);

    vec_push(&c->decisions, (struct fact){.kind = kind, .body.any = body});
    return body;
}

struct fact_reason decide_reason(struct core *c, const char *rule, const char *text)
{
    struct fact_reason why = {.rule = rule, .text = text};

    why.numbers = arena_new(c->plan_arena, DECIDE_NUMBERS_MAX, sizeof(why.numbers[0]));
    return why;
}

void decide_number(struct fact_reason *why, const char *name, int64_t value)
{
    if (why->number_count < DECIDE_NUMBERS_MAX) {
        why->numbers[why->number_count++] = (struct fact_number){name, value};
    }
}

void decide_job(struct core *c, struct fact_reason *why, int64_t job)
{
    if (why->jobs == NULL) {
        why->jobs = arena_new(c->plan_arena, DECIDE_JOBS_MAX, sizeof(why->jobs[0]));
    }
    if (why->job_count < DECIDE_JOBS_MAX) {
        why->jobs[why->job_count++] = job;
    }
}

struct fact_grant *decide_grants(const struct core *c, const lease_tasks *tasks, struct arena *a)
{
    struct fact_grant *grants = arena_new(a, tasks->count, sizeof(*grants));

    for (size_t i = 0; i < tasks->count; i++) {
        const struct lease_task *t = &tasks->items[i];
        const struct node *n = c->nodes.items[t->node];

        grants[i] = (struct fact_grant){.task = t->task,
                                        .step = t->step,
                                        .group = t->group,
                                        .node = n->id,
                                        .device_count = (size_t)t->device_count,
                                        .cpu_milli = t->cpu_milli,
                                        .memory_bytes = t->memory_bytes};
        grants[i].devices = arena_new(a, (size_t)t->device_count, sizeof(grants[i].devices[0]));
        for (int k = 0; k < t->device_count; k++) {
            const struct lease_device *d = &t->devices[k];
            const struct device *dev = &n->devices[d->slot];
            struct fact_grant_device *to = &grants[i].devices[k];

            *to = (struct fact_grant_device){.slot = d->slot,
                                             .gu = d->gu,
                                             .profile = "",
                                             .memory_bytes = d->memory_bytes};
            if (d->profile >= 0) {
                to->profile = dev->table->profiles[d->profile].name;
                to->start = d->start;
                to->recut = d->recut;
            } else if (dev->profile[0] != '\0') {
                to->profile = dev->profile;
            }
        }
    }
    return grants;
}

static int64_t borrowed_of(const struct core *c, const struct job *j, int pool, int64_t gu)
{
    int64_t borrowed = gu;

    for (int q = j->queue; q >= 0; q = c->queues->items[q].parent) {
        const struct queue_quota *own = &c->queues->items[q].quotas[pool];
        int64_t over = quota_borrowed(c->queues, pool, q);

        if (j->ask->nonpreemptible) { /* fills the reserve first; preemptible work becomes the
                                         borrowed part */
            over = own->fixed > own->mine ? own->fixed - own->mine : 0;
        }

        borrowed = over < borrowed ? over : borrowed;
    }
    return borrowed;
}

static const char *gpus_text(struct core *c, int64_t gu)
{
    char text[QUANTITY_TEXT_MAX];

    quantity_gpus_text(gu, text);
    return arena_text(c->plan_arena, text);
}

static void queue_numbers(const struct core *c, const struct job *j, int pool,
                          struct fact_reason *why)
{
    const struct queue_quota *q = &c->queues->items[j->queue].quotas[pool];

    decide_number(why, "queue_reserved_gu", q->mine);
    decide_number(why, "queue_used_gu", q->used);
}

/* All that the attempt holds then. */
static void put_tasks(struct core *c, const struct job *j, const struct trial *t,
                      struct fact_job_started *d)
{
    lease_tasks all = {0};

    if (t->step == 1) {
        d->tasks = decide_grants(c, &t->tasks, c->plan_arena);
        d->task_count = t->tasks.count;
        return;
    }
    for (size_t i = 0; i < j->tasks.count; i++) {
        if (load_ledger(&j->tasks.items[i]) == LEDGER_HELD) {
            vec_push(&all, j->tasks.items[i]);
        }
    }
    for (size_t i = 0; i < t->tasks.count; i++) {
        vec_push(&all, t->tasks.items[i]);
    }
    d->tasks = decide_grants(c, &all, c->plan_arena);
    d->task_count = all.count;
    vec_fini(&all);
}

static const char *start_text(struct core *c, const struct trial *t,
                              const struct fact_job_started *d)
{
    char need[QUANTITY_TEXT_MAX], reserved[QUANTITY_TEXT_MAX], borrowed[QUANTITY_TEXT_MAX];
    const char *const pieces[] = {t->step > 1 ? "grows by " : "starts on ",
                                  need,
                                  " GPUs of pool ",
                                  t->pool->name,
                                  ": ",
                                  reserved,
                                  " reserved, ",
                                  borrowed,
                                  " borrowed"};

    quantity_gpus_text(t->need_gu, need);
    quantity_gpus_text(d->reserved_gu, reserved);
    quantity_gpus_text(d->borrowed_gu, borrowed);
    return arena_join(c->plan_arena, pieces, ARRAY_LEN(pieces));
}

void decide_start(struct core *c, struct job *j, const struct trial *t, int64_t now_ms)
{
    struct fact_job_started *d = decide_new(c, FACT_JOB_STARTED);
    int64_t total = (t->step > 1 ? j->leased_gu : 0) + t->need_gu;

    d->job = j->id;
    d->attempt = t->step > 1 ? j->attempt : j->attempt + 1;
    d->step = t->step;
    d->pool = t->pool->id;
    put_tasks(c, j, t, d);
    d->borrowed_gu = borrowed_of(c, j, t->pool->index, total);
    d->reserved_gu = total - d->borrowed_gu;
    d->passes = arena_copy(c->plan_arena, t->passes.items, t->passes.count * sizeof(int64_t));
    d->pass_count = t->passes.count;
    d->why = decide_reason(c, t->rule, start_text(c, t, d));
    decide_number(&d->why, "need_gu", t->need_gu);
    decide_number(&d->why, "reserved_gu", d->reserved_gu);
    decide_number(&d->why, "borrowed_gu", d->borrowed_gu);
    queue_numbers(c, j, t->pool->index, &d->why);
    decide_number(&d->why, "waited_ms", now_ms - j->age_ms);
    for (size_t i = 0; i < t->passes.count; i++) {
        decide_job(c, &d->why, t->passes.items[i]);
    }
}

static int64_t grace_of(const struct core *c, const struct job *victim)
{
    const struct policy_queue *row = c->queues->items[victim->queue].row;
    int64_t asked = victim->ask->grace_ms;
    int64_t most = row->grace_max_ms > row->grace_ms ? row->grace_max_ms : row->grace_ms;

    if (asked == 0) {
        return row->grace_ms;
    }
    return asked < most ? asked : most;
}

int64_t decide_deadline(const struct core *c, const struct job *victim, int64_t now_ms)
{
    return now_ms + grace_of(c, victim);
}

static const struct claim_move *move_of(const struct trial *t, const struct job *j)
{
    for (size_t i = 0; i < t->moves.count; i++) {
        if (t->moves.items[i].job == j) {
            return &t->moves.items[i];
        }
    }
    return NULL;
}

/* One row a job: single tasks of one job are one victim. */
static void add_victim(struct core *c, struct fact_job_claimed *d, const struct trial *t,
                       const struct claim_unit *u, int64_t now_ms)
{
    struct fact_victim *v = NULL;
    const struct claim_move *move = move_of(t, u->job);

    for (size_t i = 0; i < d->victim_count; i++) {
        if (d->victims[i].job == u->job->id) {
            v = &d->victims[i];
        }
    }
    if (v == NULL) {
        v = &d->victims[d->victim_count++];
        v->job = u->job->id;
        v->attempt = u->job->attempt;
        v->nominee = u->kind == UNIT_NOMINEE;
        v->deadline_ms = v->nominee ? 0 : decide_deadline(c, u->job, now_ms);
        v->tasks = arena_new(c->plan_arena, u->job->tasks.count + 1, sizeof(int64_t));
        decide_job(c, &d->why, u->job->id);
    }
    if (u->kind == UNIT_TASK) {
        v->tasks[v->task_count++] = u->job->tasks.items[u->at].task;
    }
    v->gu += u->gu;
    v->lost_gu_ms += u->lost_gu_ms;
    v->cost_gu_ms += u->cost_gu_ms;
    if (move != NULL) {
        v->moved = decide_grants(c, &move->tasks, c->plan_arena);
        v->moved_count = move->tasks.count;
        v->move_node = v->moved[0].node;
    }
}

void decide_claim(struct core *c, struct job *j, const struct trial *t, int64_t now_ms)
{
    struct fact_job_claimed *d = decide_new(c, FACT_JOB_CLAIMED);
    int64_t cost = 0;

    d->job = j->id;
    d->pool = t->pool->id;
    d->step = t->step;
    d->tasks = decide_grants(c, &t->tasks, c->plan_arena);
    d->task_count = t->tasks.count;
    d->exact = t->exact;
    d->candidates = t->candidates;
    d->victims = arena_new(c->plan_arena, t->victims.count + 1, sizeof(d->victims[0]));
    d->why = decide_reason(c, t->rule, "");
    for (size_t i = 0; i < t->victims.count; i++) {
        add_victim(c, d, t, &t->victims.items[i], now_ms);
        cost += t->victims.items[i].cost_gu_ms;
    }
    d->why.text = arena_printf(
        c->plan_arena,
        "is promised %s GPUs of pool %s; %zu job%s stop%s for it (%s of %lld candidates)",
        gpus_text(c, t->need_gu), t->pool->name, d->victim_count, d->victim_count == 1 ? "" : "s",
        d->victim_count == 1 ? "s" : "", t->exact ? "least harm" : "least harm known",
        (long long)t->candidates);
    decide_number(&d->why, "need_gu", t->need_gu);
    queue_numbers(c, j, t->pool->index, &d->why);
    decide_number(&d->why, "cost_gu_ms", cost);
    decide_number(&d->why, "waited_ms", now_ms - j->age_ms);
    decide_number(&d->why, "candidates", t->candidates);
}
