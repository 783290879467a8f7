#include "daemon/services.h"

#include "base/check.h"
#include "base/quantity.h"
#include "daemon/bodyread.h"
#include "daemon/command.h"
#include "daemon/jobview.h"
#include "daemon/jsonout.h"

#include <stdio.h>
#include <string.h>

static json_t *pairs_json(const struct policy_label *items, size_t count)
{
    json_t *o = json_object();

    for (size_t i = 0; i < count; i++) {
        jsonout_text(o, items[i].key, items[i].value);
    }
    return o;
}

/* What one task holds on one device of the node. */
struct holding {
    const struct job *job;
    const struct lease_task *task;
    const struct lease_device *device;
};

struct holdings {
    VEC(struct holding) items;
};

/* All holdings on the node, by job: its active jobs are looked through once. */
static void find_holdings(struct daemon *d, const struct node *n, struct holdings *ret)
{
    const struct core *core = engine_core(d->engine);
    const struct queue_tree *tree = view_queues(core);

    for (int q = 0; tree != NULL && q < tree->count; q++) {
        for (size_t i = 0; i < tree->items[q].active.count; i++) {
            const struct job *j = tree->items[q].active.items[i];

            for (size_t t = 0; t < j->tasks.count; t++) {
                const struct lease_task *task = &j->tasks.items[t];

                if (task->node != n->index) {
                    continue;
                }
                if (task->device_count == 0) {
                    vec_push(&ret->items, (struct holding){j, task, NULL});
                }
                for (int k = 0; k < task->device_count; k++) {
                    vec_push(&ret->items, (struct holding){j, task, &task->devices[k]});
                }
            }
        }
    }
}

static const char *device_state(const struct device *dev)
{
    if (dev->out) {
        return "out";
    }
    if (dev->count[LEDGER_HELD] > 0 || dev->count[LEDGER_LEAVING] > 0) {
        return "used";
    }
    return dev->count[LEDGER_PROMISED] > 0 ? "nominated" : "idle";
}

static json_t *holder_json(const struct device *dev, const struct holding *h)
{
    json_t *o = json_object();
    bool slice = dev->table != NULL && h->device->profile >= 0;

    jsonout_id(o, "job", h->job->id);
    json_object_set_new(o, "task",
                        json_sprintf("%lld.%lld.%d", (long long)h->job->id,
                                     (long long)h->job->attempt, (int)h->task->task));
    jsonout_big(o, "gu", h->device->gu);
    {
        char text[QUANTITY_TEXT_MAX];

        quantity_gpus_text(h->device->gu, text);
        jsonout_text(o, "gpus", text);
    }
    jsonout_text(o, "profile", slice ? dev->table->profiles[h->device->profile].name : "");
    return o;
}

