#include "core/meter.h"

#include "core/state.h"

const char *const METER_CLASS_NAMES[] = {"used", "idle", "stranded", "down", NULL};

void meter_fini(struct meter *m)
{
    vec_fini(&m->pools);
    vec_fini(&m->queues);
    vec_fini(&m->samples);
}

static struct meter_pool *row_of_pool(struct meter *m, int64_t pool)
{
    for (size_t i = 0; i < m->pools.count; i++) {
        if (m->pools.items[i].pool == pool) {
            return &m->pools.items[i];
        }
    }
    vec_push(&m->pools, (struct meter_pool){.pool = pool});
    return &m->pools.items[m->pools.count - 1];
}

static int64_t stranded_gu(const struct core *c, const struct pool *p)
{
    int64_t gu = 0;

    for (size_t i = 0; i < p->slice_nodes.count; i++) {
        const struct node *n = c->nodes.items[p->slice_nodes.items[i]];

        for (int d = 0; d < n->device_count; d++) {
            const struct device *dev = &n->devices[d];

            if (dev->table != NULL && dev->mig && dev->capacity_gu == dev->size_gu &&
                dev->whole == 0) {
                gu += slice_stranded_gu(dev->table, &dev->layout);
            }
        }
    }
    return gu;
}

void meter_sample(struct core *c, int64_t now_ms)
{
    struct meter *m = &c->meter;

    vec_clear(&m->samples);
    m->sample_ms = now_ms;
    for (size_t i = 0; m->since_ms > 0 && now_ms > m->since_ms && i < c->pools.count; i++) {
        const struct pool *p = c->pools.items[i];
        struct meter_sample s = {.pool = p->id, .nominal_gu = p->nominal_gu};
        int64_t stranded = stranded_gu(c, p);

        s.gu[METER_USED] = p->held_gu;
        s.gu[METER_STRANDED] = stranded;
        s.gu[METER_IDLE] = p->capacity_gu - p->held_gu - stranded;
        s.gu[METER_DOWN] = p->nominal_gu - p->capacity_gu;
        vec_push(&m->samples, s);
    }
}

void meter_commit(struct core *c)
{
    struct meter *m = &c->meter;
    int64_t ms = m->sample_ms - m->since_ms;

    for (size_t i = 0; i < m->samples.count; i++) {
        const struct meter_sample *s = &m->samples.items[i];
        struct meter_pool *row = row_of_pool(m, s->pool);

        for (int k = 0; k < METER_CLASS_COUNT; k++) {
            row->gu_ms[k] += (int128)s->gu[k] * ms;
        }
        row->nominal_gu_ms += (int128)s->nominal_gu * ms;
    }
    if (m->sample_ms > m->since_ms) {
        m->since_ms = m->sample_ms;
    }
}

struct meter_queue *meter_queue_row(struct meter *m, int64_t queue_id)
{
    for (size_t i = 0; i < m->queues.count; i++) {
        if (m->queues.items[i].queue == queue_id) {
            return &m->queues.items[i];
        }
    }
    vec_push(&m->queues, (struct meter_queue){.queue = queue_id});
    return &m->queues.items[m->queues.count - 1];
}

void meter_lost(struct core *c, int64_t queue_id, int64_t gu_ms)
{
    if (gu_ms != 0) {
        meter_queue_row(&c->meter, queue_id)->lost_gu_ms += gu_ms;
    }
}

const char *meter_check(const struct core *c)
{
    for (size_t i = 0; i < c->meter.pools.count; i++) {
        const struct meter_pool *row = &c->meter.pools.items[i];
        int128 sum = 0;

        for (int k = 0; k < METER_CLASS_COUNT; k++) {
            if (row->gu_ms[k] < 0) {
                return "a physical class of a pool is negative";
            }
            sum += row->gu_ms[k];
        }
        if (sum != row->nominal_gu_ms) {
            return "the physical classes of a pool do not add up to its units";
        }
    }
    return NULL;
}
