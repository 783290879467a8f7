#include "backend/local/osaccount.h"

#include "local_fixture.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534

static void an_unknown_account_is_refused(void **state)
{
    struct fixture *f = *state;
    struct err err;

    assert_int_equal(local_account_check(f->backend, "no-such-account", &err), ERR_JOB_ACCOUNT);
    assert_non_null(strstr(err.text, "no-such-account"));
    assert_int_equal(local_account_check(f->backend, "", NULL), 0);
    fixture_shell(f, "true");
    f->job.spec.account = "no-such-account";
    fixture_start(f);
    assert_non_null(strstr(fixture_find(f, FACT_TASK_REFUSED, 0)->text, "no-such-account"));
    assert_false(fixture_find(f, FACT_TASK_REFUSED, 0)->node_fault);
}

static void root_becomes_the_account_and_its_files_are_the_accounts(void **state)
{
    struct fixture *f = *state;
    struct stat st;

    if (geteuid() != 0) {
        skip();
    }
    f->job.spec.account = "nobody";
    fixture_shell(f, "id -u; id -G; echo $USER; cat $MUSTER_TOKEN_FILE > /dev/null || exit 1;"
                     "cat $MUSTER_TASKS_FILE > /dev/null || exit 2; echo x > "
                     "$MUSTER_CHECKPOINT_DIR/.a || exit 3; echo done > $MUSTER_STATUS_FILE");
    fixture_start(f);
    assert_int_equal(fixture_wait(f, FACT_TASK_ENDED, 0)->status, 0);
    assert_string_equal(fixture_log(f, 0, true), "");
    assert_string_equal(fixture_log(f, 0, false), "65534\n65534\nnobody\n");
    assert_non_null(fixture_find(f, FACT_JOB_DONE, 0));
    assert_int_equal(stat(fixture_path(f, "state/checkpoints/7"), &st), 0);
    assert_int_equal(st.st_uid, NOBODY);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_int_equal(stat(fixture_path(f, "state/attempts/7.1/job/token"), &st), 0);
    assert_int_equal(st.st_uid, NOBODY);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(stat(fixture_path(f, "state/logs/7/1.0.stdout"), &st), 0);
    assert_int_equal(st.st_uid, NOBODY);
}

/* What the account must not reach: other jobs' files, what its supervisor goes by, the sockets. */
static void the_account_cannot_touch_what_its_supervisor_goes_by(void **state)
{
    struct fixture *f = *state;
    char script[1024];

    if (geteuid() != 0) {
        skip();
    }
    f->job.spec.account = "nobody";
    snprintf(script, sizeof(script),
             "for p in %s/attempts/7.1/0.1/spec.json %s/attempts/7.1/token; do"
             " cat $p 2>/dev/null && exit 1; done;"
             "ls %s %s/attempts %s 2>/dev/null && exit 2;"
             "kill -9 $PPID 2>/dev/null && exit 3;"
             "touch %s/attempts/7.1/x 2>/dev/null && exit 4; exit 0",
             f->state_dir, f->state_dir, f->state_dir, f->state_dir, f->runtime_dir, f->state_dir);
    fixture_shell(f, script);
    fixture_start(f);
    assert_int_equal(fixture_wait(f, FACT_TASK_ENDED, 0)->status, 0);
}

static void an_output_file_is_opened_with_the_accounts_rights(void **state)
{
    struct fixture *f = *state;
    char path[128];

    if (geteuid() != 0) {
        skip();
    }
    snprintf(path, sizeof(path), "%s/roots-file", f->dir); /* the directory is root's */
    f->job.spec.account = "nobody";
    f->job.spec.output = path;
    fixture_shell(f, "true");
    fixture_start(f);
    assert_non_null(strstr(fixture_wait(f, FACT_TASK_REFUSED, 0)->text, "roots-file"));
    assert_int_equal(access(path, F_OK), -1);
}

/* In a child that has given root away: 0 = all as it should be, else the line that was not. */
static int as_nobody(void)
{
    struct osaccount *a = mem_new(1, sizeof(*a));
    struct err err;
    int failed = 0;

    if (setgid(NOBODY) != 0 || setuid(NOBODY) != 0) {
        failed = __LINE__;
    } else if (osaccount_find("root", a, &err) != ERR_JOB_ACCOUNT) {
        failed = __LINE__;
    } else if (strstr(err.text, "not as root") == NULL) {
        failed = __LINE__;
    } else if (osaccount_find("", a, &err) != 0 || a->change) {
        failed = __LINE__;
    } else if (osaccount_find("nobody", a, &err) != 0 || a->change || a->uid != NOBODY) {
        failed = __LINE__;
    }
    mem_free(a);
    return failed & 0xff;
}

static void without_root_there_is_but_ones_own_account(void **state)
{
    int status = 0;
    pid_t pid;

    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    pid = fork();
    if (pid == 0) {
        _exit(as_nobody());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

#define ACCOUNT_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ACCOUNT_TEST(an_unknown_account_is_refused),
        ACCOUNT_TEST(root_becomes_the_account_and_its_files_are_the_accounts),
        ACCOUNT_TEST(the_account_cannot_touch_what_its_supervisor_goes_by),
        ACCOUNT_TEST(an_output_file_is_opened_with_the_accounts_rights),
        ACCOUNT_TEST(without_root_there_is_but_ones_own_account),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
