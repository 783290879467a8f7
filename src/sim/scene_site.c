/* scene_site - each line is one row of the policy. */
#include "sim/scene_site.h"

#include "base/str.h"

#include <stdio.h>
#include <string.h>

/* A site of a scenario has a pool without having to name it. */
static struct policy_pool *usual_pool(struct site *s)
{
    return s->pools.count > 0 ? &s->pools.items[0] : site_add_pool(s, "main");
}

static int64_t pool_id(struct site *s, struct words *w, const char *name)
{
    const struct policy_pool *pool = name != NULL ? site_pool(s, name) : usual_pool(s);

    if (pool == NULL) {
        words_fail(w, ERR_NOT_FOUND, "there is no pool \"%s\"", name);
        return 0;
    }
    return pool->id;
}

static void levels_line(struct site *s, struct words *w)
{
    const char *level;

    while ((level = words_maybe(w)) != NULL) {
        site_add_level(s, level);
    }
}

static void pool_line(struct site *s, struct words *w)
{
    const char *name = words_next(w, "the name of the pool");
    struct policy_pool *pool = site_pool(s, name);

    pool = pool != NULL ? pool : site_add_pool(s, name);
    pool->share_within = words_enum(w, "share_within", SHARE_WITHIN_NAMES, pool->share_within);
    pool->mixed = words_flag(w, "mixed") || pool->mixed;
    pool->cpu_per_gpu_milli = words_cpu(w, "cpu_per_gpu", pool->cpu_per_gpu_milli);
}

static void node_line(struct site *s, struct words *w)
{
    const char *name = words_next(w, "the name of the node");
    struct policy_node *node = site_node(s, name);
    const char *pool = words_value(w, "pool");
    const char *key, *value;
    size_t i;

    if (node == NULL) {
        node = site_add_node(s, name, pool_id(s, w, pool), 0);
    } else if (pool != NULL) {
        node->pool = pool_id(s, w, pool);
    }
    node->gpus = words_int(w, "gpus", node->gpus);
    value = words_value(w, "model");
    node->model = value != NULL ? arena_text(s->arena, value) : node->model;
    node->mig = words_flag(w, "mig") || node->mig;
    node->cpu_milli = words_cpu(w, "cpu", node->cpu_milli);
    node->memory_bytes = words_bytes(w, "memory", node->memory_bytes);
    while ((key = words_prefix(w, "label.", &value)) != NULL) {
        site_add_label(s, node, key, value);
    }
    for (i = 0; i < s->levels.count; i++) {
        value = words_value(w, s->levels.items[i]);
        if (value != NULL) {
            site_add_domain(s, node, s->levels.items[i], value);
        }
    }
}

/* "reserved" of the usual pool, "gold.reserved" of the pool gold. */
static void quota_words(struct site *s, struct words *w, struct policy_queue *q)
{
    char key[160];
    size_t i;

    for (i = 0; i < s->pools.count; i++) {
        struct policy_quota *quota = site_quota(s, q, s->pools.items[i].id);
        struct {
            const char *name;
            int64_t *gu;
        } fields[] = {{"reserved", &quota->reserved_gu},
                      {"limit", &quota->limit_gu},
                      {"lend", &quota->lend_gu},
                      {"borrow", &quota->borrow_gu}};
        size_t k;

        for (k = 0; k < sizeof(fields) / sizeof(fields[0]); k++) {
            if (i == 0) {
                *fields[k].gu = words_gpus(w, fields[k].name, *fields[k].gu);
            }
            (void)snprintf(key, sizeof(key), "%s.%s", s->pools.items[i].name, fields[k].name);
            *fields[k].gu = words_gpus(w, key, *fields[k].gu);
        }
    }
}

static void time_words(struct words *w, struct policy_queue *q)
{
    q->grace_ms = words_ms(w, "grace", q->grace_ms);
    q->grace_max_ms = words_ms(w, "grace_max", q->grace_max_ms);
    q->min_run_ms = words_ms(w, "min_run", q->min_run_ms);
    q->drain_after_ms = words_ms(w, "drain_after", q->drain_after_ms);
    q->gang_repair_ms = words_ms(w, "gang_repair", q->gang_repair_ms);
    q->stop_stuck_ms = words_ms(w, "stop_stuck", q->stop_stuck_ms);
    q->start_timeout_ms = words_ms(w, "start_timeout", q->start_timeout_ms);
}

