#include "daemon/services.h"

#include "base/check.h"
#include "daemon/jobview.h"
#include "daemon/jsonout.h"

#include <string.h>

/* What a leaf's or an inner queue's jobs that wait ask for in the pool; a job that names no pool
 * counts in its queue's first. */
static int64_t waiting_gu(struct daemon *d, int queue, int pool)
{
    const struct core *core = engine_core(d->engine);
    const struct queue_tree *tree = view_queues(core);
    int64_t pool_id = view_pool(core, pool)->id;
    int64_t sum = 0;

    for (int q = queue; q < tree->count; q++) {
        const struct queue *leaf = &tree->items[q];

        if (!queue_is_leaf(leaf) || !queue_covers(tree, queue, q)) {
            continue;
        }
        for (size_t i = 0; i < leaf->shapes.count; i++) {
            const struct shape *s = leaf->shapes.items[i];
            int64_t first = s->ask->pool_count > 0      ? s->ask->pools[0]
                            : leaf->row->pool_count > 0 ? leaf->row->pools[0]
                                                        : 0;

            for (size_t g = 0; first == pool_id && g < s->ask->group_count; g++) {
                sum += (int64_t)s->waiting.count * jobview_group_gu(d, &s->ask->groups[g]);
            }
        }
    }
    return sum;
}

static json_t *quota_json(struct daemon *d, int queue, int pool)
{
    const struct core *core = engine_core(d->engine);
    const struct queue_tree *tree = view_queues(core);
    const struct queue_quota *q = &tree->items[queue].quotas[pool];
    int64_t over = q->used > q->mine ? q->used - q->mine : 0;
    json_t *o = json_object();

    jsonout_text(o, "pool", view_pool(core, pool)->name);
    jsonout_gu(o, "reserved", q->reserved);
    jsonout_gu(o, "limit", q->limit);
    jsonout_gu(o, "lend", q->lend);
    jsonout_gu(o, "borrow_limit", q->borrow);
    jsonout_gu(o, "used", q->plain);
    jsonout_gu(o, "borrowed", over);
    jsonout_gu(o, "lent", view_lent_gu(core, queue, pool));
    jsonout_gu(o, "available", view_available_gu(core, queue, pool));
    jsonout_gu(o, "waiting", waiting_gu(d, queue, pool));
    return o;
}

static bool has_pool(const struct queue *q, int pool, int64_t pool_id)
{
    for (size_t i = 0; i < q->row->pool_count; i++) {
        if (q->row->pools[i] == pool_id) {
            return true;
        }
    }
    return q->quotas[pool].reserved > 0 || q->quotas[pool].plain > 0;
}

static void count_jobs(const struct queue_tree *tree, int queue, int64_t *running, int64_t *waiting)
{
    *running = *waiting = 0;
    for (int q = queue; q < tree->count; q++) {
        const struct queue *leaf = &tree->items[q];

        if (!queue_is_leaf(leaf) || !queue_covers(tree, queue, q)) {
            continue;
        }
        *waiting += leaf->waiting;
        for (size_t i = 0; i < leaf->active.count; i++) {
            *running += job_is_active(leaf->active.items[i]);
        }
    }
}

static json_t *queue_json(struct daemon *d, int queue)
{
    const struct core *core = engine_core(d->engine);
    const struct queue_tree *tree = view_queues(core);
    const struct queue *q = &tree->items[queue];
    const struct policy_queue *row = q->row;
    json_t *o = json_object();
    json_t *pools = json_array();
    json_t *children = json_array();
    int64_t running;
    int64_t waiting;

    count_jobs(tree, queue, &running, &waiting);
    jsonout_text(o, "queue", q->name);
    jsonout_id(o, "id", q->id);
    jsonout_text(o, "parent", q->parent < 0 ? "" : tree->items[q->parent].name);
    jsonout_int(o, "weight", row->weight);
    jsonout_text(o, "state", QUEUE_STATE_NAMES[row->state]);
    jsonout_bool(o, "leaf", queue_is_leaf(q));
    for (int p = 0; p < view_pool_count(core); p++) {
        if (has_pool(q, p, view_pool(core, p)->id)) {
            json_array_append_new(pools, quota_json(d, queue, p));
        }
    }
    json_object_set_new(o, "pools", pools);
    jsonout_int(o, "running", running);
    jsonout_int(o, "waiting", waiting);
    jsonout_text(o, "reclaim", QUEUE_RECLAIM_NAMES[row->reclaim]);
    jsonout_text(o, "preempt_within", QUEUE_PREEMPT_NAMES[row->preempt_within]);
    jsonout_text(o, "order", QUEUE_ORDER_NAMES[row->order]);
    jsonout_int(o, "grace_ms", row->grace_ms);
    jsonout_int(o, "priority_max", row->priority_max);
    for (size_t i = 0; i < q->children.count; i++) {
        json_array_append_new(children, json_string(tree->items[q->children.items[i]].name));
    }
    json_object_set_new(o, "children", children);
    return o;
}

