#include "daemon/jobview.h"

#include "base/check.h"
#include "base/quantity.h"
#include "daemon/jobindex.h"
#include "daemon/jsonout.h"
#include "daemon/recordview.h"

#include <inttypes.h>
#include <string.h>

#define HISTORY_MAX 1000

const char *jobview_pool_name(struct daemon *d, int pool)
{
    const struct core *core = engine_core(d->engine);

    return pool >= 0 && pool < view_pool_count(core) ? view_pool(core, pool)->name : "";
}

const char *jobview_pool_of_id(struct daemon *d, int64_t pool_id)
{
    const struct core *core = engine_core(d->engine);

    for (int i = 0; i < view_pool_count(core); i++) {
        if (view_pool(core, i)->id == pool_id) {
            return view_pool(core, i)->name;
        }
    }
    return "";
}

const char *jobview_queue_name(struct daemon *d, int64_t queue_id)
{
    const struct queue_tree *tree = view_queues(engine_core(d->engine));
    int at = tree == NULL ? -1 : queue_index(tree, queue_id);

    return at < 0 ? "" : tree->items[at].name;
}

static const char *node_name(struct daemon *d, int node)
{
    return view_node(engine_core(d->engine), node)->name;
}

static int64_t charge_of(struct daemon *d, const struct fact_group *g)
{
    const struct core *core = engine_core(d->engine);
    const struct policy *policy = view_policy(core);

    for (size_t i = 0; policy != NULL && i < policy->charge_count; i++) {
        if (strcmp(policy->charges[i].profile, g->profile) == 0 &&
            (g->model == NULL || g->model[0] == '\0' ||
             strcmp(policy->charges[i].model, g->model) == 0)) {
            return policy->charges[i].charge_gu;
        }
    }
    for (int n = 0; n < view_node_count(core); n++) {
        const struct node *node = view_node(core, n);

        for (int i = 0; i < node->device_count && i < 1; i++) {
            const struct slice_table *table = slice_table_of(node->devices[i].model);
            int profile = table == NULL ? -1 : slice_profile_of(table, g->profile);

            if (profile >= 0) {
                return slice_charge_gu(table, profile);
            }
        }
    }
    return 0;
}

int64_t jobview_group_gu(struct daemon *d, const struct fact_group *g)
{
    int64_t each = g->gpus * GU_PER_GPU + g->share_gu;

    if (g->profile != NULL && g->profile[0] != '\0') {
        each += charge_of(d, g) * (g->slices > 0 ? g->slices : 1);
    }
    return each * g->tasks;
}

/* "4 × 8 GPUs", "1g.10gb", "2 × 1/7 GPU". */
static void request_text(const struct fact_group *g, struct str *ret)
{
    char text[QUANTITY_TEXT_MAX];

    if (g->tasks > 1) {
        str_addf(ret, "%" PRId64 " × ", g->tasks);
    }
    if (g->profile != NULL && g->profile[0] != '\0') {
        if (g->slices > 1) {
            str_addf(ret, "%" PRId64 " × ", g->slices);
        }
        str_add(ret, g->profile);
    } else if (g->share_gu > 0) {
        quantity_gpus_text(g->share_gu, text);
        str_addf(ret, "%s GPU", text);
    } else if (g->gpus > 0) {
        str_addf(ret, "%" PRId64 " GPU%s", g->gpus, g->gpus == 1 ? "" : "s");
    } else {
        str_add(ret, "no GPU");
    }
}

static void put_request(struct daemon *d, json_t *o, const struct job *j)
{
    CLEANUP(str_fini) struct str text = {0};
    int64_t gu = 0;
    int64_t tasks = 0;

    for (size_t i = 0; i < j->ask->group_count; i++) {
        const struct fact_group *g = &j->ask->groups[i];

        str_add(&text, i == 0 ? "" : " + ");
        request_text(g, &text);
        gu += jobview_group_gu(d, g);
        tasks += g->tasks;
    }
    jsonout_int(o, "tasks_want", tasks);
    jsonout_int(o, "tasks_have", (int64_t)j->tasks.count);
    jsonout_text(o, "request", str_text(&text));
    jsonout_gu(o, "requested", gu);
}

