#include "config/policyfile.h"

#include "base/check.h"
#include "base/mem.h"
#include "config/nodenames.h"
#include "config/policypeople.h"

#include <stdlib.h>
#include <string.h>

#define MIN_RUN_ATTAINED_MS ((int64_t)1800 * 1000)

struct builder {
    const struct site *site;
    struct complaints *c;
    struct arena *arena;
    struct policyfile *out;
};

static const char *quoted(const struct builder *b, const char *wrong, const char *value,
                          const char *right)
{
    return complaint_text(b->c, wrong, value, right);
}

/* ---- names that must be unique ---- */

struct named {
    const char *name;
    const struct settings_head *head;
};

static int compare_named(const void *x, const void *y)
{
    const struct named *a = x;
    const struct named *b = y;
    int order = strcmp(a->name, b->name);

    if (order != 0) {
        return order;
    }
    if (a->head->at->line != b->head->at->line) {
        return a->head->at->line < b->head->at->line ? -1 : 1;
    }
    return a->head->at->column < b->head->at->column ? -1
                                                     : a->head->at->column > b->head->at->column;
}

static void check_unique(const struct builder *b, struct named *names, size_t count)
{
    qsort(names, count, sizeof(*names), compare_named);
    for (size_t i = 1; i < count; i++) {
        if (strcmp(names[i - 1].name, names[i].name) == 0 && names[i].name[0] != '\0') {
            settings_complain(b->c, names[i].head, ERR_POLICY_DOUBLE, "name",
                              quoted(b,
                                     arena_printf(b->arena, "is taken by line %d",
                                                  names[i - 1].head->at->line),
                                     names[i].name, "choose another"));
        }
    }
}

static const char *or_empty(const char *text)
{
    return text == NULL ? "" : text;
}

/* ---- pools and nodes ---- */

static struct policy_label *labels(const struct builder *b, const struct settings_list *list)
{
    const struct settings_pair *pairs = list->items;
    struct policy_label *out = arena_new(b->arena, list->count, sizeof(*out));

    for (size_t i = 0; i < list->count; i++) {
        out[i] = (struct policy_label){pairs[i].key, pairs[i].text};
    }
    return out;
}

static struct policy_node make_node(const struct builder *b, const struct site_node *from,
                                    const char *name, int64_t pool)
{
    struct policy_node node = {.name = name, .cluster = POLICYFILE_CLUSTER, .pool = pool};

    node.gpus = from->gpus;
    node.model = from->gpus == 0 ? "" : from->model;
    node.mig = from->mig;
    node.simulated = from->simulated == SIMULATED_YES;
    node.cpu_milli = from->cpus;
    node.memory_bytes = from->memory;
    node.labels = labels(b, &from->labels);
    node.label_count = from->labels.count;
    node.domains = labels(b, &from->domains);
    node.domain_count = from->domains.count;
    return node;
}

struct expanded { /* one row of a pool's nodes */
    const struct site_node *from;
    const char **names;
    size_t count;
    int64_t pool;
};

static void expand_node(const struct builder *b, struct expanded *e)
{
    const char *wrong = "";
    const char *right = "";

    if (e->from->name == NULL) {
        return; /* was told already */
    }
    e->names = nodenames_expand(e->from->name, b->arena, &e->count, &wrong, &right);
    if (e->names == NULL) {
        e->count = 0;
        settings_complain(b->c, e->from, ERR_POLICY, "name",
                          quoted(b, wrong, e->from->name, right));
    }
}

static void fill_nodes(const struct builder *b, const struct expanded *rows, size_t row_count,
                       size_t count)
{
    struct policy *p = &b->out->policy;
    struct named *names = mem_new(count, sizeof(*names));

    p->nodes = arena_new(b->arena, count, sizeof(*p->nodes));
    b->out->nodes = arena_new(b->arena, count, sizeof(struct site_node *));
    for (size_t r = 0; r < row_count; r++) {
        for (size_t i = 0; i < rows[r].count; i++) {
            size_t at = p->node_count++;

            p->nodes[at] = make_node(b, rows[r].from, rows[r].names[i], rows[r].pool);
            p->nodes[at].id = (int64_t)at + 1;
            b->out->nodes[at] = rows[r].from;
            names[at] = (struct named){rows[r].names[i], &rows[r].from->head};
        }
    }
    check_unique(b, names, count);
    mem_free(names);
}

