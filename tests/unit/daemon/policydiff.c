#include "daemon/policydiff.h"

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

static void has(const json_t *changes, size_t i, const char *what, const char *from, const char *to)
{
    const json_t *o = json_array_get(changes, i);

    assert_non_null(o);
    assert_string_equal(json_string_value(json_object_get(o, "what")), what);
    assert_string_equal(json_string_value(json_object_get(o, "from")), from);
    assert_string_equal(json_string_value(json_object_get(o, "to")), to);
}

#define POOLS "pools:\n- {name: a, nodes: [{name: n1, gpus: 8}]}\n"

static void each_setting_is_named(void **state)
{
    struct arena *arena = arena_make();
    struct policy old =
        read_policy(arena, POOLS "queues:\n- {name: q, reserved: {a: 4}}\n- {name: gone}\n");
    struct policy new =
        read_policy(arena,
                    "cluster: {backoff: 1m}\n" POOLS
                    "queues:\n- {name: q, reserved: {a: 1/7}, limit: {a: 3}}\n- {name: new}\n");
    json_t *changes = policydiff_changes(&old, &new);

    (void)state;
    has(changes, 0, "backoff_ms", "30s", "1m");
    has(changes, 1, "queues.q.quotas.a.reserved_gu", "4 GPUs", "1/7 GPUs");
    has(changes, 2, "queues.q.quotas.a.limit_gu", "none", "3 GPUs");
    has(changes, 3, "queues.gone", "there", "removed");
    has(changes, 4, "queues.new", "", "added");
    assert_int_equal(json_array_size(changes), 5);
    json_decref(changes);
    arena_free(arena);
}

static void equal_policies_do_not_differ(void **state)
{
    struct arena *arena = arena_make();
    struct policy one = read_policy(arena, POOLS "queues:\n- {name: q}\n");
    struct policy two = read_policy(arena, "# another text\n" POOLS "queues:\n- {name: q}\n");
    json_t *changes = policydiff_changes(&one, &two);

    (void)state;
    assert_int_equal(json_array_size(changes), 0);
    json_decref(changes);
    changes = policydiff_changes(NULL, &one);
    assert_true(json_array_size(changes) > 3);
    json_decref(changes);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_setting_is_named),
        cmocka_unit_test(equal_policies_do_not_differ),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
