/* core_policy_check: may this policy follow the present state? */
#include "base/check.h"
#include "base/quantity.h"
#include "base/str.h"
#include "core/state.h"

#include <string.h>

static const struct policy_pool *pool_of(const struct policy *p, int64_t id)
{
    for (size_t i = 0; i < p->pool_count; i++) {
        if (p->pools[i].id == id) {
            return &p->pools[i];
        }
    }
    return NULL;
}

static const struct policy_queue *queue_of(const struct policy *p, int64_t id)
{
    for (size_t i = 0; i < p->queue_count; i++) {
        if (p->queues[i].id == id) {
            return &p->queues[i];
        }
    }
    return NULL;
}

static int check_pools(const struct policy *p, struct err *err)
{
    for (size_t i = 0; i < p->pool_count; i++) {
        if (p->pools[i].id <= 0 || p->pools[i].id > CORE_ID_MAX || !str_is_name(p->pools[i].name)) {
            return err_set(err, ERR_POLICY, "pool \"%s\": a name is 1 to 63 of a-z 0-9 -",
                           p->pools[i].name);
        }
        for (size_t k = 0; k < i; k++) {
            if (p->pools[k].id == p->pools[i].id ||
                strcmp(p->pools[k].name, p->pools[i].name) == 0) {
                return err_set(err, ERR_POLICY_DOUBLE, "pool %s is there twice", p->pools[i].name);
            }
        }
    }
    return 0;
}

static int check_quotas(const struct policy *p, const struct policy_queue *q, struct err *err)
{
    for (size_t k = 0; k < q->quota_count; k++) {
        const struct policy_quota *row = &q->quotas[k];

        if (pool_of(p, row->pool) == NULL) {
            return err_set(err, ERR_POLICY, "queue %s has a quota in pool %lld, which there is not",
                           q->name, (long long)row->pool);
        }
        if (row->reserved_gu < 0 || row->limit_gu < POLICY_NONE || row->lend_gu < POLICY_NONE ||
            row->borrow_gu < POLICY_NONE) {
            return err_set(err, ERR_POLICY, "queue %s: an amount is negative", q->name);
        }
        if (row->reserved_gu > POLICY_GU_MAX || row->limit_gu > POLICY_GU_MAX ||
            row->lend_gu > POLICY_GU_MAX || row->borrow_gu > POLICY_GU_MAX) {
            return err_set(err, ERR_POLICY, "queue %s: an amount is beyond %lld GPUs", q->name,
                           (long long)(POLICY_GU_MAX / GU_PER_GPU));
        }
        for (size_t i = 0; i < k; i++) {
            if (q->quotas[i].pool == row->pool) {
                return err_set(err, ERR_POLICY_DOUBLE, "queue %s has two quotas in one pool",
                               q->name);
            }
        }
    }
    return 0;
}

static bool is_time(int64_t ms)
{
    return ms >= POLICY_NONE && ms <= POLICY_MS_MAX;
}

static int check_times(const struct policy *p, struct err *err)
{
    bool fine = is_time(p->node_lost_ms) && is_time(p->restart_cost_ms) &&
                is_time(p->decay_half_life_ms) && is_time(p->backoff_ms);

    for (size_t i = 0; fine && i < p->queue_count; i++) {
        const struct policy_queue *q = &p->queues[i];

        fine = is_time(q->grace_ms) && is_time(q->grace_max_ms) && is_time(q->min_run_ms) &&
               is_time(q->drain_after_ms) && is_time(q->gang_repair_ms) &&
               is_time(q->stop_stuck_ms) && is_time(q->start_timeout_ms);
    }
    return fine ? 0 : err_set(err, ERR_POLICY, "a time is negative or longer than 100 years");
}

static int check_ended_jobs(const struct policy *p, struct err *err)
{
    if (p->ended_jobs < 0 || p->ended_jobs > POLICY_ENDED_JOBS_MAX) {
        return err_set(err, ERR_POLICY, "ended_jobs: %lld is not within 0 and %d",
                       (long long)p->ended_jobs, POLICY_ENDED_JOBS_MAX);
    }
    return 0;
}

static int check_queues(const struct policy *p, struct err *err)
{
    for (size_t i = 0; i < p->queue_count; i++) {
        const struct policy_queue *q = &p->queues[i];
        bool above = q->parent == 0;
        int rc;

        if (q->id <= 0 || q->id > CORE_ID_MAX || !str_is_name(q->name)) {
            return err_set(err, ERR_POLICY, "queue \"%s\": a name is 1 to 63 of a-z 0-9 -",
                           q->name);
        }
        for (size_t k = 0; k < i; k++) {
            if (p->queues[k].id == q->id || strcmp(p->queues[k].name, q->name) == 0) {
                return err_set(err, ERR_POLICY_DOUBLE, "queue %s is there twice", q->name);
            }
            above = above || p->queues[k].id == q->parent;
        }
        if (!above) {
            return err_set(err, queue_of(p, q->parent) != NULL ? ERR_POLICY_CYCLE : ERR_POLICY,
                           "queue %s: its parent does not come before it", q->name);
        }
        if (q->weight < 0) {
            return err_set(err, ERR_POLICY, "queue %s: weight %lld is negative", q->name,
                           (long long)q->weight);
        }
        rc = check_quotas(p, q, err);
        if (rc != 0) {
            return rc;
        }
    }
    return 0;
}

static int64_t reserved_in(const struct policy_queue *q, int64_t pool)
{
    for (size_t k = 0; k < q->quota_count; k++) {
        if (q->quotas[k].pool == pool) {
            return q->quotas[k].reserved_gu;
        }
    }
    return 0;
}

