#include "backend/local/local.h"

#include "local_fixture.h"

#include "backend/local/proctree.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool lives(int64_t pid)
{
    return pid > 1 && proctree_start((pid_t)pid) != 0;
}

static void a_task_runs_and_its_exit_status_is_told(void **state)
{
    struct fixture *f = *state;
    const struct fixture_fact *end;

    fixture_shell(f, "echo hello; echo oops >&2; exit 3");
    fixture_start(f);
    end = fixture_wait(f, FACT_TASK_ENDED, 0);
    assert_non_null(fixture_find(f, FACT_TASK_RUNNING, 0));
    assert_int_equal(end->cause, TASK_EXITED);
    assert_int_equal(end->status, 3);
    assert_true(end->true_at_ms > 0);
    assert_string_equal(fixture_log(f, 0, false), "hello\n");
    assert_string_equal(fixture_log(f, 0, true), "oops\n");
}

static void a_death_by_a_signal_is_told_as_such(void **state)
{
    struct fixture *f = *state;
    const struct fixture_fact *end;

    fixture_shell(f, "kill -SEGV $$");
    fixture_start(f);
    end = fixture_wait(f, FACT_TASK_ENDED, 0);
    assert_int_equal(end->cause, TASK_SIGNALLED);
    assert_int_equal(end->status, SIGSEGV);
}

static void a_program_that_is_not_there_ends_as_in_a_shell(void **state)
{
    struct fixture *f = *state;

    f->argv[0] = "no-such-program";
    f->job.spec.arg_count = 1;
    fixture_start(f);
    assert_int_equal(fixture_wait(f, FACT_TASK_ENDED, 0)->status, 127);
    assert_non_null(strstr(fixture_log(f, 0, true), "cannot run no-such-program"));
}

static void a_directory_that_is_not_there_refuses_the_task(void **state)
{
    struct fixture *f = *state;
    const struct fixture_fact *refused;

    fixture_shell(f, "true");
    f->job.spec.dir = "/no/such/dir";
    fixture_start(f);
    refused = fixture_wait(f, FACT_TASK_REFUSED, 0);
    assert_non_null(strstr(refused->text, "/no/such/dir"));
    assert_false(refused->node_fault);
    assert_null(fixture_find(f, FACT_TASK_ENDED, 0));
}

static void a_repeated_start_does_nothing(void **state)
{
    struct fixture *f = *state;

    fixture_shell(f, "echo once; exit 0");
    fixture_start(f);
    fixture_start(f);
    fixture_wait(f, FACT_TASK_ENDED, 0);
    fixture_start(f);
    fixture_run_ms(f, 200);
    assert_string_equal(fixture_log(f, 0, false), "once\n");
    assert_int_equal(f->fact_count, 2);
}

static void a_script_runs_with_arguments_by_what_its_first_line_names(void **state)
{
    struct fixture *f = *state;

    f->argv[0] = "one";
    f->argv[1] = "two words";
    f->job.spec.arg_count = 2;
    f->job.spec.script = "#!/bin/sh -e\necho \"$1/$2/$#\"\n";
    fixture_start(f);
    assert_int_equal(fixture_wait(f, FACT_TASK_ENDED, 0)->status, 0);
    assert_string_equal(fixture_log(f, 0, false), "one/two words/2\n");
}

static void the_deadline_is_there_before_the_signal(void **state)
{
    struct fixture *f = *state;
    const struct fixture_fact *end;

    fixture_shell(f,
                  "trap 'cat $MUSTER_PREEMPT_FILE; exit 42' TERM; touch $MUSTER_CHECKPOINT_DIR/up;"
                  "while :; do sleep 0.05; done");
    fixture_start(f);
    fixture_wait_file(f, fixture_path(f, "state/checkpoints/7/up"));
    fixture_signal(f, (struct backend_signal){.deadline_ms = 1764518400123,
                                              .reason = "reclaimed by job 9"});
    end = fixture_wait(f, FACT_TASK_ENDED, 0);
    assert_int_equal(end->status, 42);
    assert_string_equal(fixture_log(f, 0, false),
                        "1764518400123\n2025-11-30T16:00:00.123Z\nreclaimed by job 9\n");
}

static void one_that_ignores_the_signal_is_killed(void **state)
{
    struct fixture *f = *state;
    const struct fixture_fact *end;

    fixture_shell(f, "trap '' TERM; touch $MUSTER_CHECKPOINT_DIR/up; while :; do sleep 0.05; done");
    fixture_start(f);
    fixture_wait_file(f, fixture_path(f, "state/checkpoints/7/up"));
    fixture_signal(f, (struct backend_signal){.number = SIGTERM, .deadline_ms = 1});
    fixture_run_ms(f, 300);
    assert_null(fixture_find(f, FACT_TASK_ENDED, 0));
    assert_int_equal(f->backend->ops->kill(f->backend, 7, 1, NULL, 0, NULL), 0);
    end = fixture_wait(f, FACT_TASK_ENDED, 0);
    assert_int_equal(end->cause, TASK_SIGNALLED);
    assert_int_equal(end->status, SIGKILL);
}

