#include "core/view.h"

#include "base/quantity.h"
#include "core_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define G GU_PER_GPU

/* a and b reserve 4 GPUs each of 8. */
static void begin(struct core_world *w)
{
    static struct policy_quota quotas[] = {
        {7, 4 * G, POLICY_NONE, POLICY_NONE, POLICY_NONE},
        {7, 4 * G, POLICY_NONE, POLICY_NONE, POLICY_NONE},
    };
    struct policy_pool pool = {.id = 7, .name = "main"};
    struct policy_queue queues[2] = {
        {.id = 1, .name = "a", .weight = 1, .quotas = &quotas[0], .quota_count = 1},
        {.id = 2, .name = "b", .weight = 1, .quotas = &quotas[1], .quota_count = 1},
    };
    struct policy policy = {
        .overcommit = true, .pools = &pool, .pool_count = 1, .queues = queues, .queue_count = 2};

    core_world_begin(w, &policy, (const int[]){8}, 1);
}

static void split_is(const struct core_world *w, int64_t job, int64_t reserved, int64_t borrowed)
{
    int64_t r = -1, b = -1;

    view_split(w->core, view_job(w->core, job), &r, &b);
    assert_int_equal(r, reserved * G);
    assert_int_equal(b, borrowed * G);
}

static void the_oldest_start_fills_the_reserve_first(void **state)
{
    struct core_world w;
    int64_t first, second;

    (void)state;
    begin(&w);
    first = core_world_submit(&w, &(struct core_world_job){1, 3, 3, 1, 0, false});
    core_world_settle(&w);
    second = core_world_submit(&w, &(struct core_world_job){1, 3, 3, 1, 0, false});
    split_is(&w, second, 0, 0); /* it holds nothing yet */
    core_world_settle(&w);
    split_is(&w, first, 3, 0);
    split_is(&w, second, 1, 2);
    core_world_finish(&w, first, 0);
    core_world_settle(&w);
    split_is(&w, second, 3, 0);
    core_world_end(&w);
}

static void work_that_is_not_preemptible_fills_it_before_all(void **state)
{
    struct core_world w;
    int64_t older, fixed;

    (void)state;
    begin(&w);
    older = core_world_submit(&w, &(struct core_world_job){1, 3, 3, 1, 0, false});
    core_world_settle(&w);
    fixed = core_world_submit(&w, &(struct core_world_job){1, 2, 2, 1, 0, true});
    core_world_settle(&w);
    split_is(&w, fixed, 2, 0);
    split_is(&w, older, 2, 1);
    core_world_end(&w);
}

static void see(struct core_world *w, int64_t id, const char *cluster, const char *name,
                int64_t cpus)
{
    const struct fact_node_seen seen = {
        .id = id, .name = name, .cluster = cluster, .pool = 7, .cpu_milli = cpus * 1000};

    core_world_apply(w, FACT_NODE_SEEN, &seen);
}

static void nodes_are_found_by_cluster_and_name(void **state)
{
    struct core_world w;

    (void)state;
    begin(&w);
    see(&w, 10, "east", "n1", 4);
    see(&w, 12, "local", "x", 4);
    see(&w, 11, "east", "x", 4);
    assert_int_equal(view_node_of_name(w.core, "local", "n1")->id, 1);
    assert_int_equal(view_node_of_name(w.core, "east", "n1")->id, 10);
    assert_int_equal(view_node_of_name(w.core, "local", "x")->id, 12);
    assert_int_equal(view_node_of_name(w.core, "east", "x")->id, 11);
    assert_null(view_node_of_name(w.core, "east", "n2"));
    assert_null(view_node_of_name(w.core, "west", "x"));
    see(&w, 11, "east", "y", 8); /* it is another one now */
    assert_null(view_node_of_name(w.core, "east", "x"));
    assert_int_equal(view_node_of_name(w.core, "east", "y")->id, 11);
    core_world_end(&w);
}

static void a_walk_over_jobs_goes_on_behind_any_id(void **state)
{
    struct core_world w;
    int64_t first, second;

    (void)state;
    begin(&w);
    first = core_world_submit(&w, &(struct core_world_job){1, 1, 1, 1, 0, false});
    second = core_world_submit(&w, &(struct core_world_job){2, 1, 1, 1, 0, false});
    assert_int_equal(view_job_next(w.core, 0)->id, first);
    assert_int_equal(view_job_next(w.core, -5)->id, first);
    assert_int_equal(view_job_next(w.core, first)->id, second);
    assert_null(view_job_next(w.core, second));
    assert_null(view_job_next(w.core, second + 1000));
    core_world_end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_oldest_start_fills_the_reserve_first),
        cmocka_unit_test(work_that_is_not_preemptible_fills_it_before_all),
        cmocka_unit_test(nodes_are_found_by_cluster_and_name),
        cmocka_unit_test(a_walk_over_jobs_goes_on_behind_any_id),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
