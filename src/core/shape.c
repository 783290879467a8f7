#include "core/shape.h"

#include "base/check.h"
#include "base/minmax.h"
#include "core/alike.h"
#include "core/codec.h"
#include "core/place.h"
#include "core/state.h"
#include "core/submit.h"

#include <string.h>

#define SHAPE_ARENA_BYTES ((size_t)384) /* an ask of one group, 304, and some texts */

int64_t shape_text_hash(const char *text)
{
    uint64_t h = 1469598103934665603U; /* FNV-1a */

    for (; *text != '\0'; text++) {
        h = (h ^ (unsigned char)*text) * 1099511628211U;
    }
    return (int64_t)(h >> 1);
}

static struct shape *shape_new(struct core *c, const struct fact_job_submitted *ask, int64_t hash)
{
    struct fact_job_submitted plain = alike_plain(ask);
    struct shape *s = mem_new(1, sizeof(*s));

    s->id = ++c->next_shape;
    s->arena = arena_make_sized(SHAPE_ARENA_BYTES);
    s->ask = codec_copy(fact_kind_schema(FACT_JOB_SUBMITTED), &plain, s->arena);
    s->queue = queue_index(c->queues, ask->queue);
    s->hash = hash;
    for (size_t g = 0; g < ask->group_count; g++) {
        s->elastic = s->elastic || ask->groups[g].min_tasks < ask->groups[g].tasks;
    }
    s->next = omap_put(&c->shapes, (struct omap_key){s->hash, 0, 0}, s);
    return s;
}

struct shape *shape_take(struct core *c, const struct fact_job_submitted *ask)
{
    int64_t hash = alike_hash(ask);
    struct shape *s = omap_get(&c->shapes, (struct omap_key){hash, 0, 0});

    while (s != NULL && !alike_same(s->ask, ask)) {
        s = s->next;
    }
    if (s == NULL) {
        s = shape_new(c, ask, hash);
    }
    s->refs++;
    return s;
}

static void unlink_shape(struct core *c, struct shape *s)
{
    struct omap_item *item = omap_find(&c->shapes, (struct omap_key){s->hash, 0, 0});
    struct shape *at = item->value;

    if (at == s) {
        if (s->next == NULL) {
            omap_remove(&c->shapes, (struct omap_key){s->hash, 0, 0});
        } else {
            item->value = s->next;
        }
        return;
    }
    while (at->next != s) {
        at = at->next;
    }
    at->next = s->next;
}

void shape_unref(struct core *c, struct shape *s)
{
    if (s == NULL || --s->refs > 0) {
        return;
    }
    CHECK(s->waiting.count == 0);
    unlink_shape(c, s);
    omap_fini(&s->waiting);
    arena_free(s->arena);
    mem_free(s->failed);
    mem_free(s->need_gu);
    mem_free(s->could);
    mem_free(s);
}

static void know_site(struct core *c, struct shape *s)
{
    if (s->need_stamp == c->site_stamp) {
        return;
    }
    s->need_gu = mem_resize(s->need_gu, c->pools.count, sizeof(s->need_gu[0]));
    s->could = mem_resize(s->could, c->pools.count, sizeof(s->could[0]));
    for (size_t p = 0; p < c->pools.count; p++) {
        s->need_gu[p] = place_need_gu(c, c->pools.items[p], s->ask);
        s->could[p] = -1;
    }
    s->need_stamp = c->site_stamp;
}

int64_t shape_need_gu(struct core *c, struct shape *s, int pool)
{
    know_site(c, s);
    return s->need_gu[pool];
}

bool shape_could_run(struct core *c, struct shape *s, int pool)
{
    know_site(c, s);
    if (s->could[pool] < 0) {
        s->could[pool] = submit_check_pool(c, c->pools.items[pool], s->queue, s->ask, NULL) == 0;
    }
    return s->could[pool] > 0;
}

void shape_know_wants(struct core *c, struct queue *q)
{
    if (q->wants_known && q->wants_stamp == c->site_stamp) {
        return;
    }
    q->least_gu = mem_resize(q->least_gu, c->pools.count, sizeof(q->least_gu[0]));
    q->highest = INT64_MIN;
    for (size_t p = 0; p < c->pools.count; p++) {
        q->least_gu[p] = INT64_MAX;
    }
    for (size_t i = 0; i < q->shapes.count; i++) {
        struct shape *s = q->shapes.items[i];

        q->highest = max64(q->highest, s->ask->priority);
        for (size_t p = 0; p < c->pools.count; p++) {
            int64_t need = shape_need_gu(c, s, (int)p);

            q->least_gu[p] = need >= 0 ? min64(q->least_gu[p], need) : q->least_gu[p];
        }
    }
    q->wants_known = true;
    q->wants_stamp = c->site_stamp;
}

int64_t shape_oldest_ms(struct queue *q)
{
    if (!q->oldest_known) {
        q->oldest_ms = INT64_MAX;
        for (size_t i = 0; i < q->shapes.count; i++) {
            q->oldest_ms = min64(q->oldest_ms, omap_first(&q->shapes.items[i]->waiting)->key.a);
        }
        q->oldest_known = true;
    }
    return q->oldest_ms;
}

/* Position of the shape in its leaf, which keeps them by id; where it would go if it is not there.
 */
static size_t shape_position(const struct queue *q, const struct shape *s)
{
    size_t low = 0;
    size_t high = q->shapes.count;

    while (low < high) {
        size_t mid = (low + high) / 2;

        if (q->shapes.items[mid]->id < s->id) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

void shape_enter(struct core *c, struct job *j)
{
    struct queue *q = &c->queues->items[j->queue];
    struct shape *s = j->shape;

    if (s->waiting.count == 0) {
        vec_insert(&q->shapes, shape_position(q, s), s);
        q->wants_known = false;
    }
    if (j->age_ms < q->oldest_ms) {
        q->oldest_ms = j->age_ms;
    }
    omap_put(&s->waiting, (struct omap_key){j->age_ms, j->id, 0}, j);
    s->skip = NULL;
    q->waiting++;
    c->waiting_count++;
}

void shape_leave(struct core *c, struct job *j)
{
    struct queue *q = &c->queues->items[j->queue];
    struct shape *s = j->shape;

    CHECK(omap_remove(&s->waiting, (struct omap_key){j->age_ms, j->id, 0}) == j);
    s->skip = NULL;
    if (s->waiting.count == 0) {
        vec_remove(&q->shapes, shape_position(q, s));
        q->wants_known = false;
    }
    q->oldest_known = q->oldest_known && j->age_ms > q->oldest_ms;
    q->waiting--;
    c->waiting_count--;
}

void shape_retry(struct queue *leaf)
{
    for (size_t i = 0; i < leaf->shapes.count; i++) {
        leaf->shapes.items[i]->failed_for_good = false;
        leaf->shapes.items[i]->failed_plan = 0;
    }
}
