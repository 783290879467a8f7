#include "core/submit.h"

#include "base/quantity.h"
#include "core_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define G GU_PER_GPU

enum { QUEUE_A = 1, QUEUE_B, QUEUE_D, QUEUE_X };

/* a: 8 reserved, may borrow 2; b: 8, lends 4, limit 10; d: 4 with its child x. */
static struct policy *a_policy(struct arena *arena)
{
    static const struct policy_quota QUOTAS[] = {
        {7, 8 * G, POLICY_NONE, POLICY_NONE, 2 * G},
        {7, 8 * G, 10 * G, 4 * G, POLICY_NONE},
        {7, 4 * G, POLICY_NONE, POLICY_NONE, POLICY_NONE},
        {7, 4 * G, POLICY_NONE, POLICY_NONE, POLICY_NONE},
    };
    static const char *const NAMES[] = {"a", "b", "d", "x"};
    struct policy *p = arena_new(arena, 1, sizeof(*p));

    p->pools = arena_new(arena, 1, sizeof(p->pools[0]));
    p->pools[0] = (struct policy_pool){.id = 7, .name = "main"};
    p->pool_count = 1;
    p->overcommit = true;
    p->queues = arena_new(arena, 4, sizeof(p->queues[0]));
    p->queue_count = 4;
    for (int i = 0; i < 4; i++) {
        p->queues[i] = (struct policy_queue){.id = i + 1,
                                             .name = NAMES[i],
                                             .parent = i == 3 ? QUEUE_D : 0,
                                             .weight = 1,
                                             .grace_ms = 60000,
                                             .grace_max_ms = 60000};
        p->queues[i].quotas = arena_new(arena, 1, sizeof(p->queues[i].quotas[0]));
        p->queues[i].quotas[0] = QUOTAS[i];
        p->queues[i].quota_count = 1;
    }
    return p;
}

/* An ask that is fine: one task of one GPU in queue a. */
struct ask {
    struct fact_group group;
    struct fact_job_submitted job;
};

static struct ask *an_ask(struct core_world *w)
{
    struct ask *a = arena_new(w->arena, 1, sizeof(*a));

    a->group = (struct fact_group){.name = "main",
                                   .tasks = 1,
                                   .min_tasks = 1,
                                   .gpus = 1,
                                   .profile = "",
                                   .model = "",
                                   .required = "",
                                   .preferred = ""};
    a->job = (struct fact_job_submitted){.name = "job",
                                         .queue = QUEUE_A,
                                         .subject = "s-1",
                                         .groups = &a->group,
                                         .group_count = 1,
                                         .spec = ""};
    return a;
}

static void begin(struct core_world *w)
{
    static const int SIZES[] = {8, 8, 4};
    struct arena *arena = arena_make();

    core_world_begin(w, a_policy(arena), SIZES, 3);
    arena_free(arena);
}

static void taken(struct core_world *w, const struct ask *a)
{
    struct err err = {0};

    if (core_submit_check(w->core, &a->job, &err) != 0) {
        fail_msg("refused: %s", err.text);
    }
}

static void refused(struct core_world *w, const struct ask *a, int code, const char *words)
{
    struct err err = {0};

    assert_int_equal(core_submit_check(w->core, &a->job, &err), code);
    if (strstr(err.text, words) == NULL) {
        fail_msg("'%s' does not say '%s'", err.text, words);
    }
    assert_int_equal(core_submit_check(w->core, &a->job, NULL), code);
}

static void numbers_are_within_bounds(void **state)
{
    struct core_world w;
    struct ask *a;

    (void)state;
    begin(&w);
    taken(&w, an_ask(&w));
    a = an_ask(&w);
    a->group.tasks = 0;
    refused(&w, a, ERR_RANGE, "groups[0].tasks");
    a = an_ask(&w);
    a->group.min_tasks = 2;
    refused(&w, a, ERR_RANGE, "groups[0].min_tasks");
    a = an_ask(&w);
    a->group.gpus = -1;
    refused(&w, a, ERR_RANGE, "groups[0].gpus");
    a = an_ask(&w);
    a->group.tasks = a->group.min_tasks = SUBMIT_TASKS_MAX + 1;
    refused(&w, a, ERR_RANGE, "tasks");
    a = an_ask(&w);
    a->job.group_count = 0;
    refused(&w, a, ERR_RANGE, "groups");
    a = an_ask(&w);
    a->job.limit_ms = -1;
    refused(&w, a, ERR_RANGE, "negative");
    a = an_ask(&w);
    a->job.limit_ms = POLICY_MS_MAX;
    taken(&w, a);
    a->job.limit_ms = POLICY_MS_MAX + 1;
    refused(&w, a, ERR_RANGE, "100 years");
    core_world_end(&w);
}

