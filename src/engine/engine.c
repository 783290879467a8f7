/* engine - the queue of facts, the step, and the life of the engine.
 *
 * Why rounds: a backend may answer within its call (a refused start, a task that was gone already).
 * Such facts belong to the next batch, not to the one being carried out, so a step goes on in
 * rounds until nothing is new.  The bound of rounds keeps a fault of a backend or of the core from
 * holding the caller's loop; what is left comes with the next step.
 *
 * Two queues with an arena each change places at the start of a round, so that what comes in while
 * a batch is worked on does not disturb it.
 */
#include "engine/engine.h"

#include "base/check.h"
#include "core/codec.h"
#include "engine/engine_impl.h"

#define ENGINE_ROUNDS_MAX 64
#define ENGINE_RETRY_MS   1000

void engine_queue_put(struct engine_queue *q, const struct fact *fact, bool world,
                      engine_done *done, void *arg)
{
    const struct schema *schema = fact_kind_schema(fact->kind);
    struct engine_item item = {.fact = *fact, .world = world, .done = done, .arg = arg};

    CHECK(schema != NULL);
    item.body = codec_copy(schema, fact->body.any, q->arena);
    item.fact.body.any = item.body;
    q->asked += done != NULL ? 1 : 0;
    vec_push(&q->items, item);
}

void engine_queue_clear(struct engine_queue *q)
{
    vec_clear(&q->items);
    q->asked = 0;
    arena_reset(q->arena);
}

static void queue_init(struct engine_queue *q)
{
    q->arena = arena_make();
}

static void queue_fini(struct engine_queue *q)
{
    vec_fini(&q->items);
    arena_free(q->arena);
}

static void engine_sink(void *ctx, const struct fact *fact)
{
    engine_put_world(ctx, fact);
}

void engine_put_world(struct engine *e, const struct fact *fact)
{
    engine_queue_put(&e->queue, fact, true, NULL, NULL);
}

void engine_put(struct engine *e, const struct fact *fact, engine_done *done, void *arg)
{
    engine_queue_put(&e->queue, fact, false, done, arg);
}

void engine_add_backend(struct engine *e, const char *cluster, struct backend *b)
{
    struct engine_backend row = {mem_text(cluster), b};

    b->sink = engine_sink;
    b->sink_ctx = e;
    vec_push(&e->backends, row);
}

/* ---- a round ---- */

/* Take the queue; what comes in from now on is for the next round. */
static void round_take(struct engine *e)
{
    struct engine_queue empty = e->taken;

    e->stats.batch_plans = 0;
    e->taken = e->queue;
    e->queue = empty;
    engine_queue_clear(&e->queue);
    engine_batch_clear(e);
}

/* Answer the people of this round.  rc is of the commit; an item's own refusal goes before it. */
static void round_answer(struct engine *e, int rc, const struct err *err)
{
    size_t i;

    for (i = 0; i < e->taken.items.count; i++) {
        struct engine_item *item = &e->taken.items.items[i];

        if (item->done == NULL) {
            continue;
        }
        if (item->rc != 0) {
            item->done(item->arg, item->rc, 0, &item->err);
        } else if (rc != 0) {
            item->done(item->arg, rc, 0, err);
        } else {
            item->done(item->arg, 0, e->batch.facts.items[item->at].seq, NULL);
        }
        item->done = NULL;
    }
}

/* Put what backends told back in front of what has come in meanwhile: it is true whether or not the
 * disk takes it. */
static void round_keep_world(struct engine *e)
{
    struct engine_queue later = e->queue;
    size_t i;

    e->queue = (struct engine_queue){.arena = arena_make()};
    for (i = 0; i < e->taken.items.count; i++) {
        const struct engine_item *item = &e->taken.items.items[i];

        if (item->world && item->rc == 0) {
            engine_queue_put(&e->queue, &item->fact, true, NULL, NULL);
        }
    }
    for (i = 0; i < later.items.count; i++) {
        const struct engine_item *item = &later.items.items[i];

        engine_queue_put(&e->queue, &item->fact, item->world, item->done, item->arg);
    }
    queue_fini(&later);
}

