/* bench/restart - how long the state of a journal of 1,000,000 records takes to come back.
 *
 * The journal is that of a made site: 100 nodes of 8 GPUs, 20 queues, jobs of 1 to 8 GPUs that run
 * some minutes and are stopped for owners now and then, played by the real engine in virtual time
 * and copied to a SQLite file.  Measured is opening the file, restoring the newest snapshot and
 * applying the records behind it, as musterd does at its start.  bench-restart has a snapshot
 * 50,000 records before the end, bench-replay has none.  Both states must be the same.
 *
 * usage: bench-restart [--records N]; $TMPDIR says which disk */
#include "base/check.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/quantity.h"
#include "base/rng.h"
#include "base/str.h"
#include "benchd.h"
#include "core/core.h"
#include "core/view.h"
#include "sim/world.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if BENCH_REPLAY
#define NAME      "replay"
#define BUDGET_MS 30000
#else
#define NAME      "restart"
#define BUDGET_MS 5000
#endif

#define TAIL_RECORDS 50000 /* what musterd writes between two snapshots */
#define BATCH        2000
#define NODES        100
#define QUEUES       20
#define GPUS_A_NODE  8
#define WAITING_MAX  200
#define START_MS     ((int64_t)1700000000000)

struct copy { /* the records of the world, on their way to the file */
    struct journal *file;
    VEC(struct journal_record) records;
    struct arena *arena;
    int64_t count;
};

static void flush(struct copy *c)
{
    struct err err;

    if (c->records.count > 0 &&
        journal_append(c->file, c->records.items, c->records.count, &err) != 0) {
        fprintf(stderr, "bench-" NAME ": %s\n", err.text);
        exit(1);
    }
    vec_clear(&c->records);
    arena_reset(c->arena);
}

static void take(void *ctx, const struct fact *fact, const struct journal_record *record)
{
    struct copy *c = ctx;
    struct journal_record own = *record;

    (void)fact;
    own.bytes = arena_text_n(c->arena, record->bytes, record->len);
    vec_push(&c->records, own);
    c->count++;
    if (c->records.count == BATCH) {
        flush(c);
    }
}

/* ---- the site ---- */

static void set_site(struct world *w)
{
    struct site site;
    struct err err;
    char name[32];

    site_init(&site);
    site_add_pool(&site, "main");
    for (int i = 0; i < NODES; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        site_add_node(&site, arena_text(site.arena, name), 1, GPUS_A_NODE);
    }
    for (int i = 0; i < QUEUES; i++) {
        struct policy_queue *q;

        snprintf(name, sizeof(name), "q%d", i);
        q = site_add_queue(&site, arena_text(site.arena, name), 0);
        site_quota(&site, q, 1)->reserved_gu = (int64_t)NODES * GPUS_A_NODE / QUEUES * GU_PER_GPU;
    }
    if (world_set_policy(w, &site, &err) != 0) {
        fprintf(stderr, "bench-" NAME ": %s\n", err.text);
        exit(1);
    }
    world_settle(w);
    site_fini(&site);
}

static void put_job(struct world *w, struct rng *rng)
{
    struct fact_group group = {.name = "main",
                               .tasks = 1,
                               .min_tasks = 1,
                               .gpus = (int64_t)1 << rng_below(rng, 4),
                               .cpu_milli = 1000,
                               .profile = "",
                               .model = "",
                               .required = "",
                               .preferred = ""};
    struct fact_job_submitted body = {
        .name = "train",
        .queue = 1 + (int64_t)rng_below(rng, QUEUES),
        .subject = "p-abcdefghij",
        .priority = rng_below(rng, 10) == 0 ? 10 : 0,
        .retries = 3,
        .backoff_ms = 1000,
        .groups = &group,
        .group_count = 1,
        .spec = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
    };
    const struct fact fact = {.kind = FACT_JOB_SUBMITTED, .body.as_JOB_SUBMITTED = &body};

    world_put(w, &fact);
}

static void hash_state(const struct core *core, unsigned char ret[HASH_BYTES])
{
    struct str text = {0};

    core_snapshot(core, &text);
    hash_sha256(text.text, text.len, ret);
    str_fini(&text);
}

static void put_snapshot(struct world *w, struct copy *c)
{
    struct journal_snapshot snapshot = {.format = CORE_SNAPSHOT_FORMAT};
    struct str text = {0};
    struct err err;

    flush(c);
    core_snapshot(world_core(w), &text);
    snapshot.seq = journal_last_seq(c->file);
    journal_last_hash(c->file, snapshot.hash);
    snapshot.bytes = text.text;
    snapshot.len = text.len;
    hash_sha256(text.text, text.len, snapshot.state_hash);
    if (journal_snapshot_put(c->file, &snapshot, &err) != 0) {
        fprintf(stderr, "bench-" NAME ": %s\n", err.text);
        exit(1);
    }
    str_fini(&text);
}

