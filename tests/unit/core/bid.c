#include "core/bid.h"

#include "base/check.h"
#include "base/quantity.h"
#include "core_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define G        GU_PER_GPU
#define MINUTE   ((int64_t)60000)
#define POOL     7
#define NODES    16
#define CARDS    8
#define CROWD    (NODES * CARDS) /* jobs of one GPU: more than BID_JOBS_MIN */
#define LEAF_MAX 160

enum { QUEUE_A = 1, QUEUE_B, QUEUE_C, QUEUE_D };

struct leaf {
    const char *name;
    int64_t parent;
    int64_t reserved; /* GPUs */
};

static const char *const NAMES[] = {"a", "b", "c", "d"};

static void set_queue(struct policy_queue *q, struct policy_quota *quota, int64_t gpus)
{
    *quota = (struct policy_quota){POOL, gpus * G, POLICY_NONE, POLICY_NONE, POLICY_NONE};
    q->weight = 1;
    q->priority_max = 10;
    q->grace_ms = q->grace_max_ms = MINUTE;
    q->stop_stuck_ms = MINUTE;
    q->start_timeout_ms = 10 * MINUTE;
    q->drain_after_ms = POLICY_NONE;
    q->quotas = quota;
    q->quota_count = 1;
}

/* Queues 1, 2, … with these reserves and parents, and nodes of eight cards. */
static void begin(struct core_world *w, const struct leaf *leaves, size_t count, int nodes)
{
    struct policy_queue queues[LEAF_MAX] = {0};
    struct policy_quota quotas[LEAF_MAX];
    struct policy_pool pool = {.id = POOL, .name = "main"};
    struct policy policy = {.cluster = "test",
                            .overcommit = true,
                            .restart_cost_ms = MINUTE,
                            .pools = &pool,
                            .pool_count = 1,
                            .queues = queues,
                            .queue_count = count};
    int sizes[NODES];

    assert_true(count <= LEAF_MAX && nodes <= NODES);
    for (size_t i = 0; i < count; i++) {
        queues[i] = (struct policy_queue){.id = (int64_t)i + 1,
                                          .name = leaves[i].name,
                                          .parent = leaves[i].parent};
        set_queue(&queues[i], &quotas[i], leaves[i].reserved);
    }
    for (int i = 0; i < nodes; i++) {
        sizes[i] = CARDS;
    }
    core_world_begin(w, &policy, sizes, (size_t)nodes);
}

/* Reserves of a, b, c, d, all at the top. */
static void begin_flat(struct core_world *w, const int64_t *reserved, size_t count)
{
    struct leaf leaves[4];

    for (size_t i = 0; i < count; i++) {
        leaves[i] = (struct leaf){NAMES[i], 0, reserved[i]};
    }
    begin(w, leaves, count, NODES);
}

/* Submit, and plan a second later. */
static int64_t submit(struct core_world *w, const struct core_world_job *ask)
{
    int64_t id = core_world_submit(w, ask);

    w->now_ms += 1000;
    core_world_plan(w);
    return id;
}

/* It starts at once; its tasks run. */
static int64_t run(struct core_world *w, const struct core_world_job *ask)
{
    int64_t id = submit(w, ask);

    assert_true(job_is_active(view_job(w->core, id)));
    core_world_obey(w);
    return id;
}

static struct core_world_job singles(int64_t queue, int64_t tasks, int64_t gpus)
{
    return (
        struct core_world_job){.queue = queue, .tasks = tasks, .min_tasks = tasks, .gpus = gpus};
}

/* So many jobs of so many GPUs, a second apart. */
static void run_many(struct core_world *w, int64_t queue, int count, int64_t gpus)
{
    struct core_world_job ask = singles(queue, 1, gpus);

    for (int i = 0; i < count; i++) {
        run(w, &ask);
    }
}

static void save(struct core_world *w, int64_t job)
{
    struct fact_job_checkpointed saved = {job, 1, ""};

    w->now_ms += 1000;
    core_world_apply(w, FACT_JOB_CHECKPOINTED, &saved);
}

/* Ask for tasks of gpus in queue a, at this priority. */
static const struct job *claim(struct core_world *w, int64_t tasks, int64_t gpus, int64_t priority)
{
    struct core_world_job ask = singles(QUEUE_A, tasks, gpus);

    ask.priority = priority;
    return view_job(w->core, submit(w, &ask));
}

