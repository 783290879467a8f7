#include "daemon/submitgroup.h"

#include "base/quantity.h"
#include "http/request.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

struct reading {
    struct arena *arena;
    struct bodyread r;
    struct fact_job_submitted fact;
};

static void read_text(struct reading *x, const char *text)
{
    const struct jsonin *body = NULL;

    memset(x, 0, sizeof(*x));
    x->arena = arena_make();
    assert_int_equal(request_body(text, strlen(text), x->arena, &body, NULL), 0);
    bodyread_init(&x->r, x->arena);
    submitgroup_read(&x->r, body, &x->fact);
}

static void refused(const char *text, const char *field, const char *wanted)
{
    struct reading x;

    read_text(&x, text);
    assert_int_not_equal(x.r.rc, 0);
    assert_string_equal(x.r.field, field);
    assert_string_equal(x.r.err.text, wanted);
    arena_free(x.arena);
}

static void the_short_form_is_one_group(void **state)
{
    struct reading x;

    (void)state;
    read_text(&x, "{\"gpus\": 2, \"tasks\": 4, \"cpus\": \"500m\", \"memory\": \"8Gi\"}");
    assert_int_equal(x.r.rc, 0);
    assert_int_equal(x.fact.group_count, 1);
    assert_string_equal(x.fact.groups[0].name, "main");
    assert_int_equal(x.fact.groups[0].gpus, 2);
    assert_int_equal(x.fact.groups[0].tasks, 4);
    assert_int_equal(x.fact.groups[0].min_tasks, 4);
    assert_int_equal(x.fact.groups[0].cpu_milli, 500);
    assert_int_equal(x.fact.groups[0].memory_bytes, (int64_t)8 << 30);
    arena_free(x.arena);
}

static void groups_have_all_fields(void **state)
{
    struct reading x;

    (void)state;
    read_text(&x, "{\"groups\": [{\"name\": \"ps\", \"share\": \"1/7\", \"share_memory\": "
                  "\"10Gi\", \"mps\": true}, {\"mig\": \"1g.10gb\", \"labels\": {\"a\": \"b\"}, "
                  "\"topology\": {\"required\": \"rack\"}, \"nodes\": [\"n1\"], \"model\": "
                  "\"h100-80gb\"}]}");
    assert_int_equal(x.r.rc, 0);
    assert_int_equal(x.fact.groups[0].share_gu, GU_PER_GPU / 7);
    assert_true(x.fact.groups[0].mps);
    assert_string_equal(x.fact.groups[1].name, "g1");
    assert_int_equal(x.fact.groups[1].slices, 1);
    assert_string_equal(x.fact.groups[1].required, "rack");
    assert_string_equal(x.fact.groups[1].labels[0].value, "b");
    assert_string_equal(x.fact.groups[1].nodes[0], "n1");
    arena_free(x.arena);
}

static void errors_have_their_path(void **state)
{
    (void)state;
    refused("{\"gpus\": 0.5}", "gpus",
            "gpus: write a whole number; for a part of a GPU write share: \"0.5\" or mig");
    refused("{\"tasks\": 0}", "tasks", "tasks: is 0, write 1 to 100000");
    refused("{\"groups\": [{}, {\"share\": \"2\"}]}", "groups[1].share",
            "groups[1].share: write more than 0 and at most 1 GPU");
    refused("{\"groups\": [{\"topology\": {\"near\": \"x\"}}]}", "groups[0].topology.near",
            "groups[0].topology.near: there is no such field");
    refused("{\"groups\": []}", "groups", "groups: write a list of 1 to 64 groups");
    refused("{\"groups\": [{}], \"cpus\": 1}", "cpus",
            "cpus: belongs into a group where there are groups");
    refused("{\"slices\": 2}", "slices", "slices: goes with mig only");
    refused("{\"mps\": true}", "mps", "mps: goes with share only");
    refused("{\"memory\": \"8G\"}", "memory",
            "memory: is \"8G\", write bytes as \"512Mi\", \"64Gi\" or \"1Ti\"");
    refused("{\"tasks\": 2, \"min_tasks\": 3}", "min_tasks", "min_tasks: is more than tasks (2)");
    refused("{\"labels\": {\"a\": 1}}", "labels.a", "labels.a: write a text");
    refused("{\"nodes\": [\"a\", 1]}", "nodes[1]", "nodes[1]: write a text");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_short_form_is_one_group),
        cmocka_unit_test(groups_have_all_fields),
        cmocka_unit_test(errors_have_their_path),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
