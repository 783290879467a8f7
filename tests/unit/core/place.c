#include "core/place.h"

#include "base/check.h"
#include "base/quantity.h"
#include "core_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define QUEUE 1

/* One queue that has it all; levels rack and node. */
static void begin(struct core_world *w)
{
    static const char *levels[] = {"rack"};
    struct policy_quota quota = {7, 64 * GU_PER_GPU, POLICY_NONE, POLICY_NONE, POLICY_NONE};
    struct policy_queue queue = {.id = QUEUE,
                                 .name = "a",
                                 .weight = 1,
                                 .grace_ms = 60000,
                                 .grace_max_ms = 60000,
                                 .drain_after_ms = POLICY_NONE,
                                 .quotas = &quota,
                                 .quota_count = 1};
    struct policy_pool pool = {.id = 7, .name = "main"};
    struct policy policy = {.cluster = "test",
                            .overcommit = true,
                            .levels = levels,
                            .level_count = 1,
                            .pools = &pool,
                            .pool_count = 1,
                            .queues = &queue,
                            .queue_count = 1};

    core_world_begin(w, &policy, NULL, 0);
}

/* Submit, plan; the job if it runs, else NULL. */
static const struct job *started(struct core_world *w, struct fact_group *groups, size_t count)
{
    struct fact_job_submitted job = {.id = core_next_job(w->core),
                                     .name = "job",
                                     .queue = QUEUE,
                                     .subject = "s-1",
                                     .groups = groups,
                                     .group_count = count,
                                     .spec = ""};
    const struct job *j;

    core_world_apply(w, FACT_JOB_SUBMITTED, &job);
    core_world_plan(w);
    j = view_job(w->core, job.id);
    return job_is_active(j) ? j : NULL;
}

static int64_t node_of(const struct core_world *w, const struct job *j, size_t task)
{
    return view_node(w->core, j->tasks.items[task].node)->id;
}

static void a_task_goes_to_the_tightest_node(void **state)
{
    struct core_world w;
    struct fact_group one = core_world_group(1, 2);
    const struct job *j;
    int64_t small;

    (void)state;
    begin(&w);
    core_world_node(&w, 8, NULL, NULL);
    small = core_world_node(&w, 2, NULL, NULL);
    core_world_node(&w, 4, NULL, NULL);
    j = started(&w, &one, 1);
    assert_non_null(j);
    assert_int_equal(node_of(&w, j, 0), small);
    core_world_end(&w);
}

static void equal_nodes_are_taken_by_id(void **state)
{
    struct core_world w;
    struct fact_group one = core_world_group(1, 4);
    const struct job *j;
    int64_t first;

    (void)state;
    begin(&w);
    first = core_world_node(&w, 4, NULL, NULL);
    core_world_node(&w, 4, NULL, NULL);
    j = started(&w, &one, 1);
    assert_int_equal(node_of(&w, j, 0), first);
    assert_int_equal(j->tasks.items[0].device_count, 4);
    core_world_end(&w);
}

/* Two racks of 8 and 12 free; 12 GPUs in one rack go to the larger, 10 too, 8 to the smaller. */
static void a_required_rack_holds_the_whole_gang(void **state)
{
    static const struct {
        int64_t tasks;
        const char *rack;
    } CASES[] = {{12, "r2"}, {10, "r2"}, {8, "r1"}, {13, NULL}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct core_world w;
        struct fact_group gang = core_world_group(CASES[i].tasks, 1);
        const struct job *j;

        begin(&w);
        core_world_node(&w, 8, "r1", NULL);
        core_world_node(&w, 8, "r2", NULL);
        core_world_node(&w, 4, "r2", NULL);
        gang.required = "rack";
        j = started(&w, &gang, 1);
        assert_int_equal(j != NULL, CASES[i].rack != NULL);
        for (size_t t = 0; j != NULL && t < j->tasks.count; t++) {
            assert_int_equal(node_of(&w, j, t) == 1, strcmp(CASES[i].rack, "r1") == 0);
        }
        core_world_end(&w);
    }
}

static void a_preferred_rack_is_no_condition(void **state)
{
    struct core_world w;
    struct fact_group gang = core_world_group(12, 1);

    (void)state;
    begin(&w);
    core_world_node(&w, 8, "r1", NULL);
    core_world_node(&w, 8, "r2", NULL);
    gang.preferred = "rack";
    assert_non_null(started(&w, &gang, 1));
    core_world_end(&w);
}

