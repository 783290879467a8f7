#include "daemon/virtualcluster.h"

#include "base/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <event2/event.h>

static int64_t now_ms = 1000;
static int running;
static int ended;

static int64_t clock_ms(void *ctx)
{
    (void)ctx;
    return now_ms;
}

static void sink(void *ctx, const struct fact *fact)
{
    (void)ctx;
    running += fact->kind == FACT_TASK_RUNNING;
    ended += fact->kind == FACT_TASK_ENDED;
}

static int64_t run_ms(const char *program, const char *arg)
{
    const char *argv[] = {program, arg};
    const struct backend_spec spec = {.argv = argv, .arg_count = arg == NULL ? 1 : 2};

    return virtualcluster_run_ms(&spec);
}

static void sleep_is_the_only_command(void **state)
{
    (void)state;
    assert_int_equal(run_ms("sleep", "2"), 2000);
    assert_int_equal(run_ms("sleep", "0.25"), 250);
    assert_int_equal(run_ms("sleep", "1.2345"), 1234);
    assert_int_equal(run_ms("sleep", "soon"), 0);
    assert_int_equal(run_ms("sleep", "-1"), 0);
    assert_int_equal(run_ms("sleep", NULL), 0);
    assert_int_equal(run_ms("train", "2"), 0);
}

static void a_task_runs_as_long_as_it_says(void **state)
{
    struct event_base *base = event_base_new();
    const struct virtualcluster_clock clock = {NULL, clock_ms};
    struct backend *b = virtualcluster_new("local", base, &clock);
    const char *argv[] = {"sleep", "0.02"};
    struct fact_grant grant = {.task = 0, .node = 1};
    struct fact_job_submitted ask = {.name = "job"};
    const struct backend_job job = {.job = 1,
                                    .attempt = 1,
                                    .submitted = &ask,
                                    .tasks = &grant,
                                    .task_count = 1,
                                    .spec = {.argv = argv, .arg_count = 2}};

    (void)state;
    b->sink = sink;
    assert_int_equal(b->ops->start(b, &job, NULL), 0);
    assert_int_equal(running, 1);
    assert_int_equal(ended, 0);
    now_ms += 20;
    for (int i = 0; i < 100 && ended == 0; i++) {
        event_base_loop(base, EVLOOP_ONCE);
    }
    assert_int_equal(ended, 1);
    b->ops->forget(b, 1, 1);
    b->ops->free(b);
    event_base_free(base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sleep_is_the_only_command),
        cmocka_unit_test(a_task_runs_as_long_as_it_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
