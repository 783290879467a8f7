#include "engine/engine.h"

#include "backend/virtual/virtual.h"
#include "base/hash.h"
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

static struct faulty_journal *journal;
static struct backend *world;
static struct engine *engine;
static struct site site;
static int64_t now_ms;
static struct str heard; /* what the hooks and answers said, in order */
static int spec_rc;

static void durable(void *ctx, const struct fact *fact, const struct journal_record *record)
{
    (void)ctx;
    assert_int_equal(fact->seq, record->seq);
    assert_true(record->seq <= journal_last_seq(&journal->base));
    str_addf(&heard, "%s ", record->kind);
}

static void disk_full(void *ctx, bool full, const struct err *err)
{
    (void)ctx;
    (void)err;
    str_add(&heard, full ? "FULL " : "WELL ");
}

static int spec(void *ctx, const struct fact_job_submitted *job, struct backend_spec *ret,
                struct err *err)
{
    (void)ctx;
    (void)ret;
    assert_true(job->id > 0);
    return spec_rc != 0 ? err_set(err, spec_rc, "no such spec") : 0;
}

static void open_engine(int64_t snapshot_every)
{
    const struct engine_config config = {
        .journal = &journal->base,
        .hooks = {.spec = spec, .durable = durable, .disk_full = disk_full},
        .snapshot_every = snapshot_every,
    };
    struct err err = {0};

    if (engine_open(&config, &engine, &err) != 0) {
        fail_msg("%s", err.text);
    }
    engine_add_backend(engine, "local", world);
}

/* Two nodes of 4, queues a and b of 4 each. */
static int set_up(void **state)
{
    (void)state;
    now_ms = NOW_MS;
    spec_rc = 0;
    journal = faulty_journal_open();
    world = virtual_new("local");
    virtual_run_until(world, now_ms);
    site_init(&site);
    (void)site_add_pool(&site, "main");
    (void)site_add_node(&site, "n1", 1, 4);
    (void)site_add_node(&site, "n2", 1, 4);
    site_add_queue(&site, "a", 0)->quotas[0].reserved_gu = 4 * GU_PER_GPU;
    site_add_queue(&site, "b", 0)->quotas[0].reserved_gu = 4 * GU_PER_GPU;
    open_engine(0);
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
    int64_t seq;
};

static void answered(void *arg, int rc, int64_t seq, const struct err *err)
{
    struct answer *a = arg;

    a->times++;
    a->rc = rc;
    a->seq = seq;
    assert_true((rc == 0) == (err == NULL));
    str_add(&heard, rc == 0 ? "yes " : "no ");
}

static void put(enum fact_kind kind, const void *body, struct answer *a)
{
    const struct fact fact = {.kind = kind, .body.any = body};

    engine_put(engine, &fact, a != NULL ? answered : NULL, a);
}

static void put_policy(void)
{
    const struct fact_policy_set body = {.policy = site_policy(&site), .subject = ""};

    put(FACT_POLICY_SET, &body, NULL);
}

/* A job of 1-GPU tasks that needs at least so many of them. */
static void put_elastic(int64_t queue, int64_t tasks, int64_t least, struct answer *a)
{
    struct fact_group group = {.name = "main",
                               .tasks = tasks,
                               .min_tasks = least,
                               .gpus = 1,
                               .profile = "",
                               .model = "",
                               .required = "",
                               .preferred = ""};
    const struct fact_job_submitted body = {.name = "job",
                                            .queue = queue,
                                            .subject = "ann",
                                            .groups = &group,
                                            .group_count = 1,
                                            .spec = "",
                                            .retries = 3};

    put(FACT_JOB_SUBMITTED, &body, a);
}

static void put_job(int64_t queue, int64_t tasks, struct answer *a)
{
    put_elastic(queue, tasks, tasks, a);
}

static int64_t step_at(int64_t at_ms)
{
    now_ms = at_ms;
    virtual_run_until(world, now_ms);
    return engine_step(engine, now_ms);
}

