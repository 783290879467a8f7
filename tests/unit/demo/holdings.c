/* The demo's own reckoning: it must notice what musterd must never do. */
#include "demo/holdings.h"

#include "base/quantity.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct holdings h;
static int64_t clock_ms;

/* One record; the body is JSON text. */
static void take(const char *kind, const char *body)
{
    json_t *parsed = json_loads(body, 0, NULL);
    json_t *seq = json_sprintf("%lld", (long long)h.seq + 1);
    json_t *record;

    assert_non_null(parsed);
    record = json_pack("{s:o, s:s, s:I, s:I, s:o}", "seq", seq, "kind", kind, "at_ms",
                       (json_int_t)clock_ms, "true_at_ms", (json_int_t)clock_ms, "body", parsed);
    assert_non_null(record);
    holdings_take(&h, record);
    json_decref(record);
}

/* Node 1 is 8 cards of pool h100, node 2 of h100-mig; inference keeps 4. */
static int setup(void **state)
{
    (void)state;
    h = (struct holdings){0};
    clock_ms = 1000;
    take("policy_set",
         "{\"policy\":{\"pools\":[{\"id\":1,\"name\":\"h100\"},{\"id\":2,\"name\":\"h100-mig\"}],"
         "\"queues\":[{\"id\":1,\"name\":\"research\"},{\"id\":3,\"name\":\"inference\","
         "\"quotas\":[{\"pool\":1,\"reserved_gu\":504000}]}],"
         "\"nodes\":[{\"id\":1,\"name\":\"n1\",\"pool\":1},{\"id\":2,\"name\":\"n2\",\"pool\":2}]}"
         "}");
    take("node_seen", "{\"id\":1,\"simulated\":true,\"devices\":[{},{\"slot\":1}]}");
    take("job_submitted", "{\"id\":7,\"name\":\"gang\",\"queue\":1,\"groups\":[{\"tasks\":2}]}");
    take("job_submitted", "{\"id\":8,\"name\":\"one\",\"queue\":1,\"groups\":[{\"tasks\":1}]}");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    holdings_fini(&h);
    return 0;
}

static void start_gang(void)
{
    take("job_started",
         "{\"job\":7,\"attempt\":1,\"pool\":1,\"reserved_gu\":126000,\"borrowed_gu\":126000,"
         "\"tasks\":[{\"node\":1,\"devices\":[{\"gu\":126000}]},"
         "{\"task\":1,\"node\":1,\"devices\":[{\"slot\":1,\"gu\":126000}]}]}");
}

static void a_start_holds_and_an_end_frees(void **state)
{
    (void)state;
    start_gang();
    assert_int_equal(holdings_job_gu(&h, 7), 2 * GU_PER_GPU);
    assert_int_equal(holdings_gu(&h, "h100", "research"), 2 * GU_PER_GPU);
    assert_int_equal(holdings_gu(&h, "h100-mig", NULL), 0);
    assert_int_equal(holdings_cards(&h, "h100"), 2);
    take("task_running", "{\"job\":7,\"attempt\":1}");
    take("task_running", "{\"job\":7,\"attempt\":1,\"task\":1}");
    assert_int_equal(holdings_of(&h, 7)->running, 2);
    take("task_ended", "{\"job\":7,\"attempt\":1}");
    take("task_ended", "{\"job\":7,\"attempt\":1,\"task\":1}");
    take("attempt_ended", "{\"job\":7,\"attempt\":1}");
    assert_null(holdings_row(&h, 7));
    assert_int_equal(holdings_of(&h, 7)->state, HOLDINGS_ENDED);
    assert_string_equal(holdings_of(&h, 7)->outcome, "succeeded");
    assert_int_equal(h.faults, 0);
    assert_int_equal(h.gpus, 2);
    assert_int_equal(h.simulated_gpus, 2);
}

static void a_card_with_two_holders_is_a_fault(void **state)
{
    (void)state;
    start_gang();
    take("job_started", "{\"job\":8,\"attempt\":1,\"pool\":1,\"tasks\":[{\"node\":1,\"devices\":"
                        "[{\"slot\":1,\"gu\":126000}]}]}");
    assert_int_equal(h.faults, 1);
    assert_non_null(strstr(h.fault, "jobs 7 and 8"));
}

static void half_a_gang_is_a_fault(void **state)
{
    (void)state;
    take("job_started", "{\"job\":7,\"attempt\":1,\"pool\":1,\"tasks\":[{\"node\":1,\"devices\":"
                        "[{\"gu\":126000}]}]}");
    assert_int_equal(h.faults, 1);
}

