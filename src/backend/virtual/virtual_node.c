/* virtual_node - the simulated nodes: told from the policy, dark, back, gone.
 *
 * Reports of a dark node wait on a list of their own until the node is back.
 */
#include "backend/virtual/virtual_impl.h"
#include "base/arena.h"
#include "base/mem.h"
#include "base/str.h"

#include <string.h>

#define DEVICE_GIB    ((int64_t)80) /* of a card whose model does not say */
#define BYTES_PER_GIB ((int64_t)1 << 30)

static struct virtual_place *virtual_place_of(struct virtual_backend *v, int64_t node)
{
    size_t i;

    for (i = 0; i < v->places.count; i++) {
        if (v->places.items[i].id == node) {
            return &v->places.items[i];
        }
    }
    return NULL;
}

bool virtual_is_dark(struct virtual_backend *v, int64_t node)
{
    const struct virtual_place *p = virtual_place_of(v, node);

    return p != NULL && p->dark;
}

/* "h100-80gb": what the model says of the memory of a card. */
static int64_t memory_of_model(const char *model)
{
    const char *dash = model != NULL ? strrchr(model, '-') : NULL;
    int64_t gib = 0;

    for (dash = dash != NULL ? dash + 1 : ""; *dash >= '0' && *dash <= '9' && gib < 10000; dash++) {
        gib = gib * 10 + (*dash - '0');
    }
    return (gib > 0 && strcmp(dash, "gb") == 0 ? gib : DEVICE_GIB) * BYTES_PER_GIB;
}

static void tell_node(struct virtual_backend *v, const struct policy_node *row)
{
    struct arena *arena = arena_make();
    size_t count = row->gpus > 0 ? (size_t)row->gpus : 0;
    struct fact_device *devices = arena_new(arena, count + 1, sizeof(*devices));
    const struct fact_node_seen body = {
        .id = row->id,
        .name = row->name,
        .cluster = row->cluster,
        .pool = row->pool,
        .simulated = true,
        .cpu_milli = row->cpu_milli,
        .memory_bytes = row->memory_bytes,
        .labels = row->labels,
        .label_count = row->label_count,
        .domains = row->domains,
        .domain_count = row->domain_count,
        .devices = devices,
        .device_count = count,
    };
    size_t i;

    for (i = 0; i < count; i++) {
        devices[i].slot = (int64_t)i;
        devices[i].uuid = arena_printf(arena, "GPU-simulated-%s-%zu", row->name, i);
        devices[i].model = row->model;
        devices[i].memory_bytes = memory_of_model(row->model);
        devices[i].mig = row->mig;
    }
    virtual_tell(v, (struct fact){.kind = FACT_NODE_SEEN, .body.as_NODE_SEEN = &body}, v->now_ms);
    arena_free(arena);
}

static void tell_state(struct virtual_backend *v, int64_t node, int state, const char *reason)
{
    const struct fact_node_state body = {node, state, reason};

    virtual_tell(v, (struct fact){.kind = FACT_NODE_STATE, .body.as_NODE_STATE = &body}, v->now_ms);
}

int virtual_observe(struct backend *b, const struct policy *policy, struct err *err)
{
    struct virtual_backend *v = virtual_self(b);
    size_t i;

    (void)err;
    for (i = 0; i < v->places.count; i++) {
        v->places.items[i].stale = true;
    }
    for (i = 0; i < policy->node_count; i++) {
        const struct policy_node *row = &policy->nodes[i];
        struct virtual_place *p = virtual_place_of(v, row->id);

        if (str_cmp(row->cluster, v->cluster) != 0) {
            continue;
        }
        if (p == NULL) {
            vec_push(&v->places,
                     (struct virtual_place){.id = row->id, .name = mem_text(row->name)});
        } else {
            p->stale = false;
        }
        tell_node(v, row);
    }
    for (i = v->places.count; i-- > 0;) {
        if (v->places.items[i].stale) {
            virtual_node_gone(b, v->places.items[i].id);
        }
    }
    return 0;
}

/* Tasks of the node end; their reports come when it is back. */
static void lose_tasks(struct virtual_backend *v, int64_t node, bool told)
{
    struct omap_item *it;

    for (it = omap_first(&v->tasks); it != NULL; it = omap_next(it)) {
        struct virtual_task *t = it->value;
        struct virtual_event ev = virtual_event_of(t, WHAT_ENDED);

        if (t->ended || t->node != node) {
            continue;
        }
        t->ended = true;
        ev.at_ms = v->now_ms;
        ev.cause = TASK_LOST;
        ev.again = true;
        if (told) {
            virtual_tell_event(v, &ev);
        } else {
            vec_push(&v->waiting, ev);
        }
    }
}

void virtual_node_dark(struct backend *b, int64_t node, bool dies)
{
    struct virtual_backend *v = virtual_self(b);
    struct virtual_place *p = virtual_place_of(v, node);

    if (p == NULL || p->dark) {
        return;
    }
    p->dark = true;
    tell_state(v, node, NODE_UNKNOWN, "no answer");
    if (dies) {
        lose_tasks(v, node, false);
    }
}

/* What waited for the node, ends or all else, in the order it happened. */
static void tell_waiting(struct virtual_backend *v, int64_t node, bool ends)
{
    size_t i = 0;

    while (i < v->waiting.count) {
        struct virtual_event ev = v->waiting.items[i];

        if (ev.node == node && (ev.what == WHAT_ENDED) == ends) {
            vec_remove(&v->waiting, i);
            virtual_happen(v, &ev);
        } else {
            i++;
        }
    }
}

/* A backend cleans up before it says that a node is there again: what ended or was to be killed is
 * told first. */
void virtual_node_back(struct backend *b, int64_t node)
{
    struct virtual_backend *v = virtual_self(b);
    struct virtual_place *p = virtual_place_of(v, node);

    if (p == NULL || !p->dark) {
        return;
    }
    p->dark = false;
    tell_waiting(v, node, true);
    tell_state(v, node, NODE_UP, "answers again");
    tell_waiting(v, node, false);
}

void virtual_node_gone(struct backend *b, int64_t node)
{
    struct virtual_backend *v = virtual_self(b);
    size_t i;

    for (i = 0; i < v->places.count && v->places.items[i].id != node; i++) {
    }
    if (i == v->places.count) {
        return;
    }
    tell_state(v, node, NODE_GONE, "gone for good");
    lose_tasks(v, node, true);
    mem_free(v->places.items[i].name);
    vec_remove(&v->places, i);
}