static const char LEAVES_SESSION[] =
    "setsid sh -c 'trap \"\" TERM HUP; echo $$ > $MUSTER_CHECKPOINT_DIR/stray.new;"
    " mv $MUSTER_CHECKPOINT_DIR/stray.new $MUSTER_CHECKPOINT_DIR/stray;"
    " while :; do sleep 0.05; done' & ";

static void what_left_the_session_is_found_and_killed(void **state)
{
    struct fixture *f = *state;
    char script[512];
    int64_t pid;

    snprintf(script, sizeof(script),
             "%s while [ ! -e $MUSTER_CHECKPOINT_DIR/stray ]; do"
             " sleep 0.02; done; exit 5",
             LEAVES_SESSION);
    fixture_shell(f, script);
    fixture_start(f);
    fixture_wait_file(f, fixture_path(f, "state/checkpoints/7/stray"));
    pid = fixture_number(fixture_path(f, "state/checkpoints/7/stray"));
    assert_true(lives(pid));
    assert_int_equal(fixture_wait(f, FACT_TASK_ENDED, 0)->status, 5);
    assert_false(lives(pid));
}

static int64_t shepherd_pid(const struct fixture *f)
{
    const char *at =
        strstr(fixture_read(fixture_path(f, "state/attempts/7.1/0.1/shepherd.json")), "\"pid\":");

    return at == NULL ? 0 : strtoll(at + 6, NULL, 10);
}

static void a_killed_supervisor_takes_its_tree_with_it(void **state)
{
    struct fixture *f = *state;
    char script[512];
    int64_t pid;

    snprintf(script, sizeof(script), "%s sleep 1000", LEAVES_SESSION);
    fixture_shell(f, script);
    fixture_start(f);
    fixture_wait(f, FACT_TASK_RUNNING, 0);
    fixture_wait_file(f, fixture_path(f, "state/checkpoints/7/stray"));
    pid = fixture_number(fixture_path(f, "state/checkpoints/7/stray"));
    assert_true(lives(pid));
    assert_true(lives(shepherd_pid(f)));
    assert_int_equal(kill((pid_t)shepherd_pid(f), SIGKILL), 0);
    assert_int_equal(fixture_wait(f, FACT_TASK_ENDED, 0)->cause, TASK_LOST);
    assert_false(lives(pid));
}

static void a_stopped_supervisor_does_not_save_its_task(void **state)
{
    struct fixture *f = *state;

    fixture_shell(f, "sleep 1000");
    fixture_start(f);
    fixture_wait(f, FACT_TASK_RUNNING, 0);
    assert_int_equal(kill((pid_t)shepherd_pid(f), SIGSTOP), 0);
    assert_int_equal(f->backend->ops->kill(f->backend, 7, 1, NULL, 0, NULL), 0);
    assert_int_equal(fixture_wait(f, FACT_TASK_ENDED, 0)->cause, TASK_LOST);
}

static void without_a_control_group_the_mark_finds_the_tree(void **state)
{
    struct fixture *f = *state;

    fixture_close(f);
    f->config.cgroup = "";
    fixture_open(f);
    a_killed_supervisor_takes_its_tree_with_it(state);
}

static void a_renamed_checkpoint_is_told_and_a_hidden_one_is_not(void **state)
{
    struct fixture *f = *state;
    const struct fixture_fact *saved;

    fixture_shell(f, "cd $MUSTER_CHECKPOINT_DIR; echo 1 > .part; mv .part .hidden; echo 2 > .part;"
                     "mv .part step-2; mkdir .dir; mv .dir step-3; exit 0");
    fixture_start(f);
    fixture_wait(f, FACT_TASK_ENDED, 0);
    assert_int_equal(f->fact_count, 4);
    saved = &f->facts[1];
    assert_int_equal(saved->kind, FACT_JOB_CHECKPOINTED);
    assert_string_equal(saved->text, "step-2");
    assert_int_equal(saved->job, 7);
    assert_true(saved->true_at_ms > 0 && saved->true_at_ms <= f->facts[3].true_at_ms);
    assert_string_equal(f->facts[2].text, "step-3");
}

