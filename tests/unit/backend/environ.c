#include "backend/environ.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static const char *const UUIDS[] = {"GPU-a", "GPU-b"};
static const struct backend_node NODES[] = {
    {.id = 1, .name = "n1", .simulated = true},
    {.id = 2, .name = "n2", .uuids = UUIDS, .uuid_count = 2},
};
static struct fact_grant_device SLICE[] = {
    {.slot = 3, .gu = 15750, .profile = "1g.10gb", .start = 4}};
static struct fact_grant_device PAIR[] = {{.slot = 1, .gu = 126000, .profile = ""},
                                          {.slot = 0, .gu = 126000, .profile = ""}};
static struct fact_grant_device SHARE[] = {
    {.slot = 0, .gu = 63000, .profile = "", .memory_bytes = 1 << 30}};

/* Two tasks on n1 and one on n2; their numbers have a gap, as after a shrink. */
static const struct fact_grant TASKS[] = {
    {.task = 0, .node = 1, .devices = SLICE, .device_count = 1, .cpu_milli = 4000},
    {.task = 2, .node = 1},
    {.task = 5, .node = 2, .devices = PAIR, .device_count = 2},
};
static const char *const ENV[] = {"LR=0.1", "RANK=77", "PATH=/opt/bin", "EMPTY=", "broken", "=x"};

static struct backend_job job(void)
{
    return (struct backend_job){
        .job = 12,
        .attempt = 3,
        .step = 1,
        .array = 10,
        .element = 2,
        .name = "train",
        .queue = "research",
        .pool = "h100",
        .tasks = TASKS,
        .task_count = 3,
        .nodes = NODES,
        .node_count = 2,
        .spec = {.env = ENV, .env_count = 6, .dir = "/data"},
    };
}

static void build(size_t index, struct environ_list *ret)
{
    struct backend_job j = job();
    struct environ_input in = {
        .job = &j,
        .index = index,
        .account = {"ada", "/home/ada", "/bin/bash"},
        .files = {.checkpoint_dir = "/c", .status_file = "/s", .socket = "/run/m.sock"},
        .master_addr = "127.0.0.1",
        .master_port = 23456,
    };

    environ_build(&in, ret);
}

static void each_task_sees_its_place(void **state)
{
    struct environ_list e = {0};

    (void)state;
    build(2, &e);
    assert_string_equal(environ_get(&e, "RANK"), "2");
    assert_string_equal(environ_get(&e, "WORLD_SIZE"), "3");
    assert_string_equal(environ_get(&e, "LOCAL_RANK"), "0");
    assert_string_equal(environ_get(&e, "LOCAL_WORLD_SIZE"), "1");
    assert_string_equal(environ_get(&e, "NODE_RANK"), "1");
    assert_string_equal(environ_get(&e, "MASTER_ADDR"), "127.0.0.1");
    assert_string_equal(environ_get(&e, "MASTER_PORT"), "23456");
    assert_string_equal(environ_get(&e, "MUSTER_TASK"), "5");
    assert_string_equal(environ_get(&e, "MUSTER_TASKS"), "3");
    assert_string_equal(environ_get(&e, "MUSTER_NODE"), "n2");
    assert_string_equal(environ_get(&e, "MUSTER_JOB"), "12");
    assert_string_equal(environ_get(&e, "MUSTER_ATTEMPT"), "3");
    assert_string_equal(environ_get(&e, "MUSTER_QUEUE"), "research");
    assert_string_equal(environ_get(&e, "MUSTER_CHECKPOINT_DIR"), "/c");
    assert_null(environ_get(&e, "MUSTER_TOKEN_FILE"));
    environ_fini(&e);
    build(1, &e);
    assert_string_equal(environ_get(&e, "LOCAL_RANK"), "1");
    assert_string_equal(environ_get(&e, "LOCAL_WORLD_SIZE"), "2");
    assert_string_equal(environ_get(&e, "NODE_RANK"), "0");
    environ_fini(&e);
}

static void scripts_for_slurm_find_what_they_read(void **state)
{
    struct environ_list e = {0};

    (void)state;
    build(0, &e);
    assert_string_equal(environ_get(&e, "SLURM_JOB_ID"), "12");
    assert_string_equal(environ_get(&e, "SLURM_PROCID"), "0");
    assert_string_equal(environ_get(&e, "SLURM_NTASKS"), "3");
    assert_string_equal(environ_get(&e, "SLURM_JOB_NUM_NODES"), "2");
    assert_string_equal(environ_get(&e, "SLURM_JOB_NODELIST"), "n1,n2");
    assert_string_equal(environ_get(&e, "SLURM_TASKS_PER_NODE"), "2,1");
    assert_string_equal(environ_get(&e, "SLURM_RESTART_COUNT"), "2");
    assert_string_equal(environ_get(&e, "SLURM_CPUS_PER_TASK"), "4");
    assert_string_equal(environ_get(&e, "SLURM_ARRAY_JOB_ID"), "10");
    assert_string_equal(environ_get(&e, "SLURM_ARRAY_TASK_ID"), "2");
    environ_fini(&e);
}

