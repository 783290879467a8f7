#include "core/submit.h"

#include "base/check.h"
#include "base/quantity.h"
#include "core/empty.h"
#include "core/pick.h"
#include "core/place.h"
#include "core/state.h"

#include <string.h>

/* ---- the form ---- */

static int check_numbers(const struct fact_group *g, size_t at, struct err *err)
{
    const struct {
        const char *name;
        int64_t value;
        int64_t max;
    } rows[] = {
        {"tasks", g->tasks, SUBMIT_TASKS_MAX},
        {"min_tasks", g->min_tasks, SUBMIT_TASKS_MAX},
        {"gpus", g->gpus, SUBMIT_TASKS_MAX},
        {"slices", g->slices, SUBMIT_TASKS_MAX},
        {"share", g->share_gu, GU_PER_GPU},
        {"share_memory", g->share_memory_bytes, INT64_MAX / 4},
        {"cpus", g->cpu_milli, INT64_MAX / SUBMIT_TASKS_MAX / 4},
        {"memory", g->memory_bytes, INT64_MAX / 4},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (rows[i].value < 0 || rows[i].value > rows[i].max) {
            return err_set(err, ERR_RANGE, "groups[%zu].%s: %lld is not within 0 and %lld", at,
                           rows[i].name, (long long)rows[i].value, (long long)rows[i].max);
        }
    }
    if (g->tasks < 1) {
        return err_set(err, ERR_RANGE, "groups[%zu].tasks: 0 tasks; at least 1 is needed", at);
    }
    if (g->min_tasks < 1 || g->min_tasks > g->tasks) {
        return err_set(err, ERR_RANGE,
                       "groups[%zu].min_tasks: %lld is not within 1 and tasks (%lld)", at,
                       (long long)g->min_tasks, (long long)g->tasks);
    }
    return 0;
}

static int check_group(const struct fact_job_submitted *ask, size_t at, struct err *err)
{
    const struct fact_group *g = &ask->groups[at];
    int kinds = (g->gpus > 0) + (g->profile[0] != '\0') + (g->share_gu > 0);
    int rc = check_numbers(g, at, err);

    if (rc != 0) {
        return rc;
    }
    if (kinds > 1) {
        return err_set(err, ERR_INVALID,
                       "groups[%zu]: gpus, mig and share are different ways to ask; give one", at);
    }
    if ((g->profile[0] != '\0') != (g->slices > 0)) {
        return err_set(err, ERR_INVALID, "groups[%zu].slices: goes with mig, at least 1", at);
    }
    if (g->share_gu == 0 && (g->share_memory_bytes > 0 || g->mps)) {
        return err_set(err, ERR_INVALID, "groups[%zu].share_memory: goes with share", at);
    }
    if (g->profile[0] != '\0' && !ask->independent &&
        (g->slices > 1 || g->tasks > 1 || ask->group_count > 1)) {
        return err_set(
            err, ERR_SLICE_GANG,
            "groups[%zu].mig: slices cannot reach each other (no P2P): a gang on slices or several "
            "slices a task need independent: true",
            at);
    }
    return 0;
}

int submit_check_form(const struct fact_job_submitted *ask, struct err *err)
{
    int64_t tasks = 0;

    if (ask->group_count < 1 || ask->group_count > SUBMIT_GROUPS_MAX) {
        return err_set(err, ERR_RANGE, "groups: %zu task groups; 1 to %d are possible",
                       ask->group_count, SUBMIT_GROUPS_MAX);
    }
    if (ask->limit_ms < 0 || ask->predicted_ms < 0 || ask->grace_ms < 0 || ask->retries < 0 ||
        ask->backoff_ms < 0) {
        return err_set(err, ERR_RANGE, "times and retries cannot be negative");
    }
    if (ask->limit_ms > POLICY_MS_MAX || ask->predicted_ms > POLICY_MS_MAX ||
        ask->grace_ms > POLICY_MS_MAX || ask->backoff_ms > POLICY_MS_MAX) {
        return err_set(err, ERR_RANGE, "a time is longer than 100 years");
    }
    for (size_t i = 0; i < ask->group_count; i++) {
        int rc = check_group(ask, i, err);

        if (rc != 0) {
            return rc;
        }
        tasks += ask->groups[i].tasks;
    }
    if (tasks > SUBMIT_TASKS_MAX) {
        return err_set(err, ERR_RANGE, "groups: %lld tasks; at most %d a job", (long long)tasks,
                       SUBMIT_TASKS_MAX);
    }
    return 0;
}

