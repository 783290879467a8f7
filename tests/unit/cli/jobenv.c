/* The environment of a job: an allowlist, and no secrets. */
#include "cli/jobenv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void the_allowlist_is_short(void **state)
{
    (void)state;
    assert_true(jobenv_allowed("PATH"));
    assert_true(jobenv_allowed("LC_ALL"));
    assert_true(jobenv_allowed("CUDA_HOME"));
    assert_true(jobenv_allowed("PYTHONPATH"));
    assert_false(jobenv_allowed("PATHS"));
    assert_false(jobenv_allowed("SSH_AUTH_SOCK"));
    assert_false(jobenv_allowed("MUSTER_SOCKET"));
    assert_false(jobenv_allowed(""));
}

static void secrets_are_known_by_their_words(void **state)
{
    (void)state;
    assert_true(jobenv_secret("HF_TOKEN"));
    assert_true(jobenv_secret("AWS_SECRET_ACCESS_KEY"));
    assert_true(jobenv_secret("db_password"));
    assert_true(jobenv_secret("MUSTER_TOKEN"));
    assert_true(jobenv_secret("CONDA_TOKEN"));
    assert_false(jobenv_secret("TOKENIZERS_PARALLELISM"));
    assert_false(jobenv_secret("KEYBOARD"));
    assert_false(jobenv_secret("PWD"));
    assert_false(jobenv_allowed("CONDA_TOKEN"));
}

static void what_was_asked_for_stays(void **state)
{
    char path[] = "PATH=/bin", secret[] = "CUDA_TOKEN=x", other[] = "EDITOR=vi", odd[] = "LANG";
    char *list[] = {path, secret, other, odd, NULL};
    struct jobspec s;
    char *body;

    (void)state;
    jobspec_init(&s);
    json_object_set_new(s.body, "env", json_pack("{s:s}", "A", "1"));
    jobenv_add(&s, list);
    body = json_dumps(s.body, JSON_COMPACT | JSON_SORT_KEYS);
    assert_string_equal(body, "{\"env\":{\"A\":\"1\",\"PATH\":\"/bin\"}}");
    free(body);
    jobspec_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_allowlist_is_short),
        cmocka_unit_test(secrets_are_known_by_their_words),
        cmocka_unit_test(what_was_asked_for_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