static void queue_pools(struct site *s, struct words *w, struct policy_queue *q)
{
    size_t count = 0;
    const char **names = words_list(w, "pools", &count);
    size_t i;

    for (i = 0; i < count && i < SITE_POOLS_MAX; i++) {
        q->pools[i] = pool_id(s, w, names[i]);
        q->pool_count = i + 1;
    }
}

static void queue_line(struct site *s, struct words *w)
{
    const char *name = words_next(w, "the name of the queue");
    const char *parent = words_value(w, "parent");
    const struct policy_queue *above = parent != NULL ? site_queue(s, parent) : NULL;
    struct policy_queue *q = site_queue(s, name);

    (void)usual_pool(s);
    if (parent != NULL && above == NULL) {
        words_fail(w, ERR_NOT_FOUND, "there is no queue \"%s\" above", parent);
        return;
    }
    if (q == NULL) {
        q = site_add_queue(s, name, above != NULL ? above->id : 0);
    } else if (above != NULL) {
        q->parent = above->id;
    }
    quota_words(s, w, q);
    time_words(w, q);
    queue_pools(s, w, q);
    q->weight = words_int(w, "weight", q->weight);
    q->state = words_enum(w, "state", QUEUE_STATE_NAMES, q->state);
    q->reclaim = words_enum(w, "reclaim", QUEUE_RECLAIM_NAMES, q->reclaim);
    q->preempt_within = words_enum(w, "preempt_within", QUEUE_PREEMPT_NAMES, q->preempt_within);
    q->order = words_enum(w, "order", QUEUE_ORDER_NAMES, q->order);
    q->nonpreemptible_may_borrow =
        words_bool(w, "nonpreemptible_may_borrow", q->nonpreemptible_may_borrow);
    q->min_run_binds_all = words_bool(w, "min_run_binds_all", q->min_run_binds_all);
    q->priority_max = words_int(w, "priority_max", q->priority_max);
}

static void set_line(struct site *s, struct words *w)
{
    struct policy *p = &s->policy;

    p->fair_share = words_enum(w, "fair_share", FAIR_SHARE_NAMES, p->fair_share);
    p->consolidation = words_bool(w, "consolidation", p->consolidation);
    p->overcommit = words_bool(w, "overcommit", p->overcommit);
    p->node_lost_ms = words_ms(w, "node_lost", p->node_lost_ms);
    p->restart_cost_ms = words_ms(w, "restart_cost", p->restart_cost_ms);
    p->decay_half_life_ms = words_ms(w, "decay_half_life", p->decay_half_life_ms);
    p->retries = words_int(w, "retries", p->retries);
    p->backoff_ms = words_ms(w, "backoff", p->backoff_ms);
}

static void drop_line(struct site *s, struct words *w)
{
    const char *kind = words_next(w, "node or queue");
    const char *name = words_next(w, "the name of what is dropped");

    if (strcmp(kind, "node") == 0 && site_node(s, name) != NULL) {
        site_drop_node(s, name);
    } else if (strcmp(kind, "queue") == 0 && site_queue(s, name) != NULL) {
        site_drop_queue(s, name);
    } else {
        words_fail(w, ERR_NOT_FOUND, "there is no %s \"%s\"", kind, name);
    }
}

bool scene_site_line(struct site *s, const char *verb, struct words *w)
{
    static const struct {
        const char *verb;
        void (*take)(struct site *s, struct words *w);
    } LINES[] = {{"levels", levels_line}, {"pool", pool_line}, {"node", node_line},
                 {"queue", queue_line},   {"set", set_line},   {"drop", drop_line}};
    size_t i;

    for (i = 0; i < sizeof(LINES) / sizeof(LINES[0]); i++) {
        if (strcmp(LINES[i].verb, verb) == 0) {
            LINES[i].take(s, w);
            return true;
        }
    }
    return false;
}
