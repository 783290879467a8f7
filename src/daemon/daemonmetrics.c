#include "daemon/daemonmetrics.h"

#include "base/check.h"
#include "base/quantity.h"
#include "daemon/daemon.h"

#include <inttypes.h>

static void family(struct str *out, const char *name, const char *type, const char *help)
{
    str_addf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void gpus(struct str *out, int64_t gu)
{
    str_addf(out, "%" PRId64 ".%03" PRId64 "\n", gu / GU_PER_GPU,
             gu % GU_PER_GPU * 1000 / GU_PER_GPU);
}

static void jobs(struct daemon *d, struct str *out)
{
    const struct core *core = engine_core(d->engine);
    int64_t counts[JOB_STATE_CANCELLED + 1] = {0};

    for (const struct job *j = view_job_next(core, 0); j != NULL; j = view_job_next(core, j->id)) {
        counts[j->state]++;
    }
    family(out, "muster_jobs", "gauge", "Jobs known to the scheduler by state.");
    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        str_addf(out, "muster_jobs{state=\"%s\"} %" PRId64 "\n", JOB_STATE_NAMES[i], counts[i]);
    }
}

static void pools(struct daemon *d, struct str *out)
{
    const struct core *core = engine_core(d->engine);

    family(out, "muster_pool_capacity_gpus", "gauge", "GPUs in service or still held.");
    for (int i = 0; i < view_pool_count(core); i++) {
        str_addf(out, "muster_pool_capacity_gpus{pool=\"%s\"} ", view_pool(core, i)->name);
        gpus(out, view_pool(core, i)->capacity_gu);
    }
    family(out, "muster_pool_used_gpus", "gauge", "GPUs that jobs hold.");
    for (int i = 0; i < view_pool_count(core); i++) {
        str_addf(out, "muster_pool_used_gpus{pool=\"%s\"} ", view_pool(core, i)->name);
        gpus(out, view_pool(core, i)->held_gu);
    }
}

static void queues(struct daemon *d, struct str *out)
{
    const struct core *core = engine_core(d->engine);
    const struct queue_tree *tree = view_queues(core);

    family(out, "muster_queue_used_gpus", "gauge", "GPUs that jobs of the queue hold, by pool.");
    for (int i = 0; tree != NULL && i < tree->count; i++) {
        for (int p = 0; p < view_pool_count(core); p++) {
            str_addf(out, "muster_queue_used_gpus{queue=\"%s\",pool=\"%s\"} ", tree->items[i].name,
                     view_pool(core, p)->name);
            gpus(out, tree->items[i].quotas[p].plain);
        }
    }
    family(out, "muster_queue_waiting_jobs", "gauge", "Jobs that wait, by leaf.");
    for (int i = 0; tree != NULL && i < tree->count; i++) {
        if (queue_is_leaf(&tree->items[i])) {
            str_addf(out, "muster_queue_waiting_jobs{queue=\"%s\"} %" PRId64 "\n",
                     tree->items[i].name, tree->items[i].waiting);
        }
    }
}

static void engine(struct daemon *d, struct str *out)
{
    struct engine_stats s;

    engine_stats(d->engine, &s);
    family(out, "muster_journal_seq", "counter", "Newest durable record of the journal.");
    str_addf(out, "muster_journal_seq %" PRId64 "\n", d->durable_seq);
    family(out, "muster_engine_rounds_total", "counter", "Batches planned and committed.");
    str_addf(out, "muster_engine_rounds_total %" PRId64 "\n", s.rounds);
    family(out, "muster_engine_refused_total", "counter", "Requests that the rules refused.");
    str_addf(out, "muster_engine_refused_total %" PRId64 "\n", s.refused);
    family(out, "muster_backend_errors_total", "counter", "Calls of backends that failed.");
    str_addf(out, "muster_backend_errors_total %" PRId64 "\n", s.backend_errors);
    family(out, "muster_core_cpu_seconds_total", "counter", "CPU time of apply and plan.");
    str_addf(out, "muster_core_cpu_seconds_total %" PRId64 ".%06" PRId64 "\n", s.core_us / 1000000,
             s.core_us % 1000000);
    family(out, "muster_frozen", "gauge", "1: nothing is planned.");
    str_addf(out, "muster_frozen %d\n", engine_frozen(d->engine));
    family(out, "muster_disk_full", "gauge", "1: the disk of the journal is full.");
    str_addf(out, "muster_disk_full %d\n", d->full.code != 0);
}

void daemonmetrics_text(void *ctx, json_t *unused, char **ret_text)
{
    struct str out = {0};

    (void)unused;
    jobs(ctx, &out);
    pools(ctx, &out);
    queues(ctx, &out);
    engine(ctx, &out);
    *ret_text = str_take(&out);
}