/* The task stands for a node, on which srun starts four processes. */
static void tasks_of_a_batch_script_are_its_nodes(void **state)
{
    static const char *const BATCH[] = {"SLURM_NTASKS_PER_NODE=4", "SLURM_CPUS_PER_TASK=1",
                                        "SLURM_SUBMIT_DIR=/from"};
    struct backend_job j = job();
    struct environ_input in = {.job = &j, .index = 0, .master_addr = "127.0.0.1"};
    struct environ_list e = {0};

    (void)state;
    j.spec.env = BATCH;
    j.spec.env_count = 3;
    environ_build(&in, &e);
    assert_string_equal(environ_get(&e, "SLURM_CPUS_PER_TASK"), "1");
    assert_string_equal(environ_get(&e, "SLURM_CPUS_ON_NODE"), "4");
    assert_string_equal(environ_get(&e, "SLURM_SUBMIT_DIR"), "/from");
    environ_fini(&e);
    in.index = 1;
    environ_build(&in, &e);
    assert_string_equal(environ_get(&e, "SLURM_NTASKS"), "12");
    assert_string_equal(environ_get(&e, "SLURM_PROCID"), "4");
    assert_string_equal(environ_get(&e, "SLURM_LOCALID"), "0");
    assert_string_equal(environ_get(&e, "SLURM_NODEID"), "1");
    assert_string_equal(environ_get(&e, "SLURM_NNODES"), "3");
    assert_string_equal(environ_get(&e, "SLURM_TASKS_PER_NODE"), "4(x3)");
    assert_string_equal(environ_get(&e, "SLURM_JOB_NODELIST"), "n1,n1,n2");
    environ_fini(&e);
}

static void gpus_are_named_as_they_are(void **state)
{
    struct fact_grant share = {.devices = SHARE, .device_count = 1};
    CLEANUP(mem_freep) char *slice = environ_devices(&TASKS[0], &NODES[0]);
    CLEANUP(mem_freep) char *none = environ_devices(&TASKS[1], &NODES[0]);
    CLEANUP(mem_freep) char *real = environ_devices(&TASKS[2], &NODES[1]);
    CLEANUP(mem_freep) char *simulated = environ_devices(&TASKS[2], &NODES[0]);
    CLEANUP(mem_freep) char *shared = environ_devices(&share, &NODES[1]);
    struct environ_list e = {0};

    (void)state;
    assert_string_equal(slice, "MIG-SIM-n1-3-4-1g.10gb");
    assert_string_equal(none, "");
    assert_string_equal(real, "GPU-b,GPU-a");
    assert_string_equal(simulated, "1,0");
    assert_string_equal(shared, "GPU-a");
    build(0, &e);
    assert_string_equal(environ_get(&e, "MUSTER_GPUS_SIMULATED"), "1");
    environ_fini(&e);
    build(2, &e);
    assert_null(environ_get(&e, "MUSTER_GPUS_SIMULATED"));
    environ_fini(&e);
    build(1, &e);
    assert_string_equal(environ_get(&e, "CUDA_VISIBLE_DEVICES"), "");
    assert_string_equal(environ_get(&e, "NVIDIA_VISIBLE_DEVICES"), "void");
    environ_fini(&e);
}

static void the_jobs_variables_win_over_the_accounts_and_lose_to_ours(void **state)
{
    struct environ_list e = {0};

    (void)state;
    build(0, &e);
    assert_string_equal(environ_get(&e, "LR"), "0.1");
    assert_string_equal(environ_get(&e, "EMPTY"), "");
    assert_string_equal(environ_get(&e, "PATH"), "/opt/bin");
    assert_string_equal(environ_get(&e, "RANK"), "0");
    assert_string_equal(environ_get(&e, "HOME"), "/home/ada");
    assert_string_equal(environ_get(&e, "USER"), "ada");
    assert_string_equal(environ_get(&e, "SHELL"), "/bin/bash");
    assert_null(e.items[e.count]);
    for (size_t i = 0; i < e.count; i++) {
        assert_non_null(strchr(e.items[i], '='));
        assert_true(e.items[i][0] != '=');
    }
    environ_fini(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_task_sees_its_place),
        cmocka_unit_test(scripts_for_slurm_find_what_they_read),
        cmocka_unit_test(tasks_of_a_batch_script_are_its_nodes),
        cmocka_unit_test(gpus_are_named_as_they_are),
        cmocka_unit_test(the_jobs_variables_win_over_the_accounts_and_lose_to_ours),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