/* Jobs come as fast as they end, so that some always wait.  Returns the hash of the last state. */
static void make_journal(const char *path, int64_t records, unsigned char ret_hash[HASH_BYTES])
{
    struct copy c = {.arena = arena_make()};
    struct rng rng = rng_init(1);
    struct world w;
    struct err err = {0};
    bool done = BENCH_REPLAY;

    CHECK(journal_open_sqlite(path, false, &c.file, &err) == 0);
    world_prepare(&w, START_MS, 0);
    w.snapshot_every = 0;
    w.journal = journal_open_mem();
    w.watch = take;
    w.watch_ctx = &c;
    CHECK(world_open(&w, &err) == 0);
    set_site(&w);
    while (c.count < records) {
        virtual_set_default(w.backend, &(struct virtual_behaviour){
                                           .run_ms = rng_range(&rng, 30, 300) * 1000,
                                           .checkpoint_every_ms = 120000,
                                       });
        for (int i = 0; i < 40 && view_waiting_count(world_core(&w)) < WAITING_MAX; i++) {
            put_job(&w, &rng);
        }
        world_step(&w);
        world_run_until(&w, w.now_ms + 5000);
        if (!done && c.count >= records - TAIL_RECORDS) {
            put_snapshot(&w, &c);
            done = true;
        }
    }
    flush(&c);
    hash_state(world_core(&w), ret_hash);
    journal_close(c.file);
    vec_fini(&c.records);
    arena_free(c.arena);
    world_fini(&w);
}

/* ---- the measure ---- */

/* What reading and hashing the file costs, which no opening can be faster than without a snapshot.
 */
static void baseline(const char *path)
{
    static char chunk[1 << 20];
    unsigned char digest[HASH_BYTES];
    struct hash *h = hash_new();
    int64_t from_us = benchd_now_us();
    int64_t bytes = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n;

    while ((n = read(fd, chunk, sizeof(chunk))) > 0) {
        hash_add(h, chunk, (size_t)n);
        bytes += n;
    }
    hash_end(h, digest);
    close(fd);
    printf("baseline: to read and hash the file, %" PRId64 " MiB: %" PRId64 " ms\n", bytes >> 20,
           (benchd_now_us() - from_us) / 1000);
}

static int64_t measure(const char *path, const unsigned char hash[HASH_BYTES])
{
    struct engine_config config = {0};
    struct engine *engine = NULL;
    unsigned char found[HASH_BYTES];
    int64_t from_us = benchd_now_us();
    int64_t opened_us;
    int64_t took_us;
    struct err err = {0};

    if (journal_open_sqlite(path, false, &config.journal, &err) != 0) {
        fprintf(stderr, "bench-" NAME ": %s\n", err.text);
        exit(1);
    }
    opened_us = benchd_now_us();
    if (engine_open(&config, &engine, &err) != 0) {
        fprintf(stderr, "bench-" NAME ": %s\n", err.text);
        exit(1);
    }
    took_us = benchd_now_us() - from_us;
    printf("%" PRId64 " ms, %" PRId64 " of them to open and check the file\n", took_us / 1000,
           (opened_us - from_us) / 1000);
    hash_state(engine_core(engine), found);
    CHECK(memcmp(found, hash, HASH_BYTES) == 0); /* the state is that of the run */
    engine_close(engine);
    journal_close(config.journal);
    return took_us / 1000;
}

int main(int argc, char **argv)
{
    unsigned char hash[HASH_BYTES];
    int64_t records = 1000000;
    int64_t best_ms = INT64_MAX;
    int64_t from_us = benchd_now_us();
    struct str path = {0};
    struct benchd d;
    struct err err;

    CHECK(argc < 3 || (strcmp(argv[1], "--records") == 0 && str_to_int(argv[2], &records)));
    if (benchd_make("", &d, &err) != 0) {
        fprintf(stderr, "bench-" NAME ": %s\n", err.text);
        return 1;
    }
    str_addf(&path, "%s/journal.db", d.dir);
    make_journal(path.text, records, hash);
    printf("made a journal of %" PRId64 " records in %" PRId64 " ms\n", records,
           (benchd_now_us() - from_us) / 1000);
    baseline(path.text);
    for (int i = 0; i < 3; i++) {
        int64_t ms = measure(path.text, hash);

        best_ms = ms < best_ms ? ms : best_ms;
    }
    printf(NAME " %" PRId64 " ms budget %d\n", best_ms, BUDGET_MS);
    str_fini(&path);
    benchd_fini(&d);
    return best_ms <= BUDGET_MS ? 0 : 1;
}
