/* The text that Prometheus reads. */
#include "http/tally.h"

#include "http/route.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void counts_and_times_add_up(void **state)
{
    struct tally *t = tally_new();
    struct str out = {0};

    (void)state;
    tally_request(t, SERVICE_JOB_LIST, 200, 90);
    tally_request(t, SERVICE_JOB_LIST, 200, 1100);
    tally_request(t, SERVICE_JOB_LIST, 599, 20000000);
    tally_request(t, -1, 404, 5);
    tally_request(t, SERVICE_EVENTS, 200, -1);
    tally_connection(t, 1);
    tally_connection(t, 1);
    tally_connection(t, -1);
    tally_refused(t);
    tally_text(t, &out);
#define HAS(line) assert_non_null(strstr(out.text, line "\n"))
    HAS("muster_http_requests_total{op=\"job_list\",code=\"200\"} 2");
    HAS("muster_http_requests_total{op=\"job_list\",code=\"0\"} 1");
    HAS("muster_http_requests_total{op=\"none\",code=\"404\"} 1");
    HAS("muster_http_requests_total{op=\"events\",code=\"200\"} 1");
    HAS("muster_http_request_seconds_bucket{op=\"job_list\",le=\"0.000100\"} 1");
    HAS("muster_http_request_seconds_bucket{op=\"job_list\",le=\"0.001000\"} 1");
    HAS("muster_http_request_seconds_bucket{op=\"job_list\",le=\"0.002500\"} 2");
    HAS("muster_http_request_seconds_bucket{op=\"job_list\",le=\"10.000000\"} 2");
    HAS("muster_http_request_seconds_bucket{op=\"job_list\",le=\"+Inf\"} 3");
    HAS("muster_http_request_seconds_sum{op=\"job_list\"} 20.001190");
    HAS("muster_http_request_seconds_count{op=\"job_list\"} 3");
    HAS("muster_http_connections 1");
    HAS("muster_http_connections_total 2");
    HAS("muster_http_connections_refused_total 1");
    assert_null(strstr(out.text, "seconds_count{op=\"events\"}")); /* streams are not timed */
    str_fini(&out);
    tally_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_and_times_add_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
