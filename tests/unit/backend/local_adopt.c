#include "backend/local/local.h"

#include "local_fixture.h"

#include "backend/local/proctree.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int64_t number_after(const char *text, const char *word)
{
    const char *at = strstr(text, word);

    return at == NULL ? 0 : strtoll(at + strlen(word), NULL, 10);
}

static int64_t shepherd_pid(const struct fixture *f)
{
    return number_after(fixture_read(fixture_path(f, "state/attempts/7.1/0.1/shepherd.json")),
                        "\"pid\":");
}

static int64_t child_pid(const struct fixture *f)
{
    return number_after(fixture_read(fixture_path(f, "state/attempts/7.1/0.1/shepherd.json")),
                        "\"child\":");
}

static bool lives(int64_t pid)
{
    return pid > 1 && proctree_start((pid_t)pid) != 0;
}

static void start_running(struct fixture *f, const char *script)
{
    fixture_shell(f, script);
    fixture_start(f);
    fixture_wait(f, FACT_TASK_RUNNING, 0);
}

static void wait_gone(int64_t pid)
{
    for (int i = 0; i < 6000 && lives(pid); i++) {
        usleep(10000);
    }
    assert_false(lives(pid));
}

static void a_running_task_is_adopted_and_obeys(void **state)
{
    struct fixture *f = *state;

    start_running(f, "trap 'exit 9' TERM; touch $MUSTER_CHECKPOINT_DIR/up;"
                     "while :; do sleep 0.05; done");
    fixture_wait_file(f, fixture_path(f, "state/checkpoints/7/up"));
    fixture_restart(f);
    fixture_adopt(f, 1);
    fixture_wait(f, FACT_TASK_RUNNING, 0);
    fixture_signal(f, (struct backend_signal){.number = SIGTERM, .deadline_ms = 1});
    assert_int_equal(fixture_wait(f, FACT_TASK_ENDED, 0)->status, 9);
}

static void an_end_without_musterd_is_told_with_its_true_time(void **state)
{
    struct fixture *f = *state;
    const struct fixture_fact *end;
    int64_t pid;

    start_running(f, "sleep 0.2; exit 4");
    pid = shepherd_pid(f);
    fixture_close(f);
    f->fact_count = 0;
    wait_gone(pid);
    fixture_open(f);
    fixture_adopt(f, 1);
    end = fixture_wait(f, FACT_TASK_ENDED, 0);
    assert_int_equal(end->cause, TASK_EXITED);
    assert_int_equal(end->status, 4);
    assert_true(end->true_at_ms > 0);
}

static void a_supervisor_killed_without_musterd_is_found_out(void **state)
{
    struct fixture *f = *state;
    int64_t child;

    start_running(f, "sleep 1000");
    child = child_pid(f);
    fixture_close(f);
    f->fact_count = 0;
    assert_int_equal(kill((pid_t)shepherd_pid(f), SIGKILL), 0);
    assert_true(lives(child));
    fixture_open(f);
    fixture_adopt(f, 1);
    assert_int_equal(fixture_wait(f, FACT_TASK_ENDED, 0)->cause, TASK_LOST);
    assert_false(lives(child));
}

static void a_pid_that_was_given_to_somebody_else_is_left_alone(void **state)
{
    struct fixture *f = *state;
    char path[256];
    int64_t pid;
    FILE *out;

    start_running(f, "exit 0");
    fixture_wait(f, FACT_TASK_ENDED, 0);
    fixture_close(f);
    f->fact_count = 0;
    snprintf(path, sizeof(path), "%s", fixture_path(f, "state/attempts/7.1/0.1/exit.json"));
    assert_int_equal(unlink(path), 0);
    snprintf(path, sizeof(path), "%s", fixture_path(f, "state/attempts/7.1/0.1/shepherd.json"));
    pid = fork();
    if (pid == 0) {
        pause();
        _exit(0);
    }
    out = fopen(path, "w");
    assert_non_null(out);
    fprintf(out,
            "{\"boot\":\"\",\"pid\":%d,\"start\":1,\"child\":%d,\"child_start\":1,\"mark\":\"\","
            "\"cgroup\":\"\"}",
            (int)pid, (int)pid);
    fclose(out);
    fixture_open(f);
    fixture_adopt(f, 1);
    assert_int_equal(fixture_wait(f, FACT_TASK_ENDED, 0)->cause, TASK_LOST);
    assert_true(lives(pid));
    kill((pid_t)pid, SIGKILL);
}

