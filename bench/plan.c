/* bench/plan - what a plan costs after one event, and a full one, in a large cluster.
 *
 * usage: bench-plan [NODES [WAITING [EVENTS]]]      default 10000 100000 3000
 *
 * 8 cards a node, 10 departments of 10 teams that reserve everything, twenty shapes of jobs of 1 to
 * 64 GPUs a team; all cards are held and WAITING jobs wait.  An event is the end of a job or a new
 * one.  Thread CPU time.  Budget of the design: after one event < 1 ms median, < 10 ms p99; full
 * < 100 ms; < 1 KiB a waiting job.
 */
#include "base/arena.h"
#include "base/check.h"
#include "base/quantity.h"
#include "base/rng.h"
#include "base/vec.h"
#include "core/core.h"
#include "core/view.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define DEPARTMENTS   10
#define TEAMS         10
#define CARDS         8
#define FULL_PLANS    5
#define FIRST_TEAM_ID (DEPARTMENTS + 1)

struct bench {
    struct core *core;
    struct arena *arena;
    struct rng rng;
    int64_t now_ms;
    int64_t seq;
    int64_t decisions;
    VEC(int64_t) running; /* jobs, to draw from */
};

static int64_t cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void apply(struct bench *b, enum fact_kind kind, const void *body)
{
    struct fact f = {.seq = ++b->seq, .at_ms = b->now_ms, .kind = kind, .body = {.any = body}};
    struct err err = {0};

    if (core_apply(b->core, &f, &err) != 0) {
        fprintf(stderr, "bench-plan: %s: %s\n", fact_kind_name(kind), err.text);
        exit(1);
    }
}

static void set_policy(struct bench *b, int64_t nodes)
{
    struct fact_policy_set *set = arena_new(b->arena, 1, sizeof(*set));
    struct policy *p = &set->policy;
    int64_t team_gu = nodes * CARDS / (DEPARTMENTS * TEAMS) * GU_PER_GPU;

    set->subject = p->cluster = p->timezone = p->digest = "";
    p->overcommit = true;
    p->restart_cost_ms = 60000;
    p->node_lost_ms = 300000;
    p->decay_half_life_ms = POLICY_NONE;
    p->pools = arena_new(b->arena, 1, sizeof(p->pools[0]));
    p->pools[0] = (struct policy_pool){.id = 1, .name = "main"};
    p->pool_count = 1;
    p->queue_count = DEPARTMENTS + DEPARTMENTS * TEAMS;
    p->queues = arena_new(b->arena, p->queue_count, sizeof(p->queues[0]));
    for (size_t i = 0; i < p->queue_count; i++) {
        struct policy_queue *q = &p->queues[i];
        bool top = i < DEPARTMENTS;

        q->id = (int64_t)i + 1;
        q->name = arena_printf(b->arena, "q%zu", i);
        q->parent = top ? 0 : (int64_t)((i - DEPARTMENTS) / TEAMS) + 1;
        q->weight = 1;
        q->priority_max = 10;
        q->grace_ms = q->grace_max_ms = q->gang_repair_ms = q->stop_stuck_ms = 60000;
        q->start_timeout_ms = 600000;
        q->drain_after_ms = POLICY_NONE;
        q->quotas = arena_new(b->arena, 1, sizeof(q->quotas[0]));
        q->quota_count = 1;
        q->quotas[0] = (struct policy_quota){1, top ? TEAMS * team_gu : team_gu, POLICY_NONE,
                                             POLICY_NONE, POLICY_NONE};
    }
    apply(b, FACT_POLICY_SET, set);
}

static void add_nodes(struct bench *b, int64_t nodes)
{
    for (int64_t i = 0; i < nodes; i++) {
        struct arena *arena = arena_make();
        struct fact_node_seen n = {.id = core_next_node(b->core),
                                   .name = arena_printf(arena, "n%d", (int)i),
                                   .cluster = "local",
                                   .pool = 1,
                                   .simulated = true,
                                   .cpu_milli = 64000,
                                   .memory_bytes = (int64_t)1 << 40,
                                   .device_count = CARDS};

        n.devices = arena_new(arena, CARDS, sizeof(n.devices[0]));
        for (int d = 0; d < CARDS; d++) {
            n.devices[d] = (struct fact_device){.slot = d,
                                                .uuid = arena_printf(arena, "GPU-%d-%d", (int)i, d),
                                                .model = "h100-80gb",
                                                .memory_bytes = (int64_t)80 << 30,
                                                .profile = ""};
        }
        apply(b, FACT_NODE_SEEN, &n);
        arena_free(arena);
    }
}