static void put_kind(struct daemon *d, json_t *o, const struct job *j)
{
    char reserved[QUANTITY_TEXT_MAX];
    char borrowed[QUANTITY_TEXT_MAX];
    CLEANUP(str_fini) struct str split = {0};
    const struct queue_tree *tree = view_queues(engine_core(d->engine));
    bool active = job_is_active(j);
    int64_t own = 0;
    int64_t lent = 0;

    if (active) {
        view_split(engine_core(d->engine), j, &own, &lent); /* as it is now, not as it started */
    }
    quantity_gpus_text(own, reserved);
    quantity_gpus_text(lent, borrowed);
    if (own + lent > 0) {
        str_addf(&split, "%s+%s", reserved, borrowed);
    }
    jsonout_gu(o, "held", j->leased_gu);
    jsonout_gu(o, "reserved", own);
    jsonout_gu(o, "borrowed", lent);
    jsonout_text(o, "kind",
                 own > 0 && lent > 0 ? "mixed"
                 : own > 0           ? "reserved"
                 : lent > 0          ? "borrowed"
                                     : "-");
    jsonout_text(o, "split", str_text(&split));
    if (active && tree != NULL && j->pool >= 0 && j->queue >= 0) {
        const struct queue_quota *q = &tree->items[j->queue].quotas[j->pool];

        active = q->used > q->mine;
    }
    jsonout_bool(o, "reclaimable", active && !j->ask->nonpreemptible && j->leased_gu > 0);
}

static void put_nodes(struct daemon *d, json_t *o, const struct job *j)
{
    json_t *list = json_array();
    bool simulated = false;

    for (size_t i = 0; i < j->tasks.count; i++) {
        int node = j->tasks.items[i].node;
        bool known = false;

        for (size_t k = 0; k < i && !known; k++) {
            known = j->tasks.items[k].node == node;
        }
        if (!known) {
            json_array_append_new(list, json_string(node_name(d, node)));
        }
        simulated = simulated || (view_node(engine_core(d->engine), node)->simulated &&
                                  j->tasks.items[i].device_count > 0);
    }
    json_object_set_new(o, "nodes", list);
    jsonout_bool(o, "simulated", simulated);
}

/* The first blocker of a waiting job, the nodes of a running one. */
static void put_info(struct daemon *d, json_t *o, const struct job *j)
{
    struct arena *arena = arena_make();
    const char *text = "";

    if (j->state == JOB_STATE_QUEUED || j->state == JOB_STATE_HELD) {
        if (why_line(engine_core(d->engine), j->id, daemon_now_ms(d), arena, &text, NULL) != 0) {
            text = "";
        }
    } else if (j->why.text != NULL) {
        text = j->why.text;
    }
    jsonout_text(o, "info", text);
    arena_free(arena);
}

json_t *jobview_row(struct daemon *d, const struct job *j, bool info)
{
    json_t *o = json_object();
    json_t *exit = json_object();

    jsonout_id(o, "job", j->id);
    jsonout_text(o, "name", j->name);
    jsonout_text(o, "queue", jobview_queue_name(d, j->queue_id));
    jsonout_text(o, "user", people_name(d->people, j->subject));
    jsonout_text(o, "class", JOB_CLASS_NAMES[j->ask->job_class]);
    jsonout_text(o, "state", JOB_STATE_NAMES[j->state]);
    jsonout_int(o, "attempt", j->attempt);
    jsonout_int(o, "priority", j->ask->priority);
    jsonout_bool(o, "preemptible", !j->ask->nonpreemptible);
    jsonout_text(o, "pool", jobview_pool_name(d, j->pool));
    put_nodes(d, o, j);
    put_request(d, o, j);
    put_kind(d, o, j);
    jsonout_ms(o, "submitted_ms", j->submitted_ms);
    jsonout_ms(o, "started_ms", j->attempt > 0 ? j->started_ms : 0);
    jsonout_ms(o, "ended_ms", j->ended_ms);
    jsonout_ms(o, "limit_ms", j->ask->limit_ms);
    jsonout_ms(o, "checkpoint_ms", j->checkpoint_ms);
    jsonout_int(o, "preemptions", j->preemptions);
    jsonout_int(o, "retries_used", j->retries_used);
    jsonout_big(o, "lost_gu_ms", j->lost_gu_ms);
    jsonout_int(exit, "status", job_is_ended(j) ? j->end_status : 0);
    jsonout_int(exit, "signal", job_is_ended(j) ? j->end_signal : 0);
    json_object_set_new(o, "exit", exit);
    if (info) {
        put_info(d, o, j);
    } else {
        jsonout_text(o, "info", "");
    }
    jsonout_ms(o, "stops_ms", job_is_active(j) && j->stop.told ? j->stop.deadline_ms : 0);
    jsonout_id(o, "array", j->array);
    json_object_set_new(o, "element", j->array == 0 ? json_null() : json_integer(j->element));
    return o;
}

