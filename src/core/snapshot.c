/* The canonical state as one value described by schema tables: the codec writes and reads it, so
 * snapshot and journal share one text form.  Only what facts made is here; sums, indices and memos
 * are rebuilt. */
#include "base/check.h"
#include "core/codec.h"
#include "core/decide.h"
#include "core/fold.h"
#include "core/shape.h"

#include <string.h>

/* 2^62: a 128-bit sum is hi * 2^62 + lo with 0 <= lo < 2^62. */
#define HALF ((int128)1 << 62)

struct snap_cut {
    const char *profile;
    int64_t start;
};

struct snap_device {
    int64_t slot;
    bool out;
    const char *reason;
    struct snap_cut *cuts;
    size_t cut_count;
};

struct snap_node {
    struct fact_node_seen seen;
    int health;
    int64_t unknown_since_ms;
    bool gone;
    const char *reason;
    bool drain;
    int64_t drain_by_ms;
    struct snap_device *devices; /* those that are out or cut */
    size_t device_count;
};

struct snap_job {
    struct fact_job_submitted ask;
    int state;
    int64_t submitted_ms, age_ms, held_since_ms, attempt, step, not_before_ms, avoid_node;
    int64_t retries_used, preemptions, lost_gu_ms;
    bool cancel_asked, requeue_asked, done_said;
    int64_t pool;
    struct fact_grant *tasks;
    size_t task_count;
    int64_t *task_states;
    size_t task_state_count;
    int64_t reserved_gu, borrowed_gu, started_ms, running_ms, checkpoint_ms;
    int64_t *passes;
    size_t pass_count;
    bool stop_told, stop_claimed;
    int64_t stop_cause, stop_by, stop_told_ms, stop_deadline_ms;
    bool stop_killed;
    int64_t stop_killed_ms, stop_lost_gu_ms;
    bool stop_stuck;
    int64_t *finished;
    size_t finished_count;
    int64_t broken_ms, unsaved_gu_ms, end_status, end_signal;
    bool ended_badly, ended_by_loss, refused;
    int64_t fault_node, ended_ms;
    bool nominated, nomination_move, nomination_returns;
    int64_t nomination_pool, nomination_step, nomination_since_ms, nomination_latest_ms;
    struct fact_grant *promised;
    size_t promised_count;
    int64_t *victims;
    size_t victim_count;
    int64_t nomination_lost_gu_ms;
    struct fact_reason why;
    int64_t why_seq;
};

struct snap_token {
    int64_t id;
    const char *subject, *name, *digest;
    const char **roles;
    size_t role_count;
    int64_t created_ms, expires_ms;
};

struct snap_meter {
    int64_t id;    /* pool or queue */
    int64_t *sums; /* pairs hi, lo */
    size_t sum_count;
};

struct snap {
    int64_t format, now_ms, next_job, next_node, next_token, next_pool, next_queue, policy_seq;
    bool has_policy;
    struct policy policy;
    struct snap_node *nodes;
    size_t node_count;
    struct snap_job *jobs;
    size_t job_count;
    int64_t *ended;
    size_t ended_count;
    struct snap_token *tokens;
    size_t token_count;
    int64_t metered_ms;
    struct snap_meter *pools;
    size_t pool_count;
    struct snap_meter *queues;
    size_t queue_count;
};

#define I(m) SCHEMA_INT(SNAP, m)
#define B(m) SCHEMA_BOOL(SNAP, m)
#define T(m) SCHEMA_TEXT(SNAP, m)

#define SNAP snap_cut
static const struct schema_field CUT_fields[] = {T(profile), I(start)};
static SCHEMA_DEFINE(CUT, "cut", snap_cut);
#undef SNAP

#define SNAP snap_device
static const struct schema_field DEVICE_fields[] = {I(slot), B(out), T(reason),
                                                    SCHEMA_LIST(SNAP, cuts, cut_count, &CUT)};
static SCHEMA_DEFINE(DEVICE, "device", snap_device);
#undef SNAP

