#include "core/empty.h"

#include "base/quantity.h"
#include "core_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define G      GU_PER_GPU
#define MINUTE ((int64_t)60000)

enum { QUEUE_A = 1, QUEUE_B };

/* Two queues; the levels are rack and node. */
static void begin(struct core_world *w, const int *sizes, size_t count)
{
    static const char *levels[] = {"rack"};
    struct policy_quota quotas[] = {{7, 8 * G, POLICY_NONE, POLICY_NONE, POLICY_NONE},
                                    {7, 8 * G, POLICY_NONE, POLICY_NONE, POLICY_NONE}};
    struct policy_queue queues[] = {{.id = QUEUE_A, .name = "a"}, {.id = QUEUE_B, .name = "b"}};
    struct policy_pool pool = {.id = 7, .name = "main"};
    struct policy policy = {.cluster = "test",
                            .overcommit = true,
                            .node_lost_ms = MINUTE,
                            .levels = levels,
                            .level_count = 1,
                            .pools = &pool,
                            .pool_count = 1,
                            .queues = queues,
                            .queue_count = 2};

    for (int i = 0; i < 2; i++) {
        queues[i].weight = 1;
        queues[i].grace_ms = queues[i].grace_max_ms = MINUTE;
        queues[i].stop_stuck_ms = MINUTE;
        queues[i].start_timeout_ms = 10 * MINUTE;
        queues[i].drain_after_ms = POLICY_NONE;
        queues[i].quotas = &quotas[i];
        queues[i].quota_count = 1;
    }
    core_world_begin(w, &policy, sizes, count);
}

static struct pool *the_pool(const struct core_world *w)
{
    return (struct pool *)(uintptr_t)view_pool(w->core, 0); /* it comes back as it was */
}

static void state_text(const struct core_world *w, struct str *ret)
{
    const struct pool *p = view_pool(w->core, 0);

    str_clear(ret);
    core_snapshot(w->core, ret);
    str_addf(ret, "\npool %lld %lld %lld %lld\n", (long long)p->capacity_gu, (long long)p->taken_gu,
             (long long)p->held_gu, (long long)p->free_whole);
    for (int n = 0; n < view_node_count(w->core); n++) {
        const struct node *node = view_node(w->core, n);

        str_addf(ret, "node %d: %d %d %d free", n, (int)node->health, node->drain,
                 node->free_whole);
        for (int i = 0; i < node->device_count; i++) {
            const struct device *d = &node->devices[i];

            str_addf(ret, ", %d %d %lld %lld %d %d %d", d->out, d->soft, (long long)d->capacity_gu,
                     (long long)d->taken_gu, d->count[LEDGER_HELD], d->count[LEDGER_LEAVING],
                     d->count[LEDGER_PROMISED]);
        }
        str_add_char(ret, '\n');
    }
}

/* Ask; whatever the answer, everything is as before, and the next plan decides the same. */
static bool places(struct core_world *w, const struct fact_group *groups, size_t count)
{
    struct fact_job_submitted ask = {.name = "job",
                                     .queue = QUEUE_A,
                                     .subject = "s-1",
                                     .groups = (struct fact_group *)(uintptr_t)groups,
                                     .group_count = count,
                                     .spec = ""};
    struct arena *arena = arena_make();
    struct str before = {0}, after = {0};
    bool does;

    state_text(w, &before);
    does = empty_places(w->core, the_pool(w), 0, &ask);
    state_text(w, &after);
    assert_string_equal(str_text(&before), str_text(&after));
    assert_null(core_check(w->core, arena));
    arena_free(arena);
    str_fini(&before);
    str_fini(&after);
    return does;
}

static void whole_pool_fits(struct core_world *w, int64_t gpus)
{
    struct fact_group all = core_world_group(gpus, 1), more = core_world_group(gpus + 1, 1);

    assert_true(places(w, &all, 1));
    assert_false(places(w, &more, 1));
}

static int64_t run(struct core_world *w, int64_t queue, int64_t tasks, int64_t gpus)
{
    struct core_world_job ask = {.queue = queue, .tasks = tasks, .min_tasks = tasks, .gpus = gpus};
    int64_t id = core_world_submit(w, &ask);

    core_world_plan(w);
    return id;
}

static void what_runs_is_no_obstacle(void **state)
{
    static const int SIZES[] = {4, 4};
    struct core_world w;

    (void)state;
    begin(&w, SIZES, 2);
    whole_pool_fits(&w, 8);
    assert_true(job_is_active(view_job(w.core, run(&w, QUEUE_A, 8, 1))));
    whole_pool_fits(&w, 8);
    core_world_settle(&w);
    whole_pool_fits(&w, 8);
    core_world_end(&w);
}

/* Victims still stop, their devices are promised: both ledgers of a device come back. */
static void what_stops_and_what_was_promised_is_no_obstacle(void **state)
{
    static const int SIZES[] = {8, 8};
    struct core_world w;
    int64_t claimant;

    (void)state;
    begin(&w, SIZES, 2);
    for (int i = 0; i < 16; i++) {
        run(&w, QUEUE_B, 1, 1);
    }
    core_world_settle(&w);
    claimant = run(&w, QUEUE_A, 1, 8);
    assert_true(view_job(w.core, claimant)->nomination.is);
    whole_pool_fits(&w, 16);
    core_world_settle(&w);
    assert_true(job_is_active(view_job(w.core, claimant)));
    core_world_end(&w);
}

