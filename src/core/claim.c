/* The ledger operations of claims and trials; the search itself is in core/search.c. */
#include "core/claim.h"

#include "base/check.h"
#include "core/place.h"
#include "core/state.h"

void trial_fini(struct trial *t)
{
    vec_fini(&t->tasks);
    vec_fini(&t->victims);
    for (size_t i = 0; i < t->moves.count; i++) {
        vec_fini(&t->moves.items[i].tasks);
    }
    vec_fini(&t->moves);
    vec_fini(&t->passes);
    vec_fini(&t->marked);
}

void trial_clear(struct trial *t)
{
    lease_tasks room = t->tasks; /* for the next, which most often needs as much */

    room.count = 0;
    t->tasks = (lease_tasks){0};
    trial_fini(t);
    *t = (struct trial){.tasks = room};
}

void trial_undo(struct core *c, struct trial *t, size_t mark)
{
    load_undo(c, mark);
    for (size_t i = 0; i < t->marked.count; i++) {
        t->marked.items[i]->marked = false;
    }
    for (size_t i = 0; i < t->victims.count; i++) {
        struct claim_unit *u = &t->victims.items[i];

        if (u->kind == UNIT_NOMINEE) {
            u->job->unseated = false;
        } else if (u->kind == UNIT_WHOLE) {
            u->job->marked = false;
        }
    }
}

/* ---- the ledgers ---- */

bool claim_quota_fits(const struct core *c, const struct ask *ask)
{
    int whose;

    if (ask->job->ask->nonpreemptible &&
        !c->queues->items[ask->job->queue].row->nonpreemptible_may_borrow &&
        !quota_fixed_fits(c->queues, ask->pool, ask->job->queue, ask->need_gu, &whose)) {
        return false;
    }
    return quota_avail(c->queues, ask->pool, ask->job->queue) >= ask->need_gu;
}

bool claim_place(struct core *c, const struct ask *ask, enum ledger ledger, lease_tasks *ret)
{
    if (ask->group < 0) {
        return place_start(c, ask->job, ask->pool, ledger, ret);
    }
    return place_group(c,
                       (struct place_ask){ask->job, ask->pool, ask->group, ask->numbers,
                                          ask->count},
                       ledger, ret);
}

static void drop_task(struct core *c, struct job *j, const struct lease_task *t, int pool)
{
    enum ledger l = load_ledger(t);

    load_vacate(c, t);
    load_take(c, j, t, l);
    load_quota(c, j, pool, load_task_gu(t), l == LEDGER_LEAVING, -1);
}

static void drop_leaving_of(struct core *c, struct job *j, int pool)
{
    for (size_t i = 0; i < j->tasks.count && j->pool == pool; i++) {
        if (load_ledger(&j->tasks.items[i]) == LEDGER_LEAVING) {
            drop_task(c, j, &j->tasks.items[i], pool);
        }
    }
}

void claim_drop_leaving(struct core *c, int pool)
{
    for (struct omap_item *i = omap_first(&c->leaving); i != NULL; i = omap_next(i)) {
        drop_leaving_of(c, i->value, pool);
    }
    for (size_t i = 0; i < c->touched.count; i++) {
        struct job *j = c->touched.items[i];

        if (omap_get(&c->leaving, (struct omap_key){j->id, 0, 0}) == NULL) {
            drop_leaving_of(c, j, pool);
        }
    }
}

void claim_drop_unit(struct core *c, const struct claim_unit *u, int pool)
{
    struct job *j = u->job;

    if (u->kind == UNIT_TASK) {
        drop_task(c, j, &j->tasks.items[u->at], pool);
        return;
    }
    if (u->kind == UNIT_NOMINEE) {
        for (size_t i = 0; i < j->nomination.tasks.count; i++) {
            load_take(c, j, &j->nomination.tasks.items[i], LEDGER_PROMISED);
            load_quota(c, j, pool, load_task_gu(&j->nomination.tasks.items[i]), false, -1);
        }
        return;
    }
    for (size_t i = 0; i < j->tasks.count; i++) {
        if (load_ledger(&j->tasks.items[i]) == LEDGER_HELD) {
            drop_task(c, j, &j->tasks.items[i], pool);
        }
    }
}

void claim_drop_job(struct core *c, struct job *j, int pool)
{
    for (size_t i = 0; i < j->tasks.count; i++) {
        drop_task(c, j, &j->tasks.items[i], pool);
    }
}

void claim_settle(struct core *c, const struct ask *ask, struct trial *t)
{
    int pool = ask->pool->index;

    for (size_t i = 0; i < t->victims.count; i++) {
        struct claim_unit *u = &t->victims.items[i];
        struct job *j = u->job;

        if (u->kind == UNIT_NOMINEE) {
            claim_drop_unit(c, u, pool);
            j->unseated = true;
            j->shape->skip = NULL; /* it competes again */
            plan_touch(c, j);
            continue;
        }
        for (size_t k = 0; k < j->tasks.count; k++) {
            struct lease_task *task = &j->tasks.items[k];
            int64_t gu = load_task_gu(task);

            if ((u->kind == UNIT_TASK && (int)k != u->at) || load_ledger(task) == LEDGER_LEAVING) {
                continue;
            }
            load_take(c, j, task, LEDGER_HELD);
            load_quota(c, j, pool, gu, false, -1);
            task->marked = true;
            vec_push(&t->marked, task);
            load_put(c, j, task, LEDGER_LEAVING);
            load_quota(c, j, pool, gu, true, 1);
        }
        j->marked = j->marked || u->kind == UNIT_WHOLE;
        plan_touch(c, j);
    }
}
