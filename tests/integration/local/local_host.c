/* local_host - a process that owns a local backend and does what it reads, for a test that kills
 * it.
 *
 *      local_host STATE RUNTIME SHEPHERD SYSTEMD_RUN CGROUP
 *
 * Lines in:  limits 0 0 MEMORY_BYTES CPU_MILLI (of tasks started from now on) | adopt J A FIRST
 * COUNT | start J A STEP COUNT ACCOUNT SCRIPT… | signal J A N DEADLINE | kill J A | forget J A
 * Lines out: what the facts say, and "started MS" after a start, "ok" after the others.
 */
#include "backend/local/local.h"
#include "base/mem.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TASKS_MAX 512
#define NODE_GPUS 8

#define PIDS_MAX 200

struct host {
    struct event_base *base;
    struct backend *backend;
    int64_t memory_bytes;
    int64_t cpu_milli;
};

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void sink(void *ctx, const struct fact *fact)
{
    (void)ctx;
    if (fact->kind == FACT_TASK_RUNNING) {
        printf("running %" PRId64 "\n", fact_of(fact, TASK_RUNNING)->task);
    } else if (fact->kind == FACT_TASK_ENDED) {
        const struct fact_task_ended *e = fact_of(fact, TASK_ENDED);

        printf("ended %" PRId64 " %s %" PRId64 "\n", e->task, TASK_CAUSE_NAMES[e->cause],
               e->status);
    } else if (fact->kind == FACT_TASK_REFUSED) {
        printf("refused %" PRId64 " %s\n", fact_of(fact, TASK_REFUSED)->task,
               fact_of(fact, TASK_REFUSED)->reason);
    } else if (fact->kind == FACT_JOB_CHECKPOINTED) {
        printf("checkpoint %s\n", fact_of(fact, JOB_CHECKPOINTED)->name);
    } else {
        printf("%s\n", fact_kind_name(fact->kind));
    }
}

static void start(struct host *h, int64_t job, int64_t attempt, const char *rest)
{
    static struct fact_grant tasks[TASKS_MAX];
    static struct backend_node nodes[TASKS_MAX / NODE_GPUS];
    static char names[TASKS_MAX / NODE_GPUS][16];
    const char *argv[] = {"/bin/sh", "-c", NULL};
    char account[64];
    int64_t step;
    int64_t count;
    int64_t begun_ms = now_ms();
    int at = 0;
    struct backend_job j = {.job = job, .attempt = attempt, .name = "j", .queue = "q", .pool = "p"};

    if (sscanf(rest, "%" SCNd64 " %" SCNd64 " %63s %n", &step, &count, account, &at) != 3) {
        abort();
    }
    for (int64_t i = 0; i < count; i++) {
        tasks[i] = (struct fact_grant){.task = i,
                                       .node = i / NODE_GPUS + 1,
                                       .memory_bytes = h->memory_bytes,
                                       .cpu_milli = h->cpu_milli};
    }
    for (int64_t i = 0; i * NODE_GPUS < count; i++) {
        snprintf(names[i], sizeof(names[i]), "n%d", (int)i + 1);
        nodes[i] = (struct backend_node){.id = i + 1, .name = names[i], .simulated = true};
    }
    argv[2] = rest + at;
    j.step = step;
    j.tasks = tasks;
    j.task_count = (size_t)count;
    j.nodes = nodes;
    j.node_count = (size_t)(count + NODE_GPUS - 1) / NODE_GPUS;
    j.spec = (struct backend_spec){.argv = argv,
                                   .arg_count = 3,
                                   .script = "",
                                   .dir = "/",
                                   .output = "",
                                   .account = strcmp(account, "-") == 0 ? "" : account};
    if (h->backend->ops->start(h->backend, &j, NULL) != 0) {
        abort();
    }
    printf("started %" PRId64 "\n", now_ms() - begun_ms);
}