#define SNAP snap_node
static const struct schema_field NODE_fields[] = {SCHEMA_SUB(SNAP, seen, &BODY_node_seen),
                                                  SCHEMA_ENUM(SNAP, health, NODE_HEALTH_NAMES),
                                                  I(unknown_since_ms),
                                                  B(gone),
                                                  T(reason),
                                                  B(drain),
                                                  I(drain_by_ms),
                                                  SCHEMA_LIST(SNAP, devices, device_count,
                                                              &DEVICE)};
static SCHEMA_DEFINE(NODE, "node", snap_node);
#undef SNAP

#define SNAP snap_job
static const struct schema_field JOB_fields[] = {SCHEMA_SUB(SNAP, ask, &BODY_job_submitted),
                                                 SCHEMA_ENUM(SNAP, state, JOB_STATE_NAMES),
                                                 I(submitted_ms),
                                                 I(age_ms),
                                                 I(held_since_ms),
                                                 I(attempt),
                                                 I(step),
                                                 I(not_before_ms),
                                                 I(avoid_node),
                                                 I(retries_used),
                                                 I(preemptions),
                                                 I(lost_gu_ms),
                                                 B(cancel_asked),
                                                 B(requeue_asked),
                                                 B(done_said),
                                                 I(pool),
                                                 SCHEMA_LIST(SNAP, tasks, task_count, &BODY_grant),
                                                 SCHEMA_INTS(SNAP, task_states, task_state_count),
                                                 I(reserved_gu),
                                                 I(borrowed_gu),
                                                 I(started_ms),
                                                 I(running_ms),
                                                 I(checkpoint_ms),
                                                 SCHEMA_INTS(SNAP, passes, pass_count),
                                                 B(stop_told),
                                                 B(stop_claimed),
                                                 I(stop_cause),
                                                 I(stop_by),
                                                 I(stop_told_ms),
                                                 I(stop_deadline_ms),
                                                 B(stop_killed),
                                                 I(stop_killed_ms),
                                                 I(stop_lost_gu_ms),
                                                 B(stop_stuck),
                                                 SCHEMA_INTS(SNAP, finished, finished_count),
                                                 I(broken_ms),
                                                 I(unsaved_gu_ms),
                                                 I(end_status),
                                                 I(end_signal),
                                                 B(ended_badly),
                                                 B(ended_by_loss),
                                                 B(refused),
                                                 I(fault_node),
                                                 I(ended_ms),
                                                 B(nominated),
                                                 B(nomination_move),
                                                 B(nomination_returns),
                                                 I(nomination_pool),
                                                 I(nomination_step),
                                                 I(nomination_since_ms),
                                                 I(nomination_latest_ms),
                                                 SCHEMA_LIST(SNAP, promised, promised_count,
                                                             &BODY_grant),
                                                 SCHEMA_INTS(SNAP, victims, victim_count),
                                                 I(nomination_lost_gu_ms),
                                                 SCHEMA_SUB(SNAP, why, &BODY_reason),
                                                 I(why_seq)};
static SCHEMA_DEFINE(JOB, "job", snap_job);
#undef SNAP

#define SNAP snap_token
static const struct schema_field TOKEN_fields[] = {
    I(id),         T(subject),   T(name), T(digest), SCHEMA_TEXTS(SNAP, roles, role_count),
    I(created_ms), I(expires_ms)};
static SCHEMA_DEFINE(TOKEN, "token", snap_token);
#undef SNAP

#define SNAP snap_meter
static const struct schema_field METER_fields[] = {I(id), SCHEMA_INTS(SNAP, sums, sum_count)};
static SCHEMA_DEFINE(METER, "meter", snap_meter);
#undef SNAP