static bool is_victim(const struct job *claimant, int64_t id)
{
    for (size_t i = 0; i < claimant->nomination.victims.count; i++) {
        if (claimant->nomination.victims.items[i] == id) {
            return true;
        }
    }
    return false;
}

static void victims_are(const struct job *claimant, const int64_t *ids, size_t count)
{
    assert_true(claimant->nomination.is);
    assert_int_equal(claimant->nomination.victims.count, count);
    for (size_t i = 0; i < count; i++) {
        if (!is_victim(claimant, ids[i])) {
            fail_msg("job %d is no victim", (int)ids[i]);
        }
    }
}

static void starts_once_they_are_gone(struct core_world *w, const struct job *claimant)
{
    int64_t id = claimant->id;

    core_world_settle(w);
    assert_true(job_is_active(view_job(w->core, id)));
}

static void among_many_the_newest_start_goes_alone(void **state)
{
    struct core_world w;
    const struct job *j;

    (void)state;
    begin_flat(&w, (int64_t[]){16, 32}, 2);
    run_many(&w, QUEUE_B, CROWD, 1);
    j = claim(&w, 1, 1, 0);
    victims_are(j, (int64_t[]){CROWD}, 1);
    starts_once_they_are_gone(&w, j);
    core_world_end(&w);
}

static void a_checkpoint_makes_a_job_the_cheapest(void **state)
{
    struct core_world w;
    const struct job *j;

    (void)state;
    begin_flat(&w, (int64_t[]){16, 32}, 2);
    run_many(&w, QUEUE_B, CROWD, 1);
    save(&w, 77);
    j = claim(&w, 1, 1, 0);
    victims_are(j, (int64_t[]){77}, 1);
    core_world_end(&w);
}

/* The node whose eight jobs together lose least, not the one that has the newest job. */
static void one_task_of_a_whole_node_takes_the_node_that_loses_least(void **state)
{
    struct core_world w;
    const struct job *j;

    (void)state;
    begin_flat(&w, (int64_t[]){16, 32}, 2);
    run_many(&w, QUEUE_B, CROWD - 1, 1);
    w.now_ms += 10 * MINUTE;
    run_many(&w, QUEUE_B, 1, 1); /* the newest, among the newest but for ten minutes */
    for (int64_t id = 17; id <= 24; id++) {
        save(&w, id);
    }
    j = claim(&w, 1, 8, 0);
    victims_are(j, (int64_t[]){17, 18, 19, 20, 21, 22, 23, 24}, 8);
    starts_once_they_are_gone(&w, j);
    core_world_end(&w);
}

static void among_equals_of_a_queue_the_lower_priority_goes(void **state)
{
    struct core_world_job high = singles(QUEUE_B, 1, 1);
    struct core_world w;
    const struct job *j;

    (void)state;
    high.priority = 3;
    begin_flat(&w, (int64_t[]){16, 32}, 2);
    for (int i = 0; i < CROWD / 2; i++) {
        run(&w, &high);
    }
    run_many(&w, QUEUE_B, CROWD / 4, 1);
    for (int i = 0; i < CROWD / 4; i++) {
        run(&w, &high);
    }
    j = claim(&w, 1, 1, 0);
    victims_are(j, (int64_t[]){CROWD * 3 / 4}, 1);
    core_world_end(&w);
}

/* Eight GPUs of surplus cost more to start again than any job of one GPU, and go before it. */
static void surplus_goes_before_whole_jobs_though_dearer(void **state)
{
    struct core_world_job elastic = {.queue = QUEUE_B, .tasks = 2, .min_tasks = 1, .gpus = 8};
    struct core_world w;
    const struct job *j;
    int64_t id;
    int stopping = 0;

    (void)state;
    begin_flat(&w, (int64_t[]){16, 32}, 2);
    id = run(&w, &elastic);
    while (view_job(w.core, id)->tasks.count < 2) { /* it grows into the idle pool */
        w.now_ms += 1000;
        core_world_plan(&w);
        core_world_obey(&w);
    }
    run_many(&w, QUEUE_B, CROWD - 16, 1);
    j = claim(&w, 1, 1, 0);
    victims_are(j, (int64_t[]){id}, 1);
    for (size_t i = 0; i < view_job(w.core, id)->tasks.count; i++) {
        stopping += view_job(w.core, id)->tasks.items[i].state == TASK_STATE_STOPPING;
    }
    assert_int_equal(stopping, 1);
    starts_once_they_are_gone(&w, j);
    assert_int_equal(view_job(w.core, id)->attempt, 1);
    core_world_end(&w);
}

