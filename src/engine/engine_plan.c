/* engine_plan - one plan, its decisions applied and added to the batch.
 *
 * A decision that the core's own state cannot take is a bug, never a condition: CHECK.
 */
#include "base/check.h"
#include "engine/engine_impl.h"

static int64_t cpu_us(const struct engine *e)
{
    const struct engine_hooks *hooks = &e->config.hooks;

    return hooks->cpu_us != NULL ? hooks->cpu_us(hooks->ctx) : 0;
}

void engine_plan(struct engine *e, int64_t now_ms)
{
    int64_t last_ms = core_now_ms(e->core);
    int64_t at_ms = now_ms > last_ms ? now_ms : last_ms;
    int64_t from_us = cpu_us(e);
    struct decisions decisions = {.next_plan_ms = INT64_MAX};
    struct err err = {0};
    size_t i;

    core_plan(e->core, at_ms, &decisions);
    e->stats.core_us += cpu_us(e) - from_us;
    for (i = 0; i < decisions.count; i++) {
        struct fact fact = decisions.items[i];
        int rc;

        fact.at_ms = at_ms;
        fact.seq = engine_batch_next_seq(e);
        rc = engine_core_apply(e, &fact, &err);
        if (rc != 0) {
            check_failed(__FILE__, __LINE__, err.text);
        }
        engine_batch_add(e, &fact);
    }
    e->next_plan_ms = decisions.next_plan_ms;
}
