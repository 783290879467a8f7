/* seeded_event - what happens in a life, one draw an event.
 *
 * An event of a fault that this life does not have is drawn all the same and does nothing, so that
 * lives of one seed with more and with fewer faults stay alike.
 */
#include "core/view.h"
#include "sim/seeded_impl.h"
#include "sim/seeded_job.h"

#include <stdio.h>

#define WAITING_MAX 40 /* jobs; above it nothing is submitted */

static void answered(void *arg, int rc, int64_t seq, const struct err *err)
{
    struct life *l = arg;

    (void)err;
    if (rc == 0 && (l->disk == NULL || !torndisk_is_dead(l->disk)) &&
        seq > journal_last_seq(l->world.journal)) {
        life_fail(l, "answers", "a submit was acknowledged that is not durable");
    }
}

void life_put(struct life *l, enum fact_kind kind, const void *body)
{
    const struct fact fact = {.kind = kind, .body.any = body};

    engine_put(l->world.engine, &fact, answered, l);
}

void life_set_policy(struct life *l)
{
    const struct fact_policy_set body = {.policy = site_policy(&l->site), .subject = "ann"};

    life_put(l, FACT_POLICY_SET, &body);
}

/* ---- people ---- */

static void ev_submit(struct life *l)
{
    struct arena *arena = arena_make();
    struct fact_job_submitted job = seeded_job_make(&l->site, &l->rng, arena, &l->traits);
    const struct virtual_behaviour how = seeded_job_behaviour(&l->rng, &l->traits);
    struct core *c = world_core(&l->world);
    bool unchecked = life_one_in(l, 25);

    job.id = core_next_job(c);
    if (view_waiting_count(c) < WAITING_MAX &&
        (core_submit_check(c, &job, NULL) == 0 || unchecked)) {
        virtual_set_job(l->world.backend, job.id, &how);
        life_put(l, FACT_JOB_SUBMITTED, &job);
    } else {
        l->result->refused++;
    }
    world_step(&l->world);
    arena_free(arena);
}

/* A job at random, NULL if there is none. */
static const struct job *some_job(struct life *l)
{
    const struct core *c = world_core(&l->world);
    int64_t next = core_next_job(c);
    uint64_t draw = rng_next(&l->rng);
    int64_t from = next > 60 ? next - 60 : 0;
    const struct job *j;

    if (next <= 1) {
        return NULL;
    }
    j = view_job_next(c, from + (int64_t)(draw % (uint64_t)(next - from)));
    return j != NULL ? j : view_job_next(c, 0);
}

static void ev_asked(struct life *l)
{
    static const enum fact_kind KINDS[] = {FACT_JOB_CANCEL,   FACT_JOB_CANCEL,   FACT_JOB_HELD,
                                           FACT_JOB_RELEASED, FACT_JOB_RELEASED, FACT_JOB_REQUEUE,
                                           FACT_JOB_DONE};
    const struct job *j = some_job(l);
    enum fact_kind kind = KINDS[rng_below(&l->rng, 7)];
    struct fact_job_asked body = {.subject = "ann", .reason = ""};

    if (j == NULL) {
        return;
    }
    body.job = j->id;
    body.attempt = kind == FACT_JOB_DONE ? j->attempt : 0;
    life_put(l, kind, &body);
}

static void ev_checkpoint(struct life *l)
{
    const struct job *j = some_job(l);
    struct fact_job_checkpointed body = {.name = "step"};

    if (j != NULL) {
        body.job = j->id;
        body.attempt = j->attempt;
        life_put(l, FACT_JOB_CHECKPOINTED, &body);
    }
}

static void ev_policy(struct life *l)
{
    if (seeded_site_change(&l->site, &l->rng, world_core(&l->world))) {
        life_set_policy(l);
    } else {
        l->result->refused++;
    }
}

/* ---- tasks ---- */

static void ev_end(struct life *l)
{
    const struct job *j = some_job(l);

    if (j != NULL) {
        virtual_end_job(l->world.backend, j->id, life_one_in(l, 4) ? 1 : 0);
    }
}

static void ev_fail_task(struct life *l)
{
    const struct job *j = some_job(l);
    uint64_t draw = rng_next(&l->rng);

    if (j != NULL && j->tasks.count > 0 && life_has(l, SEEDED_FAULT(TASK))) {
        int64_t task = j->tasks.items[draw % j->tasks.count].task;

        virtual_fail_task(l->world.backend, j->id, task, 9);
    }
}

