/* The page of muster top as text. */
#include "cli/toppage.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct toppage page;
static struct toppage_view view;
static struct topdata data;

static int begin(void **state)
{
    (void)state;
    view = (struct toppage_view){.width = 80, .now_ms = 1796054167000};
    data.pools =
        json_loads("[{\"pool\":\"h100\",\"capacity_gu\":\"7056000\",\"capacity_gpus\":\"56\","
                   "\"used_gu\":\"3528000\",\"used_gpus\":\"28\",\"nominated_gu\":\"504000\","
                   "\"nominated_gpus\":\"4\",\"down_gu\":\"1008000\",\"down_gpus\":\"8\","
                   "\"free_gpus\":\"24\",\"simulated\":true}]",
                   0, NULL);
    data.queues = json_loads(
        "[{\"queue\":\"research\",\"parent\":\"\",\"running\":1,\"waiting\":2,\"pools\":"
        "[{\"pool\":\"h100\",\"reserved_gpus\":\"24\",\"used_gpus\":\"28\",\"borrowed_gpus\":\"4\"}"
        "]},{\"queue\":\"nlp\",\"parent\":\"research\",\"leaf\":true,\"running\":1,\"waiting\":2,"
        "\"pools\":[{\"pool\":\"h100\",\"reserved_gpus\":\"8\",\"used_gpus\":\"28\","
        "\"borrowed_gu\":\"504000\",\"borrowed_gpus\":\"4\",\"waiting_gpus\":\"2\"}]}]",
        0, NULL);
    data.jobs = json_loads(
        "[{\"job\":\"9\",\"name\":\"late\",\"user\":\"ada\",\"queue\":\"nlp\",\"state\":\"queued\","
        "\"requested_gpus\":\"1\",\"requested_gu\":\"126000\",\"submitted_ms\":1796054107000,"
        "\"info\":\"waits \\u001b[2J\"},"
        "{\"job\":\"7\",\"name\":\"big\",\"user\":\"bob\",\"queue\":\"nlp\",\"state\":\"running\","
        "\"held_gpus\":\"28\",\"requested_gpus\":\"28\",\"requested_gu\":\"3528000\","
        "\"kind\":\"mixed\",\"split\":\"24+4\",\"submitted_ms\":1796054000000,"
        "\"started_ms\":1796050567000,\"info\":\"n1\"},"
        "{\"job\":\"8\",\"name\":\"held\",\"user\":\"ada\",\"queue\":\"nlp\",\"state\":\"held\","
        "\"requested_gpus\":\"1\",\"submitted_ms\":1796054100000}]",
        0, NULL);
    assert_non_null(data.pools);
    assert_non_null(data.queues);
    assert_non_null(data.jobs);
    return 0;
}

static int end(void **state)
{
    (void)state;
    toppage_fini(&page);
    topdata_fini(&data);
    return 0;
}

static const char *line(size_t i)
{
    static char text[512]; /* a test may keep it until the next call */
    size_t len;

    assert_true(i < page.lines.count);
    snprintf(text, sizeof(text), "%s", str_text(&page.lines.items[i].text));
    for (len = strlen(text); len > 0 && text[len - 1] == ' '; len--) {
        text[len - 1] = '\0';
    }
    return text;
}

static void a_page_of_eighty_columns(void **state)
{
    (void)state;
    toppage_make(&page, &view, &data);
    assert_string_equal(line(0),
                        "muster top (simulated GPUs)  2026-11-30T15:56:07Z  jobs: 1 run, 2 wait");
    assert_string_equal(
        line(1),
        "h100          [##########+~~..........!!!] 28/56 used, 4 borrowed, 24 free, 4 pr");
    assert_string_equal(
        line(2), "QUEUE            POOL       RESERVED     USED BORROWED   LENT WAITING  RUN WAIT");
    assert_string_equal(
        line(3), "research         h100             24       28        4                   1    2");
    assert_string_equal(
        line(4), "  nlp            h100              8       28        4              2    1    2");
    assert_string_equal(line(5), "JOB NAME USER QUEUE ST       GPUS KIND WAIT/RUN INFO");
    assert_string_equal(line(6), "  7 big  bob  nlp   running 28/28 24+4    1h00m n1");
    assert_string_equal(line(7), "  9 late ada  nlp   queued    0/1         1m00s waits ?[2J");
    assert_string_equal(line(8), "  8 held ada  nlp   held      0/1         1m07s");
    assert_int_equal(page.lines.count, 9);
}