/* ---- the whole ---- */

static json_t *group_json(struct daemon *d, const struct fact_group *g)
{
    json_t *o = json_object();
    json_t *topology = json_object();
    json_t *labels = json_object();
    json_t *nodes = json_array();

    jsonout_text(o, "name", g->name);
    jsonout_int(o, "tasks", g->tasks);
    jsonout_int(o, "min_tasks", g->min_tasks);
    jsonout_int(o, "gpus", g->gpus);
    jsonout_text(o, "mig", g->profile);
    jsonout_int(o, "slices", g->slices);
    jsonout_gu(o, "share", g->share_gu);
    jsonout_big(o, "share_memory_bytes", g->share_memory_bytes);
    jsonout_bool(o, "mps", g->mps);
    jsonout_int(o, "cpu_milli", g->cpu_milli);
    jsonout_big(o, "memory_bytes", g->memory_bytes);
    jsonout_text(o, "model", g->model);
    jsonout_text(topology, "required", g->required);
    jsonout_text(topology, "preferred", g->preferred);
    json_object_set_new(o, "topology", topology);
    for (size_t i = 0; i < g->label_count; i++) {
        jsonout_text(labels, g->labels[i].key, g->labels[i].value);
    }
    json_object_set_new(o, "labels", labels);
    for (size_t i = 0; i < g->node_count; i++) {
        json_array_append_new(nodes, json_string(g->nodes[i]));
    }
    json_object_set_new(o, "nodes", nodes);
    jsonout_gu(o, "requested", jobview_group_gu(d, g));
    return o;
}

static json_t *task_json(struct daemon *d, const struct job *j, const struct lease_task *t)
{
    const struct node *node = view_node(engine_core(d->engine), t->node);
    json_t *o = json_object();
    json_t *slots = json_array();
    const char *mig = "";
    int64_t share_gu = 0;

    json_object_set_new(o, "task",
                        json_sprintf("%" PRId64 ".%" PRId64 ".%d", j->id, j->attempt,
                                     (int)t->task));
    jsonout_text(o, "group", j->ask->groups[t->group].name);
    jsonout_text(o, "node", node->name);
    jsonout_text(o, "state", TASK_STATE_NAMES[t->state]);
    for (int i = 0; i < t->device_count; i++) {
        const struct lease_device *l = &t->devices[i];

        json_array_append_new(slots, json_integer(l->slot));
        for (int k = 0; k < node->device_count && l->profile >= 0; k++) {
            if (node->devices[k].slot == l->slot && node->devices[k].table != NULL) {
                mig = node->devices[k].table->profiles[l->profile].name;
            }
        }
        if (l->profile < 0 && l->gu < GU_PER_GPU) {
            share_gu = l->gu;
        }
    }
    json_object_set_new(o, "gpus", slots);
    jsonout_text(o, "mig", mig);
    if (share_gu > 0) {
        jsonout_gu(o, "share", share_gu);
    }
    return o;
}

struct history {
    struct daemon *d;
    json_t *list;
    int64_t seq;
};

