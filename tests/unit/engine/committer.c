/* The engine with a committer: batches on their way, what waits for them, and what a failed one
 * leaves. */
#include "engine/engine.h"

#include "backend/virtual/virtual.h"
#include "base/quantity.h"
#include "base/str.h"
#include "core/view.h"
#include "faulty_journal.h"
#include "sim/site.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define NOW_MS ((int64_t)1000000)

struct way { /* what the committer was given */
    struct journal_record *records;
    size_t count;
    int64_t snapshot_seq;
    int waited;
};

static struct faulty_journal *journal;
static struct backend *world;
static struct engine *engine;
static struct site site;
static struct way way;
static struct str heard;

static void durable(void *ctx, const struct fact *fact, const struct journal_record *record)
{
    (void)ctx;
    assert_int_equal(fact->seq, record->seq);
    str_addf(&heard, "%s ", record->kind);
}

static void begin(void *ctx, struct journal_record *records, size_t count)
{
    (void)ctx;
    assert_null(way.records); /* one at a time */
    way.records = records;
    way.count = count;
}

static void keep(void *ctx, const struct journal_snapshot *taken)
{
    struct journal_snapshot own = *taken;

    (void)ctx;
    way.snapshot_seq = taken->seq;
    mem_freep(&own.bytes);
}

static void wait_for_all(void *ctx)
{
    (void)ctx;
    way.waited++;
}

static int set_up(void **state)
{
    const struct engine_committer committer = {.append = begin,
                                               .snapshot = keep,
                                               .wait = wait_for_all};
    struct engine_config config = {.hooks = {.durable = durable}, .snapshot_every = 4};

    (void)state;
    way = (struct way){0};
    journal = faulty_journal_open();
    config.journal = &journal->base;
    world = virtual_new("local");
    virtual_run_until(world, NOW_MS);
    site_init(&site);
    (void)site_add_pool(&site, "main");
    (void)site_add_node(&site, "n1", 1, 4);
    site_add_queue(&site, "a", 0)->quotas[0].reserved_gu = 4 * GU_PER_GPU;
    assert_int_equal(engine_open(&config, &engine, NULL), 0);
    engine_add_backend(engine, "local", world);
    engine_set_committer(engine, &committer);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    engine_close(engine);
    world->ops->free(world);
    journal_close(&journal->base);
    site_fini(&site);
    str_fini(&heard);
    return 0;
}

struct answer {
    int times;
    int rc;
};

static void answered(void *arg, int rc, int64_t seq, const struct err *err)
{
    struct answer *a = arg;

    (void)seq;
    (void)err;
    a->times++;
    a->rc = rc;
    str_add(&heard, rc == 0 ? "yes " : "no ");
}

static void put_policy(void)
{
    const struct fact_policy_set body = {.policy = site_policy(&site), .subject = ""};
    const struct fact fact = {.kind = FACT_POLICY_SET, .body.as_POLICY_SET = &body};

    engine_put(engine, &fact, NULL, NULL);
}

static void put_job_to(int64_t queue, int64_t gpus, struct answer *a)
{
    struct fact_group group = {.name = "main",
                               .tasks = 1,
                               .min_tasks = 1,
                               .gpus = gpus,
                               .profile = "",
                               .model = "",
                               .required = "",
                               .preferred = ""};
    const struct fact_job_submitted body = {.name = "job",
                                            .queue = queue,
                                            .subject = "ann",
                                            .groups = &group,
                                            .group_count = 1,
                                            .spec = ""};
    const struct fact fact = {.kind = FACT_JOB_SUBMITTED, .body.as_JOB_SUBMITTED = &body};

    engine_put(engine, &fact, answered, a);
}

static void put_job(int64_t gpus, struct answer *a)
{
    put_job_to(1, gpus, a);
}

/* The batch that is on its way reaches the disk, or not. */
static int land(void)
{
    struct journal_record *records = way.records;
    struct err err = {0};
    int rc;

    assert_non_null(records);
    way.records = NULL;
    rc = journal_append(&journal->base, records, way.count, &err);
    engine_committed(engine, NOW_MS, rc, &err);
    return rc;
}

