#include "base/omap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"

#define KEY(x) ((struct omap_key){.a = (x)})

static int things[1000];

static void an_empty_map_has_nothing(void **state)
{
    struct omap m = {0};

    (void)state;
    assert_null(omap_first(&m));
    assert_null(omap_last(&m));
    assert_null(omap_get(&m, KEY(1)));
    assert_null(omap_find(&m, KEY(1)));
    assert_null(omap_lower_bound(&m, KEY(INT64_MIN)));
    assert_null(omap_remove(&m, KEY(1)));
    assert_null(omap_check(&m));
    omap_fini(&m);
}

static void keys_compare_field_by_field(void **state)
{
    struct omap_key low = {INT64_MIN, INT64_MAX, INT64_MAX};
    struct omap_key mid = {0, -1, 5};
    struct omap_key high = {0, 0, -5};

    (void)state;
    assert_true(omap_key_cmp(low, mid) < 0);
    assert_true(omap_key_cmp(mid, high) < 0);
    assert_true(omap_key_cmp(high, low) > 0);
    assert_int_equal(omap_key_cmp(mid, mid), 0);
    high = mid;
    high.c++;
    assert_true(omap_key_cmp(mid, high) < 0);
}

static void a_second_put_replaces_the_value(void **state)
{
    struct omap m = {0};

    (void)state;
    assert_null(omap_put(&m, KEY(1), &things[0]));
    assert_ptr_equal(omap_put(&m, KEY(1), &things[1]), &things[0]);
    assert_ptr_equal(omap_get(&m, KEY(1)), &things[1]);
    assert_int_equal(m.count, 1);
    assert_ptr_equal(omap_remove(&m, KEY(1)), &things[1]);
    assert_int_equal(m.count, 0);
    omap_fini(&m);
}

static void a_walk_goes_up_and_down(void **state)
{
    struct omap m = {0};
    int64_t want = 0;

    (void)state;
    for (int64_t i = 0; i < 1000; i++) {
        omap_put(&m, KEY(i * 7919 % 1000), &things[i * 7919 % 1000]);
    }
    assert_null(omap_check(&m));
    for (struct omap_item *i = omap_first(&m); i != NULL; i = omap_next(i)) {
        assert_int_equal(i->key.a, want);
        assert_ptr_equal(i->value, &things[want]);
        want++;
    }
    assert_int_equal(want, 1000);
    for (struct omap_item *i = omap_last(&m); i != NULL; i = omap_prev(i)) {
        want--;
        assert_int_equal(i->key.a, want);
    }
    assert_int_equal(want, 0);
    omap_fini(&m);
    assert_int_equal(m.count, 0);
    assert_null(m.root);
}

static void the_lower_bound_is_the_first_not_below(void **state)
{
    struct omap m = {0};

    (void)state;
    for (int64_t i = 0; i < 100; i++) {
        omap_put(&m, KEY(i * 10), &things[i]);
    }
    assert_int_equal(omap_lower_bound(&m, KEY(-5))->key.a, 0);
    assert_int_equal(omap_lower_bound(&m, KEY(0))->key.a, 0);
    assert_int_equal(omap_lower_bound(&m, KEY(1))->key.a, 10);
    assert_int_equal(omap_lower_bound(&m, KEY(985))->key.a, 990);
    assert_int_equal(omap_lower_bound(&m, (struct omap_key){10, -1, 0})->key.a, 10);
    assert_int_equal(omap_lower_bound(&m, (struct omap_key){10, 1, 0})->key.a, 20);
    assert_null(omap_lower_bound(&m, KEY(991)));
    omap_fini(&m);
}

static void a_walk_may_remove_where_it_stands(void **state)
{
    struct omap m = {0};
    struct omap_item *next;

    (void)state;
    for (int64_t i = 0; i < 100; i++) {
        omap_put(&m, KEY(i), &things[i]);
    }
    for (struct omap_item *i = omap_first(&m); i != NULL; i = next) {
        next = omap_next(i);
        if (i->key.a % 3 != 0) {
            omap_remove(&m, i->key);
        }
    }
    assert_int_equal(m.count, 34);
    assert_null(omap_check(&m));
    assert_int_equal(omap_next(omap_first(&m))->key.a, 3);
    omap_fini(&m);
}