static void what_inference_keeps_is_watched(void **state)
{
    (void)state;
    take("job_started",
         "{\"job\":8,\"attempt\":1,\"pool\":1,\"tasks\":[{\"node\":1,\"devices\":[{\"gu\":126000},"
         "{\"slot\":1,\"gu\":126000},{\"slot\":2,\"gu\":126000},{\"slot\":3,\"gu\":126000}]}]}");
    assert_int_equal(h.faults, 0);
    assert_int_equal(h.lent_most_gu, 4 * GU_PER_GPU);
    take("job_submitted", "{\"id\":9,\"name\":\"more\",\"queue\":1,\"groups\":[{\"tasks\":1}]}");
    take("job_started", "{\"job\":9,\"attempt\":1,\"pool\":1,\"tasks\":[{\"node\":1,\"devices\":"
                        "[{\"slot\":4,\"gu\":126000}]}]}");
    assert_int_equal(h.faults, 1);
}

static void slices_lie_beside_each_other_or_are_a_fault(void **state)
{
    (void)state;
    take("job_started", "{\"job\":8,\"attempt\":1,\"pool\":2,\"tasks\":[{\"node\":2,\"devices\":"
                        "[{\"gu\":15750,\"profile\":\"1g.10gb\",\"start\":3}]}]}");
    take("job_submitted", "{\"id\":9,\"name\":\"half\",\"queue\":1,\"groups\":[{\"tasks\":1}]}");
    take("job_submitted", "{\"id\":10,\"name\":\"bad\",\"queue\":1,\"groups\":[{\"tasks\":1}]}");
    take("job_started", "{\"job\":9,\"attempt\":1,\"pool\":2,\"tasks\":[{\"node\":2,\"devices\":"
                        "[{\"gu\":63000,\"profile\":\"3g.40gb\",\"start\":4}]}]}");
    assert_int_equal(h.faults, 0);
    take("job_started", "{\"job\":10,\"attempt\":1,\"pool\":2,\"tasks\":[{\"node\":2,\"devices\":"
                        "[{\"gu\":63000,\"profile\":\"3g.40gb\"}]}]}");
    assert_int_equal(h.faults, 1);
}

static void lost_work_is_what_ran_since_the_checkpoint(void **state)
{
    (void)state;
    start_gang();
    clock_ms = 5000;
    take("job_checkpointed", "{\"job\":7,\"attempt\":1,\"name\":\"step\"}");
    clock_ms = 6000;
    take("job_claimed", "{\"job\":8,\"victims\":[{\"job\":7,\"attempt\":1,\"lost_gu_ms\":252000000,"
                        "\"cost_gu_ms\":252000001,\"deadline_ms\":9000}]}");
    assert_int_equal(holdings_of(&h, 7)->state, HOLDINGS_STOPPING);
    assert_int_equal(holdings_of(&h, 7)->told_for, 8);
    take("task_ended", "{\"job\":7,\"attempt\":1}");
    clock_ms = 7000;
    take("task_ended", "{\"job\":7,\"attempt\":1,\"task\":1}");
    take("attempt_ended", "{\"job\":7,\"attempt\":1,\"outcome\":\"requeued\",\"lost_gu_ms\":1}");
    assert_int_equal(holdings_of(&h, 7)->unsaved_gu_ms, GU_PER_GPU * (1000 + 2000));
    assert_int_equal(holdings_of(&h, 7)->lost_gu_ms, 1);
    assert_int_equal(holdings_of(&h, 7)->gone_ms, 7000);
    assert_int_equal(holdings_of(&h, 7)->state, HOLDINGS_WAITS);
}

static void an_end_that_holds_gpus_is_a_fault(void **state)
{
    (void)state;
    start_gang();
    take("attempt_ended", "{\"job\":7,\"attempt\":1}");
    assert_int_equal(h.faults, 1);
}

static void a_record_that_is_left_out_is_a_fault(void **state)
{
    json_t *record = json_pack("{s:s, s:s, s:{}}", "seq", "99", "kind", "daemon_stopped", "body");

    (void)state;
    holdings_take(&h, record);
    json_decref(record);
    assert_int_equal(h.faults, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_start_holds_and_an_end_frees, setup, teardown),
        cmocka_unit_test_setup_teardown(a_card_with_two_holders_is_a_fault, setup, teardown),
        cmocka_unit_test_setup_teardown(half_a_gang_is_a_fault, setup, teardown),
        cmocka_unit_test_setup_teardown(what_inference_keeps_is_watched, setup, teardown),
        cmocka_unit_test_setup_teardown(slices_lie_beside_each_other_or_are_a_fault, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(lost_work_is_what_ran_since_the_checkpoint, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(an_end_that_holds_gpus_is_a_fault, setup, teardown),
        cmocka_unit_test_setup_teardown(a_record_that_is_left_out_is_a_fault, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