static bool history_each(void *ctx, const struct journal_record *r)
{
    struct history *h = ctx;
    CLEANUP(str_fini) struct str text = {0};
    json_t *o = json_object();

    recordview_text(h->d, r, &text);
    jsonout_big(o, "seq", r->seq);
    jsonout_int(o, "at_ms", r->at_ms);
    jsonout_text(o, "kind", r->kind);
    jsonout_text(o, "text", str_text(&text));
    json_array_append_new(h->list, o);
    return false;
}

static json_t *history(struct daemon *d, int64_t job)
{
    struct history h = {.d = d, .list = json_array()};
    const int64_t *seqs;
    size_t count;

    if (jobindex_of(d->jobs, d->journal, job, &seqs, &count, NULL) != 0) {
        return h.list;
    }
    for (size_t i = count > HISTORY_MAX ? count - HISTORY_MAX : 0; i < count; i++) {
        if (journal_read(d->journal, seqs[i], 1, history_each, &h, NULL) != 0) {
            break;
        }
    }
    return h.list;
}

static void put_command(struct daemon *d, json_t *o, const struct job *j)
{
    CLEANUP(str_fini) struct str text = {0};
    json_t *spec = NULL;

    if (content_get(d->content, j->spec, &text, NULL) == 0) {
        spec = json_loadb(str_text(&text), text.len, 0, NULL);
    }
    json_object_set_new(o, "command",
                        spec == NULL ? json_array() : json_incref(json_object_get(spec, "argv")));
    jsonout_bool(o, "script", json_string_length(json_object_get(spec, "script")) > 0);
    json_decref(spec);
}

json_t *jobview_full(struct daemon *d, const struct job *j)
{
    json_t *o = jobview_row(d, j, true);
    json_t *groups = json_array();
    json_t *tasks = json_array();

    for (size_t i = 0; i < j->ask->group_count; i++) {
        json_array_append_new(groups, group_json(d, &j->ask->groups[i]));
    }
    for (size_t i = 0; i < j->tasks.count; i++) {
        json_array_append_new(tasks, task_json(d, j, &j->tasks.items[i]));
    }
    json_object_set_new(o, "groups", groups);
    json_object_set_new(o, "tasks", tasks);
    json_object_set_new(o, "history", history(d, j->id));
    put_command(d, o, j);
    return o;
}

/* ---- why ---- */

static json_t *blocker_json(struct daemon *d, const struct why_blocker *b)
{
    json_t *o = json_object();

    jsonout_text(o, "code", err_name(b->code));
    jsonout_text(o, "text", b->text);
    jsonout_text(o, "remedy", b->remedy);
    jsonout_text(o, "pool", jobview_pool_of_id(d, b->pool));
    jsonout_text(o, "queue", jobview_queue_name(d, b->queue));
    jsonout_gu(o, "need", b->need_gu);
    jsonout_gu(o, "have", b->have_gu);
    json_object_set_new(o, "jobs", jsonout_ids(b->jobs, b->job_count));
    return o;
}

json_t *jobview_why(struct daemon *d, const struct why *w)
{
    json_t *o = json_object();
    json_t *blockers = json_array();
    json_t *decision = json_object();
    json_t *numbers = json_object();

    jsonout_id(o, "job", w->job);
    jsonout_text(o, "state", w->state);
    jsonout_text(o, "summary", w->summary);
    for (size_t i = 0; i < w->blocker_count; i++) {
        json_array_append_new(blockers, blocker_json(d, &w->blockers[i]));
    }
    json_object_set_new(o, "blockers", blockers);
    jsonout_ms(o, "earliest_ms", w->earliest_ms);
    jsonout_ms(o, "latest_ms", w->latest_ms);
    for (size_t i = 0; i < w->decision.number_count; i++) {
        jsonout_big(numbers, w->decision.numbers[i].name, w->decision.numbers[i].value);
    }
    jsonout_id(decision, "seq", w->decision_seq);
    jsonout_text(decision, "rule", w->decision.rule);
    jsonout_text(decision, "text", w->decision.text);
    json_object_set_new(decision, "numbers", numbers);
    json_object_set_new(o, "decision", w->decision_seq == 0 ? json_null() : json_incref(decision));
    json_decref(decision);
    return o;
}