#define SNAP snap
static const struct schema_field SNAP_fields[] = {I(format),
                                                  I(now_ms),
                                                  I(next_job),
                                                  I(next_node),
                                                  I(next_token),
                                                  I(next_pool),
                                                  I(next_queue),
                                                  I(policy_seq),
                                                  B(has_policy),
                                                  SCHEMA_SUB(SNAP, policy, &POLICY_SCHEMA),
                                                  SCHEMA_LIST(SNAP, nodes, node_count, &NODE),
                                                  SCHEMA_LIST(SNAP, jobs, job_count, &JOB),
                                                  SCHEMA_INTS(SNAP, ended, ended_count),
                                                  SCHEMA_LIST(SNAP, tokens, token_count, &TOKEN),
                                                  I(metered_ms),
                                                  SCHEMA_LIST(SNAP, pools, pool_count, &METER),
                                                  SCHEMA_LIST(SNAP, queues, queue_count, &METER)};
#undef SNAP
static SCHEMA_DEFINE(SNAP, "snapshot", snap);

/* ---- writing ---- */

static void fill_job(const struct core *c, const struct job *j, struct snap_job *to,
                     struct arena *a)
{
    to->ask = *j->ask;
    to->ask.id = j->id;
    to->ask.name = j->name;
    to->ask.subject = j->subject;
    to->ask.spec = j->spec;
    to->ask.array = j->array;
    to->ask.element = j->element;
    to->ask.queue = j->queue_id;
    to->state = (int)j->state;
    to->submitted_ms = j->submitted_ms;
    to->age_ms = j->age_ms;
    to->held_since_ms = j->held_since_ms;
    to->attempt = j->attempt;
    to->step = j->step;
    to->not_before_ms = j->not_before_ms;
    to->avoid_node = j->avoid_node;
    to->retries_used = j->retries_used;
    to->preemptions = j->preemptions;
    to->lost_gu_ms = j->lost_gu_ms;
    to->cancel_asked = j->cancel_asked;
    to->requeue_asked = j->requeue_asked;
    to->done_said = j->done_said;
    to->pool = j->pool_id;
    to->tasks = decide_grants(c, &j->tasks, a);
    to->task_count = j->tasks.count;
    to->task_states = arena_new(a, j->tasks.count + 1, sizeof(int64_t));
    to->task_state_count = j->tasks.count;
    for (size_t i = 0; i < j->tasks.count; i++) {
        to->task_states[i] = j->tasks.items[i].state;
        to->tasks[i].step = to->tasks[i].step != j->step ? to->tasks[i].step : 0;
    }
    to->reserved_gu = j->reserved_gu;
    to->borrowed_gu = j->borrowed_gu;
    to->started_ms = j->started_ms;
    to->running_ms = j->running_ms;
    to->checkpoint_ms = j->checkpoint_ms;
    to->passes = j->passes.items;
    to->pass_count = j->passes.count;
    to->finished = j->finished.items;
    to->finished_count = j->finished.count;
    to->broken_ms = j->broken_ms;
    to->unsaved_gu_ms = j->unsaved_gu_ms;
    to->end_status = j->end_status;
    to->end_signal = j->end_signal;
    to->ended_badly = j->ended_badly;
    to->ended_by_loss = j->ended_by_loss;
    to->refused = j->refused;
    to->fault_node = j->fault_node;
    to->ended_ms = j->ended_ms;
}

static void fill_job_more(const struct core *c, const struct job *j, struct snap_job *to,
                          struct arena *a)
{
    to->stop_told = j->stop.told;
    to->stop_claimed = j->stop.claimed;
    to->stop_cause = j->stop.cause;
    to->stop_by = j->stop.by;
    to->stop_told_ms = j->stop.told_ms;
    to->stop_deadline_ms = j->stop.deadline_ms;
    to->stop_killed = j->stop.killed;
    to->stop_killed_ms = j->stop.killed_ms;
    to->stop_lost_gu_ms = j->stop.lost_gu_ms;
    to->stop_stuck = j->stop.stuck;
    to->why = j->why;
    to->why_seq = j->why_seq;
    if (j->nomination.is) {
        to->nominated = true;
        to->nomination_move = j->nomination.move;
        to->nomination_returns = j->nomination.returns;
        to->nomination_pool = j->nomination.pool_id;
        to->nomination_step = j->nomination.step;
        to->nomination_since_ms = j->nomination.since_ms;
        to->nomination_latest_ms = j->nomination.latest_ms;
        to->promised = decide_grants(c, &j->nomination.tasks, a);
        to->promised_count = j->nomination.tasks.count;
        to->victims = j->nomination.victims.items;
        to->victim_count = j->nomination.victims.count;
        to->nomination_lost_gu_ms = j->nomination.lost_gu_ms;
    }
}