static enum job_state state_of(int64_t job)
{
    const struct job *j = view_job(engine_core(engine), job);

    assert_non_null(j);
    return j->state;
}

static bool heard_it(const char *text)
{
    return strstr(str_text(&heard), text) != NULL;
}

/* ---- stories ---- */

static void a_job_is_journaled_answered_and_started(void **state)
{
    struct answer a = {0};

    (void)state;
    put_policy();
    (void)step_at(NOW_MS);
    assert_int_equal(view_node_count(engine_core(engine)), 2);
    str_clear(&heard);
    put_job(1, 4, &a);
    (void)step_at(NOW_MS + 10);
    assert_int_equal(a.times, 1);
    assert_int_equal(a.rc, 0);
    assert_int_equal(state_of(1), JOB_STATE_RUNNING);
    assert_int_equal(virtual_task_count(world), 4);
    assert_string_equal(str_text(&heard), "yes job_submitted job_started task_running "
                                          "task_running task_running task_running ");
}

static void it_is_known_whether_somebody_waits(void **state)
{
    struct answer a = {0};

    (void)state;
    put_policy();
    put_job(1, 1, NULL);
    assert_false(engine_is_asked(engine));
    put_job(1, 1, &a);
    assert_true(engine_is_asked(engine));
    (void)step_at(NOW_MS);
    assert_false(engine_is_asked(engine));
    assert_int_equal(a.times, 1);
}

static void time_never_goes_back(void **state)
{
    const struct job *j;

    (void)state;
    put_policy();
    (void)step_at(NOW_MS + 50);
    put_job(1, 1, NULL);
    (void)engine_step(engine, NOW_MS);
    j = view_job(engine_core(engine), 1);
    assert_int_equal(j->submitted_ms, NOW_MS + 50);
}

static void a_refused_fact_is_answered_and_not_journaled(void **state)
{
    struct fact_job_asked body = {.job = 99, .subject = "ann"};
    struct answer a = {0};
    struct engine_stats stats;
    int64_t seq;

    (void)state;
    put_policy();
    (void)step_at(NOW_MS);
    seq = journal_last_seq(&journal->base);
    put(FACT_JOB_CANCEL, &body, &a);
    (void)step_at(NOW_MS + 1);
    assert_int_equal(a.times, 1);
    assert_int_not_equal(a.rc, 0);
    assert_int_equal(journal_last_seq(&journal->base), seq);
    engine_stats(engine, &stats);
    assert_int_equal(stats.refused, 1);
}

static void stale_reports_are_dropped_and_counted(void **state)
{
    const struct fact_task_ended body = {.job = 1, .attempt = 7, .task = 0};
    const struct fact fact = {.kind = FACT_TASK_ENDED, .body.as_TASK_ENDED = &body};
    struct engine_stats stats;
    int64_t seq;

    (void)state;
    put_policy();
    put_job(1, 1, NULL);
    (void)step_at(NOW_MS);
    seq = journal_last_seq(&journal->base);
    world->sink(world->sink_ctx, &fact);
    (void)step_at(NOW_MS + 1);
    assert_int_equal(journal_last_seq(&journal->base), seq);
    engine_stats(engine, &stats);
    assert_int_equal(stats.stale, 1);
}

static void ids_are_given_where_they_are_0(void **state)
{
    const struct fact_node_seen stranger = {.name = "x9", .cluster = "local", .pool = 1};
    const struct fact fact = {.kind = FACT_NODE_SEEN, .body.as_NODE_SEEN = &stranger};
    const struct node *n;

    (void)state;
    put_policy();
    put_job(1, 1, NULL);
    put_job(1, 1, NULL);
    (void)step_at(NOW_MS);
    assert_non_null(view_job(engine_core(engine), 2));
    world->sink(world->sink_ctx, &fact);
    (void)step_at(NOW_MS + 1);
    n = view_node_of_name(engine_core(engine), "local", "x9");
    assert_non_null(n);
    assert_int_equal(n->id, 3);
    world->sink(world->sink_ctx, &fact);
    (void)step_at(NOW_MS + 2);
    assert_int_equal(view_node_of_name(engine_core(engine), "local", "x9")->id, 3);
}

