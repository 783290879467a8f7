#include "sim/relay.h"

#include "backend/virtual/virtual.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct stage {
    struct backend *inner;
    struct relay relay;
    int told;
};

static void count(void *ctx, const struct fact *fact)
{
    (void)fact;
    ((struct stage *)ctx)->told++;
}

static void stage_init(struct stage *s)
{
    *s = (struct stage){.inner = virtual_new("local")};
    relay_init(&s->relay, s->inner);
    s->relay.base.sink = count;
    s->relay.base.sink_ctx = s;
}

static void stage_fini(struct stage *s)
{
    relay_fini(&s->relay);
    s->inner->ops->free(s->inner);
}

static struct fact_grant_device device = {.slot = 3, .gu = 126000, .profile = ""};
static struct fact_grant grant = {.task = 0, .node = 7, .devices = &device, .device_count = 1};

static void note_start(struct stage *s)
{
    const struct fact_job_started body = {
        .job = 5, .attempt = 1, .step = 1, .tasks = &grant, .task_count = 1};
    const struct fact fact = {.kind = FACT_JOB_STARTED, .body.as_JOB_STARTED = &body};

    relay_note(&s->relay, &fact);
}

static int start(struct stage *s, const struct fact_grant *tasks)
{
    const struct backend_job job = {
        .job = 5, .attempt = 1, .step = 1, .tasks = tasks, .task_count = 1};

    return s->relay.base.ops->start(&s->relay.base, &job, NULL);
}

static void a_start_that_is_durable_goes_through(void **state)
{
    struct stage s;

    (void)state;
    stage_init(&s);
    note_start(&s);
    assert_int_equal(start(&s, &grant), 0);
    assert_string_equal(s.relay.complaint, "");
    assert_int_equal(s.told, 1); /* it runs */
    stage_fini(&s);
}

static void calls_ahead_of_the_journal_are_named(void **state)
{
    const struct backend_signal stop = {.job = 5, .attempt = 1};
    struct fact_grant other = grant;
    struct stage s;

    (void)state;
    stage_init(&s);
    assert_int_equal(start(&s, &grant), 0);
    assert_string_equal(s.relay.complaint, "start of attempt 5.1 without a durable decision");
    stage_fini(&s);

    stage_init(&s);
    note_start(&s);
    other.node = 8; /* decided, but not there */
    assert_int_equal(start(&s, &other), 0);
    assert_string_equal(s.relay.complaint, "start of attempt 5.1 without a durable decision");
    stage_fini(&s);

    stage_init(&s);
    assert_int_equal(s.relay.base.ops->signal(&s.relay.base, &stop, NULL), 0);
    assert_string_equal(s.relay.complaint, "signal of attempt 5.1 without a durable decision");
    stage_fini(&s);

    stage_init(&s);
    assert_int_equal(s.relay.base.ops->kill(&s.relay.base, 5, 1, NULL, 0, NULL), 0);
    assert_string_equal(s.relay.complaint, "kill of attempt 5.1 without a durable decision");
    stage_fini(&s);
}

static void a_daemon_that_is_down_is_neither_heard_nor_told(void **state)
{
    struct stage s;

    (void)state;
    stage_init(&s);
    s.relay.down = true;
    assert_int_equal(start(&s, &grant), 0);
    assert_string_equal(s.relay.complaint, "");
    assert_int_equal(virtual_task_count(s.inner), 0);
    s.relay.down = false;
    note_start(&s);
    assert_int_equal(start(&s, &grant), 0);
    s.relay.down = true;
    virtual_end_job(s.inner, 5, 0);
    assert_int_equal(s.told, 1);
    stage_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_start_that_is_durable_goes_through),
        cmocka_unit_test(calls_ahead_of_the_journal_are_named),
        cmocka_unit_test(a_daemon_that_is_down_is_neither_heard_nor_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