static void submit(struct bench *b)
{
    static const int64_t GPUS[] = {1, 1, 2, 4, 8, 8, 8, 8, 8, 8};
    static const int64_t TASKS[] = {1, 1, 1, 1, 1, 1, 2, 2, 4, 8};
    uint64_t size = rng_below(&b->rng, ARRAY_LEN(GPUS));
    struct fact_group group = {.name = "main",
                               .tasks = TASKS[size],
                               .min_tasks = TASKS[size],
                               .gpus = GPUS[size],
                               .profile = "",
                               .model = "",
                               .required = "",
                               .preferred = ""};
    struct fact_job_submitted job = {.id = core_next_job(b->core),
                                     .name = "job",
                                     .queue = FIRST_TEAM_ID +
                                              rng_range(&b->rng, 0, DEPARTMENTS * TEAMS - 1),
                                     .subject = "s-1",
                                     .priority = rng_below(&b->rng, 2) == 0 ? 0 : 5,
                                     .groups = &group,
                                     .group_count = 1,
                                     .spec = ""};

    apply(b, FACT_JOB_SUBMITTED, &job);
}

/* Started tasks run at once; told ones end at once. */
static void settle_job(struct bench *b, int64_t id)
{
    const struct job *j = view_job(b->core, id);
    bool more = true;

    while (more) {
        more = false;
        for (size_t i = 0; j != NULL && i < j->tasks.count && !more; i++) {
            const struct lease_task *t = &j->tasks.items[i];

            if (t->state == TASK_STATE_STARTING) {
                apply(b, FACT_TASK_RUNNING, &(struct fact_task_running){id, j->attempt, t->task});
            } else if (t->state == TASK_STATE_STOPPING) {
                more = true;
                apply(b, FACT_TASK_ENDED,
                      &(struct fact_task_ended){id, j->attempt, t->task, TASK_EXITED, 0});
                j = view_job(b->core, id);
            }
        }
    }
}

/* A plan, and what it decided; returns what planning alone cost. */
static int64_t plan(struct bench *b)
{
    struct decisions d;
    int64_t from = cpu_ns(), cost;
    VEC(int64_t) jobs = {0};

    core_plan(b->core, b->now_ms, &d);
    cost = cpu_ns() - from;
    b->decisions += (int64_t)d.count;
    for (size_t i = 0; i < d.count; i++) {
        const struct fact *f = &d.items[i];

        if (f->kind == FACT_JOB_STARTED) {
            vec_push(&jobs, fact_of(f, JOB_STARTED)->job);
            vec_push(&b->running, fact_of(f, JOB_STARTED)->job);
        }
        for (size_t v = 0; f->kind == FACT_JOB_CLAIMED && v < fact_of(f, JOB_CLAIMED)->victim_count;
             v++) {
            vec_push(&jobs, fact_of(f, JOB_CLAIMED)->victims[v].job);
        }
        apply(b, f->kind, f->body.any);
    }
    for (size_t i = 0; i < jobs.count; i++) {
        settle_job(b, jobs.items[i]);
    }
    vec_fini(&jobs);
    return cost;
}