static void a_start_without_a_spec_is_refused_and_tried_again(void **state)
{
    (void)state;
    put_policy();
    spec_rc = ERR_NOT_FOUND;
    put_job(1, 2, NULL);
    (void)step_at(NOW_MS);
    assert_int_equal(virtual_task_count(world), 0);
    assert_true(heard_it("task_refused task_refused attempt_ended"));
    assert_int_equal(state_of(1), JOB_STATE_QUEUED);
}

static void a_node_of_no_backend_refuses_the_start(void **state)
{
    const struct fact_device card = {.slot = 0, .uuid = "u", .model = "gpu"};
    struct fact_device cards[1] = {card};
    const struct fact_node_seen far = {.name = "f1",
                                       .cluster = "far",
                                       .pool = 1,
                                       .cpu_milli = 1000,
                                       .devices = cards,
                                       .device_count = 1};

    (void)state;
    vec_clear(&site.nodes);
    site.policy.overcommit = true;
    put_policy();
    put(FACT_NODE_SEEN, &far, NULL);
    (void)step_at(NOW_MS);
    str_clear(&heard);
    put_job(1, 1, NULL);
    (void)step_at(NOW_MS + 1);
    assert_true(heard_it("job_started task_refused"));
}

static void a_frozen_engine_takes_facts_and_plans_nothing(void **state)
{
    (void)state;
    put_policy();
    (void)step_at(NOW_MS);
    engine_set_frozen(engine, true, "two crashes");
    put_job(1, 1, NULL);
    assert_int_equal(step_at(NOW_MS + 1), INT64_MAX);
    assert_int_equal(state_of(1), JOB_STATE_QUEUED);
    engine_set_frozen(engine, false, NULL);
    (void)step_at(NOW_MS + 2);
    assert_int_equal(state_of(1), JOB_STATE_RUNNING);
}

/* A small life: a reclaim with everything in it. */
static void live(void)
{
    const struct virtual_behaviour how = {.run_ms = 100000, .stop_ms = 20};

    virtual_set_default(world, &how);
    put_policy();
    (void)step_at(NOW_MS);
    put_job(1, 8, NULL);
    (void)step_at(NOW_MS + 100);
    put_job(2, 4, NULL);
    (void)step_at(NOW_MS + 200);
    (void)step_at(NOW_MS + 220);
    (void)step_at(NOW_MS + 5000);
    (void)step_at(NOW_MS + 7000);
    (void)step_at(NOW_MS + 9000);
}

static void snapshot_of(struct str *ret)
{
    str_clear(ret);
    core_snapshot(engine_core(engine), ret);
}

static void a_restart_leads_to_the_same_state(void **state)
{
    struct str before = {0}, after = {0};

    (void)state;
    live();
    assert_int_equal(state_of(2), JOB_STATE_RUNNING);
    snapshot_of(&before);
    engine_close(engine);
    open_engine(0);
    snapshot_of(&after);
    assert_string_equal(before.text, after.text);
    str_fini(&before);
    str_fini(&after);
}

static void snapshots_shorten_a_restart_and_change_nothing(void **state)
{
    struct journal_snapshot s;
    struct str before = {0}, after = {0};

    (void)state;
    engine_close(engine);
    open_engine(5);
    live();
    assert_int_equal(journal_snapshot_get(&journal->base, &s, NULL), 0);
    assert_true(s.seq > 5);
    snapshot_of(&before);
    engine_close(engine);
    open_engine(5);
    snapshot_of(&after);
    assert_string_equal(before.text, after.text);
    str_fini(&before);
    str_fini(&after);
}

