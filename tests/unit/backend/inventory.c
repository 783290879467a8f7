#include "backend/local/inventory.h"

#include "local_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

static struct policy_node NODES[2];
static struct policy POLICY = {.nodes = NODES};

static void nodes_are(struct fixture *f, const char *cards)
{
    fixture_close(f);
    f->config.nvml = cards == NULL ? "" : MUSTER_NVML_FAKE;
    setenv("NVML_FAKE", cards == NULL ? "" : cards, 1);
    fixture_open(f);
    NODES[0] = (struct policy_node){.id = 4,
                                    .name = "n1",
                                    .cluster = "local",
                                    .pool = 1,
                                    .gpus = 2,
                                    .model = "h100-80gb",
                                    .cpu_milli = 8000};
    NODES[1] = (struct policy_node){.id = 5, .name = "n2", .cluster = "elsewhere", .gpus = 1};
    POLICY.node_count = 2;
}

static int observe(struct fixture *f, struct err *err)
{
    return f->backend->ops->observe(f->backend, &POLICY, err);
}

static void simulated_gpus_are_those_of_the_policy(void **state)
{
    struct fixture *f = *state;
    struct fixture_fact *node = &f->facts[0];

    nodes_are(f, NULL);
    NODES[0].simulated = true;
    assert_int_equal(observe(f, NULL), 0);
    assert_int_equal(f->fact_count, 1);
    assert_string_equal(node->text, "n1");
    assert_int_equal(node->device_count, 2);
    assert_string_equal(node->uuid, "SIM-n1-0");
    assert_string_equal(node->model, "h100-80gb");
    assert_int_equal(node->memory_bytes, 80 * ((int64_t)1 << 30));
}

static void simulated_gpus_are_refused_where_they_are_not_allowed(void **state)
{
    struct fixture *f = *state;
    struct err err;

    f->config.simulate = false;
    nodes_are(f, NULL);
    NODES[0].simulated = true;
    assert_int_equal(observe(f, &err), ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "n1"));
    assert_int_equal(f->fact_count, 0);
}

static void real_cards_are_told_with_their_uuids(void **state)
{
    struct fixture *f = *state;

    nodes_are(f, "whole");
    assert_int_equal(observe(f, NULL), 0);
    assert_int_equal(f->facts[0].device_count, 2);
    assert_string_equal(f->facts[0].uuid, "GPU-00000000-1111-2222-3333-444444444444");
    assert_string_equal(f->facts[0].model, "h100-80gb");
    assert_int_equal(f->facts[0].memory_bytes, (int64_t)81559 << 20);
    assert_string_equal(f->warnings, "");
}

static void another_count_than_the_policys_is_a_warning(void **state)
{
    struct fixture *f = *state;

    nodes_are(f, "whole");
    NODES[0].gpus = 8;
    assert_int_equal(observe(f, NULL), 0);
    assert_int_equal(f->facts[0].device_count, 2);
    assert_non_null(strstr(f->warnings, "the policy says 8 GPUs, 2 are there"));
    f->warnings[0] = '\0';
    NODES[0].gpus = 1;
    assert_int_equal(observe(f, NULL), 0);
    assert_int_equal(f->facts[1].device_count, 1);
    assert_non_null(strstr(f->warnings, "belong to no node"));
}

static void another_model_than_the_policys_is_a_warning(void **state)
{
    struct fixture *f = *state;

    nodes_are(f, "whole");
    NODES[0].model = "a100-80gb";
    assert_int_equal(observe(f, NULL), 0);
    assert_string_equal(f->facts[0].model, "h100-80gb");
    assert_non_null(strstr(f->warnings, "the policy says a100-80gb"));
}

static void instances_of_a_real_card_are_devices(void **state)
{
    struct fixture *f = *state;

    nodes_are(f, "mig");
    assert_int_equal(observe(f, NULL), 0);
    assert_int_equal(f->facts[0].device_count, 3);
    assert_string_equal(f->facts[0].profile, "1g.10gb");
}

static void no_card_is_said(void **state)
{
    struct fixture *f = *state;

    nodes_are(f, "driver");
    assert_int_equal(observe(f, NULL), 0);
    assert_int_equal(f->facts[0].device_count, 0);
    assert_non_null(strstr(f->warnings, "no GPU is used"));
}

#define INVENTORY_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        INVENTORY_TEST(simulated_gpus_are_those_of_the_policy),
        INVENTORY_TEST(simulated_gpus_are_refused_where_they_are_not_allowed),
        INVENTORY_TEST(real_cards_are_told_with_their_uuids),
        INVENTORY_TEST(another_count_than_the_policys_is_a_warning),
        INVENTORY_TEST(another_model_than_the_policys_is_a_warning),
        INVENTORY_TEST(instances_of_a_real_card_are_devices),
        INVENTORY_TEST(no_card_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