/* ---- could it ever run? ---- */

static const char *gpus(int64_t gu, char *text)
{
    quantity_gpus_text(gu, text);
    return text;
}

/* Which limit makes the most that the queue can have as small as it is? */
static int name_limit(const struct core *c, const struct pool *p, int q, int64_t need, int64_t ever,
                      struct err *err)
{
    char want[QUANTITY_TEXT_MAX];
    char have[QUANTITY_TEXT_MAX];
    const struct queue_tree *t = c->queues;

    gpus(need, want);
    gpus(ever, have);
    for (int i = q; i >= 0; i = t->items[i].parent) {
        if (t->items[i].quotas[p->index].limit == ever) {
            return err_set(err, ERR_OVER_LIMIT,
                           "asks for %s GPUs of pool %s; the limit of queue %s is %s", want,
                           p->name, t->items[i].name, have);
        }
    }
    for (int i = q; i >= 0; i = t->items[i].parent) {
        const struct queue_quota *own = &t->items[i].quotas[p->index];

        if (own->borrow != QUEUE_NO_LIMIT && own->mine + own->borrow == ever) {
            return err_set(
                err, ERR_OVER_BORROW,
                "asks for %s GPUs of pool %s; queue %s can have %s at most, its borrow limit "
                "included",
                want, p->name, t->items[i].name, have);
        }
    }
    for (int i = 0; i < t->count; i++) {
        const struct queue_quota *own = &t->items[i].quotas[p->index];
        char keeps[QUANTITY_TEXT_MAX];
        char all[QUANTITY_TEXT_MAX];

        if (own->keep > 0 && !queue_covers(t, i, q)) {
            return err_set(
                err, ERR_OVER_LEND,
                "asks for %s GPUs of pool %s; %s is the most queue %s can ever have (%s lends "
                "%s of its %s)",
                want, p->name, have, t->items[q].name, t->items[i].name,
                gpus(own->mine - own->keep, keeps), gpus(own->mine, all));
        }
    }
    return err_set(err, ERR_OVER_LIMIT, "asks for %s GPUs of pool %s; queue %s can have %s at most",
                   want, p->name, t->items[q].name, have);
}

static int check_quota(const struct core *c, const struct pool *p, int q,
                       const struct fact_job_submitted *ask, int64_t need, struct err *err)
{
    char want[QUANTITY_TEXT_MAX];
    char have[QUANTITY_TEXT_MAX];
    int64_t ever = quota_ever(c->queues, p->index, q, p->nominal_gu);

    gpus(need, want);
    if (need > p->nominal_gu) {
        return err_set(err, ERR_OVER_POOL, "asks for %s GPUs; pool %s has %s", want, p->name,
                       gpus(p->nominal_gu, have));
    }
    if (need > ever) {
        return name_limit(c, p, q, need, ever, err);
    }
    for (int i = q; ask->nonpreemptible && i >= 0; i = c->queues->items[i].parent) {
        const struct queue_quota *own = &c->queues->items[i].quotas[p->index];

        if (c->queues->items[q].row->nonpreemptible_may_borrow ||
            (p->no_reserve && c->queues->items[i].parent >= 0) || need <= own->reserved) {
            continue;
        }
        return err_set(err, ERR_OVER_RESERVE,
                       "is not preemptible and asks for %s GPUs of pool %s; such work stays within "
                       "the reserve, "
                       "and queue %s has %s",
                       want, p->name, c->queues->items[i].name, gpus(own->reserved, have));
    }
    return 0;
}