static void adopt(struct host *h, int64_t job, int64_t attempt, const char *rest)
{
    static struct backend_held held[TASKS_MAX];
    int64_t first = strtoll(rest, NULL, 10);
    int64_t count = strtoll(rest + strcspn(rest, " "), NULL, 10);
    struct err err;

    for (int64_t i = 0; i < count; i++) {
        held[i] = (struct backend_held){.job = job, .attempt = attempt, .task = {first + i, 0}};
    }
    if (h->backend->ops->adopt(h->backend, held, (size_t)count, &err) != 0) {
        printf("failed %s\n", err.text);
    }
    printf("ok\n");
}

static void order(struct host *h, const char *line)
{
    const struct backend_ops *ops = h->backend->ops;
    char verb[16];
    int64_t job;
    int64_t attempt;
    int64_t deadline_ms;
    int at = 0;
    char *rest;

    if (sscanf(line, "%15s %" SCNd64 " %" SCNd64 " %n", verb, &job, &attempt, &at) != 3) {
        abort();
    }
    if (strcmp(verb, "start") == 0) {
        start(h, job, attempt, line + at);
        return;
    }
    if (strcmp(verb, "adopt") == 0) {
        adopt(h, job, attempt, line + at);
        return;
    }
    if (strcmp(verb, "limits") == 0) {
        h->memory_bytes = strtoll(line + at, &rest, 10);
        h->cpu_milli = strtoll(rest, NULL, 10);
    } else if (strcmp(verb, "signal") == 0) {
        int64_t number = strtoll(line + at, &rest, 10);

        deadline_ms = strtoll(rest, NULL, 10);
        (void)ops->signal(h->backend,
                          &(struct backend_signal){.job = job,
                                                   .attempt = attempt,
                                                   .number = number,
                                                   .deadline_ms = deadline_ms,
                                                   .reason = "test"},
                          NULL);
    } else if (strcmp(verb, "kill") == 0) {
        (void)ops->kill(h->backend, job, attempt, NULL, 0, NULL);
    } else if (strcmp(verb, "forget") == 0) {
        ops->forget(h->backend, job, attempt);
    }
    printf("ok\n");
}

static void on_input(evutil_socket_t fd, short what, void *arg)
{
    static char buffer[65536];
    static size_t have;
    struct host *h = arg;
    char *end;
    ssize_t n = read(fd, buffer + have, sizeof(buffer) - 1 - have);

    (void)what;
    if (n <= 0) {
        event_base_loopbreak(h->base);
        return;
    }
    have += (size_t)n;
    buffer[have] = '\0';
    while ((end = strchr(buffer, '\n')) != NULL) {
        *end = '\0';
        order(h, buffer);
        have -= (size_t)(end + 1 - buffer);
        memmove(buffer, end + 1, have + 1);
    }
}

int main(int argc, char **argv)
{
    struct local_config config = {.simulate = true, .nvml = "", .socket = "/run/m.sock"};
    struct event *input;
    struct host h = {0};
    struct err err;

    if (argc != 6) {
        return 2;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    setvbuf(stdout, NULL, _IOLBF, 0);
    config.state_dir = argv[1];
    config.runtime_dir = argv[2];
    config.shepherd = argv[3];
    config.systemd_run = argv[4];
    config.cgroup = argv[5];
    config.pids_max = PIDS_MAX;
    config.cpu_hard = true;
    h.base = event_base_new();
    h.backend = local_new(&config, h.base, &err);
    if (h.backend == NULL) {
        printf("failed %s\n", err.text);
        return 1;
    }
    h.backend->sink = sink;
    h.backend->sink_ctx = &h;
    input = event_new(h.base, STDIN_FILENO, EV_READ | EV_PERSIST, on_input, &h);
    event_add(input, NULL);
    printf("%sready\n", local_capabilities(h.backend));
    event_base_dispatch(h.base);
    event_free(input);
    h.backend->ops->free(h.backend);
    event_base_free(h.base);
    return 0;
}