static void fill_seen(const struct node *n, struct fact_node_seen *to, struct arena *a)
{
    *to = (struct fact_node_seen){.id = n->id,
                                  .name = n->name,
                                  .cluster = n->cluster,
                                  .pool = n->pool_id,
                                  .simulated = n->simulated,
                                  .cpu_milli = n->cpu_milli,
                                  .memory_bytes = n->memory_bytes,
                                  .labels = n->labels,
                                  .label_count = n->label_count,
                                  .domains = n->domain_names,
                                  .domain_count = n->domain_count,
                                  .device_count = (size_t)n->device_count};
    to->devices = arena_new(a, to->device_count + 1, sizeof(to->devices[0]));
    for (int i = 0; i < n->device_count; i++) {
        const struct device *d = &n->devices[i];

        to->devices[i] = (struct fact_device){.slot = d->slot,
                                              .uuid = d->uuid,
                                              .model = d->model,
                                              .memory_bytes = d->memory_bytes,
                                              .mig = d->mig,
                                              .profile = d->profile};
        to->devices[i].charge_gu = d->profile[0] != '\0' ? d->size_gu : 0;
    }
}

static void fill_node(const struct node *n, struct snap_node *to, struct arena *a)
{
    fill_seen(n, &to->seen, a);
    to->health = (int)n->health;
    to->unknown_since_ms = n->unknown_since_ms;
    to->gone = n->gone;
    to->reason = n->reason;
    to->drain = n->drain;
    to->drain_by_ms = n->drain_by_ms;
    to->devices = arena_new(a, (size_t)n->device_count + 1, sizeof(to->devices[0]));
    for (int i = 0; i < n->device_count; i++) {
        const struct device *d = &n->devices[i];
        struct snap_device *sd = &to->devices[to->device_count];

        if (!d->out && d->layout.count == 0) {
            continue;
        }
        to->device_count++;
        sd->slot = i;
        sd->out = d->out;
        sd->reason = d->out_reason;
        sd->cut_count = d->layout.count;
        sd->cuts = arena_new(a, sd->cut_count + 1, sizeof(sd->cuts[0]));
        for (size_t k = 0; k < sd->cut_count; k++) {
            sd->cuts[k].profile = d->table->profiles[d->layout.cuts[k].profile].name;
            sd->cuts[k].start = d->layout.cuts[k].start;
        }
    }
}

static void put_sum(struct snap_meter *m, int128 sum)
{
    m->sums[m->sum_count++] = (int64_t)(sum / HALF);
    m->sums[m->sum_count++] = (int64_t)(sum % HALF);
}

static void fill_meters(const struct core *c, struct snap *s, struct arena *a)
{
    s->metered_ms = c->meter.since_ms;
    s->pools = arena_new(a, c->meter.pools.count + 1, sizeof(s->pools[0]));
    for (size_t i = 0; i < c->meter.pools.count; i++) {
        const struct meter_pool *row = &c->meter.pools.items[i];
        struct snap_meter *m = &s->pools[s->pool_count++];

        m->id = row->pool;
        m->sums = arena_new(a, METER_CLASS_COUNT * 2 + 2, sizeof(int64_t));
        put_sum(m, row->nominal_gu_ms);
        for (int k = 0; k < METER_CLASS_COUNT; k++) {
            put_sum(m, row->gu_ms[k]);
        }
    }
    s->queues = arena_new(a, c->meter.queues.count + 1, sizeof(s->queues[0]));
    for (size_t i = 0; i < c->meter.queues.count; i++) {
        struct snap_meter *m = &s->queues[s->queue_count++];

        m->id = c->meter.queues.items[i].queue;
        m->sums = arena_new(a, 5, sizeof(int64_t));
        put_sum(m, c->meter.queues.items[i].lost_gu_ms);
        put_sum(m, c->meter.queues.items[i].decayed_gu_ms);
        m->sums[m->sum_count++] = c->meter.queues.items[i].decayed_ms;
    }
}

