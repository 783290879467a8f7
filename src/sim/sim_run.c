#include "sim/sim_run.h"

#include "sim/replay.h"
#include "sim/seeded.h"
#include "sim/shrink.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SHOW_USAGE 3

struct run_options {
    int64_t seed;
    int64_t seeds;
    int64_t events;
    int64_t budget_s; /* of a shrink */
    unsigned faults;
    const char *replay; /* NULL = none */
    const char *output; /* of a shrink, NULL = seed-N.replay */
    bool verbose;
};

/* ---- options ---- */

static bool take_number(const char *name, const char *text, struct run_options *ret)
{
    const struct {
        const char *name;
        int64_t *value;
    } rows[] = {{"--seed", &ret->seed},
                {"--seeds", &ret->seeds},
                {"--events", &ret->events},
                {"--budget", &ret->budget_s}};
    size_t k;

    for (k = 0; k < 4 && strcmp(name, rows[k].name) != 0; k++) {
    }
    return k < 4 && str_to_int(text, rows[k].value) && *rows[k].value >= 0;
}

static int take_faults(const char *text, struct run_options *ret)
{
    struct err err = {0};

    if (seeded_faults_parse(text, &ret->faults, &err) != 0) {
        (void)fprintf(stderr, "muster-sim: --faults: %s\n", err.text);
        return 2;
    }
    return 0;
}

static int parse(int argc, char **argv, struct run_options *ret)
{
    int rc = 0;
    int i;

    for (i = 0; i < argc && rc == 0; i++) {
        if (strcmp(argv[i], "--verbose") == 0) {
            ret->verbose = true;
            continue;
        }
        if (i + 1 == argc) {
            return SHOW_USAGE;
        }
        if (strcmp(argv[i], "--faults") == 0) {
            rc = take_faults(argv[i + 1], ret);
        } else if (strcmp(argv[i], "--replay") == 0) {
            ret->replay = argv[i + 1];
        } else if (strcmp(argv[i], "--output") == 0) {
            ret->output = argv[i + 1];
        } else if (!take_number(argv[i], argv[i + 1], ret)) {
            return SHOW_USAGE;
        }
        i++;
    }
    return rc != 0 ? rc : ret->seeds > 0 && ret->events > 0 ? 0 : SHOW_USAGE;
}

static struct run_options usual(void)
{
    return (struct run_options){
        .seed = 1, .seeds = 1, .events = 1000, .budget_s = 600, .faults = SEEDED_ALL_FAULTS};
}

/* The life that is asked for: from the options or from a file. */
static int life_of(const struct run_options *o, int64_t seed, struct seeded_options *ret,
                   struct seeded_cut *ret_cut)
{
    struct err err = {0};
    int rc;

    if (o->replay == NULL) {
        *ret = (struct seeded_options){.seed = (uint64_t)seed,
                                       .events = o->events,
                                       .faults = o->faults};
        replay_cut_init(ret_cut, o->events);
        ret->cut = ret_cut;
    } else {
        rc = replay_read(o->replay, ret, ret_cut, &err);
        if (rc != 0) {
            (void)fprintf(stderr, "muster-sim: %s: %s\n", err_name((enum err_code)rc), err.text);
            return 2;
        }
    }
    ret->verbose = o->verbose;
    return 0;
}

/* ---- run ---- */

static int64_t cpu_ms(void)
{
    struct timespec t = {0};

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void print_result(uint64_t seed, const struct seeded_result *r)
{
    const struct {
        const char *name;
        int64_t count;
    } rows[] = {
        {"steps", r->steps},
        {"records", r->records},
        {"starts", r->starts},
        {"evictions", r->evictions},
        {"restarts", r->restarts},
        {"crashes", r->crashes},
        {"carried", r->carried},
        {"frozen", r->frozen},
        {"disk faults", r->disk_faults},
        {"flips", r->flips},
        {"refused", r->refused},
        {"plans compared", r->compared},
        {"probes", r->probes},
        {"ms of core", r->core_us / 1000},
        {"ms", cpu_ms()},
    };
    size_t i;

    (void)printf("seed %llu: %s: %lld events", (unsigned long long)seed,
                 r->failure.len == 0 ? "ok" : "FAILED", (long long)r->events);
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        (void)printf(", %lld %s", (long long)rows[i].count, rows[i].name);
    }
    if (r->failure.len == 0) {
        (void)printf("; chain %s, state %s\n", r->chain, r->state);
    } else {
        (void)printf("\n    %s\n", r->failure.text);
    }
}

