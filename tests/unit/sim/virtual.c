#include "backend/virtual/virtual.h"

#include "base/quantity.h"
#include "base/vec.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct heard {    /* one report */
    int64_t kind; /* enum fact_kind; no padding, so that reports compare as bytes */
    int64_t at_ms;
    int64_t job, attempt, task, step, node;
    int64_t detail; /* cause, or state of a node */
    int64_t status;
};

static struct backend *world;
static VEC(struct heard) heard;

static void hear(void *ctx, const struct fact *f)
{
    struct heard h = {.kind = f->kind, .at_ms = f->true_at_ms};

    (void)ctx;
    if (f->kind == FACT_TASK_RUNNING) {
        const struct fact_task_running *r = fact_of(f, TASK_RUNNING);

        h.job = r->job, h.attempt = r->attempt, h.task = r->task, h.step = r->step;
    } else if (f->kind == FACT_TASK_ENDED) {
        const struct fact_task_ended *e = fact_of(f, TASK_ENDED);

        h.job = e->job, h.attempt = e->attempt, h.task = e->task, h.step = e->step;
        h.detail = e->cause, h.status = e->status;
    } else if (f->kind == FACT_NODE_STATE) {
        h.node = fact_of(f, NODE_STATE)->node;
        h.detail = fact_of(f, NODE_STATE)->state;
    } else if (f->kind == FACT_NODE_SEEN) {
        h.node = fact_of(f, NODE_SEEN)->id;
        h.detail = (int64_t)fact_of(f, NODE_SEEN)->device_count;
    }
    vec_push(&heard, h);
}

static struct policy_node nodes[2] = {
    {.id = 1, .name = "n1", .cluster = "local", .pool = 1, .gpus = 2, .model = "h100-80gb"},
    {.id = 2, .name = "n2", .cluster = "local", .pool = 1, .gpus = 2, .model = "gpu"},
};

static int set_up(void **state)
{
    const struct policy policy = {.nodes = nodes, .node_count = 2};

    (void)state;
    world = virtual_new("local");
    world->sink = hear;
    vec_clear(&heard);
    virtual_run_until(world, 1000);
    assert_int_equal(world->ops->observe(world, &policy, NULL), 0);
    assert_int_equal(heard.count, 2);
    vec_clear(&heard);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    world->ops->free(world);
    vec_fini(&heard);
    return 0;
}

/* Attempt 1: task 0 on card 0 of node 1, granted in step 1; task 1 on card 0 of node 2. */
static void start(int64_t job, int64_t step)
{
    struct fact_grant_device card = {.slot = 0, .gu = GU_PER_GPU};
    struct fact_grant tasks[2] = {
        {.task = 0, .node = 1, .devices = &card, .device_count = 1, .step = 1},
        {.task = 1, .node = 2, .devices = &card, .device_count = 1, .step = step}};
    const struct backend_job call = {
        .job = job, .attempt = 1, .step = step, .tasks = tasks, .task_count = 2};

    assert_int_equal(world->ops->start(world, &call, NULL), 0);
}

static void signal_job_7(const struct backend_task *tasks, size_t count, int64_t deadline_ms)
{
    const struct backend_signal what = {.job = 7,
                                        .attempt = 1,
                                        .tasks = tasks,
                                        .task_count = count,
                                        .deadline_ms = deadline_ms,
                                        .reason = ""};

    assert_int_equal(world->ops->signal(world, &what, NULL), 0);
}

static void told(size_t i, enum fact_kind kind, int64_t at_ms, int64_t task)
{
    assert_true(i < heard.count);
    assert_int_equal(heard.items[i].kind, kind);
    assert_int_equal(heard.items[i].at_ms, at_ms);
    assert_int_equal(heard.items[i].task, task);
}

static void tasks_run_and_end_when_they_should(void **state)
{
    const struct virtual_behaviour how = {.start_ms = 50, .run_ms = 400, .status = 3};

    (void)state;
    virtual_set_job(world, 7, &how);
    start(7, 1);
    assert_int_equal(heard.count, 0);
    assert_int_equal(virtual_next_ms(world), 1050);
    virtual_run_until(world, 1050);
    told(0, FACT_TASK_RUNNING, 1050, 0);
    told(1, FACT_TASK_RUNNING, 1050, 1);
    virtual_run_until(world, 5000);
    told(2, FACT_TASK_ENDED, 1450, 0);
    assert_int_equal(heard.items[2].status, 3);
    assert_int_equal(heard.count, 4);
    assert_int_equal(virtual_next_ms(world), INT64_MAX);
}

