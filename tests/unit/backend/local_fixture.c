#include "local_fixture.h"

#include "backend/local/proctree.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define WAIT_MS 60000
#define TICK_MS 10

static void put(char *to, size_t room, const char *text)
{
    snprintf(to, room, "%s", text == NULL ? "" : text);
}

static void take_node(struct fixture_fact *row, const struct fact_node_seen *seen)
{
    row->device_count = seen->device_count;
    put(row->text, sizeof(row->text), seen->name);
    if (seen->device_count > 0) {
        put(row->uuid, sizeof(row->uuid), seen->devices[0].uuid);
        put(row->model, sizeof(row->model), seen->devices[0].model);
        put(row->profile, sizeof(row->profile), seen->devices[0].profile);
        row->memory_bytes = seen->devices[0].memory_bytes;
    }
}

static void take_ended(struct fixture_fact *row, const struct fact_task_ended *ended)
{
    row->job = ended->job;
    row->attempt = ended->attempt;
    row->task = ended->task;
    row->step = ended->step;
    row->cause = ended->cause;
    row->status = ended->status;
}

static void take_fact(struct fixture_fact *row, const struct fact *fact)
{
    if (fact->kind == FACT_TASK_ENDED) {
        take_ended(row, fact_of(fact, TASK_ENDED));
    } else if (fact->kind == FACT_TASK_RUNNING) {
        row->job = fact_of(fact, TASK_RUNNING)->job;
        row->attempt = fact_of(fact, TASK_RUNNING)->attempt;
        row->task = fact_of(fact, TASK_RUNNING)->task;
        row->step = fact_of(fact, TASK_RUNNING)->step;
    } else if (fact->kind == FACT_TASK_REFUSED) {
        row->task = fact_of(fact, TASK_REFUSED)->task;
        row->node_fault = fact_of(fact, TASK_REFUSED)->node_fault;
        put(row->text, sizeof(row->text), fact_of(fact, TASK_REFUSED)->reason);
    } else if (fact->kind == FACT_JOB_CHECKPOINTED) {
        row->job = fact_of(fact, JOB_CHECKPOINTED)->job;
        row->attempt = fact_of(fact, JOB_CHECKPOINTED)->attempt;
        put(row->text, sizeof(row->text), fact_of(fact, JOB_CHECKPOINTED)->name);
    } else if (fact->kind == FACT_NODE_SEEN) {
        take_node(row, fact_of(fact, NODE_SEEN));
    }
}

static void sink(void *ctx, const struct fact *fact)
{
    struct fixture *f = ctx;
    struct fixture_fact *row = &f->facts[f->fact_count];

    assert_true(f->fact_count < FIXTURE_FACTS_MAX);
    *row = (struct fixture_fact){.kind = fact->kind, .true_at_ms = fact->true_at_ms};
    take_fact(row, fact);
    f->fact_count++;
}

static void warn(void *ctx, const char *text)
{
    struct fixture *f = ctx;
    size_t len = strlen(f->warnings);

    snprintf(f->warnings + len, sizeof(f->warnings) - len, "%s\n", text);
}

static bool card(void *ctx, const char *name, struct local_card *ret)
{
    (void)ctx;
    if (strcmp(name, "h100-80gb") != 0 && strstr(name, "H100") == NULL) {
        return false;
    }
    *ret = (struct local_card){.model = "h100-80gb", .memory_bytes = 80 * ((int64_t)1 << 30)};
    return true;
}

void fixture_open(struct fixture *f)
{
    struct err err;

    f->base = event_base_new();
    f->backend = local_new(&f->config, f->base, &err);
    if (f->backend == NULL) {
        fail_msg("%s", err.text);
    }
    f->backend->sink = sink;
    f->backend->sink_ctx = f;
}

void fixture_close(struct fixture *f)
{
    f->backend->ops->free(f->backend);
    event_base_free(f->base);
    f->backend = NULL;
    f->base = NULL;
}

void fixture_restart(struct fixture *f)
{
    fixture_close(f);
    f->fact_count = 0;
    fixture_open(f);
}

