#include "base/idmap.h"

#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static int things[1000];

static void an_empty_map_has_nothing(void **state)
{
    struct idmap m = {0};

    (void)state;
    assert_null(idmap_get(&m, 1));
    assert_null(idmap_get(&m, 0));
    assert_null(idmap_get(&m, -1));
    assert_null(idmap_remove(&m, 1));
    assert_null(idmap_check(&m));
    idmap_fini(&m);
}

static void rising_ids_are_found_and_go(void **state)
{
    struct idmap m = {0};

    (void)state;
    for (int64_t id = 1; id <= 100000; id++) {
        idmap_put(&m, id, &things[id % 1000]);
        if (id > 5000) { /* as ended jobs are forgotten */
            assert_ptr_equal(idmap_remove(&m, id - 5000), &things[(id - 5000) % 1000]);
        }
    }
    assert_int_equal(m.count, 5000);
    assert_int_equal(m.room, 8192);
    assert_null(idmap_check(&m));
    assert_null(idmap_get(&m, 95000));
    assert_ptr_equal(idmap_get(&m, 95001), &things[1]);
    assert_ptr_equal(idmap_get(&m, 100000), &things[0]);
    assert_null(idmap_get(&m, 100001));
    idmap_fini(&m);
    assert_int_equal(m.count, 0);
}

static void great_ids_are_ids_too(void **state)
{
    struct idmap m = {0};

    (void)state;
    idmap_put(&m, INT64_MAX, &things[1]);
    idmap_put(&m, INT64_MAX / 2, &things[2]);
    idmap_put(&m, 1, &things[3]);
    assert_ptr_equal(idmap_get(&m, INT64_MAX), &things[1]);
    assert_ptr_equal(idmap_get(&m, INT64_MAX / 2), &things[2]);
    assert_ptr_equal(idmap_get(&m, 1), &things[3]);
    assert_null(idmap_check(&m));
    idmap_fini(&m);
}

/* Against an array of what should be there; ids that meet, and rows that go around the end. */
static void random_puts_and_removes_agree_with_a_list(void **state)
{
    struct rng r = rng_init(7);

    (void)state;
    for (int64_t stride = 1; stride <= 64; stride *= 4) {
        struct idmap m = {0};
        void *there[256] = {0};
        size_t count = 0;

        for (int step = 0; step < 20000; step++) {
            size_t k = (size_t)rng_below(&r, 256);
            int64_t id = 1 + (int64_t)k * stride;

            assert_ptr_equal(idmap_get(&m, id), there[k]);
            if (there[k] == NULL && rng_below(&r, 3) > 0) {
                idmap_put(&m, id, &things[step % 1000]);
                there[k] = &things[step % 1000];
                count++;
            } else {
                assert_ptr_equal(idmap_remove(&m, id), there[k]);
                count -= there[k] != NULL;
                there[k] = NULL;
            }
            assert_int_equal(m.count, count);
            if (step % 50 == 0) {
                assert_null(idmap_check(&m));
            }
        }
        idmap_fini(&m);
    }
}

static void a_broken_invariant_is_named(void **state)
{
    struct idmap m = {0};

    (void)state;
    idmap_put(&m, 1, &things[0]);
    m.count = 2;
    assert_string_equal(idmap_check(&m), "count is the number of ids, at most 7 of 8 slots");
    m.count = 1;
    m.slots[1].id = 2;
    assert_string_equal(idmap_check(&m),
                        "every id is found from its own slot on, before an empty one");
    idmap_fini(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_map_has_nothing),
        cmocka_unit_test(rising_ids_are_found_and_go),
        cmocka_unit_test(great_ids_are_ids_too),
        cmocka_unit_test(random_puts_and_removes_agree_with_a_list),
        cmocka_unit_test(a_broken_invariant_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