static void fill_tokens(const struct core *c, struct snap *s, struct arena *a)
{
    s->tokens = arena_new(a, c->tokens.count + 1, sizeof(s->tokens[0]));
    for (struct omap_item *i = omap_first(&c->tokens); i != NULL; i = omap_next(i)) {
        const struct view_token *t = &((const struct token *)i->value)->shown;
        const char **roles = arena_new(a, t->role_count + 1, sizeof(*roles));

        for (size_t k = 0; k < t->role_count; k++) {
            roles[k] = t->roles[k];
        }
        s->tokens[s->token_count++] = (struct snap_token){.id = t->id,
                                                          .subject = t->subject,
                                                          .name = t->name,
                                                          .digest = t->digest,
                                                          .roles = roles,
                                                          .role_count = t->role_count,
                                                          .created_ms = t->created_ms,
                                                          .expires_ms = t->expires_ms};
    }
}

void core_snapshot(const struct core *c, struct str *ret)
{
    struct arena *a = arena_make();
    struct snap *s = arena_new(a, 1, sizeof(*s));

    s->format = CORE_SNAPSHOT_FORMAT;
    s->now_ms = c->now_ms;
    s->next_job = c->next_job;
    s->next_node = c->next_node;
    s->next_token = c->next_token;
    s->next_pool = c->next_pool;
    s->next_queue = c->next_queue;
    s->policy_seq = c->policy_seq;
    if (c->policy != NULL) {
        s->has_policy = true;
        s->policy = *c->policy;
    }
    s->nodes = arena_new(a, c->nodes.count + 1, sizeof(s->nodes[0]));
    for (size_t i = 0; i < c->nodes.count; i++) {
        fill_node(c->nodes.items[i], &s->nodes[s->node_count++], a);
    }
    s->jobs = arena_new(a, c->job_of_id.count + 1, sizeof(s->jobs[0]));
    for (const struct job *j = c->first_job; j != NULL; j = j->next) {
        fill_job(c, j, &s->jobs[s->job_count], a);
        fill_job_more(c, j, &s->jobs[s->job_count++], a);
    }
    s->ended_count = c->ended.count - c->ended_from;
    s->ended = s->ended_count > 0 ? c->ended.items + c->ended_from : NULL;
    fill_tokens(c, s, a);
    fill_meters(c, s, a);
    codec_encode(&SNAP, s, ret);
    arena_free(a);
}

/* ---- reading ---- */