void fixture_adopt(struct fixture *f, size_t count)
{
    struct backend_held held[FIXTURE_TASKS_MAX];
    struct err err;

    for (size_t i = 0; i < count; i++) {
        held[i] = (struct backend_held){.job = f->job.job,
                                        .attempt = f->job.attempt,
                                        .task = {f->tasks[i].task, f->job.step},
                                        .node = f->tasks[i].node};
    }
    assert_int_equal(f->backend->ops->adopt(f->backend, held, count, &err), 0);
}

static void make_job(struct fixture *f)
{
    for (size_t i = 0; i < FIXTURE_TASKS_MAX; i++) {
        f->devices[i] =
            (struct fact_grant_device){.slot = (int64_t)i % 4, .gu = 126000, .profile = ""};
        f->tasks[i] = (struct fact_grant){.task = (int64_t)i,
                                          .node = (int64_t)i / 4 + 1,
                                          .devices = &f->devices[i],
                                          .device_count = 1,
                                          .cpu_milli = 2000};
    }
    for (size_t i = 0; i < 4; i++) {
        f->uuids[i] = "";
    }
    f->nodes[0] = (struct backend_node){
        .id = 1, .name = "n1", .simulated = true, .uuids = f->uuids, .uuid_count = 4};
    f->nodes[1] = (struct backend_node){
        .id = 2, .name = "n2", .simulated = true, .uuids = f->uuids, .uuid_count = 4};
    f->job = (struct backend_job){.job = 7,
                                  .attempt = 1,
                                  .step = 1,
                                  .name = "train",
                                  .queue = "research",
                                  .pool = "h100",
                                  .tasks = f->tasks,
                                  .task_count = 1,
                                  .nodes = f->nodes,
                                  .node_count = 2};
    f->job.spec = (struct backend_spec){
        .argv = f->argv, .script = "", .env = f->env, .dir = "/", .account = "", .output = ""};
}

int fixture_setup(void **state)
{
    struct fixture *f = mem_new(1, sizeof(*f));

    (void)signal(SIGPIPE, SIG_IGN);
    snprintf(f->dir, sizeof(f->dir), "/tmp/muster-local-XXXXXX");
    if (mkdtemp(f->dir) == NULL || chmod(f->dir, 0755) != 0) {
        return -1;
    }
    snprintf(f->state_dir, sizeof(f->state_dir), "%s/state", f->dir);
    snprintf(f->runtime_dir, sizeof(f->runtime_dir), "%s/run", f->dir);
    f->config = (struct local_config){.state_dir = f->state_dir,
                                      .runtime_dir = f->runtime_dir,
                                      .shepherd = MUSTER_SHEPHERD,
                                      .socket = "/run/muster/muster.sock",
                                      .simulate = true,
                                      .cgroup = "muster-test",
                                      .nvml = "",
                                      .systemd_run = "",
                                      .hooks = {.ctx = f, .warn = warn, .card = card}};
    make_job(f);
    fixture_open(f);
    *state = f;
    return 0;
}

/* The supervisor whose shepherd.err this is. */
static bool supervisor_lives(const char *path)
{
    char record[256];
    const char *text;
    const char *at;

    snprintf(record, sizeof(record), "%.*s.json", (int)(strlen(path) - strlen(".err")), path);
    text = fixture_read(record);
    at = strstr(text, "\"pid\":");
    return at != NULL && proctree_start((pid_t)strtol(at + 6, NULL, 10)) != 0;
}

/* A supervisor that has something to say on its standard error has a bug (or a sanitizer has). */
static int look_at_supervisors(struct fixture *f)
{
    glob_t found;
    int rc = 0;

    if (glob(fixture_path(f, "state/attempts/*/*.*/shepherd.err"), 0, NULL, &found) != 0) {
        return 0;
    }
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *text;

        for (int k = 0; k < 3000 && supervisor_lives(found.gl_pathv[i]); k++) {
            fixture_run_ms(f, TICK_MS);
        }
        text = fixture_read(found.gl_pathv[i]);
        if (text[0] != '\0') {
            printf("# %s: %.2000s\n", found.gl_pathv[i], text);
            rc = -1;
        }
    }
    globfree(&found);
    return rc;
}

