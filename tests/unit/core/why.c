#include "core/why.h"

#include "base/check.h"
#include "base/quantity.h"
#include "base/rng.h"
#include "core/codec.h"
#include "core_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define G GU_PER_GPU

enum { QUEUE_A = 1, QUEUE_B };

/* a reserves 8 GPUs of two nodes of 8, b the rest. */
static void begin(struct core_world *w)
{
    static const int SIZES[] = {8, 8};
    struct policy_quota quotas[] = {{7, 8 * G, 12 * G, POLICY_NONE, POLICY_NONE},
                                    {7, 8 * G, POLICY_NONE, 4 * G, POLICY_NONE}};
    struct policy_queue queues[] = {{.id = QUEUE_A, .name = "a"}, {.id = QUEUE_B, .name = "b"}};
    struct policy_pool pool = {.id = 7, .name = "main"};
    struct policy policy = {.cluster = "test",
                            .pools = &pool,
                            .pool_count = 1,
                            .queues = queues,
                            .queue_count = 2,
                            .overcommit = true};

    for (int i = 0; i < 2; i++) {
        queues[i].weight = 1;
        queues[i].grace_ms = queues[i].grace_max_ms = 60000;
        queues[i].start_timeout_ms = queues[i].stop_stuck_ms = 600000;
        queues[i].drain_after_ms = 20000;
        queues[i].quotas = &quotas[i];
        queues[i].quota_count = 1;
    }
    core_world_begin(w, &policy, SIZES, 2);
}

static int64_t submit(struct core_world *w, int64_t queue, int64_t gpus, int64_t priority)
{
    struct core_world_job ask = {
        .queue = queue, .tasks = 1, .min_tasks = 1, .gpus = gpus, .priority = priority};

    return core_world_submit(w, &ask);
}

static void submit_many(struct core_world *w, int count, int64_t gpus, int64_t priority)
{
    for (int i = 0; i < count; i++) {
        submit(w, QUEUE_A, gpus, priority);
    }
}

static const struct why_blocker *ahead_of(struct core_world *w, int64_t job)
{
    struct why *why = arena_new(w->arena, 1, sizeof(*why));

    assert_int_equal(why_job(w->core, job, w->now_ms, w->arena, why, NULL), 0);
    for (size_t i = 0; i < why->blocker_count; i++) {
        if (why->blockers[i].code == WHY_AHEAD) {
            return &why->blockers[i];
        }
    }
    return NULL;
}

static void says(struct core_world *w, int64_t job, const char *text)
{
    const struct why_blocker *b = ahead_of(w, job);

    assert_non_null(b);
    assert_string_equal(b->text, text);
}

/* Every job of higher priority, of whatever shape, and those of its own that came before. */
static void those_ahead_are_counted_by_shape(void **state)
{
    struct core_world w;
    const struct why_blocker *b;
    int64_t first, mid, last;

    (void)state;
    begin(&w);
    first = submit(&w, QUEUE_A, 8, 1);
    submit_many(&w, 39, 8, 1);
    submit_many(&w, 10, 4, 1);
    submit_many(&w, 5, 2, 0);
    mid = submit(&w, QUEUE_A, 8, 1);
    submit_many(&w, 70, 8, 1);
    last = submit(&w, QUEUE_A, 8, 1);
    submit_many(&w, 3, 1, 2);
    says(&w, first, "3 jobs of queue a are before it");
    says(&w, mid, "53 jobs of queue a are before it");
    says(&w, last, "124 jobs of queue a are before it");
    b = ahead_of(&w, last);
    assert_int_equal(b->job_count, 32);
    assert_int_equal(b->jobs[0], first);
    assert_int_equal(ahead_of(&w, first)->job_count, 3);
    core_world_end(&w);
}

static void one_is_one_and_none_is_nothing(void **state)
{
    struct core_world w;
    int64_t first, second;

    (void)state;
    begin(&w);
    first = submit(&w, QUEUE_A, 8, 0);
    second = submit(&w, QUEUE_A, 8, 0);
    submit(&w, QUEUE_B, 8, 5);
    assert_null(ahead_of(&w, first));
    says(&w, second, "1 job of queue a is before it");
    core_world_end(&w);
}

