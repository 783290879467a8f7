#include "core_world.h"

#include "base/check.h"
#include "base/quantity.h"
#include "core/codec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define POOL_ID    7
#define ROUNDS_MAX 60

/* As from the journal: texts that are left out are "". */
static int apply(struct core_world *w, enum fact_kind kind, const void *body, struct err *err)
{
    struct arena *arena = arena_make();
    struct fact f = {.seq = w->seq + 1,
                     .at_ms = w->now_ms,
                     .kind = kind,
                     .body = {.any = codec_copy(fact_kind_schema(kind), body, arena)}};
    int code = core_apply(w->core, &f, err);

    arena_free(arena);
    w->seq += code == 0;
    return code;
}

int core_world_try(struct core_world *w, enum fact_kind kind, const void *body)
{
    return apply(w, kind, body, NULL);
}

void core_world_apply(struct core_world *w, enum fact_kind kind, const void *body)
{
    struct err err = {0};

    if (apply(w, kind, body, &err) != 0) {
        fail_msg("%s: %s", fact_kind_name(kind), err.text);
    }
}

int64_t core_world_node(struct core_world *w, int gpus, const char *rack, const char *label)
{
    struct fact_node_seen *n = arena_new(w->arena, 1, sizeof(*n));
    struct policy_label domain = {"rack", rack}, labelled = {label, "yes"};
    int64_t id = core_next_node(w->core);

    n->id = id;
    n->name = arena_printf(w->arena, "n%d", (int)id);
    n->cluster = "local";
    n->pool = POOL_ID;
    n->simulated = true;
    n->cpu_milli = 64000;
    n->memory_bytes = (int64_t)1 << 40;
    n->devices = arena_new(w->arena, (size_t)gpus, sizeof(n->devices[0]));
    n->device_count = (size_t)gpus;
    for (int i = 0; i < gpus; i++) {
        n->devices[i].slot = i;
        n->devices[i].uuid = arena_printf(w->arena, "GPU-%d-%d", (int)id, i);
        n->devices[i].model = "h100-80gb";
        n->devices[i].memory_bytes = (int64_t)80 << 30;
        n->devices[i].profile = "";
    }
    n->domains = &domain;
    n->domain_count = rack != NULL;
    n->labels = &labelled;
    n->label_count = label != NULL;
    core_world_apply(w, FACT_NODE_SEEN, n);
    return id;
}

void core_world_begin(struct core_world *w, const struct policy *policy, const int *sizes,
                      size_t count)
{
    struct fact_policy_set set = {.policy = *policy, .subject = ""};

    w->core = core_new();
    w->arena = arena_make();
    w->now_ms = 1000;
    w->seq = 0;
    w->decisions = (struct str){0};
    core_world_apply(w, FACT_POLICY_SET, &set);
    for (size_t i = 0; i < count; i++) {
        core_world_node(w, sizes[i], NULL, NULL);
    }
}

void core_world_end(struct core_world *w)
{
    core_free(w->core);
    arena_free(w->arena);
    str_fini(&w->decisions);
}

struct fact_group core_world_group(int64_t tasks, int64_t gpus)
{
    return (struct fact_group){.name = "main",
                               .tasks = tasks,
                               .min_tasks = tasks,
                               .gpus = gpus,
                               .profile = "",
                               .model = "",
                               .required = "",
                               .preferred = ""};
}

int64_t core_world_submit(struct core_world *w, const struct core_world_job *ask)
{
    struct fact_group group = {.name = "main",
                               .tasks = ask->tasks,
                               .min_tasks = ask->min_tasks,
                               .gpus = ask->gpus,
                               .profile = "",
                               .model = "",
                               .required = "",
                               .preferred = ""};
    struct fact_job_submitted job = {.id = core_next_job(w->core),
                                     .name = "job",
                                     .queue = ask->queue,
                                     .subject = "s-1",
                                     .nonpreemptible = ask->nonpreemptible,
                                     .priority = ask->priority,
                                     .groups = &group,
                                     .group_count = 1,
                                     .spec = ""};

    core_world_apply(w, FACT_JOB_SUBMITTED, &job);
    return job.id;
}

/* The first task of any job that is in this state. */
static bool find_task(const struct core_world *w, int state, struct fact_task_running *ret)
{
    for (const struct job *j = view_job_next(w->core, 0); j != NULL;
         j = view_job_next(w->core, j->id)) {
        for (size_t i = 0; job_is_active(j) && i < j->tasks.count; i++) {
            if (j->tasks.items[i].state == state) {
                *ret = (struct fact_task_running){j->id, j->attempt, j->tasks.items[i].task,
                                                  j->tasks.items[i].step};
                return true;
            }
        }
    }
    return false;
}

void core_world_obey(struct core_world *w)
{
    struct fact_task_running task;

    while (find_task(w, TASK_STATE_STARTING, &task)) {
        core_world_apply(w, FACT_TASK_RUNNING, &task);
    }
    while (find_task(w, TASK_STATE_STOPPING, &task)) {
        struct fact_task_ended ended = {task.job, task.attempt, task.task, TASK_EXITED,
                                        0,        task.step};

        core_world_apply(w, FACT_TASK_ENDED, &ended);
    }
}

static void add_text(const struct decisions *d, struct str *ret)
{
    for (size_t i = 0; i < d->count; i++) {
        str_addf(ret, "%s ", fact_kind_name(d->items[i].kind));
        codec_encode_fact(&d->items[i], ret);
        str_add_char(ret, '\n');
    }
}

void core_world_plan(struct core_world *w)
{
    struct decisions d;
    struct arena *arena = arena_make();
    struct fact *facts;

    core_plan(w->core, w->now_ms, &d);
    w->decided = (int64_t)d.count;
    w->next_ms = d.next_plan_ms;
    str_clear(&w->decisions);
    add_text(&d, &w->decisions);
    facts = arena_new(arena, d.count + 1, sizeof(*facts));
    for (size_t i = 0; i < d.count; i++) {
        facts[i] = d.items[i];
        facts[i].body.any = codec_copy(fact_kind_schema(facts[i].kind), facts[i].body.any, arena);
    }
    for (size_t i = 0; i < d.count; i++) {
        core_world_apply(w, facts[i].kind, facts[i].body.any);
    }
    arena_free(arena);
}

void core_world_settle(struct core_world *w)
{
    int rounds = 0;

    do {
        w->now_ms += 1000;
        core_world_obey(w);
        core_world_plan(w);
        assert_true(++rounds < ROUNDS_MAX);
    } while (w->decided > 0);
}

void core_world_finish(struct core_world *w, int64_t job, int64_t status)
{
    const struct job *j = view_job(w->core, job);

    while (j != NULL && job_is_active(j) && j->tasks.count > 0) {
        struct fact_task_ended ended = {job,         j->attempt, j->tasks.items[0].task,
                                        TASK_EXITED, status,     j->tasks.items[0].step};

        core_world_apply(w, FACT_TASK_ENDED, &ended);
        j = view_job(w->core, job);
    }
}

void core_world_text(struct core *c, int64_t now_ms, struct str *ret)
{
    struct decisions d;

    core_plan(c, now_ms, &d);
    add_text(&d, ret);
}