static void build_nodes(const struct builder *b)
{
    const struct site_pool *pools = b->site->pools.items;
    struct expanded *rows;
    size_t row_count = 0;
    size_t count = 0;

    for (size_t i = 0; i < b->site->pools.count; i++) {
        row_count += pools[i].nodes.count;
    }
    rows = arena_new(b->arena, row_count, sizeof(*rows));
    row_count = 0;
    for (size_t i = 0; i < b->site->pools.count; i++) {
        const struct site_node *nodes = pools[i].nodes.items;

        for (size_t k = 0; k < pools[i].nodes.count; k++) {
            struct expanded *e = &rows[row_count++];

            *e = (struct expanded){.from = &nodes[k], .pool = (int64_t)i + 1};
            expand_node(b, e);
            count += e->count;
            if (count > NODENAMES_MAX) {
                settings_complain(b->c, e->from, ERR_TOO_LARGE, "name",
                                  "makes more than 100000 nodes, use fewer");
                return;
            }
        }
    }
    fill_nodes(b, rows, row_count, count);
}

static void build_pools(const struct builder *b)
{
    const struct site_pool *pools = b->site->pools.items;
    struct policy *p = &b->out->policy;
    size_t count = b->site->pools.count;
    struct named *names = arena_new(b->arena, count, sizeof(*names));

    p->pools = arena_new(b->arena, count, sizeof(*p->pools));
    p->pool_count = count;
    b->out->pools = arena_new(b->arena, count, sizeof(struct site_pool *));
    for (size_t i = 0; i < count; i++) {
        p->pools[i].id = (int64_t)i + 1;
        p->pools[i].name = or_empty(pools[i].name);
        p->pools[i].share_within = pools[i].share_within;
        p->pools[i].mixed = pools[i].mixed;
        p->pools[i].cpu_per_gpu_milli = pools[i].cpu_per_gpu;
        b->out->pools[i] = &pools[i];
        names[i] = (struct named){or_empty(pools[i].name), &pools[i].head};
    }
    check_unique(b, names, count);
}

/* Index of a pool by name, -1 with a complaint at the place that names it. */
static int64_t pool_of(const struct builder *b, const char *name, const struct settings_head *head,
                       const char *field, const struct yamltree *at)
{
    const struct policy *p = &b->out->policy;

    for (size_t i = 0; i < p->pool_count; i++) {
        if (strcmp(p->pools[i].name, name) == 0) {
            return (int64_t)i;
        }
    }
    complaint_add(b->c, ERR_POLICY, at->line, at->column,
                  arena_printf(b->arena, "%s.%s", head->path, field),
                  quoted(b, "names a pool that is not there", name,
                         "name one of those under pools"));
    return -1;
}

/* ---- queues ---- */

static size_t count_queues(const struct settings_list *list)
{
    const struct site_queue *queues = list->items;
    size_t count = list->count;

    for (size_t i = 0; i < list->count; i++) {
        count += count_queues(&queues[i].queues);
    }
    return count;
}

/* The row of the quotas for this pool, made if it is not there yet. */
static struct policy_quota *quota_of(struct policy_queue *q, int64_t pool)
{
    struct policy_quota *quota;

    for (size_t i = 0; i < q->quota_count; i++) {
        if (q->quotas[i].pool == pool) {
            return &q->quotas[i];
        }
    }
    quota = &q->quotas[q->quota_count++];
    *quota = (struct policy_quota){.pool = pool};
    quota->limit_gu = quota->lend_gu = quota->borrow_gu = POLICY_NONE;
    return quota;
}

static void read_amounts(const struct builder *b, const struct site_queue *from,
                         struct policy_queue *q)
{
    const struct {
        const char *field;
        const struct settings_list *list;
        size_t offset;
    } parts[] = {
        {"reserved", &from->reserved, offsetof(struct policy_quota, reserved_gu)},
        {"limit", &from->limit, offsetof(struct policy_quota, limit_gu)},
        {"lend", &from->lend, offsetof(struct policy_quota, lend_gu)},
        {"borrow", &from->borrow, offsetof(struct policy_quota, borrow_gu)},
    };