static void round_set_full(struct engine *e, bool full, const struct err *err)
{
    if (e->disk_full == full) {
        return;
    }
    e->disk_full = full;
    if (e->config.hooks.disk_full != NULL) {
        e->config.hooks.disk_full(e->config.hooks.ctx, full, err);
    }
}

static void round_failed(struct engine *e, int64_t now_ms, int rc, const struct err *err)
{
    e->stats.append_failures++;
    e->retry_ms = now_ms + ENGINE_RETRY_MS;
    if (rc == ERR_DISK_FULL) {
        round_set_full(e, true, err);
    }
    if (rc == ERR_JOURNAL_EPOCH) {
        engine_set_frozen(e, true, err->text);
    }
    round_keep_world(e);
    round_answer(e, rc, err);
}

static void round_durable(struct engine *e)
{
    const struct engine_hooks *hooks = &e->config.hooks;
    size_t i;

    e->stats.records += (int64_t)e->batch.facts.count;
    round_answer(e, 0, NULL);
    for (i = 0; hooks->durable != NULL && i < e->batch.facts.count; i++) {
        hooks->durable(hooks->ctx, &e->batch.facts.items[i], &e->batch.records.items[i]);
    }
    engine_act(e);
    engine_snapshot_due(e);
}

/* The engine writes itself now. */
static void quiet(const struct engine *e)
{
    if (e->committer.append != NULL) {
        e->committer.wait(e->committer.ctx);
    }
}

/* The disk is full and it is not yet time to try again: people are refused, what backends tell is
 * written if the journal keeps room for it, and nothing is planned. */
static void round_while_full(struct engine *e, int64_t now_ms)
{
    struct err full, err;
    size_t i;
    int rc;

    quiet(e);
    err_set(&full, ERR_DISK_FULL, "the disk of the journal is full: no more work is taken");
    round_take(e);
    for (i = 0; i < e->taken.items.count; i++) {
        struct engine_item *item = &e->taken.items.items[i];

        if (!item->world) {
            item->rc = ERR_DISK_FULL;
            item->err = full;
        }
    }
    engine_apply(e, now_ms);
    rc = engine_commit(e, true, &err);
    if (rc != 0) {
        round_keep_world(e);
        round_answer(e, rc, &full);
        return;
    }
    round_durable(e);
}

/* Try the disk again, once a second while it is full. */
static bool round_probe(struct engine *e, int64_t now_ms)
{
    quiet(e);
    if (journal_room(e->config.journal, NULL) == 0) {
        return true;
    }
    e->retry_ms = now_ms + ENGINE_RETRY_MS;
    return false;
}

static bool plan_is_due(const struct engine *e, int64_t now_ms)
{
    return !e->frozen && now_ms >= e->next_plan_ms;
}

/* The batch is on disk or it failed.  False: no further round now. */
static bool round_end(struct engine *e, int64_t now_ms, int rc, const struct err *err)
{
    if (rc != 0) {
        round_failed(e, now_ms, rc, err);
        return e->disk_full && e->queue.items.count > 0; /* once more, urgently */
    }
    round_set_full(e, false, NULL);
    e->retry_ms = 0;
    round_durable(e);
    return true;
}

static int64_t cpu_us(const struct engine *e)
{
    const struct engine_hooks *hooks = &e->config.hooks;

    return hooks->cpu_us != NULL ? hooks->cpu_us(hooks->ctx) : 0;
}

/* Measured by the batch: to ask for the time of each fact would cost as much as many a fact. */
static void round_work(struct engine *e, int64_t now_ms)
{
    int64_t from_us = cpu_us(e);

    engine_apply(e, now_ms);
    if (!e->frozen && (e->batch.facts.count > 0 || plan_is_due(e, now_ms))) {
        engine_plan(e, now_ms);
    }
    e->stats.core_us += cpu_us(e) - from_us;
}