/* ---- nodes ---- */

static const struct node *some_node(struct life *l)
{
    const struct core *c = world_core(&l->world);
    uint64_t draw = rng_next(&l->rng);
    int count = view_node_count(c);

    return count > 0 ? view_node(c, (int)(draw % (uint64_t)count)) : NULL;
}

static void ev_node(struct life *l)
{
    const struct node *n = some_node(l);
    bool dies = life_one_in(l, 2);

    if (n == NULL || !life_has(l, SEEDED_FAULT(NODE))) {
        return;
    }
    if (n->health == HEALTH_UP && life_one_in(l, 3)) {
        virtual_node_dark(l->world.backend, n->id, dies);
    } else {
        virtual_node_back(l->world.backend, n->id);
    }
}

/* Many nodes are lost one after the other in one order, and come back in another. */
static void ev_swarm(struct life *l)
{
    const struct core *c = world_core(&l->world);
    int64_t lost_ms = l->world.now_ms;
    int i;

    for (i = 0; i < view_node_count(c); i++) {
        int64_t dark_ms = lost_ms + rng_range(&l->rng, 0, 120 * SEEDED_SECOND_MS);
        int64_t back_ms = dark_ms + rng_range(&l->rng, 1, 400 * SEEDED_SECOND_MS);
        enum seeded_turn_kind kind = life_one_in(l, 2) ? TURN_DARK : TURN_DIES;
        int64_t node = view_node(c, i)->id;

        if (life_has(l, SEEDED_FAULT(NODE)) && !life_one_in(l, 4)) {
            vec_push(&l->turns, (struct seeded_turn){dark_ms, kind, node});
            vec_push(&l->turns, (struct seeded_turn){back_ms, TURN_BACK, node});
        }
    }
}

static void ev_drain(struct life *l)
{
    const struct node *n = some_node(l);
    struct fact_node_drain body = {.reason = "test", .subject = "ann"};

    if (n == NULL) {
        return;
    }
    body.node = n->id;
    body.drain = !n->drain && life_one_in(l, 3);
    body.by_ms =
        life_one_in(l, 2) ? l->world.now_ms + rng_range(&l->rng, 0, 600) * SEEDED_SECOND_MS : 0;
    life_put(l, FACT_NODE_DRAIN, &body);
}

static void ev_device(struct life *l)
{
    const struct node *n = some_node(l);
    struct fact_device_state body = {.reason = "test"};
    const struct device *d;

    if (n == NULL || n->device_count == 0) {
        return;
    }
    d = &n->devices[rng_below(&l->rng, (uint64_t)n->device_count)];
    body.node = n->id;
    body.slot = d->slot;
    body.out = !d->out && life_one_in(l, 4);
    life_put(l, FACT_DEVICE_STATE, &body);
}

/* ---- the machine ---- */

static void ev_clock(struct life *l)
{
    static const int64_t STEPS_S[] = {1, 5, 60, 900, 7200};
    int64_t by_s = rng_range(&l->rng, 1, STEPS_S[rng_below(&l->rng, 5)]);

    if (life_one_in(l, 2)) {
        by_s = -by_s;
    }
    if (life_has(l, SEEDED_FAULT(CLOCK))) {
        l->world.wall_ms += by_s * SEEDED_SECOND_MS;
    }
}

static void ev_freeze(struct life *l)
{
    const struct seeded_turn turn = {l->world.now_ms +
                                         rng_range(&l->rng, 1, 120) * SEEDED_SECOND_MS,
                                     TURN_THAW, 0};

    if (life_has(l, SEEDED_FAULT(FREEZE))) {
        life_finish_writing(l);
        engine_set_frozen(l->world.engine, true, "asked for");
        vec_push(&l->turns, turn);
    }
}

static void ev_nothing(struct life *l)
{
    (void)l;
}

