#include "sim/casefile.h"

#include "base/quantity.h"
#include "base/str.h"
#include "sim/caserun.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* The path of a file with this text; the caller unlinks it. */
static const char *file_of(const char *text)
{
    static char path[64];
    int fd;

    (void)snprintf(path, sizeof(path), "/tmp/casefile-XXXXXX");
    fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    return path;
}

static int read_text(const char *text, struct casefile *ret, struct err *err)
{
    const char *path = file_of(text);
    int rc = casefile_read(path, ret, err);

    unlink(path);
    return rc;
}

static void refused(const char *text, int code, const char *words)
{
    struct casefile c;
    struct err err = {0};

    assert_int_equal(read_text(text, &c, &err), code);
    if (strstr(err.text, words) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", err.text, words);
    }
}

#define NODES "\"nodes\":[{\"name\":\"n1\",\"gpus\":2,\"domains\":{\"rack\":\"r1\"}}]"
#define QUEUES                                                                                     \
    "\"queues\":[{\"name\":\"x\",\"parent\":\"d\",\"reserved\":0.5},"                              \
    "{\"name\":\"y\",\"parent\":\"d\",\"reserved\":1,\"lend_limit\":0},"                           \
    "{\"name\":\"d\",\"parent\":null,\"reserved\":null,\"max\":2}]"

static void a_case_becomes_a_site_and_jobs(void **state)
{
    struct casefile c;
    struct err err = {0};
    const struct policy_queue *d;

    (void)state;
    if (read_text("{\"id\":\"one\",\"policy\":{\"consolidation\":true,\"fair_share\":\"none\"},"
                  "\"topology_levels\":[\"rack\"]," NODES "," QUEUES ","
                  "\"jobs\":[{\"name\":\"j\",\"queue\":\"x\",\"pods\":2,\"min_pods\":1,"
                  "\"fraction\":0.5,\"submitted\":3,\"state\":\"running\",\"on\":[\"n1\"],"
                  "\"gpu_index\":[1]}]}",
                  &c, &err) != 0) {
        fail_msg("%s", err.text);
    }
    assert_string_equal(c.id, "one");
    assert_true(c.site.policy.consolidation);
    assert_true(c.site.policy.overcommit);
    assert_int_equal(c.site.queues.count, 3);
    d = site_queue(&c.site, "q3");
    assert_ptr_equal(d, &c.site.queues.items[0]);                   /* parents come first */
    assert_int_equal(d->quotas[0].reserved_gu, 3 * GU_PER_GPU / 2); /* the sum of its children */
    assert_int_equal(d->quotas[0].limit_gu, 2 * GU_PER_GPU);
    assert_int_equal(site_queue(&c.site, "q2")->quotas[0].lend_gu, 0);
    assert_int_equal(site_queue(&c.site, "q1")->quotas[0].lend_gu, POLICY_NONE);
    assert_int_equal(site_queue(&c.site, "q1")->parent, d->id);
    assert_int_equal(c.nodes.count, 1);
    assert_string_equal(c.nodes.items[0].row->domains[0].value, "r1");
    assert_int_equal(c.jobs.items[0].share_gu, GU_PER_GPU / 2);
    assert_true(c.jobs.items[0].preemptible);
    assert_int_equal(c.jobs.items[0].gpu_index[0], 1);
    casefile_fini(&c);
}

static void what_is_wrong_is_named(void **state)
{
    (void)state;
    refused("{", ERR_SYNTAX, "line 1, column 1");
    refused("[]", ERR_INVALID, "one JSON object");
    refused("{\"nodes\":[{\"name\":\"n\",\"gpus\":\"two\"}]}", ERR_INVALID, "nodes[0].gpus");
    refused("{\"nodes\":[{\"name\":\"n\",\"gpus\":-1}]}", ERR_INVALID, "nodes[0].gpus");
    refused("{" NODES "," QUEUES ",\"jobs\":[{\"name\":\"j\",\"queue\":\"z\"}]}", ERR_INVALID,
            "jobs[0].queue");
    refused("{" NODES "," QUEUES ",\"jobs\":[{\"name\":\"j\",\"queue\":\"x\",\"pods\":0}]}",
            ERR_INVALID, "jobs[0].pods");
    refused("{\"queues\":[{\"name\":\"a\",\"parent\":\"b\"},{\"name\":\"b\",\"parent\":\"a\"}]}",
            ERR_INVALID, "cycle");
    refused("{\"queues\":[{\"name\":\"a\",\"parent\":\"b\"}]}", ERR_INVALID, "a.parent");
}

static void a_case_is_played(void **state)
{
    struct casefile c;
    struct str line = {0};
    struct err err = {0};

    (void)state;
    assert_int_equal(
        read_text("{\"id\":\"own\",\"nodes\":[{\"name\":\"n1\",\"gpus\":2}],"
                  "\"queues\":[{\"name\":\"a\",\"reserved\":1},{\"name\":\"b\",\"reserved\":1}],"
                  "\"jobs\":[{\"name\":\"lent\",\"queue\":\"a\",\"pods\":2,\"gpus_per_pod\":1,"
                  "\"submitted\":0,\"state\":\"running\",\"on\":[\"n1\",\"n1\"]},"
                  "{\"name\":\"own\",\"queue\":\"b\",\"pods\":1,\"gpus_per_pod\":1,"
                  "\"submitted\":1,\"state\":\"pending\"}]}",
                  &c, &err),
        0);
    if (caserun(&c, &line, NULL, &err) != 0) {
        fail_msg("%s", err.text);
    }
    assert_non_null(strstr(line.text, "\"settled\":true"));
    assert_non_null(strstr(line.text, "\"own\":[{\"node\":\"n1\",\"gpus\":["));
    assert_non_null(strstr(line.text, "\"evicted\":[\"lent\"]"));
    assert_null(strstr(line.text, "\"lent\":["));
    casefile_fini(&c);
    str_fini(&line);
}

static void a_case_that_gives_too_much_is_refused(void **state)
{
    struct casefile c;
    struct str line = {0};
    struct err err = {0};

    (void)state;
    assert_int_equal(
        read_text("{\"id\":\"full\",\"nodes\":[{\"name\":\"n1\",\"gpus\":1}],"
                  "\"queues\":[{\"name\":\"a\",\"reserved\":1}],"
                  "\"jobs\":[{\"name\":\"j\",\"queue\":\"a\",\"pods\":2,\"gpus_per_pod\":1,"
                  "\"state\":\"running\",\"on\":[\"n1\",\"n1\"]}]}",
                  &c, &err),
        0);
    assert_int_equal(caserun(&c, &line, NULL, &err), ERR_INVALID);
    assert_non_null(strstr(err.text, "job j: node n1 has no room for pod 1"));
    casefile_fini(&c);
    str_fini(&line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_case_becomes_a_site_and_jobs),
        cmocka_unit_test(what_is_wrong_is_named),
        cmocka_unit_test(a_case_is_played),
        cmocka_unit_test(a_case_that_gives_too_much_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