/* Steps until nothing is on its way and nothing is queued. */
static void settle(void)
{
    for (int i = 0; i < 20; i++) {
        engine_step(engine, NOW_MS);
        if (!engine_in_flight(engine)) {
            return;
        }
        assert_int_equal(land(), 0);
    }
    fail_msg("it does not settle");
}

static void nothing_leaves_before_the_batch_is_durable(void **state)
{
    struct answer first = {0};
    struct answer second = {0};

    (void)state;
    put_policy();
    settle();
    str_clear(&heard);
    put_job(1, &first);
    assert_int_equal(engine_step(engine, NOW_MS), INT64_MAX);
    assert_true(engine_in_flight(engine));
    assert_int_equal(first.times, 0);
    assert_string_equal(str_text(&heard), "");
    assert_int_equal(virtual_task_count(world), 0);
    assert_non_null(view_job(engine_core(engine), 1)); /* the core is ahead */

    put_job(1, &second); /* gathers */
    assert_int_equal(engine_step(engine, NOW_MS), INT64_MAX);
    assert_null(view_job(engine_core(engine), 2));
    assert_int_equal(land(), 0);
    assert_int_equal(first.times, 1);
    assert_int_equal(second.times, 0);
    assert_int_equal(virtual_task_count(world), 1);
    assert_non_null(strstr(str_text(&heard), "yes job_submitted job_started "));
    settle();
    assert_int_equal(second.times, 1);
    assert_int_equal(virtual_task_count(world), 2);
}

static void a_batch_that_fails_never_was(void **state)
{
    struct answer lost = {0};
    struct answer next = {0};

    (void)state;
    put_policy();
    settle();
    journal->rc = ERR_IO;
    journal->fail_at = journal->appends + 1;
    put_job(1, &lost);
    engine_step(engine, NOW_MS);
    put_job(1, &next);
    assert_int_equal(land(), ERR_IO);
    assert_int_equal(lost.times, 1);
    assert_int_equal(lost.rc, ERR_IO);
    assert_null(view_job(engine_core(engine), 1));
    assert_int_equal(virtual_task_count(world), 0);
    engine_step(engine, NOW_MS + 2000); /* it is tried again after a second */
    assert_int_equal(land(), 0);
    assert_int_equal(next.rc, 0);
    assert_int_equal(next.times, 1);
    assert_non_null(view_job(engine_core(engine), 1)); /* its id was not used up */
}

static void a_refusal_alone_needs_no_disk(void **state)
{
    struct answer a = {0};

    (void)state;
    put_policy();
    settle();
    put_job_to(99, 1, &a);
    engine_step(engine, NOW_MS);
    assert_false(engine_in_flight(engine));
    assert_int_equal(a.times, 1);
    assert_int_not_equal(a.rc, 0);
}

static void a_full_disk_is_asked_when_nobody_writes(void **state)
{
    struct answer a = {0};

    (void)state;
    put_policy();
    settle();
    journal->full = true;
    put_job(1, &a);
    engine_step(engine, NOW_MS);
    assert_int_equal(land(), ERR_DISK_FULL);
    assert_int_equal(a.rc, ERR_DISK_FULL);
    assert_true(engine_disk_full(engine));
    put_job(1, &a);
    engine_step(engine, NOW_MS);
    assert_true(way.waited > 0);
    assert_false(engine_in_flight(engine));
    assert_int_equal(a.times, 2);
}

static void snapshots_wait_for_as_many_bytes_as_they_have(void **state)
{
    struct answer a = {0};
    int64_t first;

    (void)state;
    put_policy();
    settle();
    put_job(4, &a);
    settle();
    first = way.snapshot_seq;
    assert_true(first > 0);
    put_job(1, &a);
    put_job(1, &a);
    put_job(1, &a);
    put_job(1, &a);
    put_job(1, &a);
    settle();
    assert_int_equal(way.snapshot_seq, first); /* five records, but the state is larger */
    for (int i = 0; i < 40; i++) {
        put_job(1, &a);
    }
    settle();
    assert_true(way.snapshot_seq > first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_leaves_before_the_batch_is_durable, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_batch_that_fails_never_was, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_refusal_alone_needs_no_disk, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_full_disk_is_asked_when_nobody_writes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(snapshots_wait_for_as_many_bytes_as_they_have, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