static int apply_seen(struct core *c, const struct snap_node *from, struct err *err)
{
    struct fact f = {.kind = FACT_NODE_SEEN, .body.any = &from->seen};
    struct node *n;
    int rc = fold_node_seen(c, &f, err);

    if (rc != 0) {
        return rc;
    }
    n = core_node(c, from->seen.id);
    CHECK(n != NULL);
    n->health = (enum node_health)from->health;
    n->unknown_since_ms = from->unknown_since_ms;
    n->gone = from->gone;
    n->reason = arena_text(n->arena, from->reason);
    n->drain = from->drain;
    n->drain_by_ms = from->drain_by_ms;
    for (size_t i = 0; i < from->device_count; i++) {
        const struct snap_device *sd = &from->devices[i];
        struct device *d;

        if (sd->slot < 0 || sd->slot >= n->device_count || sd->cut_count > SLICE_CUT_MAX) {
            return err_set(err, ERR_INVALID, "snapshot: node %s has no device %lld", n->name,
                           (long long)sd->slot);
        }
        d = &n->devices[sd->slot];
        d->out = sd->out;
        d->out_reason = arena_text(n->arena, sd->reason);
        for (size_t k = 0; k < sd->cut_count; k++) {
            int profile = d->table == NULL ? -1 : slice_profile_of(d->table, sd->cuts[k].profile);

            if (profile < 0 || sd->cuts[k].start < 0 || sd->cuts[k].start > UINT8_MAX) {
                return err_set(err, ERR_INVALID, "snapshot: device %lld of %s is not cut into %s",
                               (long long)sd->slot, n->name, sd->cuts[k].profile);
            }
            d->layout.cuts[d->layout.count++] =
                (struct slice_cut){.profile = (uint8_t)profile,
                                   .start = (uint8_t)sd->cuts[k].start};
        }
        if (sd->cut_count > 0 && slice_check(d->table, &d->layout) != NULL) {
            return err_set(err, ERR_INVALID, "snapshot: device %lld of %s: %s", (long long)sd->slot,
                           n->name, slice_check(d->table, &d->layout));
        }
    }
    return 0;
}

/* Put the slices of a task on the layouts, which fold_rebuild does again; false: not legal. */
static bool try_slices(const struct core *c, const struct lease_task *t, bool promised)
{
    struct node *n = c->nodes.items[t->node];

    for (int i = 0; i < t->device_count; i++) {
        struct device *d = &n->devices[t->devices[i].slot];
        struct slice *s = promised ? &d->promised : &d->layout;
        int profile = t->devices[i].profile;

        if (profile >= 0 && !slice_may_hold(d->table, s, profile, t->devices[i].start)) {
            return false;
        }
        if (profile >= 0) {
            slice_hold(d->table, s, profile, t->devices[i].start);
        }
    }
    return true;
}

static int read_tasks(const struct core *c, const struct fact_grant *from, size_t count,
                      const int64_t *states, lease_tasks *ret, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        struct lease_task t;
        int rc = fold_grant(c, &from[i], &t, err);

        if (rc != 0) {
            return rc;
        }
        t.state = states != NULL ? (int16_t)states[i] : (int16_t)TASK_STATE_STARTING;
        vec_push(ret, t);
        if (!try_slices(c, &t, states == NULL)) {
            return err_set(err, ERR_INVALID, "snapshot: a slice that no layout has room for");
        }
    }
    return 0;
}

static void read_stop(const struct snap_job *from, struct job_stop *to)
{
    *to = (struct job_stop){.told = from->stop_told,
                            .claimed = from->stop_claimed,
                            .cause = (int)from->stop_cause,
                            .by = from->stop_by,
                            .told_ms = from->stop_told_ms,
                            .deadline_ms = from->stop_deadline_ms,
                            .killed = from->stop_killed,
                            .killed_ms = from->stop_killed_ms,
                            .lost_gu_ms = from->stop_lost_gu_ms,
                            .stuck = from->stop_stuck};
}

static int read_nomination(struct core *c, const struct snap_job *from, struct job *j,
                           struct err *err)
{
    if (!from->nominated) {
        return 0;
    }
    j->nomination.is = true;
    j->nomination.move = from->nomination_move;
    j->nomination.returns = from->nomination_returns;
    j->nomination.pool_id = from->nomination_pool;
    j->nomination.step = from->nomination_step;
    j->nomination.since_ms = from->nomination_since_ms;
    j->nomination.latest_ms = from->nomination_latest_ms;
    j->nomination.lost_gu_ms = from->nomination_lost_gu_ms;
    for (size_t i = 0; i < from->victim_count; i++) {
        vec_push(&j->nomination.victims, from->victims[i]);
    }
    return read_tasks(c, from->promised, from->promised_count, NULL, &j->nomination.tasks, err);
}

