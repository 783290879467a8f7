/* Field by field, by hand: a submission is compared each time one comes, and a walk over the tables
 * of core/schema.h takes five times as long.  The test goes over the tables, so that a field that
 * is added there and forgotten here is found. */
#include "core/alike.h"

#include <string.h>

#define MIX_FACTOR 0x9e3779b97f4a7c15U /* 2^64 over the golden ratio: odd, its bits well spread */

static bool asks_share(const struct fact_job_submitted *ask)
{
    for (size_t g = 0; g < ask->group_count; g++) {
        if (ask->groups[g].share_gu > 0) {
            return true;
        }
    }
    return false;
}

struct fact_job_submitted alike_plain(const struct fact_job_submitted *ask)
{
    struct fact_job_submitted plain = *ask;

    plain.id = plain.array = plain.element = 0;
    plain.name = plain.spec = "";
    plain.subject = asks_share(ask) ? ask->subject : "";
    plain.held = false;
    return plain;
}

/* ---- the hash ---- */

static uint64_t mix(uint64_t h, int64_t value)
{
    return (h ^ (uint64_t)value) * MIX_FACTOR;
}

/* NULL is "". */
static uint64_t mix_text(uint64_t h, const char *text)
{
    for (; text != NULL && *text != '\0'; text++) {
        h = mix(h, (unsigned char)*text);
    }
    return mix(h ^ (h >> 32), 0xff); /* ends it: no text has this byte */
}

static uint64_t hash_group(uint64_t h, const struct fact_group *g)
{
    h = mix_text(h, g->name);
    h = mix(h, g->tasks);
    h = mix(h, g->min_tasks);
    h = mix(h, g->gpus);
    h = mix_text(h, g->profile);
    h = mix(h, g->slices);
    h = mix(h, g->share_gu);
    h = mix(h, g->share_memory_bytes);
    h = mix(h, g->mps);
    h = mix(h, g->cpu_milli);
    h = mix(h, g->memory_bytes);
    h = mix_text(h, g->model);
    h = mix_text(h, g->required);
    h = mix_text(h, g->preferred);
    h = mix(h, (int64_t)g->label_count);
    for (size_t i = 0; i < g->label_count; i++) {
        h = mix_text(mix_text(h, g->labels[i].key), g->labels[i].value);
    }
    h = mix(h, (int64_t)g->node_count);
    for (size_t i = 0; i < g->node_count; i++) {
        h = mix_text(h, g->nodes[i]);
    }
    return h ^ (h >> 32);
}

int64_t alike_hash(const struct fact_job_submitted *ask)
{
    uint64_t h = mix(0, ask->queue);

    h = mix(h, ask->job_class);
    h = mix(h, ask->nonpreemptible | ask->independent << 1 | ask->sandbox << 2);
    h = mix(h, ask->priority);
    h = mix(h, ask->limit_ms);
    h = mix(h, ask->predicted_ms);
    h = mix(h, ask->grace_ms);
    h = mix(h, ask->signal);
    h = mix(h, ask->retries);
    h = mix(h, ask->backoff_ms);
    h = mix(h, (int64_t)ask->pool_count);
    for (size_t i = 0; i < ask->pool_count; i++) {
        h = mix(h, ask->pools[i]);
    }
    h ^= h >> 32;
    for (size_t i = 0; i < ask->group_count; i++) {
        h = hash_group(h, &ask->groups[i]);
    }
    h = asks_share(ask) ? mix_text(h, ask->subject) : h;
    return (int64_t)(h >> 1);
}

/* ---- the comparison ---- */

static bool same_text(const char *a, const char *b)
{
    return a == b || strcmp(a != NULL ? a : "", b != NULL ? b : "") == 0;
}

static bool same_labels(const struct fact_group *a, const struct fact_group *b)
{
    bool same = a->label_count == b->label_count && a->node_count == b->node_count;

    for (size_t i = 0; same && i < a->label_count; i++) {
        same = same_text(a->labels[i].key, b->labels[i].key) &&
               same_text(a->labels[i].value, b->labels[i].value);
    }
    for (size_t i = 0; same && i < a->node_count; i++) {
        same = same_text(a->nodes[i], b->nodes[i]);
    }
    return same;
}

static bool same_group(const struct fact_group *a, const struct fact_group *b)
{
    return a->tasks == b->tasks && a->min_tasks == b->min_tasks && a->gpus == b->gpus &&
           a->slices == b->slices && a->share_gu == b->share_gu &&
           a->share_memory_bytes == b->share_memory_bytes && a->mps == b->mps &&
           a->cpu_milli == b->cpu_milli && a->memory_bytes == b->memory_bytes &&
           same_text(a->name, b->name) && same_text(a->profile, b->profile) &&
           same_text(a->model, b->model) && same_text(a->required, b->required) &&
           same_text(a->preferred, b->preferred) && same_labels(a, b);
}

bool alike_same(const struct fact_job_submitted *a, const struct fact_job_submitted *b)
{
    bool same = a->queue == b->queue && a->job_class == b->job_class &&
                a->nonpreemptible == b->nonpreemptible && a->independent == b->independent &&
                a->sandbox == b->sandbox && a->priority == b->priority &&
                a->limit_ms == b->limit_ms && a->predicted_ms == b->predicted_ms &&
                a->grace_ms == b->grace_ms && a->signal == b->signal && a->retries == b->retries &&
                a->backoff_ms == b->backoff_ms && a->pool_count == b->pool_count &&
                a->group_count == b->group_count;

    for (size_t i = 0; same && i < a->pool_count; i++) {
        same = a->pools[i] == b->pools[i];
    }
    for (size_t i = 0; same && i < a->group_count; i++) {
        same = same_group(&a->groups[i], &b->groups[i]);
    }
    return same && (!asks_share(a) || same_text(a->subject, b->subject));
}