/* What a node's devices are when nothing lies on them. */
static int64_t node_could(const struct core *c, const struct node *n, const struct fact_group *g)
{
    int64_t fits = g->gpus == 0 && g->profile[0] == '\0' && g->share_gu == 0 ? SUBMIT_TASKS_MAX : 0;
    int64_t cards = 0;
    struct slice empty = {0};

    if (!pick_node_suits(n, g) || (g->cpu_milli > n->cpu_milli && g->cpu_milli > 0) ||
        (g->memory_bytes > n->memory_bytes && g->memory_bytes > 0)) {
        return 0;
    }
    for (int i = 0; i < n->device_count; i++) {
        const struct device *d = &n->devices[i];

        if (g->model[0] != '\0' && strcmp(g->model, d->model) != 0) {
            continue;
        }
        if (g->profile[0] != '\0' && pick_slice_gu(c, d, g->profile) >= 0) {
            fits += d->profile[0] != '\0'
                        ? 1
                        : slice_room(d->table, &empty, slice_profile_of(d->table, g->profile));
        } else if (d->profile[0] == '\0' && g->share_gu > 0 && !d->mig) {
            fits += pick_shares_in(g, d->size_gu, d->memory_bytes);
        }
        cards += d->profile[0] == '\0';
    }
    if (g->gpus > 0) {
        fits = cards / g->gpus;
    } else if (g->profile[0] != '\0') {
        fits /= g->slices;
    }
    if (g->cpu_milli > 0 && n->cpu_milli / g->cpu_milli < fits) {
        fits = n->cpu_milli / g->cpu_milli;
    }
    if (g->memory_bytes > 0 && n->memory_bytes / g->memory_bytes < fits) {
        fits = n->memory_bytes / g->memory_bytes;
    }
    return fits;
}

static bool model_exists(const struct core *c, const struct pool *p, const struct fact_group *g)
{
    for (size_t i = 0; i < p->nodes.count; i++) {
        const struct node *n = c->nodes.items[p->nodes.items[i]];

        for (int d = 0; d < n->device_count; d++) {
            if (strcmp(n->devices[d].model, g->model) == 0) {
                return true;
            }
        }
    }
    return g->model[0] == '\0';
}

static int64_t domain_could(const struct core *c, const struct pool *p, const struct fact_group *g,
                            int level)
{
    int64_t most = 0;

    for (size_t k = 0; k < p->domains.count; k++) {
        int64_t sum = 0;

        for (size_t i = 0;
             p->domains.items[k].level == level && i < p->domains.items[k].nodes.count; i++) {
            sum += node_could(c, c->nodes.items[p->domains.items[k].nodes.items[i]], g);
        }
        most = sum > most ? sum : most;
    }
    return most;
}

/* The first of the allowed nodes that the pool does not have, NULL = it has them all. */
static const char *unknown_node(const struct core *c, const struct pool *p,
                                const struct fact_group *g)
{
    for (size_t k = 0; k < g->node_count; k++) {
        bool found = false;

        for (size_t i = 0; i < p->nodes.count && !found; i++) {
            found = strcmp(c->nodes.items[p->nodes.items[i]]->name, g->nodes[k]) == 0;
        }
        if (!found) {
            return g->nodes[k];
        }
    }
    return NULL;
}

bool place_possible(const struct core *c, const struct pool *p,
                    const struct fact_job_submitted *ask, int group, struct err *err)
{
    const struct fact_group *g = &ask->groups[group];
    int level = g->required[0] != '\0' ? place_level(c, g->required) : -2;
    int64_t sum = 0;
    int64_t most = 0;
    int cards = 0;

    if (level == -1 || (g->preferred[0] != '\0' && place_level(c, g->preferred) < 0)) {
        return err_set(err, ERR_NO_LEVEL, "groups[%d].topology: no level is called %s", group,
                       level == -1 ? g->required : g->preferred) == 0;
    }
    if (!model_exists(c, p, g)) {
        return err_set(err, ERR_NO_MODEL, "groups[%d].model: pool %s has no %s", group, p->name,
                       g->model) == 0;
    }
    for (size_t i = 0; i < p->nodes.count; i++) {
        const struct node *n = c->nodes.items[p->nodes.items[i]];
        int64_t fits = node_could(c, n, g);

        sum += fits;
        most = fits > most ? fits : most;
        cards = n->device_count > cards ? n->device_count : cards;
    }
    if (unknown_node(c, p, g) != NULL) {
        return err_set(err, ERR_NO_NODE, "groups[%d].nodes: pool %s has no node %s", group, p->name,
                       unknown_node(c, p, g)) == 0;
    }
    if (g->gpus > cards) {
        return err_set(
                   err, ERR_NO_NODE,
                   "groups[%d].gpus: a task asks for %lld GPUs; the largest node of pool %s has %d",
                   group, (long long)g->gpus, p->name, cards) == 0;
    }
    if (sum < g->min_tasks) {
        return err_set(err, ERR_NO_NODE,
                       "groups[%d]: needs room for %lld tasks; the nodes of pool %s that suit one "
                       "have room for %lld "
                       "when empty",
                       group, (long long)g->min_tasks, p->name, (long long)sum) == 0;
    }
    if (level >= 0) {
        most = level == p->level_count ? most : domain_could(c, p, g, level);
        if (most < g->min_tasks) {
            return err_set(err, ERR_NO_DOMAIN,
                           "groups[%d].topology: needs %lld tasks in one %s; the largest of pool "
                           "%s holds %lld when "
                           "empty",
                           group, (long long)g->min_tasks, g->required, p->name,
                           (long long)most) == 0;
        }
    }
    return true;
}