/* The newest jobs of b hold two GPUs each, and b is over by one: c's newest goes, though it has run
 * longer. */
static void a_queue_is_left_its_reserve_where_another_can_give(void **state)
{
    struct core_world w;
    const struct job *j;

    (void)state;
    begin_flat(&w, (int64_t[]){8, 60, 0}, 3);
    run_many(&w, QUEUE_B, 1, 1);
    run_many(&w, QUEUE_C, 67, 1); /* up to job 68 */
    run_many(&w, QUEUE_B, 30, 2);
    j = claim(&w, 1, 1, 0);
    victims_are(j, (int64_t[]){68}, 1);
    core_world_end(&w);
}

/* Where only such jobs can give, one of them goes: an indivisible job is lawful as long as its
 * queue is over. */
static void a_queue_goes_below_its_reserve_where_none_else_can_give(void **state)
{
    struct core_world w;
    const struct job *j;

    (void)state;
    begin_flat(&w, (int64_t[]){1, 127}, 2);
    run_many(&w, QUEUE_B, CROWD / 2, 2);
    j = claim(&w, 1, 1, 0);
    victims_are(j, (int64_t[]){CROWD / 2}, 1);
    starts_once_they_are_gone(&w, j);
    core_world_end(&w);
}

static void a_gang_takes_the_cheapest_nodes_and_nobody_else(void **state)
{
    int64_t want[16];
    struct core_world w;
    const struct job *j;

    (void)state;
    begin_flat(&w, (int64_t[]){16, 32}, 2);
    run_many(&w, QUEUE_B, CROWD, 1);
    for (int i = 0; i < 8; i++) { /* all of node 3, and node 16, which was filled last */
        want[i] = 17 + i;
        want[8 + i] = CROWD - 7 + i;
        save(&w, want[i]);
    }
    j = claim(&w, 2, 8, 0);
    victims_are(j, want, 16);
    starts_once_they_are_gone(&w, j);
    core_world_end(&w);
}

/* What is idle on a node need not be freed there. */
static void a_gang_uses_what_is_idle(void **state)
{
    int64_t want[12];
    struct core_world w;
    const struct job *j;

    (void)state;
    begin_flat(&w, (int64_t[]){16, 32}, 2);
    run_many(&w, QUEUE_B, CROWD, 1);
    for (int i = 0; i < 4; i++) {
        want[i] = 17 + i;
        save(&w, want[i]);
        core_world_finish(&w, 21 + i, 0);
    }
    core_world_plan(&w);
    for (int i = 0; i < 8; i++) {
        want[4 + i] = CROWD - 7 + i;
    }
    j = claim(&w, 2, 8, 0);
    victims_are(j, want, 12);
    starts_once_they_are_gone(&w, j);
    core_world_end(&w);
}

/* a and c share a department that has it all: what c borrows inside it is no prey of an a that is
 * beyond its own reserve. */
static void inside_the_covering_subtree_there_is_no_victim(void **state)
{
    static const struct leaf LEAVES[] = {{"all", 0, 128}, {"a", 1, 8}, {"c", 1, 20}};
    struct core_world_job gang;
    struct core_world w;
    const struct job *j;

    (void)state;
    begin(&w, LEAVES, 3, NODES);
    run_many(&w, 3, CROWD, 1);
    for (int i = 0; i < NODES; i++) { /* sixteen GPUs are idle, one a node */
        core_world_finish(&w, i * CARDS + 1, 0);
    }
    core_world_plan(&w);
    gang = singles(2, 2, 8);
    j = view_job(w.core, submit(&w, &gang));
    assert_true(job_is_waiting(j));
    assert_false(j->nomination.is);
    assert_int_equal(w.decided, 0);
    gang = singles(2, 1, 8); /* within a's own eight: c is outside the subtree of a */
    j = view_job(w.core, submit(&w, &gang));
    victims_are(j, (int64_t[]){122, 123, 124, 125, 126, 127, 128}, 7);
    core_world_end(&w);
}

/* ---- own jobs first, where the claim is lawful only without them ---- */

/* Queue a and a crowd of queues that reserve nothing. */
static void begin_crowd(struct core_world *w, int64_t reserved)
{
    static char names[LEAF_MAX][8];
    struct leaf leaves[LEAF_MAX] = {{"a", 0, reserved}};

    for (int i = 1; i < LEAF_MAX; i++) {
        names[i][0] = 'q';
        for (int k = 1, left = i; k <= 3; k++, left /= 10) {
            names[i][4 - k] = (char)('0' + left % 10);
        }
        leaves[i].name = names[i];
    }
    begin(w, leaves, LEAF_MAX, NODES);
}

