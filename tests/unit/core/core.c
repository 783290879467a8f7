/* The core as a whole: random lives on random trees, each step held against what must always be
 * true, and facts that nobody should send. */
#include "core/core.h"

#include "base/check.h"
#include "base/quantity.h"
#include "base/rng.h"
#include "core_world.h"
#include "random_tree.h"
#include "random_value.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define LIVES 60
#define STEPS 60

struct life {
    struct core_world w;
    struct arena *arena; /* of the policy */
    struct policy *policy;
    struct rng rng;
    uint64_t seed;
    int step;
};

static void life_begin(struct life *l, uint64_t seed)
{
    int sizes[16];
    size_t count = 0;
    int64_t left;

    *l = (struct life){.rng = rng_init(seed), .arena = arena_make(), .seed = seed};
    l->policy = random_tree(&l->rng, l->arena);
    l->policy->overcommit = true;
    for (size_t i = 0; i < l->policy->queue_count; i++) {
        struct policy_queue *q = &l->policy->queues[i];

        q->grace_ms = 60000;
        q->grace_max_ms = 60000;
        q->priority_max = 10;
        q->gang_repair_ms = 60000;
        q->stop_stuck_ms = 60000;
        q->start_timeout_ms = 600000;
        q->drain_after_ms = 43200000;
        q->reclaim = (int)rng_below(&l->rng, 8) == 0 ? RECLAIM_LOWER_PRIORITY : RECLAIM_ANY;
        q->preempt_within = (int)rng_below(&l->rng, 3);
    }
    left = random_tree_reserved_gu(l->policy) / GU_PER_GPU + rng_range(&l->rng, 1, 4);
    while (left > 0 && count < ARRAY_LEN(sizes)) {
        sizes[count] = (int)rng_range(&l->rng, 1, left < 8 ? left : 8);
        left -= sizes[count++];
    }
    core_world_begin(&l->w, l->policy, sizes, count);
}

static void life_end(struct life *l)
{
    core_world_end(&l->w);
    arena_free(l->arena);
}

/* Plan, and apply what was decided.  A clone from the snapshot is the same state and decides the
 * same, and planning changes nothing that a snapshot shows. */
static void plan_beside_clone(struct life *l)
{
    struct str before = {0}, after = {0}, theirs = {0};
    struct core *clone = NULL;
    struct err err = {0};

    core_snapshot(l->w.core, &before);
    if (core_restore(before.text, before.len, &clone, &err) != 0) {
        fail_msg("a snapshot is not taken back: %s", err.text);
    }
    core_snapshot(clone, &after);
    assert_string_equal(str_text(&before), str_text(&after));
    core_world_text(clone, l->w.now_ms, &theirs);
    str_clear(&after);
    core_snapshot(clone, &after);
    assert_string_equal(str_text(&before), str_text(&after));
    core_world_plan(&l->w);
    if (strcmp(str_text(&l->w.decisions), str_text(&theirs)) != 0) {
        fail_msg("seed %d, step %d: decides '%s', a clone '%s'", (int)l->seed, l->step,
                 str_text(&l->w.decisions), str_text(&theirs));
    }
    core_free(clone);
    str_fini(&before);
    str_fini(&after);
    str_fini(&theirs);
}

static void check_state(struct life *l)
{
    struct arena *arena = arena_make();
    const char *wrong = core_check(l->w.core, arena);

    if (wrong != NULL) {
        fail_msg("seed %d, step %d: %s", (int)l->seed, l->step, wrong);
    }
    arena_free(arena);
}

static int64_t random_job(struct life *l)
{
    int64_t last = core_next_job(l->w.core) - 1;

    return last > 0 ? rng_range(&l->rng, 1, last) : 0;
}

static int64_t random_leaf(struct life *l)
{
    const struct queue_tree *t = view_queues(l->w.core);
    int q;

    do {
        q = (int)rng_below(&l->rng, (uint64_t)t->count);
    } while (!queue_is_leaf(&t->items[q]));
    return t->items[q].id;
}

static void submit_one(struct life *l)
{
    struct core_world_job ask = {.queue = random_leaf(l),
                                 .tasks = rng_range(&l->rng, 1, 5),
                                 .gpus = rng_range(&l->rng, 1, 2),
                                 .priority = rng_range(&l->rng, 0, 3),
                                 .nonpreemptible = rng_below(&l->rng, 5) == 0};

    ask.min_tasks = ask.tasks;
    if (!ask.nonpreemptible && rng_below(&l->rng, 3) == 0) {
        ask.min_tasks = rng_range(&l->rng, 1, ask.tasks);
    }
    core_world_submit(&l->w, &ask);
}