/* Everything of the job is killed and forgotten, so that a failed test leaves nothing behind. */
int fixture_teardown(void **state)
{
    struct fixture *f = *state;
    char command[128];
    int rc;

    (void)f->backend->ops->kill(f->backend, f->job.job, f->job.attempt, NULL, 0, NULL);
    rc = look_at_supervisors(f);
    f->backend->ops->forget(f->backend, f->job.job, f->job.attempt);
    for (int i = 0; i < 3000; i++) {
        char below[64];

        snprintf(below, sizeof(below), "state/attempts/%d.%d", (int)f->job.job,
                 (int)f->job.attempt);
        if (access(fixture_path(f, below), F_OK) != 0) {
            break;
        }
        fixture_run_ms(f, TICK_MS);
    }
    fixture_close(f);
    snprintf(command, sizeof(command), "rm -rf '%s'", f->dir);
    if (system(command) != 0) {
        return -1;
    }
    mem_free(f);
    return rc;
}

void fixture_shell(struct fixture *f, const char *script)
{
    f->argv[0] = "/bin/sh";
    f->argv[1] = "-c";
    f->argv[2] = script;
    f->job.spec.arg_count = 3;
}

void fixture_start(struct fixture *f)
{
    struct err err;

    assert_int_equal(f->backend->ops->start(f->backend, &f->job, &err), 0);
}

void fixture_signal(struct fixture *f, struct backend_signal what)
{
    what.job = f->job.job;
    what.attempt = f->job.attempt;
    what.reason = what.reason == NULL ? "" : what.reason;
    assert_int_equal(f->backend->ops->signal(f->backend, &what, NULL), 0);
}

const struct fixture_fact *fixture_find(const struct fixture *f, enum fact_kind kind, int64_t task)
{
    for (size_t i = 0; i < f->fact_count; i++) {
        if (f->facts[i].kind == kind && f->facts[i].task == task) {
            return &f->facts[i];
        }
    }
    return NULL;
}

void fixture_run_ms(struct fixture *f, int64_t ms)
{
    struct timeval wait = {.tv_sec = (time_t)(ms / 1000),
                           .tv_usec = (suseconds_t)(ms % 1000 * 1000)};

    event_base_loopexit(f->base, &wait);
    event_base_dispatch(f->base);
}

const struct fixture_fact *fixture_wait(struct fixture *f, enum fact_kind kind, int64_t task)
{
    const struct fixture_fact *found = fixture_find(f, kind, task);

    for (int i = 0; i < WAIT_MS / TICK_MS && found == NULL; i++) {
        fixture_run_ms(f, TICK_MS);
        found = fixture_find(f, kind, task);
    }
    if (found == NULL) {
        fail_msg("no fact %s of task %d; warnings: %s", fact_kind_name(kind), (int)task,
                 f->warnings);
    }
    return found;
}

void fixture_wait_file(struct fixture *f, const char *path)
{
    for (int i = 0; i < WAIT_MS / TICK_MS && access(path, F_OK) != 0; i++) {
        fixture_run_ms(f, TICK_MS);
    }
    if (access(path, F_OK) != 0) {
        fail_msg("%s did not appear", path);
    }
}

const char *fixture_read(const char *path)
{
    static char text[65536];
    int fd = open(path, O_RDONLY);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

    text[n > 0 ? n : 0] = '\0';
    if (fd >= 0) {
        close(fd);
    }
    return text;
}

const char *fixture_log(struct fixture *f, int64_t task, bool error)
{
    struct local_log which = {.job = f->job.job,
                              .attempt = f->job.attempt,
                              .task = task,
                              .error = error};
    CLEANUP(mem_freep) char *path = local_log_path(f->backend, &which);

    return fixture_read(path);
}

const char *fixture_path(const struct fixture *f, const char *below)
{
    static char path[256];

    snprintf(path, sizeof(path), "%s/%s", f->dir, below);
    return path;
}

int64_t fixture_number(const char *path)
{
    return strtoll(fixture_read(path), NULL, 10);
}
