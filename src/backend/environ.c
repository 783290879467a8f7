#include "backend/environ.h"

#include "base/mem.h"
#include "base/quantity.h"
#include "base/str.h"
#include "base/vec.h"

#include <stdio.h>
#include <string.h>

#define PATH_DEFAULT "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"

static size_t find(const struct environ_list *list, const char *name, size_t len)
{
    size_t i = 0;

    while (i < list->count &&
           (strncmp(list->items[i], name, len) != 0 || list->items[i][len] != '=')) {
        i++;
    }
    return i;
}

void environ_set(struct environ_list *list, const char *name, const char *value)
{
    struct str row = {0};
    size_t at = find(list, name, strlen(name));

    str_addf(&row, "%s=%s", name, value);
    if (at < list->count) {
        mem_free(list->items[at]);
        list->items[at] = str_take(&row);
        return;
    }
    vec_reserve(list, list->count + 2);
    list->items[list->count] = str_take(&row);
    list->count++;
    list->items[list->count] = NULL;
}

const char *environ_get(const struct environ_list *list, const char *name)
{
    size_t at = find(list, name, strlen(name));

    return at < list->count ? list->items[at] + strlen(name) + 1 : NULL;
}

void environ_fini(struct environ_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        mem_free(list->items[i]);
    }
    vec_fini(list);
}

static void set_int(struct environ_list *list, const char *name, int64_t value)
{
    char text[32];

    snprintf(text, sizeof(text), "%lld", (long long)value);
    environ_set(list, name, text);
}

static void set_path(struct environ_list *list, const char *name, const char *path)
{
    if (path != NULL && path[0] != '\0') {
        environ_set(list, name, path);
    }
}

static const struct backend_node *node_of(const struct backend_job *job, int64_t id)
{
    for (size_t i = 0; i < job->node_count; i++) {
        if (job->nodes[i].id == id) {
            return &job->nodes[i];
        }
    }
    return NULL;
}

/* Is the node of task i first used by task i? */
static bool first_on_node(const struct backend_job *job, size_t i)
{
    for (size_t k = 0; k < i; k++) {
        if (job->tasks[k].node == job->tasks[i].node) {
            return false;
        }
    }
    return true;
}

void environ_place_of(const struct backend_job *job, size_t index, struct environ_place *ret)
{
    const struct fact_grant *self = &job->tasks[index];
    struct environ_place p = {.world_size = (int64_t)job->task_count};
    int64_t nodes = 0;

    for (size_t i = 0; i < job->task_count; i++) {
        const struct fact_grant *t = &job->tasks[i];
        bool before = t->task < self->task;

        p.rank += before;
        if (first_on_node(job, i)) {
            p.node_rank = t->node == self->node ? nodes : p.node_rank;
            nodes++;
        }
        if (t->node == self->node) {
            p.local_size++;
            p.local_rank += before;
        }
    }
    p.node_count = nodes;
    p.node = node_of(job, self->node);
    *ret = p;
}

static bool is_simulated(const struct backend_node *node)
{
    return node != NULL && node->simulated;
}

char *environ_devices(const struct fact_grant *task, const struct backend_node *node)
{
    struct str s = {0};

    str_add(&s, "");
    for (size_t i = 0; i < task->device_count; i++) {
        const struct fact_grant_device *d = &task->devices[i];
        bool slice = d->profile != NULL && d->profile[0] != '\0';
        bool known = node != NULL && d->slot >= 0 && (size_t)d->slot < node->uuid_count;

        str_add(&s, i == 0 ? "" : ",");
        if (is_simulated(node) && slice) {
            str_addf(&s, "MIG-SIM-%s-%lld-%lld-%s", node->name, (long long)d->slot,
                     (long long)d->start, d->profile);
        } else if (!is_simulated(node) && known) {
            str_add(&s, node->uuids[d->slot]);
        } else {
            str_add_int(&s, d->slot);
        }
    }
    return str_take(&s);
}

static void add_account(struct environ_list *list, const struct environ_account *a)
{
    environ_set(list, "HOME", a->home == NULL || a->home[0] == '\0' ? "/" : a->home);
    environ_set(list, "USER", a->user == NULL ? "" : a->user);
    environ_set(list, "LOGNAME", a->user == NULL ? "" : a->user);
    environ_set(list, "SHELL", a->shell == NULL || a->shell[0] == '\0' ? "/bin/sh" : a->shell);
    environ_set(list, "PATH", PATH_DEFAULT);
    environ_set(list, "LANG", "C.UTF-8");
}