    for (size_t k = 0; k < ARRAY_LEN(parts); k++) {
        const struct settings_pair *pairs = parts[k].list->items;

        for (size_t i = 0; i < parts[k].list->count; i++) {
            int64_t pool = pool_of(b, pairs[i].key, &from->head, parts[k].field, pairs[i].at);

            if (pool >= 0) {
                memcpy((char *)quota_of(q, pool + 1) + parts[k].offset, &pairs[i].value,
                       sizeof(int64_t));
            }
        }
    }
}

static void read_pools(const struct builder *b, const struct site_queue *from,
                       const struct policy_queue *parent, struct policy_queue *q)
{
    const struct policy *p = &b->out->policy;
    const struct settings_pair *pairs = from->pools.items;

    q->pools = arena_new(b->arena, p->pool_count, sizeof(*q->pools));
    if (settings_written(&SITE_QUEUE_ROWS, from, "pools")) {
        for (size_t i = 0; i < from->pools.count && i < p->pool_count; i++) {
            int64_t pool = pool_of(b, pairs[i].key, &from->head, "pools", pairs[i].at);

            if (pool >= 0) {
                q->pools[q->pool_count++] = pool + 1;
            }
        }
        return;
    }
    for (size_t i = 0; i < p->pool_count; i++) {
        for (size_t k = 0; k < q->quota_count; k++) {
            if (q->quotas[k].pool == p->pools[i].id && q->quotas[k].limit_gu != 0) {
                q->pools[q->pool_count++] = p->pools[i].id;
            }
        }
    }
    for (size_t i = 0; q->pool_count == 0 && parent != NULL && i < parent->pool_count; i++) {
        q->pools[i] = parent->pools[i];
    }
    if (q->pool_count == 0 && parent != NULL) {
        q->pool_count = parent->pool_count;
    }
    for (size_t i = 0; q->pool_count == 0 && parent == NULL && i < p->pool_count; i++) {
        q->pools[i] = p->pools[i].id;
    }
    if (q->pool_count == 0) {
        q->pool_count = p->pool_count;
    }
}

static void copy_settings(const struct site_queue *from, struct policy_queue *q)
{
    q->name = or_empty(from->name);
    q->weight = from->weight;
    q->state = from->state;
    q->reclaim = from->reclaim;
    q->preempt_within = from->preempt_within;
    q->order = from->order;
    q->sandbox = from->sandbox;
    q->nonpreemptible_may_borrow = from->nonpreemptible_may_borrow;
    q->min_run_binds_all = from->min_run_binds_all;
    q->priority_max = from->priority_max;
    q->grace_ms = from->grace;
    q->grace_max_ms = from->grace_max;
    q->min_run_ms = from->min_run;
    q->drain_after_ms = from->drain_after;
    q->gang_repair_ms = from->gang_repair;
    q->stop_stuck_ms = from->stop_stuck;
    q->start_timeout_ms = from->start_timeout;
}

/* grace_max follows a written grace where only that one is written; min_run has another default
 * under `attained`. */
static void settle_times(struct site_queue *q, const struct site_queue *above, bool *min_run_known)
{
    (void)above;
    *min_run_known = *min_run_known || settings_written(&SITE_QUEUE_ROWS, q, "min_run");
    if (!*min_run_known) {
        q->min_run = q->order == ORDER_ATTAINED ? MIN_RUN_ATTAINED_MS : 0;
    }
}

static void build_queue(const struct builder *b, const struct site_queue *written,
                        const struct site_queue *above, int64_t parent, bool min_run_known)
{
    struct policy *p = &b->out->policy;
    struct site_queue *from = arena_copy(b->arena, written, sizeof(*written));
    const struct site_queue *children = from->queues.items;
    size_t at = p->queue_count++;
    struct policy_queue *q = &p->queues[at];

    settings_inherit(&SITE_QUEUE_ROWS, from, above, b->c);
    settle_times(from, above, &min_run_known);
    b->out->queues[at] = from;
    copy_settings(from, q);
    q->id = (int64_t)at + 1;
    q->parent = parent;
    q->quotas = arena_new(b->arena, p->pool_count, sizeof(*q->quotas));
    read_amounts(b, from, q);
    read_pools(b, from, parent == 0 ? NULL : &p->queues[parent - 1], q);
    for (size_t i = 0; i < from->queues.count; i++) {
        build_queue(b, &children[i], from, q->id, min_run_known);
    }
}