static void a_snapshot_that_lies_is_passed_over(void **state)
{
    struct journal_snapshot s = {.format = CORE_SNAPSHOT_FORMAT, .bytes = "{}", .len = 2};
    struct str before = {0}, after = {0};

    (void)state;
    live();
    snapshot_of(&before);
    s.seq = journal_last_seq(&journal->base);
    hash_sha256(s.bytes, s.len, s.state_hash);
    journal_last_hash(&journal->base, s.hash);
    assert_int_equal(journal_snapshot_put(&journal->base, &s, NULL), 0);
    engine_close(engine);
    open_engine(0);
    snapshot_of(&after);
    assert_string_equal(before.text, after.text);
    str_fini(&before);
    str_fini(&after);
}

/* ---- faults ---- */

/* The n-th append fails, for every n until the life passes without reaching it.  What was lost are
 * facts of people, who were told; nothing else may differ from what the journal says. */
static void fail_each_append(bool lands)
{
    int64_t n;

    for (n = 1; n < 100; n++) {
        struct str before = {0}, after = {0};
        bool reached;

        journal->fail_at = n;
        journal->lands = lands;
        live();
        reached = journal->appends >= n;
        snapshot_of(&before);
        engine_close(engine);
        open_engine(0);
        snapshot_of(&after);
        assert_string_equal(before.text, after.text);
        str_fini(&before);
        str_fini(&after);
        assert_int_equal(tear_down(NULL), 0);
        assert_int_equal(set_up(NULL), 0);
        if (!reached) {
            return;
        }
    }
    fail_msg("a life of 100 appends");
}

static void any_append_may_fail(void **state)
{
    (void)state;
    fail_each_append(false);
}

static void an_append_that_landed_after_all_is_kept(void **state)
{
    struct answer a = {0};

    (void)state;
    fail_each_append(true);
    put_policy();
    (void)step_at(NOW_MS);
    journal->fail_at = journal->appends + 1;
    journal->lands = true;
    put_job(1, 1, &a);
    (void)step_at(NOW_MS + 1);
    assert_int_equal(a.rc, 0);
    assert_int_equal(state_of(1), JOB_STATE_RUNNING);
}

static void what_backends_told_survives_a_failed_append(void **state)
{
    const struct virtual_behaviour how = {.run_ms = 100};

    (void)state;
    virtual_set_default(world, &how);
    put_policy();
    put_job(1, 1, NULL);
    (void)step_at(NOW_MS);
    journal->fail_at = journal->appends + 1;
    assert_int_equal(step_at(NOW_MS + 100), NOW_MS + 1100);
    assert_int_equal(state_of(1), JOB_STATE_RUNNING);
    (void)step_at(NOW_MS + 1100);
    assert_int_equal(state_of(1), JOB_STATE_SUCCEEDED);
}

static void a_full_disk_refuses_people_and_recovers(void **state)
{
    struct answer a = {0};

    (void)state;
    put_policy();
    (void)step_at(NOW_MS);
    journal->full = true;
    put_job(1, 1, &a);
    assert_int_equal(step_at(NOW_MS + 1), NOW_MS + 1001);
    assert_int_equal(a.rc, ERR_DISK_FULL);
    assert_true(engine_disk_full(engine));
    assert_true(heard_it("FULL"));
    assert_null(view_job(engine_core(engine), 1));
    put_job(1, 1, &a);
    (void)step_at(NOW_MS + 500);
    assert_int_equal(a.times, 2);
    assert_int_equal(a.rc, ERR_DISK_FULL);
    journal->full = false;
    (void)step_at(NOW_MS + 1001);
    assert_false(engine_disk_full(engine));
    assert_true(heard_it("WELL"));
    put_job(1, 1, &a);
    (void)step_at(NOW_MS + 1002);
    assert_int_equal(a.rc, 0);
    assert_int_equal(state_of(1), JOB_STATE_RUNNING);
}

