#include "core/alike.h"

#include "base/str.h"
#include "core/codec.h"
#include "random_value.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define ROUNDS 300

static const struct schema *submitted(void)
{
    return fact_kind_schema(FACT_JOB_SUBMITTED);
}

static bool same_text(const struct schema *schema, const void *a, const void *b)
{
    struct str x = {0}, y = {0};
    bool same;

    codec_encode(schema, a, &x);
    codec_encode(schema, b, &y);
    same = strcmp(str_text(&x), str_text(&y)) == 0;
    str_fini(&x);
    str_fini(&y);
    return same;
}

static void a_copy_is_alike_and_another_value_is_not(void **state)
{
    struct rng rng = rng_init(3);

    (void)state;
    for (int k = FACT_NONE + 1; k < FACT_KIND_COUNT; k++) {
        const struct schema *schema = fact_kind_schema((enum fact_kind)k);
        struct arena *arena = arena_make();
        const void *last = random_small_value(schema, &rng, arena);

        for (int i = 0; i < ROUNDS; i++) {
            const void *value = random_small_value(schema, &rng, arena);
            const void *copy = codec_copy(schema, value, arena);

            assert_true(alike_same(schema, value, copy));
            assert_int_equal(alike_hash(schema, value), alike_hash(schema, copy));
            assert_true(alike_hash(schema, value) >= 0);
            assert_int_equal(alike_same(schema, value, last), same_text(schema, value, last));
            last = value;
        }
        arena_free(arena);
    }
}

/* Every field counts, in both, wherever it stands. */
static void one_field_makes_the_difference(void **state)
{
    struct policy_label labels[2] = {{"rack", "a"}, {"zone", "b"}};
    const char *nodes[2] = {"n1", "n2"};
    int64_t pools[2] = {7, 8};
    struct fact_group group = {.name = "g",
                               .tasks = 2,
                               .min_tasks = 2,
                               .gpus = 1,
                               .labels = labels,
                               .label_count = 2,
                               .nodes = nodes,
                               .node_count = 2};
    struct fact_job_submitted ask = {
        .queue = 3, .pools = pools, .pool_count = 2, .groups = &group, .group_count = 1};
    struct arena *arena = arena_make();
    const void *was = codec_copy(submitted(), &ask, arena);
    int64_t hash = alike_hash(submitted(), was);

    (void)state;
    assert_true(alike_same(submitted(), &ask, was));
    pools[1] = 9;
    assert_false(alike_same(submitted(), &ask, was));
    assert_int_not_equal(alike_hash(submitted(), &ask), hash);
    pools[1] = 8;
    nodes[1] = "n3";
    assert_false(alike_same(submitted(), &ask, was));
    assert_int_not_equal(alike_hash(submitted(), &ask), hash);
    nodes[1] = "n2";
    labels[0].value = "c";
    assert_false(alike_same(submitted(), &ask, was));
    assert_int_not_equal(alike_hash(submitted(), &ask), hash);
    labels[0].value = "a";
    group.mps = true;
    assert_false(alike_same(submitted(), &ask, was));
    group.mps = false;
    ask.job_class = CLASS_SERVICE;
    assert_false(alike_same(submitted(), &ask, was));
    ask.job_class = 0;
    group.label_count = 1;
    assert_false(alike_same(submitted(), &ask, was));
    group.label_count = 2;
    assert_true(alike_same(submitted(), &ask, was));
    assert_int_equal(alike_hash(submitted(), &ask), hash);
    arena_free(arena);
}

static void no_text_is_an_empty_text(void **state)
{
    struct fact_job_submitted a = {.name = NULL, .spec = ""};
    struct fact_job_submitted b = {.name = "", .spec = NULL};

    (void)state;
    assert_true(alike_same(submitted(), &a, &b));
    assert_int_equal(alike_hash(submitted(), &a), alike_hash(submitted(), &b));
    b.spec = "x";
    assert_false(alike_same(submitted(), &a, &b));
    a.name = "x";
    assert_int_not_equal(alike_hash(submitted(), &a), alike_hash(submitted(), &b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_is_alike_and_another_value_is_not),
        cmocka_unit_test(one_field_makes_the_difference),
        cmocka_unit_test(no_text_is_an_empty_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
