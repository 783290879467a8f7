#include "base/vec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct pair {
    int a;
    int b;
};

static void items_keep_their_order(void **state)
{
    VEC(int) v = {0};

    (void)state;
    for (int i = 0; i < 100; i++) {
        vec_push(&v, i);
    }
    assert_int_equal(v.count, 100);
    vec_remove(&v, 0);
    assert_int_equal(v.items[0], 1);
    vec_remove(&v, v.count - 1);
    assert_int_equal(v.items[v.count - 1], 98);
    vec_insert(&v, 0, 0);
    vec_insert(&v, v.count, 99);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(v.items[i], i);
    }
    assert_int_equal(vec_pop(&v), 99);
    assert_int_equal(v.count, 99);
    vec_clear(&v);
    assert_int_equal(v.count, 0);
    vec_fini(&v);
    assert_null(v.items);
}

static void a_literal_with_commas_is_one_item(void **state)
{
    VEC(struct pair) v = {0};

    (void)state;
    vec_push(&v, (struct pair){1, 2});
    vec_insert(&v, 0, (struct pair){3, 4});
    assert_int_equal(v.items[0].b, 4);
    assert_int_equal(v.items[1].a, 1);
    vec_fini(&v);
}

static void exact_room_is_no_more_than_asked(void **state)
{
    VEC(int) v = {0};

    (void)state;
    vec_reserve_exact(&v, 3);
    assert_int_equal(v.room, 3);
    vec_reserve_exact(&v, 2);
    assert_int_equal(v.room, 3);
    for (int i = 0; i < 20; i++) {
        vec_push(&v, i);
    }
    assert_int_equal(v.items[19], 19);
    vec_fini(&v);
}

static void reserved_room_does_not_move(void **state)
{
    VEC(int) v = {0};
    int *first;

    (void)state;
    vec_reserve(&v, 1000);
    vec_push(&v, 0);
    first = v.items;
    for (int i = 1; i < 1000; i++) {
        vec_push(&v, i);
    }
    assert_ptr_equal(v.items, first);
    vec_fini(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_keep_their_order),
        cmocka_unit_test(a_literal_with_commas_is_one_item),
        cmocka_unit_test(exact_room_is_no_more_than_asked),
        cmocka_unit_test(reserved_room_does_not_move),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
