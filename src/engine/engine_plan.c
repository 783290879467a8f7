/* engine_plan - plans until nothing more is decided now, their decisions applied and added to the
 * batch.
 *
 * A decision lets the core ask for another plan at once; all of them go to the disk in one commit.
 * A decision that the core's own state cannot take is a bug, never a condition: CHECK.
 */
#include "base/check.h"
#include "core/codec.h"
#include "core/view.h"
#include "engine/engine_impl.h"

/* What runs on a node that is given up is taken as ended, but it may run on out there: it is to be
 * killed, should the node ever come back. */
static void remember_lost(struct engine *e, int64_t node)
{
    const struct job *j;
    size_t i;

    for (j = view_job_next(e->core, 0); j != NULL; j = view_job_next(e->core, j->id)) {
        for (i = 0; i < j->tasks.count; i++) {
            const struct lease_task *t = &j->tasks.items[i];

            if (view_node(e->core, t->node)->id == node) {
                vec_push(&e->lost, ((struct backend_held){.job = j->id,
                                                          .attempt = j->attempt,
                                                          .task = {t->task, t->step},
                                                          .node = node}));
            }
        }
    }
}

/* Decisions are lent until the next plan, which may be made for the same batch: they are copied. */
static void take_decision(struct engine *e, const struct fact *decision, int64_t at_ms)
{
    struct fact fact = *decision;
    struct err err = {0};

    fact.body.any = codec_copy(fact_kind_schema(fact.kind), decision->body.any, e->taken.arena);
    fact.at_ms = at_ms;
    fact.true_at_ms = 0;
    fact.seq = engine_batch_next_seq(e);
    if (fact.kind == FACT_NODE_LOST) {
        remember_lost(e, fact_of(&fact, NODE_LOST)->node);
    }
    if (engine_core_apply(e, &fact, &err) != 0) {
        check_failed(__FILE__, __LINE__, err.text);
    }
    engine_batch_add(e, &fact);
}

void engine_plan(struct engine *e, int64_t now_ms)
{
    int64_t last_ms = core_now_ms(e->core);
    int64_t at_ms = now_ms > last_ms ? now_ms : last_ms;
    const int plans_max = e->config.plans_max > 0 ? e->config.plans_max : ENGINE_PLANS_MAX;
    int plans = 0;

    do {
        int64_t from_us = engine_call_us(e);
        struct decisions decisions = {.next_plan_ms = INT64_MAX};
        size_t i;

        core_plan(e->core, at_ms, &decisions);
        e->stats.call_us += engine_call_us(e) - from_us;
        e->stats.plans++;
        e->stats.batch_plans++;
        for (i = 0; i < decisions.count; i++) {
            take_decision(e, &decisions.items[i], at_ms);
        }
        e->next_plan_ms = decisions.next_plan_ms;
    } while (e->next_plan_ms <= at_ms && ++plans < plans_max);
}
