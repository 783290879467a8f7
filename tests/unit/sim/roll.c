#include "sim/roll.h"

#include "base/quantity.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct roll roll;

static int set_up(void **state)
{
    (void)state;
    roll = (struct roll){0};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    roll_fini(&roll);
    return 0;
}

static void add(enum fact_kind kind, const void *body)
{
    const struct fact fact = {.kind = kind, .body.any = body};

    roll_add(&roll, &fact);
}

static void submit(int64_t id, const char *name)
{
    struct fact_group g = {.tasks = 3, .min_tasks = 2};
    const struct fact_job_submitted s = {
        .id = id, .name = name, .queue = 1, .groups = &g, .group_count = 1};

    add(FACT_JOB_SUBMITTED, &s);
}

/* Tasks 0 … count - 1, task i on card i of node 1. */
static void start(int64_t id, int64_t attempt, int64_t step, size_t count)
{
    struct fact_grant_device cards[3];
    struct fact_grant tasks[3];
    const struct fact_job_started s = {
        .job = id, .attempt = attempt, .step = step, .tasks = tasks, .task_count = count};
    size_t i;

    for (i = 0; i < count; i++) {
        cards[i] = (struct fact_grant_device){.slot = (int64_t)i, .gu = GU_PER_GPU};
        tasks[i] = (struct fact_grant){.task = (int64_t)i,
                                       .node = 1,
                                       .devices = &cards[i],
                                       .device_count = 1};
    }
    add(FACT_JOB_STARTED, &s);
}

static void a_job_holds_what_it_was_granted(void **state)
{
    const struct fact_node_seen node = {.id = 1, .name = "n1"};

    (void)state;
    add(FACT_NODE_SEEN, &node);
    submit(7, "seven");
    assert_int_equal(roll_job(&roll, 7)->state, ROLL_WAITING);
    assert_int_equal(roll_job(&roll, 7)->needed, 2);
    start(7, 1, 1, 2);
    assert_int_equal(roll_job(&roll, 7)->state, ROLL_HOLDING);
    assert_int_equal(roll_job_gu(roll_job(&roll, 7)), 2 * GU_PER_GPU);
    assert_string_equal(roll_node_name(&roll, 1), "n1");
    assert_string_equal(roll_node_name(&roll, 2), "");
    assert_ptr_equal(roll_job_of_name(&roll, "seven"), roll_job(&roll, 7));
    assert_null(roll_job_of_name(&roll, "eight"));
}

static void growth_adds_only_what_is_new(void **state)
{
    (void)state;
    submit(7, "seven");
    start(7, 1, 1, 2);
    start(7, 1, 2, 3);
    assert_int_equal(roll_job(&roll, 7)->tasks.count, 3);
    assert_int_equal(roll_job_gu(roll_job(&roll, 7)), 3 * GU_PER_GPU);
}

static void ended_tasks_and_lost_nodes_give_back(void **state)
{
    const struct fact_task_ended end = {.job = 7, .attempt = 1, .task = 0};
    const struct fact_task_ended late = {.job = 7, .attempt = 9, .task = 1};
    const struct fact_node_lost lost = {.node = 1};

    (void)state;
    submit(7, "seven");
    start(7, 1, 1, 3);
    add(FACT_TASK_ENDED, &end);
    add(FACT_TASK_ENDED, &late);
    assert_int_equal(roll_job(&roll, 7)->tasks.count, 2);
    add(FACT_NODE_LOST, &lost);
    assert_int_equal(roll_job(&roll, 7)->tasks.count, 0);
}

static void evictions_are_counted_nominees_are_not(void **state)
{
    struct fact_victim victims[2] = {{.job = 7, .attempt = 1}, {.job = 8, .nominee = true}};
    const struct fact_job_claimed c = {.job = 9, .victims = victims, .victim_count = 2};

    (void)state;
    submit(7, "seven");
    submit(8, "eight");
    add(FACT_JOB_CLAIMED, &c);
    assert_int_equal(roll_job(&roll, 7)->evictions, 1);
    assert_int_equal(roll_job(&roll, 8)->evictions, 0);
}

static void an_attempt_ends(void **state)
{
    struct fact_attempt_ended e = {.job = 7, .attempt = 1, .outcome = OUTCOME_REQUEUED};

    (void)state;
    submit(7, "seven");
    start(7, 1, 1, 2);
    add(FACT_ATTEMPT_ENDED, &e);
    assert_int_equal(roll_job(&roll, 7)->state, ROLL_WAITING);
    assert_int_equal(roll_job(&roll, 7)->tasks.count, 0);
    start(7, 2, 1, 2);
    e.attempt = 2;
    e.outcome = OUTCOME_SUCCEEDED;
    add(FACT_ATTEMPT_ENDED, &e);
    assert_int_equal(roll_job(&roll, 7)->state, ROLL_ENDED);
    assert_int_equal(roll.decisions, 4);
    assert_int_equal(roll.records, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
        T(a_job_holds_what_it_was_granted),
        T(growth_adds_only_what_is_new),
        T(ended_tasks_and_lost_nodes_give_back),
        T(evictions_are_counted_nominees_are_not),
        T(an_attempt_ends),
#undef T
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