void service_queue_list(struct daemon *d, const struct asked *a)
{
    static const char *const PARAMS[] = {"limit", "cursor", NULL};
    const struct queue_tree *tree = view_queues(engine_core(d->engine));
    struct answer_page page;

    if (!answer_params(a, PARAMS) || !answer_page_begin(a, &page)) {
        return;
    }
    for (int64_t i = page.after; tree != NULL && i < tree->count; i++) {
        if (!answer_page_add(&page, i + 1, queue_json(d, (int)i))) {
            break;
        }
    }
    answer_page_end(a, &page);
}

void service_queue_show(struct daemon *d, const struct asked *a)
{
    static const char *const PARAMS[] = {NULL};
    const struct queue_tree *tree = view_queues(engine_core(d->engine));
    int at = tree == NULL ? -1 : queue_index_of_name(tree, a->call->target);

    if (!answer_params(a, PARAMS)) {
        return;
    }
    if (at < 0) {
        answer_refuse(a, ERR_NOT_FOUND, "", "there is no queue \"%s\"", a->call->target);
        return;
    }
    answer_json(a, queue_json(d, at));
}

static json_t *pool_json(struct daemon *d, int index)
{
    const struct core *core = engine_core(d->engine);
    const struct queue_tree *tree = view_queues(core);
    const struct pool *p = view_pool(core, index);
    int64_t nominated = p->taken_gu > p->held_gu ? p->taken_gu - p->held_gu : 0;
    int64_t reserved = 0;
    bool simulated = false;
    json_t *o = json_object();

    for (int q = 0; tree != NULL && q < tree->count; q++) {
        reserved += tree->items[q].parent < 0 ? tree->items[q].quotas[index].reserved : 0;
    }
    for (size_t i = 0; i < p->nodes.count; i++) {
        simulated = simulated || view_node(core, p->nodes.items[i])->simulated;
    }
    jsonout_text(o, "pool", p->name);
    jsonout_gu(o, "capacity", p->capacity_gu);
    json_object_set(o, "gpus", json_object_get(o, "capacity_gpus"));
    jsonout_gu(o, "used", p->held_gu);
    jsonout_gu(o, "nominated", nominated);
    jsonout_gu(o, "free", p->capacity_gu > p->taken_gu ? p->capacity_gu - p->taken_gu : 0);
    jsonout_gu(o, "down", p->nominal_gu > p->capacity_gu ? p->nominal_gu - p->capacity_gu : 0);
    jsonout_gu(o, "reserved", reserved);
    jsonout_int(o, "nodes", (int64_t)p->nodes.count);
    jsonout_bool(o, "simulated", simulated);
    return o;
}

void service_pool_list(struct daemon *d, const struct asked *a)
{
    static const char *const PARAMS[] = {"limit", "cursor", NULL};
    const struct core *core = engine_core(d->engine);
    struct answer_page page;

    if (!answer_params(a, PARAMS) || !answer_page_begin(a, &page)) {
        return;
    }
    for (int64_t i = page.after; i < view_pool_count(core); i++) {
        if (!answer_page_add(&page, i + 1, pool_json(d, (int)i))) {
            break;
        }
    }
    answer_page_end(a, &page);
}