/* A job that runs ends. */
static void finish_one(struct bench *b)
{
    while (b->running.count > 0) {
        size_t at = (size_t)rng_below(&b->rng, b->running.count);
        int64_t id = b->running.items[at];
        const struct job *j = view_job(b->core, id);

        b->running.items[at] = b->running.items[--b->running.count];
        if (j == NULL || !job_is_active(j) || j->nomination.is) {
            continue;
        }
        while (j != NULL && job_is_active(j) && j->tasks.count > 0) {
            apply(b, FACT_TASK_ENDED,
                  &(struct fact_task_ended){id, j->attempt, j->tasks.items[0].task, TASK_EXITED,
                                            0});
            j = view_job(b->core, id);
        }
        return;
    }
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

static void measure_events(struct bench *b, int64_t events)
{
    int64_t *costs = arena_new(b->arena, (size_t)events, sizeof(*costs));
    int64_t sum = 0, apply_ns = 0, median, high;

    for (int64_t i = 0; i < events; i++) {
        int64_t from = cpu_ns();

        b->now_ms += 100;
        if (i % 2 == 0) {
            finish_one(b);
        } else {
            submit(b);
        }
        apply_ns += cpu_ns() - from;
        costs[i] = plan(b);
        sum += costs[i];
    }
    qsort(costs, (size_t)events, sizeof(*costs), by_value);
    median = costs[events / 2];
    high = costs[events * 99 / 100];
    printf("plan after one event, %" PRId64 " events: median %.3f ms, p99 %.3f ms, max %.3f ms, "
           "mean %.3f ms; event %.3f ms\n",
           events, (double)median / 1e6, (double)high / 1e6, (double)costs[events - 1] / 1e6,
           (double)sum / 1e6 / (double)events, (double)apply_ns / 1e6 / (double)events);
}

/* Of plans that decide nothing: all that waits is tried, and nothing else is done. */
static void measure_full(struct bench *b)
{
    int64_t best = INT64_MAX;

    for (int i = 0; i < FULL_PLANS; i++) {
        int64_t before = -1, cost;

        while (before != b->decisions) { /* what is due goes first */
            before = b->decisions;
            b->now_ms += 100;
            plan(b);
        }
        b->now_ms += 100;
        core_forget(b->core);
        cost = plan(b);
        best = cost < best ? cost : best;
    }
    printf("full plan: best of %d %.3f ms\n", FULL_PLANS, (double)best / 1e6);
}

static int64_t number(int argc, char **argv, int at, int64_t or)
{
    int64_t value = argc > at ? strtoll(argv[at], NULL, 10) : or ;

    if (value < 1) {
        fprintf(stderr, "usage: bench-plan [NODES [WAITING [EVENTS]]], positive numbers\n");
        exit(2);
    }
    return value;
}

int main(int argc, char **argv)
{
    struct bench b = {.core = core_new(),
                      .arena = arena_make(),
                      .rng = rng_init(1),
                      .now_ms = 1000};
    int64_t nodes = number(argc, argv, 1, 10000), waiting = number(argc, argv, 2, 100000);
    int64_t events = number(argc, argv, 3, 3000), from, before;

    set_policy(&b, nodes);
    from = cpu_ns();
    add_nodes(&b, nodes);
    printf("%" PRId64 " nodes, %" PRId64 " GPUs: %.0f ms\n", nodes, nodes * CARDS,
           (double)(cpu_ns() - from) / 1e6);
    while (view_waiting_count(b.core) < nodes * CARDS / 8) {
        submit(&b);
    }
    from = cpu_ns();
    for (int i = 0; i < 100; i++) {
        b.decisions = 0;
        b.now_ms += 1000;
        plan(&b);
        if (b.decisions == 0) {
            break;
        }
        while (view_waiting_count(b.core) < 1000) {
            submit(&b);
        }
    }
    printf("filled, %" PRId64 " of them held: %.0f ms\n",
           view_pool(b.core, 0)->held_gu / GU_PER_GPU, (double)(cpu_ns() - from) / 1e6);
    before = (int64_t)mallinfo2().uordblks;
    from = view_waiting_count(b.core);
    while (view_waiting_count(b.core) < waiting) {
        submit(&b);
    }
    if (waiting > from) {
        printf("%" PRId64 " jobs wait: %.0f bytes each\n", waiting,
               (double)((int64_t)mallinfo2().uordblks - before) / (double)(waiting - from));
    }
    plan(&b);
    measure_events(&b, events);
    measure_full(&b);
    core_free(b.core);
    arena_free(b.arena);
    vec_fini(&b.running);
    return 0;
}
