/* world - time goes from one thing that happens to the next. */
#include "sim/world.h"

#include "base/check.h"
#include "base/mem.h"

#include <time.h>

/* More steps than this at one instant are a livelock, which the caller is told by what goes on. */
#define WORLD_SETTLE_MAX 200
#define NS_PER_MS        ((int64_t)1000000)
#define NS_PER_S         ((int64_t)1000000000)
#define CLOCK_TRIES      64

void world_tell(struct world *w, const struct fact *fact, const struct journal_record *record)
{
    roll_add(&w->roll, fact);
    if (w->watch != NULL) {
        w->watch(w->watch_ctx, fact, record);
    }
}

static void world_durable(void *ctx, const struct fact *fact, const struct journal_record *record)
{
    const struct world *w = ctx;

    if (w->disk == NULL || !torndisk_is_dead(w->disk)) {
        world_tell(ctx, fact, record);
    }
}

static int64_t world_cpu_us(void *ctx)
{
    struct timespec t = {0};

    (void)ctx;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static int64_t thread_ns(void)
{
    struct timespec t = {0};

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

/* To ask for the time costs as much as to apply a small fact, so it is left out: the least that it
 * ever took, by each time that it was asked. */
static int64_t world_call_us(void *ctx)
{
    struct world *w = ctx;

    if (!w->alone) {
        return 0;
    }
    for (int i = 0; w->clock_reads == 0 && i < CLOCK_TRIES; i++) {
        int64_t from_ns = thread_ns();
        int64_t ns = thread_ns() - from_ns;

        w->clock_ns = i == 0 || ns < w->clock_ns ? ns : w->clock_ns;
    }
    return (thread_ns() - w->clock_ns * w->clock_reads++) / 1000;
}

/* What the daemon would read from the system's clocks. */
static struct clock_reading reading(const struct world *w)
{
    return (struct clock_reading){(w->now_ms + w->wall_ms) * NS_PER_MS, w->now_ms * NS_PER_MS};
}

/* ---- appends that take time ---- */

static void world_write(void *ctx, struct journal_record *records, size_t count)
{
    struct world *w = ctx;

    w->writing = records;
    w->writing_count = count;
    w->written_ms = w->now_ms;
    if (w->write_ms > 0) {
        w->written_ms += rng_range(&w->rng, 0, w->write_ms);
    }
}

static void world_keep(void *ctx, const struct journal_snapshot *taken)
{
    struct world *w = ctx;
    struct journal_snapshot snapshot = *taken;

    if (journal_snapshot_put(w->journal, &snapshot, NULL) != 0) {
        snapshot.seq = 0; /* one that fails is only missed */
    }
    mem_freep(&snapshot.bytes);
}

static void world_wait(void *ctx)
{
    const struct world *w = ctx;

    CHECK(w->writing == NULL);
}

/* The batch is on disk, or it failed. */
static void written(struct world *w, int64_t at_ms)
{
    struct err err = {0};
    int rc = journal_append(w->journal, w->writing, w->writing_count, &err);

    w->writing = NULL;
    engine_committed(w->engine, at_ms, rc, &err);
}

int world_open(struct world *w, struct err *err)
{
    const struct engine_committer committer = {.ctx = w,
                                               .append = world_write,
                                               .snapshot = world_keep,
                                               .wait = world_wait};
    const struct engine_config config = {
        .journal = w->journal,
        .hooks = {.ctx = w,
                  .durable = world_durable,
                  .cpu_us = world_cpu_us,
                  .call_us = world_call_us},
        .snapshot_every = w->snapshot_every,
        .plans_max = w->plans_max,
    };
    int rc = engine_open(&config, &w->engine, err);

    if (rc == 0) {
        engine_add_backend(w->engine, "local", w->relay != NULL ? &w->relay->base : w->backend);
    }
    w->writing = NULL;
    if (rc == 0 && w->threaded) {
        engine_set_committer(w->engine, &committer);
    }
    if (rc == 0 && w->clocked) {
        clock_start(&w->clock, reading(w), core_now_ms(world_core(w)));
    }
    return rc;
}

void world_prepare(struct world *w, int64_t now_ms, int plans_max)
{
    *w = (struct world){.backend = virtual_new("local")};
    w->now_ms = now_ms;
    w->plans_max = plans_max;
    w->snapshot_every = 500;
    w->engine_next_ms = INT64_MAX;
    virtual_run_until(w->backend, now_ms);
}

void world_init(struct world *w, int64_t now_ms, int plans_max)
{
    struct err err = {0};

    world_prepare(w, now_ms, plans_max);
    w->journal = journal_open_mem();
    if (world_open(w, &err) != 0) {
        check_failed(__FILE__, __LINE__, err.text);
    }
}

void world_fini(struct world *w)
{
    engine_close(w->engine); /* NULL after a crash */
    w->backend->ops->free(w->backend);
    journal_close(w->journal);
    roll_fini(&w->roll);
}

struct core *world_core(struct world *w)
{
    return engine_core(w->engine);
}

void world_put(struct world *w, const struct fact *fact)
{
    engine_put(w->engine, fact, NULL, NULL);
}

static void world_answered(void *arg, int rc, int64_t seq, const struct err *err)
{
    struct world_answer *answer = arg;

    answer->rc = rc;
    answer->seq = seq;
    if (err != NULL) {
        answer->err = *err;
    }
}

int world_ask(struct world *w, const struct fact *fact, struct err *err)
{
    struct world_answer answer = {.rc = ERR_INTERNAL};

    engine_put(w->engine, fact, world_answered, &answer);
    world_step(w);
    if (answer.rc != 0) {
        return err_set(err, answer.rc, "%s", answer.err.text);
    }
    return 0;
}

/* The daemon's time; a clock that was set is journaled. */
static int64_t daemon_ms(struct world *w)
{
    struct fact_clock_stepped body = {0};
    const struct fact fact = {.kind = FACT_CLOCK_STEPPED, .body.as_CLOCK_STEPPED = &body};
    int64_t at_ms = w->now_ms;

    if (w->clocked) {
        at_ms = clock_advance(&w->clock, reading(w), &body.by_ms);
    }
    if (body.by_ms != 0) {
        world_put(w, &fact);
    }
    if (w->relay != NULL) {
        w->relay->skew_ms = at_ms - w->now_ms;
    }
    return at_ms;
}

static void looked(struct world *w)
{
    if (w->after_step != NULL) {
        w->after_step(w->watch_ctx);
    }
}

/* What was being written is finished first; as long as writing takes no time, it goes on. */
static int64_t step_engine(struct world *w, int64_t at_ms)
{
    int64_t next_ms;
    int i;

    for (i = 0; i < WORLD_SETTLE_MAX && !w->stopped; i++) {
        if (w->writing != NULL) {
            written(w, at_ms);
            looked(w);
        }
        next_ms = w->stopped ? INT64_MAX : engine_step(w->engine, at_ms);
        if (w->writing == NULL || w->written_ms > w->now_ms) {
            return next_ms;
        }
    }
    return at_ms + 1;
}

void world_step(struct world *w)
{
    int64_t at_ms, next_ms;

    if (w->stopped) {
        return;
    }
    at_ms = daemon_ms(w);
    virtual_run_until(w->backend, w->now_ms);
    if (w->writing == NULL || w->written_ms <= w->now_ms) {
        next_ms = step_engine(w, at_ms);
        w->engine_next_ms = next_ms == INT64_MAX ? INT64_MAX : w->now_ms + (next_ms - at_ms);
    }
    looked(w);
}

int64_t world_next_ms(struct world *w)
{
    int64_t next_ms = virtual_next_ms(w->backend);

    if (w->writing != NULL) { /* the engine waits for it */
        return next_ms < w->written_ms ? next_ms : w->written_ms;
    }
    return next_ms < w->engine_next_ms ? next_ms : w->engine_next_ms;
}

void world_settle(struct world *w)
{
    int i;

    world_step(w);
    for (i = 0; i < WORLD_SETTLE_MAX && !w->stopped && world_next_ms(w) <= w->now_ms; i++) {
        world_step(w);
    }
}

void world_run_until(struct world *w, int64_t now_ms)
{
    int64_t next_ms;

    while (!w->stopped && (next_ms = world_next_ms(w)) <= now_ms) {
        w->now_ms = next_ms > w->now_ms ? next_ms : w->now_ms;
        world_settle(w);
        if (world_next_ms(w) <= w->now_ms) {
            break; /* a livelock: go on in the next millisecond at the earliest */
        }
    }
    w->now_ms = now_ms > w->now_ms ? now_ms : w->now_ms;
}

int world_adopt(struct world *w, struct err *err)
{
    (void)daemon_ms(w);
    return engine_adopt(w->engine, err);
}

int world_restart(struct world *w, struct err *err)
{
    int rc;

    engine_close(w->engine);
    w->engine = NULL;
    rc = world_open(w, err);
    if (rc == 0) {
        rc = world_adopt(w, err);
    }
    if (rc == 0) {
        world_settle(w);
    }
    return rc;
}

int world_set_policy(struct world *w, struct site *site, struct err *err)
{
    const struct fact_policy_set body = {.policy = site_policy(site), .subject = "sim"};
    const struct fact fact = {.kind = FACT_POLICY_SET, .body.as_POLICY_SET = &body};
    int rc = core_policy_check(world_core(w), &body.policy, err);

    return rc != 0 ? rc : world_ask(w, &fact, err);
}