/* Children's reserves lie within the parent's, whatever overcommit says. */
static int check_spare(const struct policy *p, struct err *err)
{
    for (size_t i = 0; i < p->queue_count; i++) {
        for (size_t k = 0; k < p->pool_count; k++) {
            int64_t sum = 0;
            bool inner = false;

            for (size_t j = 0; j < p->queue_count; j++) {
                if (p->queues[j].parent == p->queues[i].id) {
                    sum += reserved_in(&p->queues[j], p->pools[k].id);
                    inner = true;
                }
            }
            if (inner && sum > reserved_in(&p->queues[i], p->pools[k].id)) {
                char want[QUANTITY_TEXT_MAX];
                char have[QUANTITY_TEXT_MAX];

                quantity_gpus_text(sum, want);
                quantity_gpus_text(reserved_in(&p->queues[i], p->pools[k].id), have);
                return err_set(
                    err, ERR_POLICY,
                    "queue %s reserves %s GPUs of pool %s; the queues below it reserve %s",
                    p->queues[i].name, have, p->pools[k].name, want);
            }
        }
    }
    return 0;
}

static int check_nodes(const struct policy *p, struct err *err)
{
    for (size_t i = 0; i < p->node_count; i++) {
        if (p->nodes[i].id < 0 || p->nodes[i].id > CORE_ID_MAX) {
            return err_set(err, ERR_POLICY, "node %s has no id", p->nodes[i].name);
        }
        if (p->nodes[i].gpus < 0 || p->nodes[i].gpus > POLICY_GU_MAX / GU_PER_GPU) {
            return err_set(err, ERR_POLICY, "node %s cannot have %lld GPUs", p->nodes[i].name,
                           (long long)p->nodes[i].gpus);
        }
    }
    return 0;
}

static int check_capacity(const struct core *c, const struct policy *p, struct err *err)
{
    for (size_t k = 0; k < p->pool_count && !p->overcommit; k++) {
        const struct pool *now = core_pool_of_id(c, p->pools[k].id);
        int64_t capacity = now != NULL ? now->nominal_gu : 0;
        int64_t listed = 0;
        int64_t sum = 0;

        for (size_t i = 0; i < p->node_count; i++) {
            listed += p->nodes[i].pool == p->pools[k].id ? p->nodes[i].gpus * GU_PER_GPU : 0;
        }
        capacity = listed > capacity ? listed : capacity;
        for (size_t i = 0; i < p->queue_count; i++) {
            sum += p->queues[i].parent == 0 ? reserved_in(&p->queues[i], p->pools[k].id) : 0;
        }
        if (sum > capacity) {
            char want[QUANTITY_TEXT_MAX];
            char have[QUANTITY_TEXT_MAX];

            quantity_gpus_text(sum, want);
            quantity_gpus_text(capacity, have);
            return err_set(
                err, ERR_POLICY_OVERCOMMIT,
                "pool %s has %s GPUs and %s are reserved; reserve less or say overcommit: true",
                p->pools[k].name, have, want);
        }
    }
    return 0;
}

/* What is in use stays: a queue with jobs, a pool with nodes or leases. */
static int check_in_use(const struct core *c, const struct policy *p, struct err *err)
{
    for (const struct job *j = c->first_job; j != NULL; j = j->next) {
        const struct policy_queue *q = queue_of(p, j->queue_id);
        bool inner = false;

        for (size_t k = 0; k < p->queue_count && !job_is_ended(j); k++) {
            inner = inner || p->queues[k].parent == j->queue_id;
        }
        if (!job_is_ended(j) && (q == NULL || inner)) {
            return err_set(err, ERR_POLICY_IN_USE, "job %lld is in queue %s, which this policy %s",
                           (long long)j->id, c->queues->items[j->queue].name,
                           q == NULL ? "removes; only an empty queue can go"
                                     : "gives children; only an empty queue can get them");
        }
        if (!job_is_ended(j) && ((j->pool_id != 0 && pool_of(p, j->pool_id) == NULL) ||
                                 (j->nomination.is && pool_of(p, j->nomination.pool_id) == NULL))) {
            return err_set(err, ERR_POLICY_IN_USE,
                           "job %lld holds GPUs of a pool that this policy removes",
                           (long long)j->id);
        }
    }
    return 0;
}

static int check_names(const struct core *c, const struct policy *p, struct err *err)
{
    for (size_t i = 0; c->policy != NULL && i < p->queue_count; i++) {
        const struct policy_queue *old = queue_of(c->policy, p->queues[i].id);

        if (old != NULL && strcmp(old->name, p->queues[i].name) != 0) {
            return err_set(err, ERR_POLICY, "id %lld is queue %s, not %s", (long long)old->id,
                           old->name, p->queues[i].name);
        }
    }
    return 0;
}

int core_policy_check(const struct core *c, const struct policy *p, struct err *err)
{
    int rc = check_pools(p, err);

    rc = rc != 0 ? rc : check_queues(p, err);
    rc = rc != 0 ? rc : check_nodes(p, err);
    rc = rc != 0 ? rc : check_times(p, err);
    rc = rc != 0 ? rc : check_ended_jobs(p, err);
    rc = rc != 0 ? rc : check_spare(p, err);
    rc = rc != 0 ? rc : check_capacity(c, p, err);
    rc = rc != 0 ? rc : check_in_use(c, p, err);
    return rc != 0 ? rc : check_names(c, p, err);
}
