/* planned - the decisions of a plan, copied, as core_plan lends them until the core is asked
 * again. */
#ifndef MUSTER_FUZZ_PLANNED_H
#define MUSTER_FUZZ_PLANNED_H

#include "base/arena.h"
#include "core/codec.h"
#include "core/core.h"

static inline struct fact *planned(struct core *c, int64_t now_ms, struct arena *a,
                                   size_t *ret_count)
{
    struct decisions d;
    struct fact *facts;

    core_plan(c, now_ms, &d);
    *ret_count = d.count;
    facts = arena_copy(a, d.items, d.count * sizeof(*facts));
    for (size_t i = 0; i < d.count; i++) {
        facts[i].body.any = codec_copy(fact_kind_schema(facts[i].kind), facts[i].body.any, a);
    }
    return facts;
}

#endif