/* Without a wish the gang still lies in as few racks and nodes as can be. */
static void a_gang_lies_close_together(void **state)
{
    struct core_world w;
    struct fact_group gang = core_world_group(8, 1);
    const struct job *j;

    (void)state;
    begin(&w);
    core_world_node(&w, 4, "r1", NULL);
    core_world_node(&w, 4, "r1", NULL);
    core_world_node(&w, 8, "r2", NULL);
    j = started(&w, &gang, 1);
    assert_non_null(j);
    for (size_t t = 0; t < j->tasks.count; t++) {
        assert_int_equal(node_of(&w, j, t), 3);
    }
    core_world_end(&w);
}

static void labels_and_names_are_conditions(void **state)
{
    struct core_world w;
    struct fact_group labelled = core_world_group(1, 1), named = core_world_group(1, 1);
    struct policy_label fast = {"fast", "yes"}, other = {"fast", "no"};
    const struct job *j;

    (void)state;
    begin(&w);
    core_world_node(&w, 1, NULL, NULL);
    core_world_node(&w, 4, NULL, "fast");
    labelled.labels = &fast;
    labelled.label_count = 1;
    j = started(&w, &labelled, 1);
    assert_int_equal(node_of(&w, j, 0), 2);
    labelled.labels = &other;
    assert_null(started(&w, &labelled, 1));
    named.nodes = (const char *[]){"n2"};
    named.node_count = 1;
    j = started(&w, &named, 1);
    assert_int_equal(node_of(&w, j, 0), 2);
    core_world_end(&w);
}

static void cpus_and_memory_must_fit_too(void **state)
{
    struct core_world w;
    struct fact_group one = core_world_group(1, 1);

    (void)state;
    begin(&w);
    core_world_node(&w, 8, NULL, NULL); /* 64 CPUs, 1 TiB */
    one.cpu_milli = 40000;
    assert_non_null(started(&w, &one, 1));
    assert_null(started(&w, &one, 1));
    one.cpu_milli = 24000;
    one.memory_bytes = ((int64_t)1 << 40) + 1;
    assert_null(started(&w, &one, 1));
    one.memory_bytes = (int64_t)1 << 40;
    assert_non_null(started(&w, &one, 1));
    core_world_end(&w);
}

static void all_groups_start_or_none(void **state)
{
    struct core_world w;
    struct fact_group groups[2] = {core_world_group(1, 4), core_world_group(2, 3)};

    (void)state;
    begin(&w);
    core_world_node(&w, 8, NULL, NULL);
    assert_null(started(&w, groups, 2)); /* 4 + 3 + 3 > 8 */
    assert_int_equal(view_pool(w.core, 0)->held_gu, 0);
    core_world_node(&w, 3, NULL, NULL);
    w.now_ms += 1000;
    core_world_plan(&w);
    assert_int_equal(view_pool(w.core, 0)->held_gu, 10 * GU_PER_GPU);
    core_world_end(&w);
}

static void a_drained_node_takes_no_task(void **state)
{
    struct core_world w;
    struct fact_group one = core_world_group(1, 1);

    (void)state;
    begin(&w);
    core_world_node(&w, 8, NULL, NULL);
    core_world_apply(
        &w, FACT_NODE_DRAIN,
        &(struct fact_node_drain){.node = 1, .drain = true, .reason = "", .subject = ""});
    assert_null(started(&w, &one, 1));
    core_world_apply(
        &w, FACT_NODE_DRAIN,
        &(struct fact_node_drain){.node = 1, .drain = false, .reason = "", .subject = ""});
    core_world_plan(&w);
    assert_int_equal(view_pool(w.core, 0)->held_gu, GU_PER_GPU);
    core_world_end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_task_goes_to_the_tightest_node),
        cmocka_unit_test(equal_nodes_are_taken_by_id),
        cmocka_unit_test(a_required_rack_holds_the_whole_gang),
        cmocka_unit_test(a_preferred_rack_is_no_condition),
        cmocka_unit_test(a_gang_lies_close_together),
        cmocka_unit_test(labels_and_names_are_conditions),
        cmocka_unit_test(cpus_and_memory_must_fit_too),
        cmocka_unit_test(all_groups_start_or_none),
        cmocka_unit_test(a_drained_node_takes_no_task),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
