#include "core/queue.h"

#include "base/arena.h"
#include "base/quantity.h"
#include "base/rng.h"
#include "random_tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define G GU_PER_GPU

/* Department d (12) with children x and y (4 each), and e (4). */
static struct policy *a_department(struct arena *arena)
{
    static const struct {
        const char *name;
        int64_t parent;
        int64_t gpus;
    } ROWS[] = {{"d", 0, 12}, {"x", 1, 4}, {"y", 1, 4}, {"e", 0, 4}};
    struct policy *p = arena_new(arena, 1, sizeof(*p));

    p->pools = arena_new(arena, 1, sizeof(p->pools[0]));
    p->pools[0] = (struct policy_pool){.id = 7, .name = "main"};
    p->pool_count = 1;
    p->queues = arena_new(arena, 4, sizeof(p->queues[0]));
    p->queue_count = 4;
    for (int i = 0; i < 4; i++) {
        struct policy_queue *q = &p->queues[i];

        *q = (struct policy_queue){.id = i + 1,
                                   .name = ROWS[i].name,
                                   .parent = ROWS[i].parent,
                                   .weight = 1};
        q->quotas = arena_new(arena, 1, sizeof(q->quotas[0]));
        q->quotas[0] =
            (struct policy_quota){7, ROWS[i].gpus * G, POLICY_NONE, POLICY_NONE, POLICY_NONE};
        q->quota_count = 1;
    }
    return p;
}

static void the_tree_knows_its_shape(void **state)
{
    struct arena *arena = arena_make();
    struct queue_tree *t = queue_tree_new(a_department(arena));
    int d = queue_index(t, 1), x = queue_index(t, 2), y = queue_index(t, 3), e = queue_index(t, 4);

    (void)state;
    assert_int_equal(t->count, 4);
    assert_int_equal(queue_index(t, 5), -1);
    assert_int_equal(queue_index_of_name(t, "y"), y);
    assert_int_equal(queue_index_of_name(t, "z"), -1);
    assert_false(queue_is_leaf(&t->items[d]));
    assert_true(queue_is_leaf(&t->items[e]));
    assert_int_equal(t->items[x].depth, 1);
    assert_int_equal(t->items[d].height, 1);
    assert_int_equal(t->items[y].top, d);
    assert_int_equal(queue_common(t, x, y), d);
    assert_int_equal(queue_common(t, x, e), -1);
    assert_int_equal(queue_common(t, x, d), d);
    assert_int_equal(queue_common(t, y, y), y);
    assert_true(queue_covers(t, d, x));
    assert_true(queue_covers(t, x, x));
    assert_false(queue_covers(t, x, d));
    assert_false(queue_covers(t, d, e));
    queue_tree_free(t);
    queue_tree_free(NULL);
    arena_free(arena);
}

/* T of an inner queue is its spare and what its children do not keep for themselves. */
static void what_a_child_keeps_is_not_its_parents(void **state)
{
    struct arena *arena = arena_make();
    struct policy *p = a_department(arena);
    struct queue_tree *t;

    (void)state;
    p->queues[1].quotas[0].lend_gu = G; /* x keeps 3 of its 4 */
    t = queue_tree_new(p);
    assert_int_equal(t->items[1].quotas[0].keep, 3 * G);
    assert_int_equal(t->items[0].quotas[0].mine, 9 * G);
    assert_int_equal(t->items[0].quotas[0].keep, 0);
    assert_int_equal(t->kept[0], 3 * G);
    assert_int_equal(t->unused_keep[0], 3 * G);
    queue_tree_free(t);
    arena_free(arena);
}

static void a_pool_without_a_row_promises_nothing(void **state)
{
    struct arena *arena = arena_make();
    struct policy *p = a_department(arena);
    struct queue_tree *t;

    (void)state;
    p->queues[3].quota_count = 0;
    t = queue_tree_new(p);
    assert_int_equal(t->items[3].quotas[0].reserved, 0);
    assert_true(t->items[3].quotas[0].limit == QUEUE_NO_LIMIT);
    assert_true(t->items[3].quotas[0].borrow == QUEUE_NO_LIMIT);
    queue_tree_free(t);
    arena_free(arena);
}

static void every_queue_is_under_its_ancestors(void **state)
{
    struct rng rng = rng_init(5);

    (void)state;
    for (int i = 0; i < 200; i++) {
        struct arena *arena = arena_make();
        struct queue_tree *t = queue_tree_new(random_tree(&rng, arena));

        for (int q = 0; q < t->count; q++) {
            const struct queue *own = &t->items[q];

            assert_true(own->parent < q);
            assert_int_equal(queue_index(t, own->id), q);
            for (int a = own->parent; a >= 0; a = t->items[a].parent) {
                assert_true(queue_covers(t, a, q));
                assert_int_equal(queue_common(t, a, q), a);
                assert_true(t->items[a].height > own->height);
                assert_true(t->items[a].depth < own->depth);
            }
        }
        queue_tree_free(t);
        arena_free(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tree_knows_its_shape),
        cmocka_unit_test(what_a_child_keeps_is_not_its_parents),
        cmocka_unit_test(a_pool_without_a_row_promises_nothing),
        cmocka_unit_test(every_queue_is_under_its_ancestors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