/* The same keys make the same tree, so nothing may depend on who came first. */
static void same_tree(const struct omap_item *a, const struct omap_item *b)
{
    if (a == NULL || b == NULL) {
        assert_true(a == b);
        return;
    }
    assert_int_equal(omap_key_cmp(a->key, b->key), 0);
    same_tree(a->left, b->left);
    same_tree(a->right, b->right);
}

static void the_shape_does_not_depend_on_history(void **state)
{
    struct omap up = {0}, down = {0};

    (void)state;
    for (int64_t i = 0; i < 500; i++) {
        omap_put(&up, KEY(i), NULL);
        omap_put(&down, KEY(499 - i), NULL);
        omap_put(&down, KEY(1000 + i), NULL);
    }
    for (int64_t i = 0; i < 500; i++) {
        omap_remove(&down, KEY(1000 + i));
    }
    same_tree(up.root, down.root);
    omap_fini(&up);
    omap_fini(&down);
}

static int depth_of(const struct omap_item *item)
{
    int left, right;

    if (item == NULL) {
        return 0;
    }
    left = depth_of(item->left);
    right = depth_of(item->right);
    return 1 + (left > right ? left : right);
}

static void neighbouring_keys_keep_it_flat(void **state)
{
    struct omap m = {0};

    (void)state;
    for (int64_t i = 0; i < 100000; i++) {
        omap_put(&m, (struct omap_key){i / 1000, i, -i}, &things[0]);
    }
    assert_true(depth_of(m.root) < 60);
    assert_null(omap_check(&m));
    omap_fini(&m);
}

/* Against an array of what should be there. */
static void random_puts_and_removes_agree_with_a_list(void **state)
{
    struct omap m = {0};
    struct rng r = rng_init(1);
    void *there[256] = {0};
    size_t count = 0;

    (void)state;
    for (int step = 0; step < 20000; step++) {
        size_t k = (size_t)rng_below(&r, 256);
        struct omap_key key = {(int64_t)(k / 16) - 8, (int64_t)(k % 16) - 8, 1};

        if (rng_below(&r, 2) == 0) {
            assert_ptr_equal(omap_put(&m, key, &things[step % 1000]), there[k]);
            count += there[k] == NULL;
            there[k] = &things[step % 1000];
        } else {
            assert_ptr_equal(omap_remove(&m, key), there[k]);
            count -= there[k] != NULL;
            there[k] = NULL;
        }
        assert_int_equal(m.count, count);
        if (step % 100 == 0) {
            assert_null(omap_check(&m));
        }
    }
    omap_fini(&m);
}

/* Of two items the other one goes above. */
static void turn_the_root(struct omap *m)
{
    struct omap_item *below = m->root;
    struct omap_item *above = below->left != NULL ? below->left : below->right;

    if (above == NULL) {
        return;
    }
    m->root = above;
    if (below->left == above) {
        below->left = NULL;
        above->right = below;
    } else {
        below->right = NULL;
        above->left = below;
    }
    above->up = NULL;
    below->up = above;
}

static void a_broken_invariant_is_named(void **state)
{
    struct omap m = {0};

    (void)state;
    omap_put(&m, KEY(1), NULL);
    omap_put(&m, KEY(2), NULL);
    m.count = 3;
    assert_string_equal(omap_check(&m), "count is the number of items");
    m.count = 2;
    omap_first(&m)->key.a = 9;
    assert_string_equal(omap_check(&m), "the keys of a walk rise strictly");
    omap_first(&m)->key.a = 1;
    m.last = m.first;
    assert_string_equal(omap_check(&m), "last is the item with the greatest key");
    m.last = omap_next(m.first);
    turn_the_root(&m);
    assert_string_equal(omap_check(&m), "no item is hotter than the one above it");
    turn_the_root(&m);
    assert_null(omap_check(&m));
    m.first = m.last;
    assert_string_equal(omap_check(&m), "first is the item with the least key");
    omap_fini(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_map_has_nothing),
        cmocka_unit_test(keys_compare_field_by_field),
        cmocka_unit_test(a_second_put_replaces_the_value),
        cmocka_unit_test(a_walk_goes_up_and_down),
        cmocka_unit_test(the_lower_bound_is_the_first_not_below),
        cmocka_unit_test(a_walk_may_remove_where_it_stands),
        cmocka_unit_test(the_shape_does_not_depend_on_history),
        cmocka_unit_test(neighbouring_keys_keep_it_flat),
        cmocka_unit_test(random_puts_and_removes_agree_with_a_list),
        cmocka_unit_test(a_broken_invariant_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
