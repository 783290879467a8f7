#include "config/policyids.h"

#include "config/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static struct policy read_policy(struct arena *arena, const char *text)
{
    struct complaints c;
    struct config config;
    struct err err = {0};

    complaints_init(&c, arena, "f.yaml");
    if (config_read(text, strlen(text), &c, &config, &err) != 0) {
        fail_msg("%s", err.text);
    }
    return config.policy;
}

#define USERS "users:\n- {name: u, queues: [leaf, b]}\n"

static void a_name_keeps_its_id_for_ever(void **state)
{
    struct arena *arena = arena_make();
    struct policy old = read_policy(arena, "pools:\n- {name: p, nodes: [{name: n1, gpus: 8}]}\n"
                                           "queues:\n- {name: a}\n- {name: b}\n");
    struct policy new =
        read_policy(arena, "pools:\n- {name: o, nodes: [{name: n0, gpus: 8}]}\n"
                           "- {name: p, nodes: [{name: n1, gpus: 8}]}\n"
                           "queues:\n- {name: top, queues: [{name: leaf, reserved: {p: 1}}]}\n"
                           "- {name: b, pools: [p, o]}\n" USERS);
    struct policyids next = {1, 1, 1};

    (void)state;
    policyids_assign(&old, NULL, &next);
    assert_int_equal(old.queues[1].id, 2);
    next = (struct policyids){2, 7, 2};
    policyids_assign(&new, &old, &next);
    assert_int_equal(new.pools[0].id, 2);
    assert_int_equal(new.pools[1].id, 1);
    assert_int_equal(new.queues[0].id, 7);
    assert_int_equal(new.queues[1].id, 8);
    assert_int_equal(new.queues[1].parent, 7);
    assert_int_equal(new.queues[1].quotas[0].pool, 1);
    assert_int_equal(new.queues[2].id, 2);
    assert_int_equal(new.queues[2].pools[0], 1);
    assert_int_equal(new.queues[2].pools[1], 2);
    assert_int_equal(new.nodes[0].id, 2);
    assert_int_equal(new.nodes[0].pool, 2);
    assert_int_equal(new.nodes[1].id, 1);
    assert_int_equal(new.nodes[1].pool, 1);
    assert_int_equal(new.users[0].queues[0], 8);
    assert_int_equal(new.users[0].queues[1], 2);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_keeps_its_id_for_ever),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