static void add_job(struct environ_list *list, const struct backend_job *job)
{
    for (size_t i = 0; i < job->spec.env_count; i++) {
        const char *row = job->spec.env[i];
        const char *equals = strchr(row, '=');

        if (equals != NULL && equals != row) {
            CLEANUP(mem_freep) char *name = mem_text_n(row, (size_t)(equals - row));

            environ_set(list, name, equals + 1);
        }
    }
}

static void add_muster(struct environ_list *list, const struct environ_input *in,
                       const struct environ_place *p)
{
    const struct backend_job *job = in->job;

    set_int(list, "MUSTER_JOB", job->job);
    set_int(list, "MUSTER_ATTEMPT", job->attempt);
    set_int(list, "MUSTER_TASK", job->tasks[in->index].task);
    set_int(list, "MUSTER_TASKS", p->world_size);
    environ_set(list, "MUSTER_JOB_NAME", job->name == NULL ? "" : job->name);
    environ_set(list, "MUSTER_QUEUE", job->queue == NULL ? "" : job->queue);
    environ_set(list, "MUSTER_POOL", job->pool == NULL ? "" : job->pool);
    environ_set(list, "MUSTER_NODE", p->node == NULL ? "" : p->node->name);
    if (job->array != 0) {
        set_int(list, "MUSTER_ARRAY", job->array);
        set_int(list, "MUSTER_ELEMENT", job->element);
    }
    set_path(list, "MUSTER_CHECKPOINT_DIR", in->files.checkpoint_dir);
    set_path(list, "MUSTER_STATUS_FILE", in->files.status_file);
    set_path(list, "MUSTER_TASKS_FILE", in->files.tasks_file);
    set_path(list, "MUSTER_TOKEN_FILE", in->files.token_file);
    set_path(list, "MUSTER_PREEMPT_FILE", in->files.preempt_file);
    set_path(list, "MUSTER_SOCKET", in->files.socket);
}

static void add_training(struct environ_list *list, const struct environ_input *in,
                         const struct environ_place *p)
{
    set_int(list, "RANK", p->rank);
    set_int(list, "WORLD_SIZE", p->world_size);
    set_int(list, "LOCAL_RANK", p->local_rank);
    set_int(list, "LOCAL_WORLD_SIZE", p->local_size);
    set_int(list, "NODE_RANK", p->node_rank);
    set_int(list, "GROUP_RANK", p->node_rank);
    environ_set(list, "MASTER_ADDR", in->master_addr);
    set_int(list, "MASTER_PORT", in->master_port);
}

/* "8,8,4": how many tasks each node has, in the order of the nodes; and their names. */
static void add_nodes(struct environ_list *list, const struct backend_job *job)
{
    struct str names = {0};
    struct str counts = {0};

    str_add(&names, "");
    str_add(&counts, "");
    for (size_t i = 0; i < job->task_count; i++) {
        const struct backend_node *node = node_of(job, job->tasks[i].node);
        int64_t here = 0;

        if (!first_on_node(job, i)) {
            continue;
        }
        for (size_t k = 0; k < job->task_count; k++) {
            here += job->tasks[k].node == job->tasks[i].node;
        }
        str_addf(&names, "%s%s", i == 0 ? "" : ",", node == NULL ? "" : node->name);
        str_addf(&counts, "%s%lld", i == 0 ? "" : ",", (long long)here);
    }
    environ_set(list, "SLURM_JOB_NODELIST", names.text);
    environ_set(list, "SLURM_NODELIST", names.text);
    environ_set(list, "SLURM_TASKS_PER_NODE", counts.text);
    str_fini(&names);
    str_fini(&counts);
}

/* A job that came from #SBATCH lines says how many processes its script starts on a node: then each
 * task stands for a node of Slurm, whatever nodes muster found for them. */
static void add_batch(struct environ_list *list, const struct backend_job *job,
                      const struct environ_place *p, int64_t procs)
{
    struct str names = {0};
    char counts[48];

    set_int(list, "SLURM_PROCID", p->rank * procs);
    set_int(list, "SLURM_LOCALID", 0);
    set_int(list, "SLURM_NTASKS", p->world_size * procs);
    set_int(list, "SLURM_NPROCS", p->world_size * procs);
    set_int(list, "SLURM_NODEID", p->rank);
    set_int(list, "SLURM_JOB_NUM_NODES", p->world_size);
    set_int(list, "SLURM_NNODES", p->world_size);
    for (size_t i = 0; i < job->task_count; i++) {
        const struct backend_node *node = node_of(job, job->tasks[i].node);

        str_addf(&names, "%s%s", i == 0 ? "" : ",", node == NULL ? "" : node->name);
    }
    environ_set(list, "SLURM_JOB_NODELIST", str_text(&names));
    environ_set(list, "SLURM_NODELIST", str_text(&names));
    str_fini(&names);
    if (p->world_size > 1) {
        snprintf(counts, sizeof(counts), "%lld(x%lld)", (long long)procs, (long long)p->world_size);
    } else {
        snprintf(counts, sizeof(counts), "%lld", (long long)procs);
    }
    environ_set(list, "SLURM_TASKS_PER_NODE", counts);
}