static void run_crowd(struct core_world *w, int count)
{
    for (int i = 0; i < count; i++) {
        run_many(w, QUEUE_B + i, 1, 1);
    }
}

static void own_jobs_alone_go_where_they_suffice(void **state)
{
    struct core_world w;
    const struct job *j;

    (void)state;
    begin_crowd(&w, 16);
    run_many(&w, QUEUE_A, 2, 8);
    run_crowd(&w, CROWD - 16);
    j = claim(&w, 1, 8, 5);
    victims_are(j, (int64_t[]){2}, 1);
    starts_once_they_are_gone(&w, j);
    core_world_end(&w);
}

/* Twelve GPUs of its own queue lie on two nodes, beside others: all twelve must go for the claim to
 * be within the reserve, and with them the cheapest node of others. */
static void own_jobs_and_others_go_together_where_they_do_not(void **state)
{
    struct core_world w;
    const struct job *j;
    int own = 0;

    (void)state;
    begin_crowd(&w, 16);
    run_many(&w, QUEUE_A, 12, 1);
    run_crowd(&w, CROWD - 12);
    j = claim(&w, 2, 8, 5);
    assert_true(j->nomination.is);
    for (int64_t id = 1; id <= 12; id++) {
        own += is_victim(j, id);
    }
    assert_int_equal(own, 12);
    for (int64_t id = CROWD - 7; id <= CROWD; id++) {
        assert_true(is_victim(j, id));
    }
    assert_int_equal(j->nomination.victims.count, 20);
    starts_once_they_are_gone(&w, j);
    core_world_end(&w);
}

/* ---- slices ---- */

static void add_mig_node(struct core_world *w)
{
    struct fact_device card = {.uuid = "",
                               .model = "h100-80gb",
                               .memory_bytes = (int64_t)80 << 30,
                               .mig = true,
                               .profile = ""};
    struct fact_node_seen n = {.id = core_next_node(w->core),
                               .cluster = "local",
                               .pool = POOL,
                               .simulated = true,
                               .cpu_milli = 64000,
                               .memory_bytes = (int64_t)1 << 40,
                               .devices = &card,
                               .device_count = 1};

    n.name = arena_printf(w->arena, "m%d", (int)n.id);
    core_world_apply(w, FACT_NODE_SEEN, &n);
}

static const struct job *submit_slice(struct core_world *w, int64_t queue, const char *profile)
{
    struct fact_group group = {.name = "main",
                               .tasks = 1,
                               .min_tasks = 1,
                               .profile = profile,
                               .slices = 1,
                               .model = "",
                               .required = "",
                               .preferred = ""};
    struct fact_job_submitted job = {.id = core_next_job(w->core),
                                     .name = "slice",
                                     .queue = queue,
                                     .subject = "s-1",
                                     .groups = &group,
                                     .group_count = 1,
                                     .spec = ""};

    core_world_apply(w, FACT_JOB_SUBMITTED, &job);
    w->now_ms += 1000;
    core_world_plan(w);
    return view_job(w->core, job.id);
}

#define MIG_CARDS 12

/* Twelve cards cut into seven slices each. */
static void begin_slices(struct core_world *w)
{
    static const struct leaf LEAVES[] = {{"a", 0, 4}, {"b", 0, 0}};

    begin(w, LEAVES, 2, 0);
    for (int i = 0; i < MIG_CARDS; i++) {
        add_mig_node(w);
    }
    for (int i = 0; i < MIG_CARDS * 7; i++) {
        assert_true(job_is_active(submit_slice(w, QUEUE_B, "1g.10gb")));
        core_world_obey(w);
    }
}

static void among_many_slices_one_goes_for_one(void **state)
{
    struct core_world w;
    const struct job *j;

    (void)state;
    begin_slices(&w);
    save(&w, 30);
    j = submit_slice(&w, QUEUE_A, "1g.10gb");
    victims_are(j, (int64_t[]){30}, 1);
    starts_once_they_are_gone(&w, j);
    core_world_end(&w);
}

