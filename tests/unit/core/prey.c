#include "core/prey.h"

#include "base/check.h"
#include "base/quantity.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define G GU_PER_GPU

/* A leaf of jobs that stand on their own: nothing of a core is needed. */
struct herd {
    struct queue leaf;
    struct job jobs[8];
    struct shape shapes[8];
    struct fact_job_submitted asks[8];
    struct lease_device promised;
    int count;
};

static struct job *add(struct herd *h, int64_t gpus)
{
    int i = h->count++;
    struct job *j = &h->jobs[i];

    h->shapes[i].ask = &h->asks[i];
    *j = (struct job){.id = i + 1,
                      .shape = &h->shapes[i],
                      .ask = &h->asks[i],
                      .state = JOB_STATE_RUNNING,
                      .leased_gu = gpus * G,
                      .started_ms = 1000};
    vec_push(&h->leaf.active, j);
    return j;
}

/* It waits, and these GPUs of a node are being freed for it. */
static struct job *add_promised(struct herd *h, int gpus)
{
    struct job *j = add(h, 0);

    h->promised = (struct lease_device){.gu = G};
    j->state = JOB_STATE_QUEUED;
    j->started_ms = 0;
    j->nomination.is = true;
    for (int i = 0; i < gpus; i++) {
        vec_push(&j->nomination.tasks,
                 (struct lease_task){.task = i, .device_count = 1, .devices = &h->promised});
    }
    return j;
}

static void herd_end(struct herd *h)
{
    for (int i = 0; i < h->count; i++) {
        vec_fini(&h->jobs[i].nomination.tasks);
    }
    vec_fini(&h->leaf.active);
    vec_fini(&h->leaf.by_loss);
}

static void order_is(struct herd *h, const int64_t *ids, size_t count)
{
    prey_sort(&h->leaf);
    assert_int_equal(h->leaf.by_loss.count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(h->leaf.by_loss.items[i]->id, ids[i]);
    }
}

static void only_what_is_preemptible_counts(void **state)
{
    struct herd h = {0};

    (void)state;
    add(&h, 4);
    add(&h, 64)->ask = &h.asks[7];
    h.asks[7].nonpreemptible = true;
    add(&h, 2);
    h.asks[0].priority = 3;
    h.asks[2].priority = 5;
    prey_know(&h.leaf);
    assert_int_equal(h.leaf.takeable_gu, 6 * G);
    assert_int_equal(h.leaf.largest_gu, 4 * G);
    assert_int_equal(h.leaf.smallest_gu, 2 * G);
    assert_int_equal(h.leaf.lowest, 3);
    assert_int_equal(h.leaf.elastic, 0);
    order_is(&h, (int64_t[]){1, 3}, 2);
    herd_end(&h);
}

static void a_leaf_with_nothing_to_take_says_so(void **state)
{
    struct herd h = {0};

    (void)state;
    add(&h, 4);
    h.asks[0].nonpreemptible = true;
    prey_know(&h.leaf);
    assert_int_equal(h.leaf.takeable_gu, 0);
    assert_int_equal(h.leaf.largest_gu, 0);
    assert_true(h.leaf.smallest_gu == INT64_MAX);
    assert_true(h.leaf.lowest == INT64_MAX);
    order_is(&h, NULL, 0);
    herd_end(&h);
}

/* What was promised can be taken like what runs; it shrinks to nothing, as it has not started. */
static void a_promise_counts_with_what_was_promised(void **state)
{
    struct herd h = {0};

    (void)state;
    add(&h, 1);
    add_promised(&h, 3);
    h.shapes[1].elastic = true;
    prey_know(&h.leaf);
    assert_int_equal(h.leaf.takeable_gu, 4 * G);
    assert_int_equal(h.leaf.largest_gu, 3 * G);
    assert_int_equal(h.leaf.smallest_gu, 1 * G);
    assert_int_equal(h.leaf.elastic, 0);
    herd_end(&h);
}

static void elastic_jobs_that_run_are_counted(void **state)
{
    struct herd h = {0};

    (void)state;
    add(&h, 1);
    add(&h, 2);
    add(&h, 2);
    h.shapes[0].elastic = h.shapes[2].elastic = true;
    prey_know(&h.leaf);
    assert_int_equal(h.leaf.elastic, 2);
    herd_end(&h);
}

/* Growth on the way: what the job holds and what it was promised besides. */
static void a_promise_of_growth_counts_with_the_lease(void **state)
{
    struct herd h = {0};
    struct job *j;

    (void)state;
    j = add_promised(&h, 2);
    j->state = JOB_STATE_RUNNING;
    j->leased_gu = 4 * G;
    j->nomination.step = 2;
    prey_know(&h.leaf);
    assert_int_equal(h.leaf.takeable_gu, 6 * G);
    herd_end(&h);
}

static void sums_stay_until_they_are_forgotten(void **state)
{
    struct herd h = {0};

    (void)state;
    add(&h, 4);
    prey_know(&h.leaf);
    order_is(&h, (int64_t[]){1}, 1);
    add(&h, 8);
    prey_know(&h.leaf);
    assert_int_equal(h.leaf.takeable_gu, 4 * G);
    order_is(&h, (int64_t[]){1}, 1);
    prey_forget(&h.leaf);
    prey_know(&h.leaf);
    assert_int_equal(h.leaf.takeable_gu, 12 * G);
    order_is(&h, (int64_t[]){2, 1}, 2);
    herd_end(&h);
}

static void work_is_safe_since_the_last_checkpoint_of_this_attempt(void **state)
{
    struct herd h = {0};
    struct job *j = add(&h, 1);

    (void)state;
    assert_int_equal(prey_saved_ms(j), 1000);
    j->checkpoint_ms = 5000;
    assert_int_equal(prey_saved_ms(j), 5000);
    j->started_ms = 9000; /* another attempt: the checkpoint is of the one before */
    assert_int_equal(prey_saved_ms(j), 9000);
    assert_true(prey_saved_ms(add_promised(&h, 1)) == INT64_MAX);
    herd_end(&h);
}

/* The lowest priority first; among equals what was only promised, then what was saved last; the
 * newer id decides the rest. */
static void who_loses_least_comes_first(void **state)
{
    struct herd h = {0};

    (void)state;
    add(&h, 1)->started_ms = 3000;
    add(&h, 1)->started_ms = 2000;
    add(&h, 1)->checkpoint_ms = 4000;
    add_promised(&h, 1);
    add(&h, 1)->started_ms = 3000;
    add(&h, 1)->started_ms = 100;
    h.asks[5].priority = -1;
    order_is(&h, (int64_t[]){6, 4, 3, 5, 1, 2}, 6);
    herd_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_is_preemptible_counts),
        cmocka_unit_test(a_leaf_with_nothing_to_take_says_so),
        cmocka_unit_test(a_promise_counts_with_what_was_promised),
        cmocka_unit_test(elastic_jobs_that_run_are_counted),
        cmocka_unit_test(a_promise_of_growth_counts_with_the_lease),
        cmocka_unit_test(sums_stay_until_they_are_forgotten),
        cmocka_unit_test(work_is_safe_since_the_last_checkpoint_of_this_attempt),
        cmocka_unit_test(who_loses_least_comes_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