static void read_numbers(const struct snap_job *from, struct job *j)
{
    j->state = (enum job_state)from->state;
    j->submitted_ms = from->submitted_ms;
    j->age_ms = from->age_ms;
    j->held_since_ms = from->held_since_ms;
    j->attempt = from->attempt;
    j->step = from->step;
    j->not_before_ms = from->not_before_ms;
    j->avoid_node = from->avoid_node;
    j->retries_used = from->retries_used;
    j->preemptions = from->preemptions;
    j->lost_gu_ms = from->lost_gu_ms;
    j->cancel_asked = from->cancel_asked;
    j->requeue_asked = from->requeue_asked;
    j->done_said = from->done_said;
    j->pool_id = from->pool;
    j->reserved_gu = from->reserved_gu;
    j->borrowed_gu = from->borrowed_gu;
    j->started_ms = from->started_ms;
    j->running_ms = from->running_ms;
    j->checkpoint_ms = from->checkpoint_ms;
    j->broken_ms = from->broken_ms;
    j->unsaved_gu_ms = from->unsaved_gu_ms;
    j->end_status = from->end_status;
    j->end_signal = from->end_signal;
    j->ended_badly = from->ended_badly;
    j->ended_by_loss = from->ended_by_loss;
    j->refused = from->refused;
    j->fault_node = from->fault_node;
    j->ended_ms = from->ended_ms;
}

/* What would be a broken CHECK later, or memory of others, in words. */
static const char *odd_job(const struct core *c, const struct snap_job *from)
{
    if (c->policy == NULL || queue_index(c->queues, from->ask.queue) < 0) {
        return "has no queue";
    }
    if (from->ask.id < c->next_job) {
        return "is there twice, or out of order";
    }
    if (from->state < JOB_STATE_HELD || from->state > JOB_STATE_CANCELLED) {
        return "is in no known state";
    }
    if (from->task_state_count != from->task_count) {
        return "has tasks without a state";
    }
    if (from->finished_count > from->ask.group_count) {
        return "has finished tasks of no group";
    }
    if ((from->pool != 0 || from->task_count > 0) && core_pool_of_id(c, from->pool) == NULL) {
        return "lies in no pool";
    }
    if (from->nominated && core_pool_of_id(c, from->nomination_pool) == NULL) {
        return "is promised something in no pool";
    }
    for (size_t i = 0; i < from->task_state_count; i++) {
        if (from->task_states[i] < TASK_STATE_STARTING ||
            from->task_states[i] > TASK_STATE_STOPPING) {
            return "has a task in no known state";
        }
    }
    return NULL;
}

static int read_job(struct core *c, const struct snap_job *from, struct err *err)
{
    const char *odd = odd_job(c, from);
    struct job *j;
    int rc = submit_check_form(&from->ask, err);

    if (rc != 0) {
        return rc;
    }
    if (odd != NULL) {
        return err_set(err, ERR_INVALID, "snapshot: job %lld %s", (long long)from->ask.id, odd);
    }
    j = fold_job_new(c, &from->ask);
    c->next_job = j->id + 1;
    read_numbers(from, j);
    read_stop(from, &j->stop);
    for (size_t i = 0; i < from->pass_count; i++) {
        vec_push(&j->passes, from->passes[i]);
    }
    for (size_t i = 0; i < from->finished_count; i++) {
        vec_push(&j->finished, from->finished[i]);
    }
    rc = read_tasks(c, from->tasks, from->task_count, from->task_states, &j->tasks, err);
    for (size_t i = 0; i < j->tasks.count; i++) {
        struct lease_task *t = &j->tasks.items[i];

        t->step = t->step != 0 ? t->step : (int32_t)j->step;
    }
    if (rc == 0) {
        rc = read_nomination(c, from, j, err);
    }
    if (from->why_seq != 0) {
        fold_reason(j, &from->why, from->why_seq);
    }
    return rc;
}

static int128 get_sum(const struct snap_meter *m, size_t at)
{
    return at + 1 < m->sum_count ? m->sums[at] * HALF + m->sums[at + 1] : 0;
}