int submit_check_pool(struct core *c, struct pool *p, int leaf,
                      const struct fact_job_submitted *ask, struct err *err)
{
    int64_t need = place_need_gu(c, p, ask);
    int rc;

    if (need < 0) {
        for (size_t g = 0; g < ask->group_count; g++) {
            if (place_task_gu(c, p, &ask->groups[g]) < 0) {
                return err_set(err, ERR_NO_PROFILE,
                               "groups[%zu].mig: no card of pool %s can be cut into %s", g, p->name,
                               ask->groups[g].profile);
            }
        }
        return err_set(err, ERR_RANGE, "asks for more than can be counted");
    }
    for (size_t g = 0; g < ask->group_count; g++) {
        if (need <= p->nominal_gu && !place_possible(c, p, ask, (int)g, err)) {
            return err != NULL ? (int)err->code : ERR_NO_NODE;
        }
    }
    rc = check_quota(c, p, leaf, ask, need, err);
    if (rc == 0 && ask->group_count > 1 && !empty_places(c, p, leaf, ask)) {
        return err_set(err, ERR_NO_NODE,
                       "its groups fit pool %s one by one, but not together: the nodes have not so "
                       "many GPUs, CPUs and so much memory beside each other",
                       p->name);
    }
    return rc;
}

int core_submit_check(const struct core *c, const struct fact_job_submitted *ask, struct err *err)
{
    struct err mine = {0};
    int rc = submit_check_form(ask, err);
    int q;

    if (rc != 0) {
        return rc;
    }
    q = c->queues == NULL ? -1 : queue_index(c->queues, ask->queue);
    if (q < 0) {
        return err_set(err, ERR_NOT_FOUND, "no queue %lld", (long long)ask->queue);
    }
    if (!queue_is_leaf(&c->queues->items[q])) {
        return err_set(err, ERR_QUEUE_NOT_LEAF, "queue %s has queues below it; work goes to those",
                       c->queues->items[q].name);
    }
    if (c->queues->items[q].row->state != QUEUE_OPEN) {
        return err_set(err, ERR_QUEUE_CLOSED, "queue %s is %s: it takes no new work",
                       c->queues->items[q].name, QUEUE_STATE_NAMES[c->queues->items[q].row->state]);
    }
    rc = err_set(&mine, ERR_OVER_POOL, "queue %s has no pool", c->queues->items[q].name);
    for (size_t i = 0; i < c->pools.count; i++) {
        struct pool *p = c->pools.items[i];
        const struct policy_queue *row = c->queues->items[q].row;
        const int64_t *ids = ask->pool_count > 0 ? ask->pools : row->pools;
        size_t count = ask->pool_count > 0 ? ask->pool_count : row->pool_count;
        bool meant = count == 0;

        for (size_t k = 0; k < count && !meant; k++) {
            meant = ids[k] == p->id;
        }
        if (meant) {
            /* placing on trial changes ledgers and puts them back: the state is the same */
            rc = submit_check_pool((struct core *)(uintptr_t)c, p, q, ask, &mine);
            if (rc == 0) {
                return 0;
            }
        }
    }
    if (err != NULL) {
        *err = mine;
    }
    return rc;
}