static int run_child(const struct seeded_options *options, volatile int64_t *progress)
{
    struct seeded_result r;
    int rc;

    seeded_run(options, progress, &r);
    print_result(options->seed, &r);
    rc = r.failure.len > 0 ? 1 : 0;
    seeded_result_fini(&r);
    (void)fflush(stdout);
    return rc;
}

/* Each seed is a process of its own, so that a broken CHECK ends one life and its event is known.
 */
static bool run_life(const struct run_options *o, const struct seeded_options *options,
                     volatile int64_t *progress)
{
    struct str faults = {0};
    int status = 0;
    pid_t child;

    *progress = 0;
    (void)fflush(stdout);
    child = fork();
    if (child == 0) {
        _exit(run_child(options, progress));
    }
    if (child < 0 || waitpid(child, &status, 0) != child) {
        perror("muster-sim");
        return false;
    }
    if (WIFSIGNALED(status)) {
        (void)printf("seed %llu: FAILED: ended by signal %d in event %lld\n",
                     (unsigned long long)options->seed, WTERMSIG(status), (long long)*progress);
    }
    if (status != 0 && o->replay == NULL) {
        seeded_faults_print(o->faults, &faults);
        (void)printf("    again: muster-sim run --seed %llu --events %lld --faults %s\n",
                     (unsigned long long)options->seed, (long long)*progress, faults.text);
        str_fini(&faults);
    }
    return status == 0;
}

int sim_run(int argc, char **argv)
{
    struct run_options o = usual();
    struct seeded_options options;
    struct seeded_cut cut;
    volatile int64_t *progress;
    int64_t failed = 0;
    int64_t i;
    int rc = parse(argc, argv, &o);

    if (rc != 0) {
        return rc;
    }
    progress =
        mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (progress == MAP_FAILED) {
        perror("muster-sim");
        return 1;
    }
    o.seeds = o.replay != NULL ? 1 : o.seeds;
    for (i = 0; i < o.seeds; i++) {
        rc = life_of(&o, o.seed + i, &options, &cut);
        if (rc != 0) {
            return rc;
        }
        failed += run_life(&o, &options, progress) ? 0 : 1;
        replay_cut_fini(&cut);
    }
    (void)printf("%lld passed, %lld failed\n", (long long)(o.seeds - failed), (long long)failed);
    return failed > 0 ? 1 : 0;
}

/* ---- shrink ---- */

static int64_t count_left(const struct seeded_options *o)
{
    int64_t count = 0;
    int64_t i;

    for (i = 0; i < o->events; i++) {
        count += o->cut->events[i] ? 0 : 1;
    }
    return count;
}

static int write_shrunk(const struct run_options *o, const struct seeded_options *options,
                        const struct shrink_end *end)
{
    struct err err = {0};
    char path[64];
    const char *to = o->output;

    (void)snprintf(path, sizeof(path), "seed-%llu.replay", (unsigned long long)options->seed);
    to = to != NULL ? to : path;
    if (replay_write(to, options, end->text, &err) != 0) {
        (void)fprintf(stderr, "muster-sim: %s\n", err.text);
        return 1;
    }
    (void)printf("seed %llu: %lld events are left\n    %s\n    again: muster-sim run --replay %s\n",
                 (unsigned long long)options->seed, (long long)count_left(options), end->text, to);
    return 0;
}

int sim_shrink(int argc, char **argv)
{
    struct run_options o = usual();
    struct seeded_options options;
    struct seeded_cut cut;
    const struct shrink_job job = {.options = &options,
                                   .cut = &cut,
                                   .budget_s = o.budget_s,
                                   .try_life = shrink_try_life};
    struct shrink_end end;
    struct err err = {0};
    int rc = parse(argc, argv, &o);

    if (rc == 0) {
        rc = life_of(&o, o.seed, &options, &cut);
    }
    if (rc != 0) {
        return rc;
    }
    rc = shrink_run(&job, &end, &err);
    if (rc != 0) {
        (void)fprintf(stderr, "muster-sim: %s: %s\n", err_name((enum err_code)rc), err.text);
        rc = 2;
    } else {
        rc = write_shrunk(&o, &options, &end);
    }
    replay_cut_fini(&cut);
    return rc;
}
