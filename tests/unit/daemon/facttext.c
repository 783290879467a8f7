#include "daemon/facttext.h"

#include "base/quantity.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void tells(const struct core *core, enum fact_kind kind, const void *body,
                  const char *wanted)
{
    struct fact fact = {.kind = kind, .body.any = body};
    struct str out = {0};

    facttext_write(core, NULL, &fact, &out);
    assert_string_equal(str_text(&out), wanted);
    str_fini(&out);
}

static void decisions_are_sentences(void **state)
{
    struct core *core = core_new();
    struct fact_grant_device device = {.gu = GU_PER_GPU};
    struct fact_grant grants[] = {{.devices = &device, .device_count = 1},
                                  {.devices = &device, .device_count = 1}};
    struct fact_victim victims[] = {{.job = 4}, {.job = 9, .task_count = 1}};
    struct fact_job_started started = {.job = 3, .attempt = 2, .step = 1, .tasks = grants};
    struct fact_job_claimed claimed = {.job = 3, .tasks = grants, .task_count = 1};
    struct fact_attempt_ended ended = {.job = 3, .attempt = 1, .outcome = OUTCOME_FAILED};

    (void)state;
    started.task_count = 2;
    started.borrowed_gu = GU_PER_GPU;
    started.why.text = "idle GPUs are there";
    tells(core, FACT_JOB_STARTED, &started,
          "job 3 starts on 2 GPUs of pool a pool that is gone, attempt 2, 1 GPU of them borrowed: "
          "idle GPUs are there");
    claimed.victims = victims;
    claimed.victim_count = 2;
    tells(core, FACT_JOB_CLAIMED, &claimed,
          "1 GPU of pool a pool that is gone promised to job 3; told to stop: job 4, 9 (in part)");
    ended.signal = 9;
    tells(core, FACT_ATTEMPT_ENDED, &ended, "job 3, attempt 1 failed, signal 9");
    core_free(core);
}

static void facts_are_sentences(void **state)
{
    struct core *core = core_new();
    struct fact_job_asked asked = {.job = 3, .subject = "p-1", .reason = "too slow"};
    struct fact_task_ended ended = {.job = 3, .attempt = 1, .task = 0, .status = 2};
    struct fact_daemon_state daemon = {.version = "1.0", .frozen = true};

    (void)state;
    tells(core, FACT_JOB_CANCEL, &asked, "job 3 cancelled by p-1: too slow");
    tells(core, FACT_JOB_HELD, &asked, "job 3 held by p-1: too slow");
    tells(core, FACT_TASK_ENDED, &ended, "task 3.1.0 is gone: exit status 2");
    ended.cause = TASK_LOST;
    tells(core, FACT_TASK_ENDED, &ended, "task 3.1.0 is gone: lost");
    tells(core, FACT_DAEMON_STARTED, &daemon, "musterd 1.0 started, frozen");
    core_free(core);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decisions_are_sentences),
        cmocka_unit_test(facts_are_sentences),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