static void a_flood_of_checkpoints_does_not_fill_the_journal(void **state)
{
    struct fixture *f = *state;
    size_t told = 0;

    fixture_shell(f, "cd $MUSTER_CHECKPOINT_DIR; i=0; while [ $i -lt 300 ]; do i=$((i+1));"
                     " : > .a; mv .a step-$i; done; exit 0");
    fixture_start(f);
    fixture_wait(f, FACT_TASK_ENDED, 0);
    for (size_t i = 0; i < f->fact_count; i++) {
        told += f->facts[i].kind == FACT_JOB_CHECKPOINTED;
    }
    assert_in_range(told, 2, 60);
    assert_string_equal(f->facts[f->fact_count - 2].text, "step-300");
    assert_int_equal(f->facts[f->fact_count - 1].kind, FACT_TASK_ENDED);
}

static void the_word_done_is_told_before_the_end(void **state)
{
    struct fixture *f = *state;

    fixture_shell(f, "echo done > $MUSTER_STATUS_FILE; exit 0");
    fixture_start(f);
    fixture_wait(f, FACT_TASK_ENDED, 0);
    assert_int_equal(f->fact_count, 3);
    assert_int_equal(f->facts[1].kind, FACT_JOB_DONE);
    assert_int_equal(f->facts[2].kind, FACT_TASK_ENDED);
}

static void logs_are_rings_that_cannot_fill_the_disk(void **state)
{
    struct fixture *f = *state;
    struct local_log which = {.job = 7, .attempt = 1, .task = 0};
    int64_t total = 0;
    struct stat st;

    fixture_close(f);
    f->config.log_file_bytes = 100000;
    f->config.log_files = 3;
    fixture_open(f);
    fixture_shell(f, "yes 0123456789 | head -c 5000000; echo last");
    fixture_start(f);
    assert_int_equal(fixture_wait(f, FACT_TASK_ENDED, 0)->status, 0);
    for (which.age = 0; which.age < 4; which.age++) {
        CLEANUP(mem_freep) char *path = local_log_path(f->backend, &which);

        if (stat(path, &st) == 0) {
            total += st.st_size;
        }
    }
    assert_in_range(total, 200000, 300000);
    assert_non_null(strstr(fixture_log(f, 0, false), "last\n"));
}

static void the_jobs_own_output_file_is_written_too(void **state)
{
    struct fixture *f = *state;
    char pattern[128];

    snprintf(pattern, sizeof(pattern), "%s/out-%%j-%%t-%%x.txt", f->dir);
    f->job.spec.output = pattern;
    fixture_shell(f, "echo one; echo two >&2");
    fixture_start(f);
    fixture_wait(f, FACT_TASK_ENDED, 0);
    assert_non_null(strstr(fixture_read(fixture_path(f, "out-7-0-train.txt")), "one\n"));
    assert_non_null(strstr(fixture_read(fixture_path(f, "out-7-0-train.txt")), "two\n"));
    assert_string_equal(fixture_log(f, 0, false), "one\n");
}

static void growth_starts_the_new_tasks_only_and_a_shrink_is_seen(void **state)
{
    struct fixture *f = *state;
    const struct backend_task second[] = {{1, 0}};
    const char *file = "state/attempts/7.1/job/tasks.json";

    fixture_shell(f, "touch $MUSTER_CHECKPOINT_DIR/up-$MUSTER_TASK; echo up; exec sleep 1000");
    fixture_start(f);
    fixture_wait(f, FACT_TASK_RUNNING, 0);
    assert_non_null(strstr(fixture_read(fixture_path(f, file)), "\"world_size\": 1"));
    f->job.step = 2;
    f->job.task_count = 2;
    f->tasks[0].step = 1;
    fixture_start(f);
    fixture_wait(f, FACT_TASK_RUNNING, 1);
    assert_non_null(strstr(fixture_read(fixture_path(f, file)), "\"world_size\": 2"));
    fixture_signal(f, (struct backend_signal){.tasks = second, .task_count = 1});
    assert_non_null(strstr(fixture_read(fixture_path(f, file)), "\"world_size\": 1"));
    fixture_wait(f, FACT_TASK_ENDED, 1);
    assert_null(fixture_find(f, FACT_TASK_ENDED, 0));
    f->job.step = 3;
    f->fact_count = 0;
    fixture_start(f);
    fixture_wait(f, FACT_TASK_RUNNING, 1);
    assert_null(fixture_find(f, FACT_TASK_RUNNING, 0));
}