static void a_full_disk_still_takes_what_happened(void **state)
{
    const struct virtual_behaviour how = {.run_ms = 100};

    (void)state;
    virtual_set_default(world, &how);
    put_policy();
    put_job(1, 1, NULL);
    (void)step_at(NOW_MS);
    journal->full = true;
    journal->urgent = true;
    str_clear(&heard);
    (void)step_at(NOW_MS + 100);
    assert_true(heard_it("FULL task_ended"));
    journal->full = false;
    (void)step_at(NOW_MS + 1100);
    assert_int_equal(state_of(1), JOB_STATE_SUCCEEDED);
}

static void a_full_disk_loses_nothing_of_the_world(void **state)
{
    const struct virtual_behaviour how = {.run_ms = 100};

    (void)state;
    virtual_set_default(world, &how);
    put_policy();
    put_job(1, 1, NULL);
    (void)step_at(NOW_MS);
    journal->full = true;
    (void)step_at(NOW_MS + 100);
    (void)step_at(NOW_MS + 600);
    (void)step_at(NOW_MS + 1600);
    assert_int_equal(state_of(1), JOB_STATE_RUNNING);
    journal->full = false;
    (void)step_at(NOW_MS + 2600);
    assert_int_equal(state_of(1), JOB_STATE_SUCCEEDED);
}

static void a_newer_owner_freezes_this_one(void **state)
{
    struct journal_record record = {.epoch = 5,
                                    .at_ms = NOW_MS,
                                    .true_at_ms = NOW_MS,
                                    .kind = "daemon_stopped",
                                    .version = 1,
                                    .bytes = "{}",
                                    .len = 2};
    struct answer a = {0};

    (void)state;
    put_policy();
    (void)step_at(NOW_MS);
    assert_int_equal(journal_append(journal->under, &record, 1, NULL), 0);
    put_job(1, 1, &a);
    (void)step_at(NOW_MS + 1);
    assert_int_equal(a.rc, ERR_JOURNAL_EPOCH);
    assert_true(engine_frozen(engine));
}

static void a_record_that_no_state_takes_is_damage(void **state)
{
    struct journal_record record = {.at_ms = 1,
                                    .true_at_ms = 1,
                                    .kind = "job_cancel",
                                    .version = 1,
                                    .bytes = "{\"job\":7}",
                                    .len = 9};
    const struct engine_config config = {.journal = &journal->base};
    struct engine *other = NULL;
    struct err err = {0};

    (void)state;
    assert_int_equal(journal_append(journal->under, &record, 1, NULL), 0);
    assert_int_equal(engine_open(&config, &other, &err), ERR_JOURNAL_DAMAGED);
    assert_null(other);
    assert_non_null(strstr(err.text, "record 1 (job_cancel)"));
}

/* Opening after this record must be refused as the work of a newer muster. */
static void assert_newer(struct journal_record record, const char *said)
{
    const struct engine_config config = {.journal = &journal->base};
    struct engine *other = NULL;
    struct err err = {0};

    record.at_ms = record.true_at_ms = 1;
    record.len = strlen(record.bytes);
    assert_int_equal(journal_append(journal->under, &record, 1, NULL), 0);
    assert_int_equal(engine_open(&config, &other, &err), ERR_JOURNAL_NEWER);
    assert_null(other);
    assert_string_equal(err.text, said);
}

static void a_kind_of_a_newer_release_is_refused(void **state)
{
    (void)state;
    assert_newer((struct journal_record){.kind = "job_teleported", .version = 1, .bytes = "{}"},
                 "record 1 is of kind \"job_teleported\", which this release does not know");
}

static void a_version_of_a_newer_release_is_refused(void **state)
{
    (void)state;
    assert_newer(
        (struct journal_record){.kind = "clock_stepped", .version = 2, .bytes = "{\"by_ms\":5}"},
        "record 1 (clock_stepped) has version 2 of a newer muster; this one reads up to 1");
}

static void a_field_of_a_newer_release_is_refused(void **state)
{
    (void)state;
    assert_newer((struct journal_record){.kind = "clock_stepped",
                                         .version = 1,
                                         .bytes = "{\"by_ms\":5,\"because\":\"ntp\"}"},
                 "record 1 (clock_stepped) is of a newer muster: because: no such "
                 "field");
}

