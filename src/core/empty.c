#include "core/empty.h"

#include "core/claim.h"
#include "core/place.h"
#include "core/shape.h"
#include "core/state.h"

struct ailment { /* what is wrong with a node, to be put back */
    enum node_health health;
    bool drain;
    bool *out;
    int *soft;
};

static void drop_all(struct core *c, const struct pool *pool)
{
    for (int q = 0; q < c->queues->count; q++) {
        const struct queue *leaf = &c->queues->items[q];

        for (size_t i = 0; i < leaf->active.count; i++) {
            struct job *j = leaf->active.items[i];

            if (job_is_active(j) && j->pool == pool->index) {
                claim_drop_job(c, j, pool->index);
            }
            if (j->nomination.is && !j->unseated && j->nomination.pool == pool->index) {
                struct claim_unit u = {.kind = UNIT_NOMINEE, .job = j};

                claim_drop_unit(c, &u, pool->index);
            }
        }
    }
}

static void heal(struct core *c, struct node *n, struct ailment *was)
{
    was->health = n->health;
    was->drain = n->drain;
    was->out = arena_new(c->plan_arena, (size_t)n->device_count + 1, sizeof(bool));
    was->soft = arena_new(c->plan_arena, (size_t)n->device_count + 1, sizeof(int));
    n->health = HEALTH_UP;
    n->drain = false;
    for (int i = 0; i < n->device_count; i++) {
        was->out[i] = n->devices[i].out;
        was->soft[i] = n->devices[i].soft;
        n->devices[i].out = false;
        n->devices[i].soft = 0;
    }
    load_refresh_node(c, n);
}

static void ail(struct core *c, struct node *n, const struct ailment *was)
{
    n->health = was->health;
    n->drain = was->drain;
    for (int i = 0; i < n->device_count; i++) {
        n->devices[i].out = was->out[i];
        n->devices[i].soft = was->soft[i];
    }
    load_refresh_node(c, n);
}

bool empty_places(struct core *c, struct pool *pool, int leaf, const struct fact_job_submitted *ask)
{
    struct job job = {.ask = ask, .queue = leaf, .subject_key = shape_text_hash(ask->subject)};
    struct arena *planning = c->plan_arena; /* what a plan has decided lies in it */
    struct ailment *was;
    lease_tasks tasks = {0};
    size_t mark = load_mark(c);
    bool placed;

    c->plan_arena = arena_make();
    was = arena_new(c->plan_arena, pool->nodes.count + 1, sizeof(*was));
    drop_all(c, pool);
    for (size_t i = 0; i < pool->nodes.count; i++) {
        heal(c, c->nodes.items[pool->nodes.items[i]], &was[i]);
    }
    placed = place_start(c, &job, pool, LEDGER_PROMISED, &tasks);
    load_undo(c, mark);
    for (size_t i = 0; i < pool->nodes.count; i++) {
        ail(c, c->nodes.items[pool->nodes.items[i]], &was[i]);
    }
    arena_free(c->plan_arena);
    c->plan_arena = planning;
    vec_fini(&tasks);
    return placed;
}
