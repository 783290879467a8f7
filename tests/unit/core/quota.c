#include "core/quota.h"

#include "base/arena.h"
#include "base/check.h"
#include "base/quantity.h"
#include "base/rng.h"
#include "random_tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define G         GU_PER_GPU
#define QUEUE_MAX 32
#define TREES     150
#define STEPS     30

/* ---- the rules once more, plainly, from the written amounts and the leaves' usage alone ---- */

struct plain {
    const struct queue_tree *tree;
    int64_t capacity, held;
    int64_t leaf[QUEUE_MAX]; /* usage of leaves */
};

static const struct policy_quota *row_of(const struct plain *p, int q)
{
    return &p->tree->items[q].row->quotas[0];
}

static int64_t big_or(int64_t gu)
{
    return gu == POLICY_NONE ? INT64_MAX / 4 : gu;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t keep_of(const struct plain *p, int q);

static int64_t whole_reserve(const struct plain *p, int q)
{
    int64_t t = row_of(p, q)->reserved_gu;

    for (int c = 0; c < p->tree->count; c++) {
        if (p->tree->items[c].parent == q) {
            t += whole_reserve(p, c) - keep_of(p, c) - row_of(p, c)->reserved_gu;
        }
    }
    return t;
}

static int64_t keep_of(const struct plain *p, int q)
{
    return larger(0, whole_reserve(p, q) - big_or(row_of(p, q)->lend_gu));
}

static int64_t usage_of(const struct plain *p, int q)
{
    int64_t u = 0;
    bool leaf = true;

    for (int c = 0; c < p->tree->count; c++) {
        if (p->tree->items[c].parent == q) {
            leaf = false;
            u += larger(0, usage_of(p, c) - keep_of(p, c));
        }
    }
    return leaf ? p->leaf[q] : u;
}

static int64_t plain_usage(const struct plain *p, int q)
{
    int64_t u = p->leaf[q];

    for (int c = 0; c < p->tree->count; c++) {
        u += p->tree->items[c].parent == q ? plain_usage(p, c) : 0;
    }
    return u;
}

static int64_t may_use(const struct plain *p, int q)
{
    int64_t keep = keep_of(p, q), used = usage_of(p, q);
    int64_t above = p->capacity - p->held;

    if (p->tree->items[q].parent >= 0) {
        above = may_use(p, p->tree->items[q].parent);
    } else {
        for (int i = 0; i < p->tree->count; i++) {
            above -= larger(0, keep_of(p, i) - usage_of(p, i));
        }
        above = larger(0, above);
    }
    return larger(0, keep - used) +
           larger(0, smaller(above, whole_reserve(p, q) - keep - larger(0, used - keep) +
                                        big_or(row_of(p, q)->borrow_gu)));
}

static int64_t avail_of(const struct plain *p, int q)
{
    int64_t avail = smaller(may_use(p, q), p->capacity - p->held);

    for (int i = q; i >= 0; i = p->tree->items[i].parent) {
        avail = smaller(avail, big_or(row_of(p, i)->limit_gu) - plain_usage(p, i));
    }
    return larger(0, avail);
}

/* ---- the stories ---- */

struct world {
    struct arena *arena;
    struct policy *policy;
    struct queue_tree *tree;
    struct pool pool;
    struct plain plain;
};

static void world_begin(struct world *w, struct policy *policy, int64_t capacity)
{
    w->policy = policy;
    w->tree = queue_tree_new(policy);
    assert_true(w->tree->count <= QUEUE_MAX);
    w->pool = (struct pool){.id = 7, .capacity_gu = capacity, .nominal_gu = capacity};
    w->plain = (struct plain){.tree = w->tree, .capacity = capacity};
}

static void use(struct world *w, int leaf, int64_t gu, bool fixed)
{
    int sign = gu < 0 ? -1 : 1;

    quota_add(w->tree, leaf, 0, (struct quota_use){sign * gu, fixed, false}, sign);
    w->pool.taken_gu += gu;
    w->plain.held += gu;
    w->plain.leaf[leaf] += gu;
}

static int random_leaf(const struct world *w, struct rng *rng)
{
    int q;

    do {
        q = (int)rng_below(rng, (uint64_t)w->tree->count);
    } while (!queue_is_leaf(&w->tree->items[q]));
    return q;
}

static void random_step(struct world *w, struct rng *rng)
{
    int leaf = random_leaf(w, rng);
    int64_t avail = quota_avail(w->tree, &w->pool, leaf) / G;

    if (avail > 0 && rng_below(rng, 4) > 0) {
        use(w, leaf, rng_range(rng, 1, avail < 4 ? avail : 4) * G, false);
    } else if (w->plain.leaf[leaf] > 0) {
        use(w, leaf, -rng_range(rng, 1, w->plain.leaf[leaf] / G) * G, false);
    }
}

static void compare_all(struct world *w)
{
    for (int q = 0; q < w->tree->count; q++) {
        const struct queue_quota *own = &w->tree->items[q].quotas[0];

        assert_int_equal(own->mine, whole_reserve(&w->plain, q));
        assert_int_equal(own->keep, keep_of(&w->plain, q));
        assert_int_equal(own->used, usage_of(&w->plain, q));
        assert_int_equal(own->plain, plain_usage(&w->plain, q));
        assert_int_equal(quota_may(w->tree, &w->pool, q), may_use(&w->plain, q));
        assert_int_equal(quota_avail(w->tree, &w->pool, q), avail_of(&w->plain, q));
    }
}

/* The smallest subtree that would be within its reserve, by using it. */
static void compare_cover(struct world *w, int leaf, int64_t gu)
{
    int expected = -1;
    int64_t borrowed[QUEUE_MAX] = {0};

    w->plain.leaf[leaf] += gu;
    for (int q = leaf; q >= 0; q = w->tree->items[q].parent) {
        int64_t over = usage_of(&w->plain, q) - whole_reserve(&w->plain, q);

        borrowed[q] = larger(0, over);
        if (over <= 0 && expected < 0) {
            expected = q;
        }
    }
    w->plain.leaf[leaf] -= gu;
    assert_int_equal(quota_cover(w->tree, leaf, 0, gu), expected);
    for (int q = leaf; q >= 0; q = w->tree->items[q].parent) {
        assert_int_equal(quota_borrowed_after(w->tree, 0, q, leaf, gu), borrowed[q]);
    }
}

static void compare_over(struct world *w, int a, int b)
{
    int common = queue_common(w->tree, a, b);
    bool over = true;

    for (int q = a; q != common; q = w->tree->items[q].parent) {
        over = over && usage_of(&w->plain, q) > whole_reserve(&w->plain, q);
        assert_false(queue_covers(w->tree, q, b));
    }
    assert_true(common < 0 ||
                (queue_covers(w->tree, common, a) && queue_covers(w->tree, common, b)));
    if (a != b) {
        assert_int_equal(quota_over(w->tree, 0, a, common), over);
    }
}

static void the_sums_are_the_formula_on_random_trees(void **state)
{
    struct rng rng = rng_init(11);

    (void)state;
    for (int i = 0; i < TREES; i++) {
        struct world w = {.arena = arena_make()};
        struct policy *policy = random_tree(&rng, w.arena);

        world_begin(&w, policy, random_tree_reserved_gu(policy) + rng_range(&rng, 0, 3) * G);
        for (int step = 0; step < STEPS / 3; step++) {
            random_step(&w, &rng);
            random_step(&w, &rng);
            random_step(&w, &rng);
            compare_all(&w);
            compare_cover(&w, random_leaf(&w, &rng), rng_range(&rng, 1, 6) * G);
            compare_over(&w, random_leaf(&w, &rng), random_leaf(&w, &rng));
        }
        queue_tree_free(w.tree);
        arena_free(w.arena);
    }
}

/* The check of the design: capacity and limits hold, and what is never lent is always free. */
static void nothing_is_promised_twice(void **state)
{
    struct rng rng = rng_init(12);

    (void)state;
    for (int i = 0; i < TREES; i++) {
        struct world w = {.arena = arena_make()};
        struct policy *policy = random_tree(&rng, w.arena);

        world_begin(&w, policy, random_tree_reserved_gu(policy) + rng_range(&rng, 0, 3) * G);
        for (int step = 0; step < STEPS; step++) {
            random_step(&w, &rng);
            assert_true(w.pool.taken_gu <= w.pool.capacity_gu);
            for (int q = 0; q < w.tree->count; q++) {
                const struct queue_quota *own = &w.tree->items[q].quotas[0];
                int64_t never_lent = larger(0, own->keep - own->used);
                int whose;

                assert_true(own->plain <= own->limit);
                if (quota_limit_room(w.tree, 0, q, &whose) >= never_lent) {
                    assert_true(quota_avail(w.tree, &w.pool, q) >= never_lent);
                }
            }
        }
        queue_tree_free(w.tree);
        arena_free(w.arena);
    }
}

/* What a job can ever have is what an empty pool would give it. */
static void ever_is_what_an_empty_pool_gives(void **state)
{
    struct rng rng = rng_init(13);

    (void)state;
    for (int i = 0; i < TREES; i++) {
        struct world w = {.arena = arena_make()};
        struct policy *policy = random_tree(&rng, w.arena);
        int64_t ever[QUEUE_MAX];

        world_begin(&w, policy, random_tree_reserved_gu(policy));
        for (int q = 0; q < w.tree->count; q++) {
            ever[q] = quota_avail(w.tree, &w.pool, q);
        }
        for (int step = 0; step < STEPS; step++) {
            random_step(&w, &rng);
        }
        for (int q = 0; q < w.tree->count; q++) {
            assert_int_equal(quota_ever(w.tree, 0, q, w.pool.nominal_gu), ever[q]);
        }
        queue_tree_free(w.tree);
        arena_free(w.arena);
    }
}

/* The two queues of the worked examples: 8 reserved each. */
static struct policy *two_queues(struct arena *arena)
{
    struct policy *p = arena_new(arena, 1, sizeof(*p));

    p->pools = arena_new(arena, 1, sizeof(p->pools[0]));
    p->pools[0] = (struct policy_pool){.id = 7, .name = "main"};
    p->pool_count = 1;
    p->queue_count = 2;
    p->queues = arena_new(arena, 2, sizeof(p->queues[0]));
    for (int i = 0; i < 2; i++) {
        p->queues[i] = (struct policy_queue){.id = i + 1, .name = i == 0 ? "a" : "b", .weight = 1};
        p->queues[i].quotas = arena_new(arena, 1, sizeof(p->queues[i].quotas[0]));
        p->queues[i].quota_count = 1;
        p->queues[i].quotas[0] =
            (struct policy_quota){7, 8 * G, POLICY_NONE, POLICY_NONE, POLICY_NONE};
    }
    return p;
}

static void what_is_not_lent_is_not_there(void **state)
{
    struct world w = {.arena = arena_make()};
    struct policy *p = two_queues(w.arena);
    int whose;

    (void)state;
    p->queues[1].quotas[0].lend_gu = 4 * G;
    world_begin(&w, p, 16 * G);
    assert_int_equal(quota_avail(w.tree, &w.pool, 0), 12 * G);
    assert_int_equal(quota_ever(w.tree, 0, 0, 16 * G), 12 * G);
    use(&w, 0, 6 * G, false);
    assert_int_equal(quota_avail(w.tree, &w.pool, 0), 6 * G);
    assert_int_equal(quota_avail(w.tree, &w.pool, 1), 10 * G);
    assert_int_equal(quota_limit_room(w.tree, 0, 0, &whose), QUEUE_NO_LIMIT);
    assert_int_equal(whose, -1);
    queue_tree_free(w.tree);
    arena_free(w.arena);
}

static void a_limit_counts_no_job_that_is_stopping(void **state)
{
    struct world w = {.arena = arena_make()};
    struct policy *p = two_queues(w.arena);
    int whose;

    (void)state;
    p->queues[0].quotas[0].limit_gu = 10 * G;
    world_begin(&w, p, 16 * G);
    use(&w, 0, 8 * G, false);
    assert_int_equal(quota_limit_room(w.tree, 0, 0, &whose), 2 * G);
    assert_int_equal(whose, 0);
    quota_add(w.tree, 0, 0, (struct quota_use){8 * G, false, false}, -1);
    quota_add(w.tree, 0, 0, (struct quota_use){8 * G, false, true}, 1);
    assert_int_equal(quota_limit_room(w.tree, 0, 0, &whose), 10 * G);
    queue_tree_free(w.tree);
    arena_free(w.arena);
}

static void what_is_not_preemptible_stays_within_the_written_reserve(void **state)
{
    struct world w = {.arena = arena_make()};
    int whose = -1;

    (void)state;
    world_begin(&w, two_queues(w.arena), 16 * G);
    use(&w, 0, 8 * G, false);
    assert_true(quota_fixed_fits(w.tree, &w.pool, 0, 4 * G, &whose));
    use(&w, 0, 4 * G, true);
    assert_int_equal(quota_borrowed(w.tree, 0, 0), 4 * G);
    assert_false(quota_fixed_fits(w.tree, &w.pool, 0, 6 * G, &whose));
    assert_int_equal(whose, 0);
    assert_true(quota_fixed_fits(w.tree, &w.pool, 0, 4 * G, &whose));
    queue_tree_free(w.tree);
    arena_free(w.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sums_are_the_formula_on_random_trees),
        cmocka_unit_test(nothing_is_promised_twice),
        cmocka_unit_test(ever_is_what_an_empty_pool_gives),
        cmocka_unit_test(what_is_not_lent_is_not_there),
        cmocka_unit_test(a_limit_counts_no_job_that_is_stopping),
        cmocka_unit_test(what_is_not_preemptible_stays_within_the_written_reserve),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