/* An inner queue that states no reserve for a pool has the sum of its children. */
static void sum_reserves(const struct builder *b)
{
    struct policy *p = &b->out->policy;

    for (size_t i = p->queue_count; i-- > 0;) {
        const struct policy_queue *q = &p->queues[i];
        struct policy_queue *parent = q->parent == 0 ? NULL : &p->queues[q->parent - 1];

        for (size_t k = 0; parent != NULL && k < q->quota_count; k++) {
            const struct settings_list *written = &b->out->queues[q->parent - 1]->reserved;
            const char *pool = p->pools[q->quotas[k].pool - 1].name;
            const struct settings_pair *pairs = written->items;
            bool stated = false;

            for (size_t w = 0; w < written->count; w++) {
                stated = stated || strcmp(pairs[w].key, pool) == 0;
            }
            if (!stated && q->quotas[k].reserved_gu > 0) {
                quota_of(parent, q->quotas[k].pool)->reserved_gu += q->quotas[k].reserved_gu;
            }
        }
    }
}

static void build_queues(const struct builder *b)
{
    const struct site_queue *tops = b->site->queues.items;
    struct policy *p = &b->out->policy;
    size_t count = count_queues(&b->site->queues);
    struct named *names;

    if (count > POLICYFILE_QUEUES_MAX) {
        complaint_add(b->c, ERR_TOO_LARGE, b->site->head.at->line, b->site->head.at->column,
                      "queues", "are more than 10000, use fewer");
        return;
    }
    p->queues = arena_new(b->arena, count, sizeof(*p->queues));
    b->out->queues = arena_new(b->arena, count, sizeof(struct site_queue *));
    for (size_t i = 0; i < b->site->queues.count; i++) {
        build_queue(b, &tops[i], NULL, 0, false);
    }
    sum_reserves(b);
    names = mem_new(count, sizeof(*names));
    for (size_t i = 0; i < count; i++) {
        names[i] = (struct named){p->queues[i].name, &b->out->queues[i]->head};
    }
    check_unique(b, names, count);
    mem_free(names);
}

/* ---- the site ---- */

static void build_cluster(const struct builder *b)
{
    const struct site_cluster *from = &b->site->cluster;
    const struct settings_pair *levels = from->levels.items;
    struct policy *p = &b->out->policy;

    p->cluster = from->name;
    p->timezone = from->timezone;
    p->fair_share = from->fair_share;
    p->consolidation = from->consolidation;
    p->overcommit = from->overcommit;
    p->node_lost_ms = from->node_lost;
    p->restart_cost_ms = from->restart_cost;
    p->decay_half_life_ms = from->usage_half_life;
    p->retries = from->retries;
    p->backoff_ms = from->backoff;
    p->ended_jobs = from->ended_jobs;
    p->level_count = from->levels.count;
    p->levels = arena_new(b->arena, p->level_count, sizeof(*p->levels));
    for (size_t i = 0; i < p->level_count; i++) {
        p->levels[i] = levels[i].key;
    }
    p->digest = "";
}

static void build_charges(const struct builder *b)
{
    const struct site_charge *from = b->site->charges.items;
    struct policy *p = &b->out->policy;

    p->charge_count = b->site->charges.count;
    p->charges = arena_new(b->arena, p->charge_count, sizeof(*p->charges));
    for (size_t i = 0; i < p->charge_count; i++) {
        p->charges[i] = (struct policy_charge){or_empty(from[i].model), or_empty(from[i].profile),
                                               from[i].gpus};
    }
}

void policyfile_build(const struct site *site, struct complaints *c, struct policyfile *ret)
{
    struct builder b = {.site = site, .c = c, .arena = c->arena, .out = ret};

    memset(ret, 0, sizeof(*ret));
    build_cluster(&b);
    if (site->pools.count > POLICYFILE_POOLS_MAX) {
        complaint_add(c, ERR_TOO_LARGE, site->head.at->line, site->head.at->column, "pools",
                      "are more than 256, use fewer");
        return;
    }
    build_pools(&b);
    build_nodes(&b);
    build_queues(&b);
    build_charges(&b);
    policypeople_build(site, c, ret);
}