static void add_slurm(struct environ_list *list, const struct environ_input *in,
                      const struct environ_place *p)
{
    const struct backend_job *job = in->job;
    const struct fact_grant *task = &job->tasks[in->index];
    const char *batch = environ_get(list, "SLURM_NTASKS_PER_NODE");
    int64_t cpus = task->cpu_milli / 1000;
    int64_t procs = 0;

    set_int(list, "SLURM_JOB_ID", job->job);
    set_int(list, "SLURM_JOBID", job->job);
    set_int(list, "SLURM_PROCID", p->rank);
    set_int(list, "SLURM_NTASKS", p->world_size);
    set_int(list, "SLURM_NPROCS", p->world_size);
    set_int(list, "SLURM_NODEID", p->node_rank);
    set_int(list, "SLURM_LOCALID", p->local_rank);
    set_int(list, "SLURM_JOB_NUM_NODES", p->node_count);
    set_int(list, "SLURM_NNODES", p->node_count);
    set_int(list, "SLURM_RESTART_COUNT", job->attempt > 0 ? job->attempt - 1 : 0);
    set_int(list, "SLURM_GPUS_ON_NODE", (int64_t)task->device_count);
    if (cpus > 0) {
        set_int(list, "SLURM_CPUS_ON_NODE", cpus);
    }
    if (cpus > 0 && batch == NULL) {
        set_int(list, "SLURM_CPUS_PER_TASK", cpus);
    }
    if (job->array != 0) {
        set_int(list, "SLURM_ARRAY_JOB_ID", job->array);
        set_int(list, "SLURM_ARRAY_TASK_ID", job->element);
    }
    environ_set(list, "SLURM_JOB_NAME", job->name == NULL ? "" : job->name);
    environ_set(list, "SLURM_JOB_ACCOUNT", job->queue == NULL ? "" : job->queue);
    environ_set(list, "SLURM_JOB_PARTITION", job->pool == NULL ? "" : job->pool);
    environ_set(list, "SLURM_JOB_USER", in->account.user == NULL ? "" : in->account.user);
    environ_set(list, "SLURMD_NODENAME", p->node == NULL ? "" : p->node->name);
    if (environ_get(list, "SLURM_SUBMIT_DIR") == NULL) {
        set_path(list, "SLURM_SUBMIT_DIR", job->spec.dir);
    }
    add_nodes(list, job);
    if (batch != NULL && str_to_int(batch, &procs) && procs > 0) {
        add_batch(list, job, p, procs);
    }
}

static void add_devices(struct environ_list *list, const struct environ_input *in,
                        const struct environ_place *p)
{
    const struct fact_grant *task = &in->job->tasks[in->index];
    CLEANUP(mem_freep) char *devices = environ_devices(task, p->node);

    environ_set(list, "CUDA_VISIBLE_DEVICES", devices);
    environ_set(list, "NVIDIA_VISIBLE_DEVICES", devices[0] == '\0' ? "void" : devices);
    environ_set(list, "CUDA_DEVICE_ORDER", "PCI_BUS_ID");
    if (is_simulated(p->node)) {
        environ_set(list, "MUSTER_GPUS_SIMULATED", "1");
    }
    /* A share is not fenced by the hardware: the task is told what it was given. */
    if (task->device_count == 1 && task->devices[0].gu > 0 && task->devices[0].gu < GU_PER_GPU &&
        (task->devices[0].profile == NULL || task->devices[0].profile[0] == '\0')) {
        set_int(list, "MUSTER_GPU_SHARE_MILLI", task->devices[0].gu * 1000 / GU_PER_GPU);
        set_int(list, "MUSTER_GPU_MEMORY_BYTES", task->devices[0].memory_bytes);
    }
}

void environ_build(const struct environ_input *in, struct environ_list *ret)
{
    struct environ_place place;

    environ_place_of(in->job, in->index, &place);
    add_account(ret, &in->account);
    add_job(ret, in->job);
    add_muster(ret, in, &place);
    add_training(ret, in, &place);
    add_slurm(ret, in, &place);
    add_devices(ret, in, &place);
}
