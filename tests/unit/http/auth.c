/* Who may what. */
#include "http/auth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static int may(unsigned roles, unsigned least)
{
    struct service_caller caller = {.subject = "s", .roles = roles, .task_job = 17};
    struct err err;

    return auth_check(&caller, least, "17", &err);
}

static void roles_imply_others(void **state)
{
    (void)state;
    assert_int_equal(auth_implied(ROLE_ADMIN),
                     ROLE_ADMIN | ROLE_OPERATOR | ROLE_SUBMIT | ROLE_READ | ROLE_AUDITOR);
    assert_int_equal(auth_implied(ROLE_OPERATOR), ROLE_OPERATOR | ROLE_SUBMIT | ROLE_READ);
    assert_int_equal(auth_implied(ROLE_SUBMIT), ROLE_SUBMIT | ROLE_READ);
    assert_int_equal(auth_implied(ROLE_AUDITOR), ROLE_AUDITOR | ROLE_READ);
    assert_int_equal(auth_implied(ROLE_TASK), ROLE_TASK);
    assert_int_equal(auth_implied(0), 0);
}

static void a_role_is_enough_or_not(void **state)
{
    (void)state;
    assert_int_equal(may(ROLE_READ, ROLE_READ), 0);
    assert_int_equal(may(ROLE_READ, ROLE_SUBMIT), ERR_FORBIDDEN);
    assert_int_equal(may(ROLE_AUDITOR, ROLE_SUBMIT), ERR_FORBIDDEN);
    assert_int_equal(may(ROLE_OPERATOR, ROLE_AUDITOR), ERR_FORBIDDEN);
    assert_int_equal(may(ROLE_OPERATOR, ROLE_ADMIN), ERR_FORBIDDEN);
    assert_int_equal(may(ROLE_ADMIN, ROLE_AUDITOR), 0);
    assert_int_equal(may(ROLE_TASK, ROLE_READ), ERR_FORBIDDEN);
    assert_int_equal(may(0, ROLE_READ), ERR_FORBIDDEN);
}

static void a_task_speaks_for_its_job(void **state)
{
    struct service_caller task = {.subject = "s", .roles = ROLE_TASK, .task_job = 17};
    struct err err;

    (void)state;
    assert_int_equal(auth_check(&task, ROLE_TASK, "17", &err), 0);
    assert_int_equal(auth_check(&task, ROLE_TASK, "18", &err), ERR_FORBIDDEN);
    assert_non_null(strstr(err.text, "job 17 only"));
    assert_int_equal(auth_check(&task, ROLE_TASK, "x", &err), ERR_FORBIDDEN);
    assert_int_equal(auth_check(&task, ROLE_TASK, "", &err), ERR_FORBIDDEN);
    assert_int_equal(may(ROLE_SUBMIT, ROLE_TASK), 0);
    assert_int_equal(may(ROLE_READ, ROLE_TASK), ERR_FORBIDDEN);
}

static int who_uid(void *ctx, uint32_t uid, struct service_caller *ret, struct err *err)
{
    (void)ctx;
    (void)err;
    *ret = (struct service_caller){.subject = uid == 1000 ? "u1000" : "other"};
    return 0;
}

static int who_token(void *ctx, const char *token, struct service_caller *ret, struct err *err)
{
    (void)ctx;
    if (strcmp(token, "abc") != 0) {
        return err_set(err, ERR_TOKEN, "unknown");
    }
    *ret = (struct service_caller){.subject = "t1", .uid = 5};
    return 0;
}

static const struct service SERVICE = {.who_uid = who_uid, .who_token = who_token};
static const struct auth_peer LOCAL = {true, 1000};
static const struct auth_peer REMOTE = {false, UINT32_MAX};

static void a_token_goes_before_the_uid(void **state)
{
    struct service_caller c;
    struct err err;

    (void)state;
    assert_int_equal(auth_caller(&SERVICE, &LOCAL, NULL, &c, &err), 0);
    assert_string_equal(c.subject, "u1000");
    auth_caller_fini(&c);
    assert_int_equal(auth_caller(&SERVICE, &LOCAL, "bearer  abc", &c, &err), 0);
    assert_string_equal(c.subject, "t1");
    assert_int_equal(c.uid, 1000);
    auth_caller_fini(&c);
    assert_int_equal(auth_caller(&SERVICE, &LOCAL, "Bearer abd", &c, &err), ERR_TOKEN);
    assert_int_equal(auth_caller(&SERVICE, &REMOTE, NULL, &c, &err), ERR_UNAUTHENTICATED);
}

static void other_headers_are_no_token(void **state)
{
    static const char *const BAD[] = {"",           "Bearer",           "Bearer ", "Basic abc",
                                      "Bearer a b", "Bearer a\xc3\xbc", "abc"};
    struct service_caller c;
    struct err err;

    (void)state;
    for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
        assert_int_equal(auth_caller(&SERVICE, &LOCAL, BAD[i], &c, &err), ERR_UNAUTHENTICATED);
    }
}

static void only_our_names_are_hosts(void **state)
{
    static const char *const OURS[] = {"gpu.example"};
    static const char *const GOOD[] = {"localhost", "LOCALHOST:1", "127.0.0.1:8270", "[::1]",
                                       "[::1]:80",  "gpu.example", "GPU.example:443"};
    static const char *const BAD[] = {"",        "evil.example",     "localhost.evil.example",
                                      "[::1",    "127.0.0.1.nip.io", "::1",
                                      "[::2]:1", "xgpu.example",     ":80"};
    struct err err;

    (void)state;
    for (size_t i = 0; i < sizeof(GOOD) / sizeof(GOOD[0]); i++) {
        assert_int_equal(auth_host(GOOD[i], OURS, 1, &err), 0);
    }
    for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
        assert_int_equal(auth_host(BAD[i], OURS, 1, &err), ERR_FORBIDDEN);
    }
    assert_int_equal(auth_host(NULL, NULL, 0, &err), ERR_FORBIDDEN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roles_imply_others),         cmocka_unit_test(a_role_is_enough_or_not),
        cmocka_unit_test(a_task_speaks_for_its_job),  cmocka_unit_test(a_token_goes_before_the_uid),
        cmocka_unit_test(other_headers_are_no_token), cmocka_unit_test(only_our_names_are_hosts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