static void a_repeated_start_does_nothing(void **state)
{
    (void)state;
    start(7, 1);
    assert_int_equal(heard.count, 2);
    start(7, 1);
    assert_int_equal(heard.count, 2);
    assert_int_equal(virtual_task_count(world), 2);
    assert_null(virtual_complaint(world));
}

static void a_signal_stops_only_the_tasks_named(void **state)
{
    const struct virtual_behaviour how = {.run_ms = VIRTUAL_FOREVER, .stop_ms = 30};
    const struct backend_task one[1] = {{1, 1}};

    (void)state;
    virtual_set_job(world, 7, &how);
    start(7, 1);
    signal_job_7(one, 1, 9000);
    signal_job_7(one, 1, 9000);
    virtual_run_until(world, 9000);
    assert_int_equal(heard.count, 3);
    told(2, FACT_TASK_ENDED, 1030, 1);
}

static void a_number_in_a_later_step_is_another_task(void **state)
{
    const struct backend_task old[1] = {{1, 1}};
    const struct backend_task new[1] = {{1, 2}};

    (void)state;
    start(7, 1);
    assert_int_equal(world->ops->kill(world, 7, 1, old, 1, NULL), 0);
    told(2, FACT_TASK_ENDED, 1000, 1);
    assert_int_equal(heard.items[2].step, 1);
    start(7, 2);
    assert_int_equal(heard.count, 4);
    told(3, FACT_TASK_RUNNING, 1000, 1);
    assert_int_equal(heard.items[3].step, 2);
    signal_job_7(old, 1, 0);
    assert_int_equal(world->ops->kill(world, 7, 1, old, 1, NULL), 0);
    start(7, 1); /* a call of the past */
    assert_int_equal(heard.count, 4);
    signal_job_7(new, 1, 0);
    told(4, FACT_TASK_ENDED, 1000, 1);
    assert_int_equal(heard.items[4].step, 2);
    assert_null(virtual_complaint(world));
}

static void a_late_report_is_told_with_its_step(void **state)
{
    const struct virtual_faults faults = {.seed = 1, .double_ppm = 1000000, .late_ms = 50};
    const struct backend_task old[1] = {{1, 1}};

    (void)state;
    start(7, 1);
    virtual_set_faults(world, &faults);
    assert_int_equal(world->ops->kill(world, 7, 1, old, 1, NULL), 0);
    virtual_set_faults(world, &(struct virtual_faults){.seed = 1});
    start(7, 2);
    virtual_run_until(world, 2000);
    assert_int_equal(heard.count, 5);
    assert_int_equal(heard.items[4].kind, FACT_TASK_ENDED);
    assert_int_equal(heard.items[4].step, 1);
    assert_int_equal(virtual_task_count(world), 2);
}

static void who_ignores_the_signal_is_killed(void **state)
{
    const struct virtual_behaviour how = {.run_ms = VIRTUAL_FOREVER,
                                          .on_signal = VIRTUAL_IGNORES,
                                          .kill_ms = 5};

    (void)state;
    virtual_set_job(world, 7, &how);
    start(7, 1);
    signal_job_7(NULL, 0, 2000);
    virtual_run_until(world, 2000);
    assert_int_equal(heard.count, 2);
    assert_int_equal(world->ops->kill(world, 7, 1, NULL, 0, NULL), 0);
    virtual_run_until(world, 3000);
    told(2, FACT_TASK_ENDED, 2005, 0);
    assert_int_equal(heard.items[2].detail, TASK_SIGNALLED);
    assert_int_equal(heard.items[2].status, SIGKILL);
}

static void who_is_stuck_is_never_proven_gone(void **state)
{
    const struct virtual_behaviour how = {.run_ms = VIRTUAL_FOREVER, .on_signal = VIRTUAL_STUCK};

    (void)state;
    virtual_set_job(world, 7, &how);
    start(7, 1);
    assert_int_equal(world->ops->kill(world, 7, 1, NULL, 0, NULL), 0);
    virtual_run_until(world, 1000000);
    assert_int_equal(heard.count, 2);
    assert_int_equal(virtual_task_count(world), 2);
    world->ops->forget(world, 7, 1);
    assert_int_equal(virtual_task_count(world), 0);
}

