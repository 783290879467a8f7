/* why, as people read it, and its exit status. */
#include "cli/explain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char *shown;

static const char *show(const char *job_text, const char *why_text)
{
    struct view view = {.now_ms = 1080000 + 1000};
    json_t *job = job_text != NULL ? json_loads(job_text, 0, NULL) : NULL;
    json_t *why = json_loads(why_text, 0, NULL);
    size_t len;
    FILE *out;

    free(shown);
    out = open_memstream(&shown, &len);
    assert_non_null(why);
    explain_print(&view, job, why, out);
    fclose(out);
    json_decref(job);
    json_decref(why);
    return shown;
}

static int status(const char *why_text)
{
    json_t *why = json_loads(why_text, 0, NULL);
    int value = explain_exit_status(why);

    json_decref(why);
    return value;
}

static int end(void **state)
{
    (void)state;
    free(shown);
    shown = NULL;
    return 0;
}

static void a_waiting_job_lists_all_its_blockers(void **state)
{
    (void)state;
    assert_string_equal(
        show("{\"job\":\"17\",\"request\":\"32 × 1 GPU\",\"queue\":\"research\","
             "\"submitted_ms\":1000}",
             "{\"job\":\"17\",\"state\":\"queued\",\"summary\":\"waits for 8 GPUs\",\"blockers\":["
             "{\"code\":\"why.no_idle\",\"text\":\"24 of 32 are free\",\"remedy\":\"--tasks 24\","
             "\"jobs\":[\"4\",\"9\"]},{\"code\":\"why.ahead\",\"text\":\"job 12 is first\"}],"
             "\"earliest_ms\":1796054167000,\"latest_ms\":1796054227000,"
             "\"decision\":{\"seq\":\"40\",\"rule\":\"3\",\"text\":\"waits\","
             "\"numbers\":{\"need_gu\":\"1008000\",\"waited_ms\":1500,"
             "\"lost_gu_ms\":\"252000000\",\"candidates\":3}}}"),
        "queued 18m00s  needs 32 × 1 GPU, queue research\n"
        "waits for 8 GPUs\n"
        " 1 no_idle          24 of 32 are free (job 4,9)  blocks\n"
        " 2 ahead            job 12 is first  waits\n"
        " would start: --tasks 24 · est. 2026-11-30T15:56:07Z–2026-11-30T15:57:07Z\n"
        " last decision: waits (rule 3, journal 40, need 8 GPUs, waited 1s, lost 2 GPU-s, "
        "candidates 3)\n");
}

static void a_running_job_has_a_short_answer(void **state)
{
    (void)state;
    assert_string_equal(show(NULL, "{\"state\":\"running\",\"summary\":\"runs on n1\","
                                   "\"blockers\":[],\"decision\":{}}"),
                        "runs on n1\n");
}

static void the_status_says_it_to_scripts(void **state)
{
    (void)state;
    assert_int_equal(status("{\"state\":\"running\",\"blockers\":[]}"), 0);
    assert_int_equal(status("{\"state\":\"queued\",\"blockers\":[]}"), 0);
    assert_int_equal(status("{\"state\":\"queued\",\"blockers\":[{\"code\":\"why.starts_now\"}]}"),
                     0);
    assert_int_equal(status("{\"state\":\"queued\",\"blockers\":[{\"code\":\"why.ahead\"}]}"), 3);
    assert_int_equal(status("{\"state\":\"held\",\"blockers\":[{\"code\":\"why.held\"}]}"), 3);
    assert_int_equal(status("{\"state\":\"queued\",\"blockers\":[{\"code\":\"why.ahead\"},"
                            "{\"code\":\"why.never\"}]}"),
                     4);
    assert_int_equal(status("{\"state\":\"queued\",\"blockers\":[{\"code\":\"why.new_one\"}]}"), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_waiting_job_lists_all_its_blockers, end),
        cmocka_unit_test_teardown(a_running_job_has_a_short_answer, end),
        cmocka_unit_test_teardown(the_status_says_it_to_scripts, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