/* A whole card: the seven slices of the card that was filled last. */
static void a_whole_card_takes_the_slices_of_one(void **state)
{
    int64_t want[7];
    struct core_world w;
    const struct job *j;

    (void)state;
    begin_slices(&w);
    for (int i = 0; i < 7; i++) {
        want[i] = MIG_CARDS * 7 - i;
    }
    j = claim(&w, 1, 1, 0);
    victims_are(j, want, 7);
    starts_once_they_are_gone(&w, j);
    core_world_end(&w);
}

/* ---- the parts ---- */

static struct ask ask_of(const struct core_world *w, const struct job *j, int64_t gpus)
{
    return (struct ask){.job = (struct job *)(uintptr_t)j,
                        .pool = (struct pool *)(uintptr_t)view_pool(w->core, 0),
                        .group = -1,
                        .need_gu = gpus * G};
}

static void leaves_are_those_over_their_reserve(void **state)
{
    struct core_world_job big = singles(QUEUE_A, 17, 8);
    struct core_world w;
    struct bid_leaves leaves;
    struct hunt h = {0};
    struct ask ask;

    (void)state;
    begin_flat(&w, (int64_t[]){16, 32, 8, 4}, 4);
    run_many(&w, QUEUE_B, 40, 1);
    run_many(&w, QUEUE_C, 8, 1);
    run_many(&w, QUEUE_D, 5, 1);
    ask = ask_of(&w, view_job(w.core, core_world_submit(&w, &big)), 16);
    leaves = bid_leaves(w.core, &ask, 0);
    assert_int_equal(leaves.count, 2);
    assert_int_equal(leaves.items[0], QUEUE_B - 1);
    assert_int_equal(leaves.items[1], QUEUE_D - 1);
    assert_int_equal(leaves.jobs, 45);
    ask.need_gu = 17 * G; /* beyond its reserve: nobody gives it anything */
    assert_int_equal(bid_leaves(w.core, &ask, 0).count, 0);
    ask.need_gu = 8 * G; /* within it, but not with what is leaving of its own queue */
    assert_int_equal(bid_leaves(w.core, &ask, 9 * G).count, 0);
    /* 75 are idle, 9 are lent, and the last of a queue may hold one more than is lent */
    h.c = w.core;
    h.ask = &ask;
    ask.need_gu = 86 * G;
    assert_true(bid_suffices(&h, &leaves));
    ask.need_gu = 87 * G;
    assert_false(bid_suffices(&h, &leaves));
    core_world_end(&w);
}

static void one_task_is_one_group_of_one(void **state)
{
    struct fact_group groups[2] = {{.tasks = 4, .min_tasks = 1}, {.tasks = 1, .min_tasks = 1}};
    struct fact_job_submitted want = {.groups = groups, .group_count = 1};
    struct job job = {.ask = &want};
    struct ask ask = {.job = &job, .group = -1};

    (void)state;
    assert_true(bid_one_task(&ask));
    groups[0].min_tasks = 2;
    assert_false(bid_one_task(&ask));
    groups[0].min_tasks = 1;
    want.group_count = 2;
    assert_false(bid_one_task(&ask));
    ask.group = 1; /* growth by one task of a group */
    ask.count = 1;
    assert_true(bid_one_task(&ask));
    ask.count = 2;
    assert_false(bid_one_task(&ask));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(among_many_the_newest_start_goes_alone),
        cmocka_unit_test(a_checkpoint_makes_a_job_the_cheapest),
        cmocka_unit_test(one_task_of_a_whole_node_takes_the_node_that_loses_least),
        cmocka_unit_test(among_equals_of_a_queue_the_lower_priority_goes),
        cmocka_unit_test(surplus_goes_before_whole_jobs_though_dearer),
        cmocka_unit_test(a_queue_is_left_its_reserve_where_another_can_give),
        cmocka_unit_test(a_queue_goes_below_its_reserve_where_none_else_can_give),
        cmocka_unit_test(a_gang_takes_the_cheapest_nodes_and_nobody_else),
        cmocka_unit_test(a_gang_uses_what_is_idle),
        cmocka_unit_test(inside_the_covering_subtree_there_is_no_victim),
        cmocka_unit_test(own_jobs_alone_go_where_they_suffice),
        cmocka_unit_test(own_jobs_and_others_go_together_where_they_do_not),
        cmocka_unit_test(among_many_slices_one_goes_for_one),
        cmocka_unit_test(a_whole_card_takes_the_slices_of_one),
        cmocka_unit_test(leaves_are_those_over_their_reserve),
        cmocka_unit_test(one_task_is_one_group_of_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