static void a_dark_node_tells_when_it_is_back(void **state)
{
    const struct virtual_behaviour how = {.run_ms = 100};

    (void)state;
    virtual_set_job(world, 7, &how);
    start(7, 1);
    virtual_node_dark(world, 2, false);
    assert_int_equal(heard.items[2].detail, NODE_UNKNOWN);
    virtual_run_until(world, 2000);
    told(3, FACT_TASK_ENDED, 1100, 0);
    assert_int_equal(heard.count, 4);
    virtual_node_back(world, 2);
    told(4, FACT_TASK_ENDED, 1100, 1);
    assert_int_equal(heard.items[5].detail, NODE_UP);
}

static void a_node_that_dies_takes_its_tasks_along(void **state)
{
    (void)state;
    start(7, 1);
    virtual_node_dark(world, 2, true);
    virtual_node_back(world, 2);
    told(3, FACT_TASK_ENDED, 1000, 1);
    assert_int_equal(heard.items[3].detail, TASK_LOST);
    assert_int_equal(heard.items[4].detail, NODE_UP);
    assert_int_equal(virtual_task_count(world), 1);
}

static void a_node_that_left_the_policy_is_gone(void **state)
{
    const struct policy less = {.nodes = nodes, .node_count = 1};

    (void)state;
    start(7, 1);
    assert_int_equal(world->ops->observe(world, &less, NULL), 0);
    assert_int_equal(heard.items[3].kind, FACT_NODE_STATE);
    assert_int_equal(heard.items[3].detail, NODE_GONE);
    told(4, FACT_TASK_ENDED, 1000, 1);
}

static void adopt_says_what_is_not_there_and_stops_the_rest(void **state)
{
    const struct backend_held held[2] = {{.job = 7, .attempt = 1, .task = {0, 1}, .node = 1},
                                         {.job = 9, .attempt = 2, .task = {0, 1}, .node = 2}};

    (void)state;
    start(7, 1);
    assert_int_equal(world->ops->adopt(world, held, 2, NULL), 0);
    assert_int_equal(virtual_task_count(world), 1);
    told(2, FACT_TASK_RUNNING, 1000, 0);
    told(3, FACT_TASK_ENDED, 1000, 0);
    assert_int_equal(heard.items[3].job, 9);
    assert_int_equal(heard.items[3].detail, TASK_LOST);
}

static void a_device_given_twice_is_complained_of(void **state)
{
    (void)state;
    start(7, 1);
    assert_null(virtual_complaint(world));
    start(8, 1);
    assert_non_null(virtual_complaint(world));
    assert_non_null(strstr(virtual_complaint(world), "slot 0 of node 1"));
}

static void faults_come_from_the_seed_alone(void **state)
{
    const struct virtual_faults faults = {.seed = 5,
                                          .late_ppm = 300000,
                                          .late_ms = 50,
                                          .double_ppm = 300000,
                                          .missing_ppm = 100000,
                                          .refuse_ppm = 100000};
    VEC(struct heard) first = {0};
    size_t i;
    int round;

    for (round = 0; round < 2; round++) {
        virtual_set_faults(world, &faults);
        for (i = 0; i < 20; i++) {
            start((int64_t)i, 1);
            world->ops->kill(world, (int64_t)i, 1, NULL, 0, NULL);
            virtual_run_until(world, 1000 + (int64_t)(i + 1) * 100);
        }
        for (i = 0; round == 0 && i < heard.count; i++) {
            vec_push(&first, heard.items[i]);
        }
        if (round == 0) {
            assert_int_equal(tear_down(state), 0);
            assert_int_equal(set_up(state), 0);
        }
    }
    assert_int_equal(first.count, heard.count);
    assert_memory_equal(first.items, heard.items, heard.count * sizeof(heard.items[0]));
    vec_fini(&first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
        T(tasks_run_and_end_when_they_should),
        T(a_repeated_start_does_nothing),
        T(a_signal_stops_only_the_tasks_named),
        T(a_number_in_a_later_step_is_another_task),
        T(a_late_report_is_told_with_its_step),
        T(who_ignores_the_signal_is_killed),
        T(who_is_stuck_is_never_proven_gone),
        T(a_dark_node_tells_when_it_is_back),
        T(a_node_that_dies_takes_its_tasks_along),
        T(a_node_that_left_the_policy_is_gone),
        T(adopt_says_what_is_not_there_and_stops_the_rest),
        T(a_device_given_twice_is_complained_of),
        T(faults_come_from_the_seed_alone),
#undef T
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