static void a_snapshot_of_a_newer_release_is_refused(void **state)
{
    const struct engine_config config = {.journal = &journal->base};
    struct journal_record record = {.at_ms = 1,
                                    .true_at_ms = 1,
                                    .kind = "clock_stepped",
                                    .version = 1,
                                    .bytes = "{\"by_ms\":5}",
                                    .len = 11};
    struct journal_snapshot s = {.seq = 1,
                                 .format = CORE_SNAPSHOT_FORMAT + 1,
                                 .bytes = "{}",
                                 .len = 2};
    struct engine *other = NULL;
    struct err err = {0};

    (void)state;
    assert_int_equal(journal_append(journal->under, &record, 1, NULL), 0);
    journal_last_hash(journal->under, s.hash);
    hash_sha256(s.bytes, s.len, s.state_hash);
    assert_int_equal(journal_snapshot_put(journal->under, &s, NULL), 0);
    assert_int_equal(engine_open(&config, &other, &err), ERR_JOURNAL_NEWER);
    assert_null(other);
    assert_non_null(strstr(err.text, "the snapshot after record 1 has format"));
}

/* ---- adopting ---- */

static void after_a_restart_running_work_goes_on(void **state)
{
    struct err err = {0};

    (void)state;
    put_policy();
    put_job(1, 2, NULL);
    (void)step_at(NOW_MS);
    engine_close(engine);
    open_engine(0);
    assert_int_equal(engine_adopt(engine, &err), 0);
    (void)step_at(NOW_MS + 10);
    assert_int_equal(state_of(1), JOB_STATE_RUNNING);
    assert_int_equal(view_job(engine_core(engine), 1)->attempt, 1);
    assert_int_equal(virtual_task_count(world), 2);
}

static void a_start_that_was_never_made_is_found_out(void **state)
{
    struct err err = {0};

    (void)state;
    put_policy();
    put_job(1, 2, NULL);
    (void)step_at(NOW_MS);
    world->ops->forget(world, 1, 1); /* the daemon died between commit and call */
    engine_close(engine);
    open_engine(0);
    assert_int_equal(engine_adopt(engine, &err), 0);
    (void)step_at(NOW_MS + 10);
    assert_true(view_job(engine_core(engine), 1)->attempt == 2 || state_of(1) == JOB_STATE_QUEUED);
}

static void a_stop_that_was_decided_is_told_again(void **state)
{
    const struct virtual_behaviour deaf = {.run_ms = VIRTUAL_FOREVER, .on_signal = VIRTUAL_IGNORES};
    const struct virtual_behaviour good = {.run_ms = VIRTUAL_FOREVER};
    struct fact_job_asked body = {.job = 1, .subject = "ann"};
    struct err err = {0};

    (void)state;
    virtual_set_default(world, &deaf);
    put_policy();
    put_job(1, 2, NULL);
    (void)step_at(NOW_MS);
    put(FACT_JOB_CANCEL, &body, NULL);
    (void)step_at(NOW_MS + 10);
    assert_int_equal(state_of(1), JOB_STATE_STOPPING);
    engine_close(engine);
    open_engine(0);
    str_clear(&heard);
    virtual_set_default(world, &good);
    assert_int_equal(engine_adopt(engine, &err), 0);
    (void)step_at(NOW_MS + 20);
    /* The world had heard the signal once and does nothing the second time; at the deadline comes
     * the kill, which is told again too. */
    (void)step_at(NOW_MS + 10 + 60000);
    assert_int_equal(state_of(1), JOB_STATE_CANCELLED);
}

static int64_t step_of(int64_t job, int64_t task)
{
    const struct job *j = view_job(engine_core(engine), job);

    for (size_t i = 0; i < j->tasks.count; i++) {
        if (j->tasks.items[i].task == task) {
            return j->tasks.items[i].step;
        }
    }
    return 0;
}