static void there_is_one_way_to_ask(void **state)
{
    struct core_world w;
    struct ask *a;

    (void)state;
    begin(&w);
    a = an_ask(&w);
    a->group.share_gu = G / 2;
    refused(&w, a, ERR_INVALID, "different ways to ask");
    a = an_ask(&w);
    a->group.gpus = 0;
    a->group.profile = "1g.10gb";
    refused(&w, a, ERR_INVALID, "groups[0].slices");
    a->group.slices = 1;
    a->group.tasks = a->group.min_tasks = 2;
    refused(&w, a, ERR_SLICE_GANG, "independent: true");
    a = an_ask(&w);
    a->group.mps = true;
    refused(&w, a, ERR_INVALID, "goes with share");
    core_world_end(&w);
}

/* What could never run is refused, and the number that stands against it is named. */
static void what_can_never_run_is_refused(void **state)
{
    struct core_world w;
    struct ask *a;

    (void)state;
    begin(&w);
    a = an_ask(&w);
    a->group.tasks = a->group.min_tasks = 21;
    refused(&w, a, ERR_OVER_POOL, "pool main has 20");
    a->group.tasks = a->group.min_tasks = 11; /* 8 and 2 borrowed */
    refused(&w, a, ERR_OVER_BORROW, "10");
    a->group.tasks = a->group.min_tasks = 10;
    taken(&w, a);
    a->job.queue = QUEUE_B;
    a->group.tasks = a->group.min_tasks = 11;
    refused(&w, a, ERR_OVER_LIMIT, "the limit of queue b is 10");
    a->job.queue = QUEUE_X;
    a->group.tasks = a->group.min_tasks = 17; /* b never lends 4 of the 20 */
    refused(&w, a, ERR_OVER_LEND, "b lends 4 of its 8");
    a->group.tasks = a->group.min_tasks = 16;
    taken(&w, a);
    a->job.nonpreemptible = true;
    refused(&w, a, ERR_OVER_RESERVE, "4");
    a->group.tasks = a->group.min_tasks = 4;
    taken(&w, a);
    core_world_end(&w);
}

static void a_node_must_be_able_to_take_it(void **state)
{
    struct core_world w;
    struct ask *a;

    (void)state;
    begin(&w);
    a = an_ask(&w);
    a->group.gpus = 9;
    refused(&w, a, ERR_NO_NODE, "the largest node of pool main has 8");
    a = an_ask(&w);
    a->group.model = "b200-180gb";
    refused(&w, a, ERR_NO_MODEL, "b200-180gb");
    a = an_ask(&w);
    a->group.nodes = (const char *[]){"n99"};
    a->group.node_count = 1;
    refused(&w, a, ERR_NO_NODE, "n99");
    a = an_ask(&w);
    a->group.required = "rack";
    refused(&w, a, ERR_NO_LEVEL, "rack");
    a = an_ask(&w);
    a->group.gpus = 0;
    a->group.profile = "1g.10gb";
    a->group.slices = 1;
    refused(&w, a, ERR_NO_PROFILE, "1g.10gb");
    a = an_ask(&w);
    a->group.required = "node";
    a->group.tasks = a->group.min_tasks = 9;
    refused(&w, a, ERR_NO_DOMAIN, "9 tasks in one node");
    core_world_end(&w);
}

static void work_goes_to_open_leaves(void **state)
{
    struct core_world w;
    struct ask *a;

    (void)state;
    begin(&w);
    a = an_ask(&w);
    a->job.queue = QUEUE_D;
    refused(&w, a, ERR_QUEUE_NOT_LEAF, "queue d");
    a->job.queue = 99;
    refused(&w, a, ERR_NOT_FOUND, "99");
    core_world_end(&w);
}

static void a_lost_node_refuses_nobody(void **state)
{
    struct core_world w;
    struct ask *a;

    (void)state;
    begin(&w);
    core_world_apply(&w, FACT_NODE_STATE,
                     &(struct fact_node_state){.node = 1, .state = NODE_GONE, .reason = ""});
    a = an_ask(&w);
    a->group.gpus = 8;
    taken(&w, a); /* a repaired pool could run it */
    core_world_end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_within_bounds),
        cmocka_unit_test(there_is_one_way_to_ask),
        cmocka_unit_test(what_can_never_run_is_refused),
        cmocka_unit_test(a_node_must_be_able_to_take_it),
        cmocka_unit_test(work_goes_to_open_leaves),
        cmocka_unit_test(a_lost_node_refuses_nobody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