static void ask_one(struct life *l)
{
    static const enum fact_kind ASKS[] = {FACT_JOB_HELD, FACT_JOB_RELEASED, FACT_JOB_CANCEL,
                                          FACT_JOB_REQUEUE, FACT_JOB_DONE};
    struct fact_job_asked asked = {.job = random_job(l), .subject = "s-1", .reason = ""};
    const struct job *j = view_job(l->w.core, asked.job);
    enum fact_kind kind = ASKS[rng_below(&l->rng, ARRAY_LEN(ASKS))];

    asked.attempt = kind == FACT_JOB_DONE && j != NULL ? j->attempt : 0;
    (void)core_world_try(&l->w, kind, &asked);
}

static void trouble_one(struct life *l)
{
    int64_t node = rng_range(&l->rng, 1, core_next_node(l->w.core) - 1);

    if (rng_below(&l->rng, 2) == 0) {
        struct fact_node_drain drain = {.node = node,
                                        .drain = rng_below(&l->rng, 2) == 0,
                                        .reason = "",
                                        .subject = "s-1"};

        (void)core_world_try(&l->w, FACT_NODE_DRAIN, &drain);
    } else {
        struct fact_node_state said = {.node = node,
                                       .state = (int)rng_below(&l->rng, 2),
                                       .reason = ""};

        (void)core_world_try(&l->w, FACT_NODE_STATE, &said);
    }
}

static void live_one_step(struct life *l)
{
    const struct job *j;

    l->w.now_ms += rng_range(&l->rng, 0, 30000);
    switch (rng_below(&l->rng, 8)) {
    case 0:
    case 1:
    case 2:
        submit_one(l);
        break;
    case 3:
        j = view_job(l->w.core, random_job(l));
        if (j != NULL && job_is_active(j)) {
            core_world_finish(&l->w, j->id, (int64_t)rng_below(&l->rng, 3) == 0);
        }
        break;
    case 4:
        ask_one(l);
        break;
    case 5:
        trouble_one(l);
        break;
    default:
        core_world_obey(&l->w);
    }
}

static void every_step_keeps_the_invariants(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= LIVES; seed++) {
        struct life l;

        life_begin(&l, seed);
        for (l.step = 0; l.step < STEPS; l.step++) {
            live_one_step(&l);
            plan_beside_clone(&l);
            check_state(&l);
        }
        life_end(&l);
    }
}

/* What was decided was all there was to decide. */
static void a_second_plan_at_once_decides_nothing(void **state)
{
    (void)state;
    for (uint64_t seed = 101; seed < 101 + LIVES; seed++) {
        struct life l;

        life_begin(&l, seed);
        for (l.step = 0; l.step < STEPS; l.step++) {
            live_one_step(&l);
            core_world_plan(&l.w);
            for (int i = 0; i < 20 && l.w.next_ms <= l.w.now_ms + 1; i++) {
                l.w.now_ms = l.w.next_ms; /* it asked for more at once: growth */
                core_world_plan(&l.w);
            }
            core_world_plan(&l.w);
            if (l.w.decided > 0) {
                fail_msg("seed %d, step %d: %s", (int)seed, l.step, str_text(&l.w.decisions));
            }
        }
        life_end(&l);
    }
}

/* Nothing that the world may say ends the core; what is refused has changed nothing. */
static void a_refused_fact_changes_nothing(void **state)
{
    (void)state;
    for (uint64_t seed = 201; seed < 201 + LIVES; seed++) {
        struct life l;

        life_begin(&l, seed);
        for (int step = 0; step < STEPS; step++) {
            enum fact_kind kind = (enum fact_kind)rng_range(&l.rng, 1, FACT_KIND_COUNT - 1);
            struct str before = {0}, after = {0};
            struct arena *arena = arena_make();
            int code;

            live_one_step(&l);
            core_world_plan(&l.w);
            core_snapshot(l.w.core, &before);
            code = fact_kind_is_decision(kind)
                       ? -1
                       : core_world_try(&l.w, kind,
                                        random_small_value(fact_kind_schema(kind), &l.rng, arena));
            if (code != 0) {
                core_snapshot(l.w.core, &after);
                assert_string_equal(str_text(&before), str_text(&after));
            }
            str_fini(&before);
            str_fini(&after);
            arena_free(arena);
            if (code == 0 && kind == FACT_POLICY_SET) {
                break; /* another site: its queues are not those of this life */
            }
            core_world_plan(&l.w);
        }
        life_end(&l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_step_keeps_the_invariants),
        cmocka_unit_test(a_second_plan_at_once_decides_nothing),
        cmocka_unit_test(a_refused_fact_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
