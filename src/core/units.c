#include "core/units.h"

#include "base/check.h"
#include "core/prey.h"
#include "core/state.h"

/* Higher priority inside the queue (rule 4), as the queue's setting says. */
static bool own_may_go(const struct job *victim, const struct job *claimant, int preempt)
{
    if (victim->ask->priority < claimant->ask->priority) {
        return preempt != PREEMPT_NEVER;
    }
    return preempt == PREEMPT_LOWER_OR_NEWER_EQUAL &&
           victim->ask->priority == claimant->ask->priority &&
           (victim->age_ms > claimant->age_ms ||
            (victim->age_ms == claimant->age_ms && victim->id > claimant->id));
}

static bool reclaim_may(const struct job *victim, const struct job *claimant, int reclaim)
{
    return reclaim == RECLAIM_ANY ||
           (reclaim == RECLAIM_LOWER_PRIORITY && victim->ask->priority < claimant->ask->priority);
}

static bool still_young(const struct core *c, const struct job *victim, int64_t now_ms)
{
    return now_ms - victim->started_ms < c->queues->items[victim->queue].row->min_run_ms;
}

/* Was the claimant told to stop for what this job was promised? */
static bool was_stopped_for(const struct job *claimant, const struct job *j)
{
    for (size_t i = 0; j->nomination.is && i < j->nomination.victims.count; i++) {
        if (j->nomination.victims.items[i] == claimant->id) {
            return true;
        }
    }
    return false;
}

/* In this pool, running or promised, and nobody has told it to stop. */
static bool takeable(const struct job *j, const struct ask *ask)
{
    if (j == ask->job || j->ask->nonpreemptible || j->marked || j->stop.told) {
        return false;
    }
    if (job_is_active(j)) {
        return j->pool == ask->pool->index && j->tasks.count > 0 && !j->decided;
    }
    if (was_stopped_for(ask->job, j)) {
        return false; /* or the two would take turns */
    }
    return !ask->take && j->nomination.is && !j->unseated && !j->decided &&
           j->nomination.step == 1 && j->nomination.pool == ask->pool->index;
}

bool units_could_evict(const struct core *c, const struct job *j, const struct job *victim)
{
    return j->queue == victim->queue && !victim->ask->nonpreemptible &&
           own_may_go(victim, j, c->queues->items[j->queue].row->preempt_within);
}

bool units_passer_may_go(struct core *c, const struct ask *ask, const struct job *j)
{
    int common = queue_common(c->queues, j->queue, ask->job->queue);

    if (j->queue == ask->job->queue) {
        return !units_could_evict(c, j, ask->job);
    }
    return quota_cover_job(c->queues, ask->job->queue, ask->pool->index, ask->need_gu,
                           ask->job->ask->nonpreemptible) >= 0 ||
           quota_over(c->queues, ask->pool->index, j->queue, common);
}

static bool may_go(struct core *c, const struct ask *ask, const struct job *j, int64_t now_ms,
                   bool *ret_passer)
{
    const struct policy_queue *mine = c->queues->items[ask->job->queue].row;
    bool own = j->queue == ask->job->queue;

    *ret_passer = ask->planned && job_has_passed(j, ask->job->id) && units_passer_may_go(c, ask, j);
    if (*ret_passer) {
        return true;
    }
    if (job_is_active(j) && still_young(c, j, now_ms) &&
        (ask->take || c->queues->items[j->queue].row->min_run_binds_all)) {
        plan_again(c, j->started_ms + c->queues->items[j->queue].row->min_run_ms, now_ms);
        return false;
    }
    if (own) {
        return !ask->take && !ask->growth && own_may_go(j, ask->job, mine->preempt_within);
    }
    return reclaim_may(j, ask->job, mine->reclaim);
}

int64_t claim_lost(const struct core *c, const struct job *j, int at, int64_t now_ms)
{
    int64_t gu = at >= 0 ? load_task_gu(&j->tasks.items[at]) : j->leased_gu - j->stopping_gu;

    (void)c;
    return gu * job_unsaved_ms(j, now_ms);
}

static struct claim_unit unit_of(const struct core *c, struct job *j, enum unit_kind kind, int at,
                                 int64_t now_ms)
{
    struct claim_unit u = {.kind = kind, .job = j, .at = at};

    if (kind == UNIT_NOMINEE) {
        for (size_t i = 0; i < j->nomination.tasks.count; i++) {
            u.gu += load_task_gu(&j->nomination.tasks.items[i]);
        }
        return u;
    }
    u.gu = kind == UNIT_TASK ? load_task_gu(&j->tasks.items[at]) : j->leased_gu - j->stopping_gu;
    u.lost_gu_ms = claim_lost(c, j, kind == UNIT_TASK ? at : -1, now_ms);
    u.cost_gu_ms = u.lost_gu_ms + u.gu * c->policy->restart_cost_ms;
    if (kind == UNIT_TASK) {
        u.lost_gu_ms = 0; /* the job goes on without the task: nothing is lost */
        u.cost_gu_ms = u.gu * c->policy->restart_cost_ms;
    }
    return u;
}

const lease_tasks *units_tasks(const struct claim_unit *u)
{
    return u->kind == UNIT_NOMINEE ? &u->job->nomination.tasks : &u->job->tasks;
}

/* Tasks of the group beyond its minimum that could still be told to go. */
int64_t units_surplus(const struct job *j, int group)
{
    int64_t have = 0;

    for (size_t i = 0; i < j->tasks.count; i++) {
        have += j->tasks.items[i].group == group && load_ledger(&j->tasks.items[i]) == LEDGER_HELD;
    }
    return have - j->ask->groups[group].min_tasks;
}