/* From either end the count is exact; in the middle of a very long list it says that it is not. */
static void a_count_that_was_cut_short_says_so(void **state)
{
    struct core_world w;
    int64_t early, mid, late;

    (void)state;
    begin(&w);
    submit_many(&w, 9000, 8, 0);
    early = submit(&w, QUEUE_A, 8, 0);
    submit_many(&w, 7000, 8, 0);
    mid = submit(&w, QUEUE_A, 8, 0);
    submit_many(&w, 7000, 8, 0);
    late = submit(&w, QUEUE_A, 8, 0);
    submit_many(&w, 6000, 8, 0);
    says(&w, early, "9000 jobs of queue a are before it");
    says(&w, mid, "at least 9999 jobs of queue a are before it");
    says(&w, late, "23002 jobs of queue a are before it");
    core_world_end(&w);
}

static void check_lines(struct core_world *w)
{
    for (const struct job *j = view_job_next(w->core, 0); j != NULL;
         j = view_job_next(w->core, j->id)) {
        struct arena *arena = arena_make();
        const char *line;
        struct why why;

        assert_int_equal(why_job(w->core, j->id, w->now_ms, arena, &why, NULL), 0);
        assert_int_equal(why_line(w->core, j->id, w->now_ms, arena, &line, NULL), 0);
        assert_string_equal(line, why.blocker_count > 0 ? why.blockers[0].text : why.summary);
        arena_free(arena);
    }
}

/* In random lives: full, fragmented, drained for, held, at its limit. */
static void a_line_is_the_first_of_the_record(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct rng r = rng_init(seed);
        struct core_world w;

        begin(&w);
        for (int step = 0; step < 40; step++) {
            int64_t last = core_next_job(w.core) - 1;

            if (last > 0 && rng_below(&r, 3) == 0) {
                core_world_finish(&w, rng_range(&r, 1, last), 0);
            } else {
                submit(&w, rng_range(&r, QUEUE_A, QUEUE_B), rng_range(&r, 1, 8),
                       rng_range(&r, 0, 2));
            }
            w.now_ms += rng_range(&r, 1, 5000);
            core_world_plan(&w);
            if (rng_below(&r, 2) == 0) {
                core_world_obey(&w);
            }
            check_lines(&w);
        }
        core_world_end(&w);
    }
}

static void decisions_text(const struct decisions *d, struct str *ret)
{
    for (size_t i = 0; i < d->count; i++) {
        codec_encode_fact(&d->items[i], ret);
    }
}

/* A dry run asks between a plan and what is made of it. */
static void what_the_plan_decided_stays(void **state)
{
    struct str before = {0}, after = {0};
    struct core_world w;
    struct decisions d;

    (void)state;
    begin(&w);
    for (int i = 0; i < 20; i++) {
        submit(&w, i % 2 == 0 ? QUEUE_A : QUEUE_B, 1 + i % 3, i % 4);
    }
    core_plan(w.core, w.now_ms, &d);
    assert_true(d.count > 5);
    decisions_text(&d, &before);
    check_lines(&w);
    decisions_text(&d, &after);
    assert_string_equal(str_text(&before), str_text(&after));
    str_fini(&before);
    str_fini(&after);
    core_world_end(&w);
}

static void a_job_that_is_not_there_is_not_found(void **state)
{
    struct core_world w;
    const char *line;
    struct why why;

    (void)state;
    begin(&w);
    assert_int_equal(why_job(w.core, 5, w.now_ms, w.arena, &why, NULL), ERR_NOT_FOUND);
    assert_int_equal(why_line(w.core, 5, w.now_ms, w.arena, &line, NULL), ERR_NOT_FOUND);
    core_world_end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(those_ahead_are_counted_by_shape),
        cmocka_unit_test(one_is_one_and_none_is_nothing),
        cmocka_unit_test(a_count_that_was_cut_short_says_so),
        cmocka_unit_test(a_line_is_the_first_of_the_record),
        cmocka_unit_test(what_the_plan_decided_stays),
        cmocka_unit_test(a_job_that_is_not_there_is_not_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
