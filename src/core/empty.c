#include "core/empty.h"

#include "core/place.h"
#include "core/shape.h"
#include "core/state.h"

#include <string.h>

struct picture { /* of a node as it is, to be put back */
    enum node_health health;
    bool drain;
    int64_t cpu[LEDGER_COUNT];
    int64_t memory[LEDGER_COUNT];
    int task_count;
    int vacated;
    struct device *devices;
};

/* What a device adds to the sums of its pool stays its own: load_refresh starts from there. */
static void set_device(struct device *d, const struct device *to)
{
    struct device was = *d;

    *d = *to;
    d->capacity_gu = was.capacity_gu;
    d->taken_gu = was.taken_gu;
    d->held_gu = was.held_gu;
    d->free_whole = was.free_whole;
}

static struct device idle_device(const struct device *d)
{
    return (struct device){.slot = d->slot,
                           .uuid = d->uuid,
                           .model = d->model,
                           .memory_bytes = d->memory_bytes,
                           .mig = d->mig,
                           .profile = d->profile,
                           .size_gu = d->size_gu,
                           .table = d->table};
}

/* In the middle of a plan too, when what lies there is not what the jobs say. */
static void clear_node(struct core *c, struct node *n, struct picture *was)
{
    was->health = n->health;
    was->drain = n->drain;
    memcpy(was->cpu, n->cpu, sizeof(n->cpu));
    memcpy(was->memory, n->memory, sizeof(n->memory));
    was->task_count = n->task_count;
    was->vacated = n->vacated;
    was->devices =
        arena_copy(c->plan_arena, n->devices, (size_t)n->device_count * sizeof(n->devices[0]));
    n->health = HEALTH_UP;
    n->drain = false;
    memset(n->cpu, 0, sizeof(n->cpu));
    memset(n->memory, 0, sizeof(n->memory));
    n->task_count = 0;
    n->vacated = 0;
    for (int i = 0; i < n->device_count; i++) {
        struct device idle = idle_device(&n->devices[i]);

        set_device(&n->devices[i], &idle);
    }
    load_refresh_node(c, n);
}

static void put_back(struct core *c, struct node *n, const struct picture *was)
{
    n->health = was->health;
    n->drain = was->drain;
    memcpy(n->cpu, was->cpu, sizeof(n->cpu));
    memcpy(n->memory, was->memory, sizeof(n->memory));
    n->task_count = was->task_count;
    n->vacated = was->vacated;
    for (int i = 0; i < n->device_count; i++) {
        set_device(&n->devices[i], &was->devices[i]);
    }
    load_refresh_node(c, n);
}

bool empty_places(struct core *c, struct pool *pool, int leaf, const struct fact_job_submitted *ask)
{
    struct job job = {.ask = ask, .queue = leaf, .subject_key = shape_text_hash(ask->subject)};
    struct arena *planning = c->plan_arena; /* what a plan has decided lies in it */
    struct picture *was;
    lease_tasks tasks = {0};
    size_t mark = load_mark(c);
    bool placed;

    c->plan_arena = arena_make();
    was = arena_new(c->plan_arena, pool->nodes.count + 1, sizeof(*was));
    for (size_t i = 0; i < pool->nodes.count; i++) {
        clear_node(c, c->nodes.items[pool->nodes.items[i]], &was[i]);
    }
    placed = place_start(c, &job, pool, LEDGER_PROMISED, &tasks);
    load_undo(c, mark);
    for (size_t i = 0; i < pool->nodes.count; i++) {
        put_back(c, c->nodes.items[pool->nodes.items[i]], &was[i]);
    }
    arena_free(c->plan_arena);
    c->plan_arena = planning;
    vec_fini(&tasks);
    return placed;
}