/* False when there was nothing to do, or the batch is on its way. */
static bool engine_round(struct engine *e, int64_t now_ms)
{
    struct err err;
    int rc;

    if (e->queue.items.count == 0 && !plan_is_due(e, now_ms)) {
        return false;
    }
    if (e->retry_ms > now_ms || (e->disk_full && !round_probe(e, now_ms))) {
        if (e->queue.items.count > 0 && e->disk_full) {
            round_while_full(e, now_ms);
        }
        return false;
    }
    round_take(e);
    round_work(e, now_ms);
    if (e->committer.append != NULL && e->batch.records.count > 0) {
        engine_commit_begin(e);
        return false;
    }
    rc = engine_commit(e, false, &err);
    return round_end(e, now_ms, rc, &err);
}

void engine_set_committer(struct engine *e, const struct engine_committer *committer)
{
    CHECK(!e->in_flight);
    e->committer = committer != NULL ? *committer : (struct engine_committer){0};
}

bool engine_in_flight(const struct engine *e)
{
    return e->in_flight;
}

void engine_committed(struct engine *e, int64_t now_ms, int rc, const struct err *err)
{
    struct err why;

    CHECK(e->in_flight);
    e->in_flight = false;
    e->stats.rounds++;
    rc = engine_commit_end(e, rc, err, &why);
    (void)round_end(e, now_ms, rc, &why);
}

int64_t engine_step(struct engine *e, int64_t now_ms)
{
    int64_t next_ms;
    int i;

    for (i = 0; i < ENGINE_ROUNDS_MAX && !e->in_flight && engine_round(e, now_ms); i++) {
        e->stats.rounds++;
    }
    if (e->in_flight) {
        return INT64_MAX; /* engine_committed comes before the next step */
    }
    if (e->snapshot_wanted) {
        engine_snapshot_due(e);
    }
    next_ms = e->frozen ? INT64_MAX : e->next_plan_ms;
    if (e->queue.items.count > 0) {
        next_ms = now_ms;
    }
    if (e->retry_ms > now_ms) {
        return e->retry_ms;
    }
    /* A plan that wants to be made again at once was made as often as the bound allows: the next
     * millisecond is soon enough, and the caller's loop goes on. */
    return next_ms > now_ms ? next_ms : now_ms + 1;
}

/* ---- life ---- */

int engine_open(const struct engine_config *config, struct engine **ret, struct err *err)
{
    struct engine *e = mem_new(1, sizeof(*e));
    int rc;

    e->config = *config;
    e->act_arena = arena_make();
    e->next_plan_ms = INT64_MIN; /* the first step plans, whatever comes */
    queue_init(&e->queue);
    queue_init(&e->taken);
    rc = engine_replay(e, err);
    if (rc != 0) {
        engine_close(e);
        return rc;
    }
    *ret = e;
    return 0;
}

void engine_close(struct engine *e)
{
    size_t i;

    if (e == NULL) {
        return;
    }
    for (i = 0; i < e->backends.count; i++) {
        mem_free(e->backends.items[i].cluster);
    }
    vec_fini(&e->backends);
    queue_fini(&e->queue);
    queue_fini(&e->taken);
    vec_fini(&e->batch.facts);
    vec_fini(&e->batch.records);
    vec_fini(&e->batch.offsets);
    vec_fini(&e->lost);
    str_fini(&e->batch.bytes);
    arena_free(e->act_arena);
    core_free(e->core);
    mem_free(e->frozen_why);
    mem_free(e);
}

void engine_set_frozen(struct engine *e, bool frozen, const char *why)
{
    mem_free(e->frozen_why);
    e->frozen_why = frozen && why != NULL ? mem_text(why) : NULL;
    if (e->frozen && !frozen) {
        e->next_plan_ms = INT64_MIN;
    }
    e->frozen = frozen;
}

void engine_want_snapshot(struct engine *e)
{
    e->snapshot_wanted = true;
}

bool engine_is_asked(const struct engine *e)
{
    return e->queue.asked > 0;
}

bool engine_frozen(const struct engine *e)
{
    return e->frozen;
}

bool engine_disk_full(const struct engine *e)
{
    return e->disk_full;
}

struct core *engine_core(struct engine *e)
{
    return e->core;
}

void engine_stats(const struct engine *e, struct engine_stats *ret)
{
    *ret = e->stats;
}