static void orders_and_choices_of_jobs(void **state)
{
    (void)state;
    view.no_pools = view.no_queues = true;
    view.sort = TOPPAGE_BY_AGE;
    toppage_make(&page, &view, &data);
    assert_int_equal(strncmp(line(2), "  7", 3), 0);
    assert_int_equal(strncmp(line(3), "  8", 3), 0);
    view.reverse = true;
    toppage_make(&page, &view, &data);
    assert_int_equal(strncmp(line(2), "  9", 3), 0);
    view.reverse = false;
    view.sort = TOPPAGE_BY_USER;
    toppage_make(&page, &view, &data);
    assert_int_equal(strncmp(line(2), "  8", 3), 0);
    view.sort = TOPPAGE_BY_GPUS;
    view.show = TOPPAGE_WAITING;
    toppage_make(&page, &view, &data);
    assert_int_equal(strncmp(line(2), "  9", 3), 0);
    assert_int_equal(page.lines.count, 4);
}

static void any_size_gives_lines_of_that_size(void **state)
{
    (void)state;
    for (int height = 1; height < 30; height++) {
        for (int width = 1; width < 130; width += 7) {
            view.width = width;
            view.height = height;
            view.scroll = SIZE_MAX / 2;
            toppage_make(&page, &view, &data);
            assert_int_equal(page.lines.count, height);
            for (size_t i = 0; i < page.lines.count; i++) {
                assert_true(page.lines.items[i].columns <= width);
            }
        }
    }
}

static void a_low_page_scrolls_its_jobs(void **state)
{
    (void)state;
    view.height = 5;
    view.no_pools = view.no_queues = true;
    toppage_make(&page, &view, &data);
    assert_int_equal(page.jobs_shown, 2);
    view.scroll = 9;
    toppage_make(&page, &view, &data);
    assert_int_equal(view.scroll, 1);
    assert_int_equal(strncmp(line(3), "  8", 3), 0);
    assert_string_equal(line(4), "q quit  ? help  s order: state  w show: all");
}

static void what_is_left_out_is_counted(void **state)
{
    (void)state;
    for (int i = 0; i < 9; i++) {
        json_array_append_new(data.pools, json_pack("{s:s}", "pool", "more"));
    }
    view.height = 24;
    toppage_make(&page, &view, &data);
    assert_string_equal(line(5), "... 6 more pools");
}

static void jobs_that_are_not_shown_are_counted(void **state)
{
    (void)state;
    data.more = true;
    view.width = 120;
    json_object_set_new(json_array_get(data.queues, 1), "waiting", json_integer(3000));
    toppage_make(&page, &view, &data);
    assert_non_null(strstr(line(0), "  jobs: 1 run, 3000 wait, not all are shown"));
    view.filter.queue = "nlp";
    toppage_make(&page, &view, &data);
    assert_non_null(strstr(line(0), "  jobs: 1 run, 2 wait, not all are shown"));
}

static void nothing_known_yet_is_a_page_too(void **state)
{
    struct topdata none = {0};

    (void)state;
    view.message = "musterd is away (3s)";
    view.height = 24;
    toppage_make(&page, &view, &none);
    assert_string_equal(
        line(0), "muster top  musterd is away (3s)  2026-11-30T15:56:07Z  jobs: 0 run, 0 wait");
    view.help = true;
    toppage_make(&page, &view, &none);
    assert_string_equal(line(1), "q           quit");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_page_of_eighty_columns, begin, end),
        cmocka_unit_test_setup_teardown(orders_and_choices_of_jobs, begin, end),
        cmocka_unit_test_setup_teardown(any_size_gives_lines_of_that_size, begin, end),
        cmocka_unit_test_setup_teardown(a_low_page_scrolls_its_jobs, begin, end),
        cmocka_unit_test_setup_teardown(what_is_left_out_is_counted, begin, end),
        cmocka_unit_test_setup_teardown(jobs_that_are_not_shown_are_counted, begin, end),
        cmocka_unit_test_setup_teardown(nothing_known_yet_is_a_page_too, begin, end),
    };

    setlocale(LC_ALL, "C.UTF-8");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