static const struct {
    const char *name;
    uint64_t weight;
    void (*happen)(struct life *l);
} EVENTS[] = {
    {"submit", 500, ev_submit},  {"ask", 80, ev_asked},           {"checkpoint", 80, ev_checkpoint},
    {"end", 60, ev_end},         {"fail-task", 20, ev_fail_task}, {"node", 50, ev_node},
    {"swarm", 4, ev_swarm},      {"drain", 30, ev_drain},         {"device", 30, ev_device},
    {"policy", 30, ev_policy},   {"restart", 8, life_restart},    {"crash", 30, life_arm_crash},
    {"disk", 15, life_arm_disk}, {"full", 4, life_fill_disk},     {"flip", 2, life_flip},
    {"clock", 8, ev_clock},      {"freeze", 4, ev_freeze},        {"nothing", 45, ev_nothing},
};

#define EVENT_KINDS (sizeof(EVENTS) / sizeof(EVENTS[0]))

/* ---- time ---- */

static void turn_now(struct life *l, const struct seeded_turn *t)
{
    switch (t->kind) {
    case TURN_DARK:
    case TURN_DIES:
        virtual_node_dark(l->world.backend, t->node, t->kind == TURN_DIES);
        break;
    case TURN_BACK:
        virtual_node_back(l->world.backend, t->node);
        break;
    case TURN_ROOM:
        torndisk_set_room(l->disk, -1);
        break;
    case TURN_THAW:
        engine_set_frozen(l->world.engine, false, NULL);
        break;
    }
}

/* The first of what is in store; count if there is nothing. */
static size_t next_turn(const struct life *l)
{
    size_t first = 0;
    size_t i;

    for (i = 1; i < l->turns.count; i++) {
        first = l->turns.items[i].at_ms < l->turns.items[first].at_ms ? i : first;
    }
    return first;
}

static void take_turn(struct life *l)
{
    size_t at = next_turn(l);
    const struct seeded_turn turn = l->turns.items[at];

    vec_remove(&l->turns, at);
    turn_now(l, &turn);
}

void life_end_turns(struct life *l)
{
    while (l->turns.count > 0) {
        take_turn(l);
    }
}

void life_pass(struct life *l, int64_t until_ms)
{
    while (!l->world.stopped && l->turns.count > 0) {
        int64_t at_ms = l->turns.items[next_turn(l)].at_ms;

        if (at_ms > until_ms) {
            break;
        }
        world_run_until(&l->world, at_ms);
        if (!l->world.stopped) {
            take_turn(l);
        }
    }
    world_run_until(&l->world, until_ms);
}

static void pass_time(struct life *l)
{
    int64_t ms = 0;

    switch (rng_below(&l->rng, 8)) {
    case 0:
    case 1:
    case 2:
        break; /* the same millisecond: facts that come together */
    case 3:
        ms = rng_range(&l->rng, 1, 600 * SEEDED_SECOND_MS);
        break;
    default:
        ms = rng_range(&l->rng, 1, 40 * SEEDED_SECOND_MS);
        break;
    }
    if (ms > 0) {
        life_pass(l, l->world.now_ms + ms);
    }
}

/* ---- the event ---- */

static struct rng rng_of(uint64_t seed, int64_t event)
{
    struct rng mixed = rng_init(seed * 0x2545f4914f6cdd1dU + (uint64_t)event);

    return rng_init(rng_next(&mixed));
}

static size_t draw_kind(struct rng *rng)
{
    uint64_t sum = 0;
    uint64_t draw;
    size_t i;

    for (i = 0; i < EVENT_KINDS; i++) {
        sum += EVENTS[i].weight;
    }
    draw = rng_below(rng, sum);
    for (i = 0; draw >= EVENTS[i].weight; i++) {
        draw -= EVENTS[i].weight;
    }
    return i;
}

const char *seeded_event_name(uint64_t seed, int64_t event)
{
    struct rng rng = rng_of(seed, event);

    return EVENTS[draw_kind(&rng)].name;
}

void life_event(struct life *l, int64_t event)
{
    size_t kind;
    bool settles;

    l->rng = rng_of(l->options->seed, event);
    kind = draw_kind(&l->rng);
    settles = life_one_in(l, 2);
    if (l->options->cut != NULL && event < l->options->cut->count &&
        l->options->cut->events[event]) {
        return;
    }
    if (l->options->verbose) {
        (void)printf("# event %lld: %s\n", (long long)event + 1, EVENTS[kind].name);
    }
    pass_time(l);
    life_recover(l);
    if (life_failed(l)) {
        return;
    }
    EVENTS[kind].happen(l);
    life_recover(l);
    if (settles && !life_failed(l)) {
        world_settle(&l->world);
        life_recover(l);
    }
}