static void say_ended(int64_t task, int64_t step)
{
    const struct fact_task_ended body = {.job = 1, .attempt = 1, .task = task, .step = step};
    const struct fact fact = {.kind = FACT_TASK_ENDED, .body.any = &body};

    world->sink(world->sink_ctx, &fact);
    (void)step_at(now_ms + 1);
}

/* Job 1 has 6 tasks, gives 5 and 6 to job 2, and has them back when that one ends. */
static void grow_shrink_grow(void)
{
    put_policy();
    put_elastic(1, 6, 2, NULL);
    (void)step_at(NOW_MS);
    for (int i = 0; i < 8; i++) {
        (void)step_at(now_ms + 1);
    }
    assert_int_equal(virtual_task_count(world), 6);
    put_job(2, 4, NULL);
    (void)step_at(now_ms + 10);
    (void)step_at(now_ms + 10);
    assert_int_equal(state_of(2), JOB_STATE_RUNNING);
    assert_int_equal(step_of(1, 5), 0);
    virtual_end_job(world, 2, 0);
    for (int i = 0; i < 8; i++) {
        (void)step_at(now_ms + 1);
    }
    assert_int_equal(virtual_task_count(world), 6);
}

static void a_late_end_does_not_speak_for_the_next_of_the_number(void **state)
{
    struct engine_stats before, after;
    int64_t step;

    (void)state;
    grow_shrink_grow();
    step = step_of(1, 5);
    assert_true(step > 6); /* 1, then one a growth: it was granted first in step 5 */
    assert_true(step_of(1, 0) == 1);
    engine_stats(engine, &before);
    say_ended(5, 5);
    engine_stats(engine, &after);
    assert_int_equal(after.stale, before.stale + 1);
    assert_int_equal(step_of(1, 5), step);
    say_ended(5, step);
    assert_int_equal(step_of(1, 5), 0);
    say_ended(4, 0); /* as releases before the step was told */
    assert_int_equal(step_of(1, 4), 0);
}

static void steps_survive_the_snapshot(void **state)
{
    int64_t step;

    (void)state;
    grow_shrink_grow();
    step = step_of(1, 5);
    engine_close(engine);
    open_engine(1);
    (void)step_at(now_ms + 1); /* writes one */
    engine_close(engine);
    open_engine(1);
    assert_int_equal(step_of(1, 5), step);
    assert_int_equal(step_of(1, 0), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
        T(a_job_is_journaled_answered_and_started),
        T(it_is_known_whether_somebody_waits),
        T(time_never_goes_back),
        T(a_refused_fact_is_answered_and_not_journaled),
        T(stale_reports_are_dropped_and_counted),
        T(ids_are_given_where_they_are_0),
        T(a_start_without_a_spec_is_refused_and_tried_again),
        T(a_node_of_no_backend_refuses_the_start),
        T(a_frozen_engine_takes_facts_and_plans_nothing),
        T(a_restart_leads_to_the_same_state),
        T(snapshots_shorten_a_restart_and_change_nothing),
        T(a_snapshot_that_lies_is_passed_over),
        T(any_append_may_fail),
        T(an_append_that_landed_after_all_is_kept),
        T(what_backends_told_survives_a_failed_append),
        T(a_full_disk_refuses_people_and_recovers),
        T(a_full_disk_still_takes_what_happened),
        T(a_full_disk_loses_nothing_of_the_world),
        T(a_newer_owner_freezes_this_one),
        T(a_record_that_no_state_takes_is_damage),
        T(a_kind_of_a_newer_release_is_refused),
        T(a_version_of_a_newer_release_is_refused),
        T(a_field_of_a_newer_release_is_refused),
        T(a_snapshot_of_a_newer_release_is_refused),
        T(after_a_restart_running_work_goes_on),
        T(a_start_that_was_never_made_is_found_out),
        T(a_stop_that_was_decided_is_told_again),
        T(a_late_end_does_not_speak_for_the_next_of_the_number),
        T(steps_survive_the_snapshot),
#undef T
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