int64_t units_surplus_gu(const struct job *j)
{
    int64_t gu = 0;

    for (int g = 0; g < (int)j->ask->group_count; g++) {
        int64_t left = units_surplus(j, g);

        for (size_t i = 0; i < j->tasks.count && left > 0; i++) {
            if (j->tasks.items[i].group == g && load_ledger(&j->tasks.items[i]) == LEDGER_HELD) {
                gu += load_task_gu(&j->tasks.items[i]);
                left--;
            }
        }
    }
    return gu;
}

/* Tasks of the same group on the same node that stand after this one: they are as good as it, and
 * go first. */
static int64_t later_on_node(const struct job *j, size_t at)
{
    int64_t count = 0;

    for (size_t i = at + 1; i < j->tasks.count; i++) {
        count += j->tasks.items[i].group == j->tasks.items[at].group &&
                 j->tasks.items[i].node == j->tasks.items[at].node &&
                 load_ledger(&j->tasks.items[i]) == LEDGER_HELD;
    }
    return count;
}

static void add_job(struct core *c, struct job *j, bool own, bool passer, int64_t now_ms,
                    claim_units *ret)
{
    struct claim_unit u;

    if (!job_is_active(j)) {
        u = unit_of(c, j, UNIT_NOMINEE, -1, now_ms);
        u.own = own;
        u.passer = passer;
        vec_push(ret, u);
        return;
    }
    for (size_t i = j->tasks.count; j->shape->elastic && j->broken_ms == 0 && i-- > 0;) {
        const struct lease_task *t = &j->tasks.items[i];

        if (load_ledger(t) == LEDGER_HELD && later_on_node(j, i) < units_surplus(j, t->group)) {
            u = unit_of(c, j, UNIT_TASK, (int)i, now_ms);
            u.own = own;
            u.passer = passer;
            vec_push(ret, u);
        }
    }
    u = unit_of(c, j, UNIT_WHOLE, -1, now_ms);
    u.own = own;
    u.passer = passer;
    vec_push(ret, u);
}

void units_add(struct core *c, struct job *j, int64_t now_ms, claim_units *ret)
{
    add_job(c, j, false, false, now_ms, ret);
}

bool units_may_go(struct core *c, const struct ask *ask, const struct job *j, int64_t now_ms)
{
    bool passer;

    return takeable(j, ask) && may_go(c, ask, j, now_ms, &passer);
}

static void gather_leaf(struct core *c, const struct ask *ask, int q, int64_t now_ms,
                        claim_units *ret)
{
    struct queue *leaf = &c->queues->items[q];
    bool own = q == ask->job->queue;
    bool over = own || quota_over(c->queues, ask->pool->index, q,
                                  queue_common(c->queues, q, ask->job->queue));

    for (size_t i = 0; (over || ask->planned) && i < leaf->active.count; i++) {
        struct job *j = leaf->active.items[i];
        bool passer;

        if (takeable(j, ask) && may_go(c, ask, j, now_ms, &passer) && (over || passer)) {
            add_job(c, j, own, passer, now_ms, ret);
        }
    }
}

void units_gather_own(struct core *c, const struct ask *ask, int64_t now_ms, claim_units *ret)
{
    if (ask->planned || units_own_any(c, ask->job)) {
        gather_leaf(c, ask, ask->job->queue, now_ms, ret);
    }
}

void units_gather(struct core *c, const struct ask *ask, int64_t now_ms, claim_units *ret)
{
    int64_t own_gu = 0;
    int cover;

    units_gather_own(c, ask, now_ms, ret);
    for (size_t i = 0; i < ret->count; i++) {
        own_gu += ret->items[i].kind == UNIT_TASK ? 0 : ret->items[i].gu;
    }
    /* own-queue victims are taken off first; what the claim does not come out of even with all of
     * them gone holds no other queue's victim */
    cover = quota_cover_job(c->queues, ask->job->queue, ask->pool->index, ask->need_gu - own_gu,
                            ask->job->ask->nonpreemptible);
    for (int q = 0; q < c->queues->count; q++) {
        if (q != ask->job->queue && c->queues->items[q].active.count > 0 &&
            (ask->take || ask->planned || (cover >= 0 && !queue_covers(c->queues, cover, q)))) {
            gather_leaf(c, ask, q, now_ms, ret);
        }
    }
}

/* The lowest priority that an own-queue victim could have; nothing of the leaf goes where it is
 * above the claimant's. */
bool units_own_below(struct core *c, int leaf, int64_t priority)
{
    struct queue *q = &c->queues->items[leaf];

    if (q->row->preempt_within == PREEMPT_NEVER || q->active.count == 0) {
        return false;
    }
    prey_know(q);
    return q->lowest < priority ||
           (q->row->preempt_within == PREEMPT_LOWER_OR_NEWER_EQUAL && q->lowest == priority);
}

bool units_own_any(struct core *c, const struct job *claimant)
{
    return units_own_below(c, claimant->queue, claimant->ask->priority);
}

bool units_any(struct core *c, const struct ask *ask, bool entitled)
{
    const struct policy_queue *mine = c->queues->items[ask->job->queue].row;
    const struct queue_quota *own = &c->queues->items[ask->job->queue].quotas[ask->pool->index];
    int others = c->queues->over_leaves[ask->pool->index] - (own->used > own->mine);

    if (ask->planned || ask->leaving_only) {
        return true;
    }
    if (entitled && (c->leaving.count > 0 || c->touched.count > 0)) {
        return true; /* what is leaving may be promised */
    }
    if (!ask->growth && units_own_any(c, ask->job)) {
        return true;
    }
    return (entitled || ask->take) && mine->reclaim != RECLAIM_NEVER && others > 0;
}
