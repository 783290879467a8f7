/* seeded_job - requests of every kind, most of them small. */
#include "sim/seeded_job.h"

#include "base/quantity.h"

#include <signal.h>

#define SECOND_MS ((int64_t)1000)
#define GIB       ((int64_t)1 << 30)

static bool one_in(struct rng *rng, uint64_t n)
{
    return rng_below(rng, n) == 0;
}

static void ask_slices(struct rng *rng, struct fact_group *g)
{
    static const char *const PROFILES[] = {"1g.10gb", "2g.20gb", "3g.40gb", "7g.80gb"};

    g->profile = PROFILES[rng_below(rng, 4)];
    g->slices = 1;
    g->gpus = 0;
}

static void ask_share(struct rng *rng, struct fact_group *g)
{
    static const int64_t SHARES[] = {GU_PER_GPU / 2, GU_PER_GPU / 4, GU_PER_GPU / 7,
                                     GU_PER_GPU / 10 * 3};

    g->share_gu = SHARES[rng_below(rng, 4)];
    g->share_memory_bytes = rng_range(rng, 1, 20) * GIB;
    g->mps = one_in(rng, 3);
    g->gpus = 0;
}

static void make_group(struct rng *rng, const struct seeded_traits *traits, struct fact_group *g)
{
    static const int64_t CARDS[] = {1, 1, 1, 1, 2, 2, 4, 8};

    *g = (struct fact_group){
        .name = "main",
        .tasks = one_in(rng, 2) ? 1 : rng_range(rng, 1, 6),
        .gpus = CARDS[rng_below(rng, 8)],
        .profile = "",
        .model = "",
        .required = "",
        .preferred = "",
    };
    g->min_tasks = one_in(rng, 3) ? rng_range(rng, 1, g->tasks) : g->tasks;
    if (traits->slices && one_in(rng, 3)) {
        ask_slices(rng, g);
    } else if (traits->shares && one_in(rng, 3)) {
        ask_share(rng, g);
    } else if (one_in(rng, 20)) {
        g->gpus = 0; /* CPUs only */
    }
    if (one_in(rng, 3) || (g->gpus == 0 && g->share_gu == 0 && *g->profile == '\0')) {
        g->cpu_milli = rng_range(rng, 1, 8) * 1000;
        g->memory_bytes = rng_range(rng, 1, 32) * GIB;
    }
    if (one_in(rng, 8)) {
        g->required = one_in(rng, 2) ? "rack" : "node";
    } else if (one_in(rng, 8)) {
        g->preferred = one_in(rng, 2) ? "rack" : "node";
    }
}

static void make_times(struct rng *rng, struct fact_job_submitted *j)
{
    if (one_in(rng, 3)) {
        j->limit_ms = rng_range(rng, 30, 3600) * SECOND_MS;
    }
    if (one_in(rng, 4)) {
        j->predicted_ms = rng_range(rng, 30, 3600) * SECOND_MS;
    }
    if (one_in(rng, 4)) {
        j->grace_ms = rng_range(rng, 1, 90) * SECOND_MS;
    }
    j->signal = one_in(rng, 5) ? SIGUSR1 : 0;
    j->retries = rng_range(rng, 0, 3);
    j->backoff_ms = rng_range(rng, 0, 20) * SECOND_MS;
}

struct fact_job_submitted seeded_job_make(struct site *s, struct rng *rng, struct arena *arena,
                                          const struct seeded_traits *traits)
{
    static const char *const PEOPLE[] = {"ann", "bob", "cy"};
    struct fact_job_submitted j = {
        .queue = seeded_site_leaf(s, rng)->id,
        .subject = PEOPLE[rng_below(rng, 3)],
        .group_count = one_in(rng, 10) ? 2 : 1,
        .spec = "",
    };
    size_t i;

    j.name = arena_printf(arena, "j%llu", (unsigned long long)(rng_next(rng) % 1000000));
    j.job_class = (int)(one_in(rng, 3) ? rng_below(rng, 3) : CLASS_TRAINING);
    j.nonpreemptible = one_in(rng, 6);
    j.held = one_in(rng, 30);
    j.priority = one_in(rng, 3) ? rng_range(rng, 0, 3) : 0;
    j.groups = arena_new(arena, j.group_count, sizeof(*j.groups));
    for (i = 0; i < j.group_count; i++) {
        make_group(rng, traits, &j.groups[i]);
    }
    j.independent = one_in(rng, 2);
    make_times(rng, &j);
    if (one_in(rng, 6)) {
        j.pools = arena_new(arena, 1, sizeof(*j.pools));
        j.pools[0] = s->pools.items[rng_below(rng, s->pools.count)].id;
        j.pool_count = 1;
    }
    return j;
}

struct virtual_behaviour seeded_job_behaviour(struct rng *rng, const struct seeded_traits *traits)
{
    struct virtual_behaviour how = {
        .start_ms = one_in(rng, 2) ? 0 : rng_range(rng, 1, 20 * SECOND_MS),
        .run_ms = rng_range(rng, 1, one_in(rng, 5) ? 20000 : 2000) * SECOND_MS,
        .status = one_in(rng, 8) ? 1 : 0,
        .stop_ms = one_in(rng, 4) ? 0 : rng_range(rng, 1, 40 * SECOND_MS),
        .says_done = one_in(rng, 40),
        .saves_on_signal = one_in(rng, 3),
        .kill_ms = one_in(rng, 2) ? 0 : rng_range(rng, 1, 5 * SECOND_MS),
    };

    if (one_in(rng, 2)) {
        how.checkpoint_every_ms = rng_range(rng, 10, 600) * SECOND_MS;
    }
    if (one_in(rng, 8)) {
        how.on_signal = VIRTUAL_IGNORES;
    }
    if (traits->trouble && one_in(rng, 60)) {
        how.on_signal = VIRTUAL_STUCK;
    }
    return how;
}