static json_t *slices_json(const struct device *dev, const struct holdings *all)
{
    json_t *list = json_array();

    for (uint8_t i = 0; dev->table != NULL && i < dev->layout.count; i++) {
        const struct slice_cut *cut = &dev->layout.cuts[i];
        json_t *o = json_object();
        int64_t job = 0;

        for (size_t k = 0; cut->held && k < all->items.count; k++) {
            const struct lease_device *l = all->items.items[k].device;

            if (l != NULL && l->slot == dev->slot && l->start == cut->start) {
                job = all->items.items[k].job->id;
            }
        }
        jsonout_text(o, "profile", dev->table->profiles[cut->profile].name);
        jsonout_int(o, "start", cut->start);
        jsonout_bool(o, "held", cut->held);
        jsonout_id(o, "job", job);
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *device_json(const struct node *n, const struct device *dev,
                           const struct holdings *all)
{
    json_t *o = json_object();
    json_t *holders = json_array();

    json_object_set_new(o, "node", json_sprintf("%s/%s", n->cluster, n->name));
    jsonout_int(o, "slot", dev->slot);
    jsonout_text(o, "uuid", dev->uuid);
    jsonout_text(o, "model", dev->model);
    jsonout_big(o, "memory_bytes", dev->memory_bytes);
    jsonout_text(o, "state", device_state(dev));
    jsonout_text(o, "reason", dev->out ? dev->out_reason : "");
    jsonout_bool(o, "simulated", n->simulated);
    jsonout_bool(o, "mig", dev->mig || (dev->profile != NULL && dev->profile[0] != '\0'));
    json_object_set_new(o, "slices", slices_json(dev, all));
    for (size_t i = 0; i < all->items.count; i++) {
        const struct holding *h = &all->items.items[i];

        if (h->device != NULL && h->device->slot == dev->slot) {
            json_array_append_new(holders, holder_json(dev, h));
        }
    }
    json_object_set_new(o, "holders", holders);
    return o;
}

static json_t *node_json(struct daemon *d, const struct node *n, const struct holdings *all)
{
    json_t *o = json_object();
    json_t *jobs = json_array();
    int64_t last = 0;

    json_object_set_new(o, "node", json_sprintf("%s/%s", n->cluster, n->name));
    jsonout_id(o, "id", n->id);
    jsonout_text(o, "pool", jobview_pool_name(d, n->pool));
    jsonout_text(o, "state", NODE_HEALTH_NAMES[n->health]);
    jsonout_bool(o, "drain", n->drain);
    jsonout_ms(o, "drain_by_ms", n->drain_by_ms);
    jsonout_text(o, "reason", n->reason);
    jsonout_bool(o, "simulated", n->simulated);
    jsonout_int(o, "gpus", n->device_count);
    jsonout_int(o, "gpus_free", n->free_whole);
    {
        char text[QUANTITY_TEXT_MAX];

        quantity_cpu_text(n->cpu_milli, text);
        jsonout_text(o, "cpus", text);
    }
    jsonout_big(o, "memory_bytes", n->memory_bytes);
    json_object_set_new(o, "labels", pairs_json(n->labels, n->label_count));
    json_object_set_new(o, "domains", pairs_json(n->domain_names, n->domain_count));
    for (size_t i = 0; i < all->items.count; i++) {
        if (all->items.items[i].job->id != last) {
            json_t *ids = jsonout_ids(&all->items.items[i].job->id, 1);

            last = all->items.items[i].job->id;
            json_array_extend(jobs, ids);
            json_decref(ids);
        }
    }
    json_object_set_new(o, "jobs", jobs);
    return o;
}

void service_node_list(struct daemon *d, const struct asked *a)
{
    static const char *const PARAMS[] = {"limit", "cursor", NULL};
    const struct core *core = engine_core(d->engine);
    struct answer_page page;

    if (!answer_params(a, PARAMS) || !answer_page_begin(a, &page)) {
        return;
    }
    for (int i = 0; i < view_node_count(core); i++) {
        const struct node *n = view_node(core, i);
        struct holdings all = {0};
        bool room;

        if (n->id <= page.after) {
            continue;
        }
        find_holdings(d, n, &all);
        room = answer_page_add(&page, n->id, node_json(d, n, &all));
        vec_fini(&all.items);
        if (!room) {
            break;
        }
    }
    answer_page_end(a, &page);
}

/* "local/n1", or "n1" where only one cluster has it. */
static const struct node *target(struct daemon *d, const struct asked *a)
{
    const struct core *core = engine_core(d->engine);
    const struct node *found = NULL;

    for (int i = 0; i < view_node_count(core); i++) {
        const struct node *n = view_node(core, i);
        char whole[160];

        snprintf(whole, sizeof(whole), "%s/%s", n->cluster, n->name);
        if (strcmp(whole, a->call->target) == 0 || strcmp(n->name, a->call->target) == 0) {
            found = n;
        }
    }
    if (found == NULL) {
        answer_refuse(a, ERR_NOT_FOUND, "", "there is no node \"%s\"", a->call->target);
    }
    return found;
}

static json_t *devices_json(const struct node *n, const struct holdings *all)
{
    json_t *list = json_array();

    for (int i = 0; i < n->device_count; i++) {
        json_array_append_new(list, device_json(n, &n->devices[i], all));
    }
    return list;
}

void service_node_show(struct daemon *d, const struct asked *a)
{
    static const char *const PARAMS[] = {NULL};
    const struct node *n;
    struct holdings all = {0};
    json_t *o;

    if (!answer_params(a, PARAMS)) {
        return;
    }
    n = target(d, a);
    if (n == NULL) {
        return;
    }
    find_holdings(d, n, &all);
    o = node_json(d, n, &all);
    json_object_set_new(o, "devices", devices_json(n, &all));
    vec_fini(&all.items);
    answer_json(a, o);
}

void service_gpu_list(struct daemon *d, const struct asked *a)
{
    static const char *const PARAMS[] = {"limit", "cursor", "node", NULL};
    const struct core *core = engine_core(d->engine);
    const char *only = answer_param(a->call, "node", "");
    struct answer_page page;
    int64_t key = 0;
    bool room = true;

    if (!answer_params(a, PARAMS) || !answer_page_begin(a, &page)) {
        return;
    }
    for (int i = 0; room && i < view_node_count(core); i++) {
        const struct node *n = view_node(core, i);
        struct holdings all = {0};

        if ((only[0] != '\0' && strcmp(only, n->name) != 0) ||
            key + n->device_count <= page.after) {
            key += n->device_count;
            continue;
        }
        find_holdings(d, n, &all);
        for (int k = 0; room && k < n->device_count; k++) {
            key++;
            if (key > page.after) {
                room = answer_page_add(&page, key, device_json(n, &n->devices[k], &all));
            }
        }
        vec_fini(&all.items);
    }
    answer_page_end(a, &page);
}

/* ---- drain ---- */

static void drain(struct daemon *d, const struct asked *a, bool on)
{
    static const char *const NO_PARAMS[] = {NULL};
    static const char *const DRAIN[] = {"by_ms", "reason", NULL};
    static const char *const RESUME[] = {"reason", NULL};
    struct fact_node_drain body = {.drain = on, .subject = a->call->caller.subject, .reason = ""};
    struct fact fact = {.kind = FACT_NODE_DRAIN, .body.as_NODE_DRAIN = &body};
    struct command command = {.d = d, .done = a->done, .arg = a->arg, .answer = command_answer_seq};
    struct arena *arena;
    struct bodyread r;
    const struct node *n;

    if (!answer_params(a, NO_PARAMS)) {
        return;
    }
    n = target(d, a);
    if (n == NULL) {
        return;
    }
    arena = arena_make();
    bodyread_init(&r, arena);
    body.node = n->id;
    if (a->call->body != NULL) {
        bodyread_known(&r, a->call->body, on ? DRAIN : RESUME);
        body.reason = bodyread_text(&r, a->call->body, "reason", "");
        body.by_ms = on ? bodyread_int(&r, a->call->body, "by_ms", 0, INT64_MAX, 0) : 0;
    }
    if (r.rc != 0) {
        answer_error(a, r.rc, &r.err, r.field);
    } else {
        command_put(&command, &fact);
    }
    arena_free(arena);
}

void service_node_drain(struct daemon *d, const struct asked *a)
{
    drain(d, a, true);
}

void service_node_resume(struct daemon *d, const struct asked *a)
{
    drain(d, a, false);
}