static void what_was_never_started_is_lost(void **state)
{
    struct fixture *f = *state;

    fixture_adopt(f, 2);
    assert_int_equal(fixture_wait(f, FACT_TASK_ENDED, 0)->cause, TASK_LOST);
    assert_int_equal(fixture_wait(f, FACT_TASK_ENDED, 1)->cause, TASK_LOST);
}

static void what_nobody_knows_is_stopped_and_removed_in_silence(void **state)
{
    struct fixture *f = *state;
    int64_t child;

    start_running(f, "trap '' TERM; sleep 1000");
    child = child_pid(f);
    fixture_restart(f);
    fixture_adopt(f, 0);
    for (int i = 0; i < 6000 && access(fixture_path(f, "state/attempts/7.1"), F_OK) == 0; i++) {
        fixture_run_ms(f, 10);
    }
    assert_int_not_equal(access(fixture_path(f, "state/attempts/7.1"), F_OK), 0);
    assert_false(lives(child));
    assert_int_equal(f->fact_count, 0);
}

static void a_repeated_start_after_a_restart_starts_nothing(void **state)
{
    struct fixture *f = *state;

    start_running(f, "echo once; sleep 0.3");
    fixture_restart(f);
    fixture_adopt(f, 1);
    fixture_start(f);
    fixture_wait(f, FACT_TASK_ENDED, 0);
    fixture_run_ms(f, 100);
    assert_string_equal(fixture_log(f, 0, false), "once\n");
}

static void a_checkpoint_made_without_musterd_is_told(void **state)
{
    struct fixture *f = *state;
    int64_t before;
    int go;

    start_running(f, "cd $MUSTER_CHECKPOINT_DIR; while [ ! -e ../../go ]; do sleep 0.05; done;"
                     "echo 1 > .a; mv .a step-1; sleep 1000");
    fixture_close(f);
    f->fact_count = 0;
    go = open(fixture_path(f, "state/go"), O_CREAT | O_WRONLY, 0644);
    assert_true(go >= 0);
    close(go);
    for (int i = 0; i < 6000 && access(fixture_path(f, "state/checkpoints/7/step-1"), F_OK) != 0;
         i++) {
        usleep(10000);
    }
    fixture_open(f);
    before = (int64_t)time(NULL) * 1000;
    fixture_adopt(f, 1);
    assert_string_equal(fixture_wait(f, FACT_JOB_CHECKPOINTED, 0)->text, "step-1");
    assert_true(fixture_find(f, FACT_JOB_CHECKPOINTED, 0)->true_at_ms < before + 1000);
}

static void many_tasks_at_once_all_end(void **state)
{
    struct fixture *f = *state;

    fixture_shell(f, "exit $RANK");
    f->job.task_count = FIXTURE_TASKS_MAX;
    fixture_start(f);
    for (int64_t i = 0; i < FIXTURE_TASKS_MAX; i++) {
        assert_int_equal(fixture_wait(f, FACT_TASK_ENDED, i)->status, i);
    }
}

#define LOCAL_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOCAL_TEST(a_running_task_is_adopted_and_obeys),
        LOCAL_TEST(an_end_without_musterd_is_told_with_its_true_time),
        LOCAL_TEST(a_supervisor_killed_without_musterd_is_found_out),
        LOCAL_TEST(a_pid_that_was_given_to_somebody_else_is_left_alone),
        LOCAL_TEST(what_was_never_started_is_lost),
        LOCAL_TEST(what_nobody_knows_is_stopped_and_removed_in_silence),
        LOCAL_TEST(a_repeated_start_after_a_restart_starts_nothing),
        LOCAL_TEST(a_checkpoint_made_without_musterd_is_told),
        LOCAL_TEST(many_tasks_at_once_all_end),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