static void a_drained_node_is_taken_as_well(void **state)
{
    static const int SIZES[] = {4, 4};
    struct fact_node_drain drain = {.node = 1, .drain = true, .reason = "", .subject = ""};
    struct core_world w;

    (void)state;
    begin(&w, SIZES, 2);
    run(&w, QUEUE_A, 2, 2);
    core_world_apply(&w, FACT_NODE_DRAIN, &drain);
    whole_pool_fits(&w, 8);
    assert_true(view_node_of_id(w.core, 1)->drain);
    core_world_end(&w);
}

static void a_lost_node_is_taken_as_well(void **state)
{
    static const int SIZES[] = {4, 4};
    struct fact_node_state dark = {.node = 1, .state = NODE_UNKNOWN, .reason = "silent"};
    struct core_world w;

    (void)state;
    begin(&w, SIZES, 2);
    run(&w, QUEUE_A, 8, 1);
    core_world_settle(&w);
    core_world_apply(&w, FACT_NODE_STATE, &dark);
    whole_pool_fits(&w, 8);
    w.now_ms += 2 * MINUTE;
    core_world_plan(&w);
    assert_int_equal(view_node_of_id(w.core, 1)->health, HEALTH_LOST);
    whole_pool_fits(&w, 8);
    core_world_end(&w);
}

static void a_device_out_of_service_is_taken_as_well(void **state)
{
    static const int SIZES[] = {4, 4};
    struct fact_device_state out = {.node = 2, .slot = 1, .out = true, .reason = "broken"};
    struct core_world w;

    (void)state;
    begin(&w, SIZES, 2);
    core_world_apply(&w, FACT_DEVICE_STATE, &out);
    whole_pool_fits(&w, 8);
    assert_true(view_node_of_id(w.core, 2)->devices[1].out);
    core_world_end(&w);
}

/* A victim that cannot be proven gone: its devices are stuck, and count in an empty pool. */
static void a_stuck_device_is_taken_as_well(void **state)
{
    static const int SIZES[] = {8, 4};
    struct core_world w;
    int64_t victim;

    (void)state;
    begin(&w, SIZES, 2);
    victim = run(&w, QUEUE_B, 12, 1);
    core_world_settle(&w);
    run(&w, QUEUE_A, 1, 8);
    for (int i = 0; i < 10; i++) { /* nobody obeys */
        w.now_ms += MINUTE;
        core_world_plan(&w);
        whole_pool_fits(&w, 12);
    }
    assert_true(view_node_of_id(w.core, 1)->devices[0].out);
    assert_false(job_is_active(view_job(w.core, victim)));
    core_world_end(&w);
}

static void groups_that_fit_one_by_one_may_not_fit_together(void **state)
{
    static const int SIZES[] = {4, 4};
    struct fact_group groups[] = {core_world_group(2, 3), core_world_group(1, 2)};
    struct core_world w;

    (void)state;
    begin(&w, SIZES, 2);
    assert_true(places(&w, &groups[0], 1));
    assert_true(places(&w, &groups[1], 1));
    assert_false(places(&w, groups, 2));
    groups[1] = core_world_group(2, 1);
    assert_true(places(&w, groups, 2));
    core_world_end(&w);
}

/* CPU and memory of an empty node are counted too. */
static void groups_share_the_memory_of_a_node(void **state)
{
    static const int SIZES[] = {4};
    struct fact_group groups[] = {core_world_group(1, 1), core_world_group(1, 1)};
    struct core_world w;

    (void)state;
    begin(&w, SIZES, 1);
    groups[0].memory_bytes = groups[1].memory_bytes = (int64_t)600 << 30;
    assert_true(places(&w, &groups[0], 1));
    assert_false(places(&w, groups, 2));
    groups[1].memory_bytes = (int64_t)400 << 30;
    assert_true(places(&w, groups, 2));
    core_world_end(&w);
}

/* Eight tasks of one GPU would take the node of eight that the second group needs. */
static void the_group_with_the_largest_tasks_goes_first(void **state)
{
    static const int SIZES[] = {8, 4, 4};
    struct fact_group groups[] = {core_world_group(8, 1), core_world_group(1, 8)};
    struct core_world w;

    (void)state;
    begin(&w, SIZES, 3);
    assert_true(places(&w, groups, 2));
    core_world_end(&w);
}

/* Only the first rack holds the second group; the first group may lie anywhere. */
static void a_group_bound_to_a_rack_goes_first(void **state)
{
    struct fact_group groups[] = {core_world_group(8, 1), core_world_group(8, 1)};
    struct core_world w;

    (void)state;
    begin(&w, NULL, 0);
    core_world_node(&w, 8, "r1", NULL);
    core_world_node(&w, 4, "r2", NULL);
    core_world_node(&w, 4, "r3", NULL);
    groups[1].required = "rack";
    assert_true(places(&w, groups, 2));
    groups[0].required = "rack";
    assert_false(places(&w, groups, 2));
    core_world_end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_runs_is_no_obstacle),
        cmocka_unit_test(what_stops_and_what_was_promised_is_no_obstacle),
        cmocka_unit_test(a_drained_node_is_taken_as_well),
        cmocka_unit_test(a_lost_node_is_taken_as_well),
        cmocka_unit_test(a_device_out_of_service_is_taken_as_well),
        cmocka_unit_test(a_stuck_device_is_taken_as_well),
        cmocka_unit_test(groups_that_fit_one_by_one_may_not_fit_together),
        cmocka_unit_test(groups_share_the_memory_of_a_node),
        cmocka_unit_test(the_group_with_the_largest_tasks_goes_first),
        cmocka_unit_test(a_group_bound_to_a_rack_goes_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