static void a_number_in_a_later_step_is_another_task(void **state)
{
    struct fixture *f = *state;
    const struct backend_task old[] = {{0, 1}};
    const struct backend_task new[] = {{0, 2}};

    fixture_shell(f, "exec sleep 1000");
    fixture_start(f);
    assert_int_equal(fixture_wait(f, FACT_TASK_RUNNING, 0)->step, 1);
    assert_int_equal(f->backend->ops->kill(f->backend, 7, 1, old, 1, NULL), 0);
    assert_int_equal(fixture_wait(f, FACT_TASK_ENDED, 0)->step, 1);
    f->job.step = 2;
    f->fact_count = 0;
    fixture_start(f);
    assert_int_equal(fixture_wait(f, FACT_TASK_RUNNING, 0)->step, 2);
    assert_int_equal(f->backend->ops->kill(f->backend, 7, 1, old, 1, NULL), 0);
    fixture_run_ms(f, 100);
    assert_null(fixture_find(f, FACT_TASK_ENDED, 0));
    fixture_restart(f);
    f->job.step = 3; /* what the core holds was never started: the one of step 2 is not it */
    fixture_adopt(f, 1);
    assert_int_equal(fixture_wait(f, FACT_TASK_ENDED, 0)->step, 3);
    f->job.step = 2;
    (void)f->backend->ops->kill(f->backend, 7, 1, new, 1, NULL);
}

static void without_bubblewrap_a_sandbox_is_refused(void **state)
{
    struct fixture *f = *state;

    fixture_close(f);
    f->config.bwrap = "/nowhere/bwrap";
    fixture_open(f);
    assert_non_null(
        strstr(local_capabilities(f->backend), "no sandbox: there is no /nowhere/bwrap"));
    f->job.sandbox = true;
    fixture_shell(f, "true");
    fixture_start(f);
    assert_string_equal(
        fixture_wait(f, FACT_TASK_REFUSED, 0)->text,
        "a sandbox is asked for and there is no /nowhere/bwrap on this node: install "
        "bubblewrap");
}

static void a_token_is_known_until_the_attempt_is_forgotten(void **state)
{
    struct fixture *f = *state;
    char token[256];
    int64_t job = 0;
    int64_t attempt = 0;

    fixture_shell(f, "cat $MUSTER_TOKEN_FILE");
    fixture_start(f);
    fixture_wait(f, FACT_TASK_ENDED, 0);
    snprintf(token, sizeof(token), "%s", fixture_log(f, 0, false));
    assert_true(local_token_check(f->backend, token, &job, &attempt));
    assert_int_equal(job, 7);
    assert_int_equal(attempt, 1);
    token[strlen(token) - 1] ^= 1;
    assert_false(local_token_check(f->backend, token, &job, &attempt));
    assert_false(local_token_check(f->backend, "", &job, &attempt));
    token[strlen(token) - 1] ^= 1;
    f->backend->ops->forget(f->backend, 7, 1);
    assert_false(local_token_check(f->backend, token, &job, &attempt));
    assert_int_not_equal(access(fixture_path(f, "state/attempts/7.1"), F_OK), 0);
    assert_int_equal(access(fixture_path(f, "state/checkpoints/7"), F_OK), 0);
    assert_string_not_equal(fixture_log(f, 0, false), "");
}

#define LOCAL_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOCAL_TEST(a_task_runs_and_its_exit_status_is_told),
        LOCAL_TEST(a_death_by_a_signal_is_told_as_such),
        LOCAL_TEST(a_program_that_is_not_there_ends_as_in_a_shell),
        LOCAL_TEST(a_directory_that_is_not_there_refuses_the_task),
        LOCAL_TEST(a_repeated_start_does_nothing),
        LOCAL_TEST(a_script_runs_with_arguments_by_what_its_first_line_names),
        LOCAL_TEST(the_deadline_is_there_before_the_signal),
        LOCAL_TEST(one_that_ignores_the_signal_is_killed),
        LOCAL_TEST(what_left_the_session_is_found_and_killed),
        LOCAL_TEST(a_number_in_a_later_step_is_another_task),
        LOCAL_TEST(without_bubblewrap_a_sandbox_is_refused),
        LOCAL_TEST(a_killed_supervisor_takes_its_tree_with_it),
        LOCAL_TEST(a_stopped_supervisor_does_not_save_its_task),
        LOCAL_TEST(without_a_control_group_the_mark_finds_the_tree),
        LOCAL_TEST(a_renamed_checkpoint_is_told_and_a_hidden_one_is_not),
        LOCAL_TEST(a_flood_of_checkpoints_does_not_fill_the_journal),
        LOCAL_TEST(the_word_done_is_told_before_the_end),
        LOCAL_TEST(logs_are_rings_that_cannot_fill_the_disk),
        LOCAL_TEST(the_jobs_own_output_file_is_written_too),
        LOCAL_TEST(growth_starts_the_new_tasks_only_and_a_shrink_is_seen),
        LOCAL_TEST(a_token_is_known_until_the_attempt_is_forgotten),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