static void read_meters(struct core *c, const struct snap *s)
{
    c->meter.since_ms = s->metered_ms;
    for (size_t i = 0; i < s->pool_count; i++) {
        struct meter_pool row = {.pool = s->pools[i].id, .nominal_gu_ms = get_sum(&s->pools[i], 0)};

        for (size_t k = 0; k < METER_CLASS_COUNT; k++) {
            row.gu_ms[k] = get_sum(&s->pools[i], 2 + 2 * k);
        }
        vec_push(&c->meter.pools, row);
    }
    for (size_t i = 0; i < s->queue_count; i++) {
        const struct snap_meter *m = &s->queues[i];

        vec_push(&c->meter.queues,
                 (struct meter_queue){.queue = m->id,
                                      .lost_gu_ms = get_sum(m, 0),
                                      .decayed_gu_ms = get_sum(m, 2),
                                      .decayed_ms = m->sum_count > 4 ? m->sums[4] : 0});
    }
}

static int read_tokens(struct core *c, const struct snap *s, struct err *err)
{
    for (size_t i = 0; i < s->token_count; i++) {
        const struct snap_token *t = &s->tokens[i];
        struct fact_token_created made = {.id = t->id,
                                          .subject = t->subject,
                                          .digest = t->digest,
                                          .name = t->name,
                                          .roles = t->roles,
                                          .role_count = t->role_count,
                                          .expires_ms = t->expires_ms};
        struct fact f = {.kind = FACT_TOKEN_CREATED, .at_ms = t->created_ms, .body.any = &made};
        int rc = fold_token(c, &f, err);

        if (rc != 0) {
            return rc;
        }
    }
    return 0;
}

static int read_state(struct core *c, const struct snap *s, struct err *err)
{
    struct fact_policy_set set = {.policy = s->policy, .subject = ""};
    struct fact f = {.kind = FACT_POLICY_SET, .seq = s->policy_seq, .body.any = &set};
    int rc = 0;

    if (s->format != CORE_SNAPSHOT_FORMAT) {
        return err_set(err, ERR_JOURNAL_NEWER, "snapshot format %lld is not %d",
                       (long long)s->format, CORE_SNAPSHOT_FORMAT);
    }
    if (s->has_policy) {
        bool overcommit = set.policy.overcommit;

        set.policy.overcommit = true; /* its nodes come below: it was good when it was applied */
        rc = fold_policy(c, &f, err);
        if (rc == 0) {
            c->policy->overcommit = overcommit;
        }
    }
    for (size_t i = 0; rc == 0 && i < s->node_count; i++) {
        rc = apply_seen(c, &s->nodes[i], err);
    }
    for (size_t i = 0; rc == 0 && i < s->job_count; i++) {
        rc = read_job(c, &s->jobs[i], err);
    }
    if (rc == 0 && (s->next_job < c->next_job || s->next_node < c->next_node)) {
        rc = err_set(err, ERR_INVALID, "snapshot: an id is beyond the next one to give out");
    }
    for (size_t i = 0; i < s->ended_count; i++) {
        vec_push(&c->ended, s->ended[i]);
    }
    return rc != 0 ? rc : read_tokens(c, s, err);
}

int core_restore(const char *text, size_t len, struct core **ret, struct err *err)
{
    struct arena *a = arena_make();
    struct core *c = core_new();
    void *value;
    int rc;

    c->undo.off = true;
    rc = codec_decode(&SNAP, text, len, a, &value, err);
    if (rc == 0) {
        rc = read_state(c, value, err);
    }
    if (rc == 0) {
        const struct snap *s = value;

        c->now_ms = c->applying_ms = s->now_ms;
        c->next_job = s->next_job;
        c->next_node = s->next_node;
        c->next_token = s->next_token;
        c->next_pool = s->next_pool;
        c->next_queue = s->next_queue;
        if (c->policy != NULL) {
            fold_rebuild(c);
        }
        read_meters(c, s);
        c->undo.off = false;
        *ret = c;
    } else {
        core_free(c);
    }
    arena_free(a);
    return rc;
}
