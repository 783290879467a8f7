#include "sim/replay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[] = "/tmp/muster-replay-XXXXXX";

static void put(const char *text)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void what_is_written_is_read(void **state)
{
    struct seeded_options options = {.seed = 9,
                                     .events = 300,
                                     .faults = SEEDED_FAULT(CRASH) | SEEDED_FAULT(NODE)};
    struct seeded_options got;
    struct seeded_cut cut, got_cut;
    int64_t i;

    (void)state;
    replay_cut_init(&cut, options.events);
    options.cut = &cut;
    for (i = 0; i < options.events; i++) {
        cut.events[i] = i % 7 != 0;
        cut.quiets[i] = true;
    }
    cut.quiets[SEEDED_QUIET_EVERY - 1] = false;
    cut.nodes = 4;
    cut.queues = 8 | 32;
    assert_int_equal(replay_write(path, &options, "it failed\nbadly", NULL), 0);
    assert_int_equal(replay_read(path, &got, &got_cut, NULL), 0);
    assert_int_equal(got.seed, 9);
    assert_int_equal(got.events, 300);
    assert_int_equal(got.faults, options.faults);
    assert_ptr_equal(got.cut, &got_cut);
    assert_int_equal(got_cut.nodes, 4);
    assert_int_equal(got_cut.queues, 8 | 32);
    assert_memory_equal(got_cut.events, cut.events, 300 * sizeof(bool));
    assert_memory_equal(got_cut.quiets, cut.quiets, 300 * sizeof(bool));
    replay_cut_fini(&cut);
    replay_cut_fini(&got_cut);
}

static void a_file_of_another_kind_is_refused_with_its_line(void **state)
{
    static const struct {
        const char *text;
        const char *says;
    } ROWS[] = {
        {"seed 1\n", "muster-sim replay 1"},
        {"muster-sim replay 1\nseed 1\n", "no line of events"},
        {"muster-sim replay 1\nevents 0\n", ":2: events"},
        {"muster-sim replay 1\nevents 10\nfaults fire\n", ":3: no fault \"fire\""},
        {"muster-sim replay 1\nevents 10\ndrop pool 1\n", "\"pool\" cannot be dropped"},
        {"muster-sim replay 1\nseed 1\nevents 10\nevent 11 submit\n", "no number from 1 to 10"},
        {"muster-sim replay 1\nseed 1\nevents 10\nevent 1 dance\n", "not \"dance\""},
        {"muster-sim replay 1\nevent 1 submit\n", ":2: event"},
        {"muster-sim replay 1\nevents 10\nleap 3\n", "\"leap\""},
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        struct seeded_options options;
        struct seeded_cut cut;
        struct err err = {0};

        put(ROWS[i].text);
        assert_true(replay_read(path, &options, &cut, &err) < 0);
        if (strstr(err.text, ROWS[i].says) == NULL) {
            fail_msg("%s: says %s", ROWS[i].text, err.text);
        }
    }
}

static void faults_have_names(void **state)
{
    struct str text = {0};
    struct err err = {0};
    unsigned faults = 0;

    (void)state;
    assert_int_equal(seeded_faults_parse("crash,clock", &faults, &err), 0);
    assert_int_equal(faults, SEEDED_FAULT(CRASH) | SEEDED_FAULT(CLOCK));
    seeded_faults_print(faults, &text);
    assert_string_equal(text.text, "crash,clock");
    assert_int_equal(seeded_faults_parse("all", &faults, &err), 0);
    assert_int_equal(faults, SEEDED_ALL_FAULTS);
    assert_int_equal(seeded_faults_parse("none", &faults, &err), 0);
    assert_int_equal(faults, 0);
    assert_int_equal(seeded_faults_parse("crash,", &faults, &err), ERR_INVALID);
    assert_non_null(strstr(err.text, "there is all, none, crash"));
    str_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(a_file_of_another_kind_is_refused_with_its_line),
        cmocka_unit_test(faults_have_names),
    };
    int fd = mkstemp(path);
    int failed;

    if (fd < 0) {
        perror(path);
        return 1;
    }
    (void)close(fd);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)unlink(path);
    return failed;
}
