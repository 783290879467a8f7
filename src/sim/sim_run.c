#include "sim/sim_run.h"

#include "base/check.h"
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

#define WRONG_OPTION 2 /* exit status */

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

enum option_use { FOR_RUN = 1, FOR_SHRINK = 2, FOR_BOTH = 3 };

static int refuse(const char *option, const char *what)
{
    (void)fprintf(stderr, "muster-sim: request.invalid: %s: %s; see `muster-sim --help`\n", option,
                  what);
    return WRONG_OPTION;
}

static int take_faults(const char *text, struct run_options *ret)
{
    struct err err = {0};

    return seeded_faults_parse(text, &ret->faults, &err) != 0 ? refuse("--faults", err.text) : 0;
}

/* An option with a value. */
static int take(const char *name, const char *text, enum option_use use, struct run_options *ret)
{
    const struct {
        const char *name;
        enum option_use uses;
        int64_t least;
        int64_t *number; /* or else */
        const char **path;
    } rows[] = {{"--seed", FOR_BOTH, 0, &ret->seed, NULL},
                {"--seeds", FOR_RUN, 1, &ret->seeds, NULL},
                {"--events", FOR_BOTH, 1, &ret->events, NULL},
                {"--budget", FOR_SHRINK, 1, &ret->budget_s, NULL},
                {"--replay", FOR_BOTH, 0, NULL, &ret->replay},
                {"--output", FOR_SHRINK, 0, NULL, &ret->output},
                {"--faults", FOR_BOTH, 0, NULL, NULL}};
    size_t k;

    for (k = 0; k < ARRAY_LEN(rows) && strcmp(name, rows[k].name) != 0; k++) {
    }
    if (k == ARRAY_LEN(rows) || (rows[k].uses & use) == 0) {
        return refuse(name,
                      use == FOR_RUN ? "run has no such option" : "shrink has no such option");
    }
    if (text == NULL) {
        return refuse(name, "a value is missing");
    }
    if (rows[k].path != NULL) {
        *rows[k].path = text;
        return 0;
    }
    if (rows[k].number == NULL) {
        return take_faults(text, ret);
    }
    return str_to_int(text, rows[k].number) && *rows[k].number >= rows[k].least
               ? 0
               : refuse(name, rows[k].least == 0 ? "a whole number is wanted"
                                                 : "a whole number from 1 on is wanted");
}

static int parse(int argc, char **argv, enum option_use use, struct run_options *ret)
{
    int rc = 0;
    int i;

    for (i = 0; i < argc && rc == 0; i++) {
        if (strcmp(argv[i], "--verbose") == 0 && use == FOR_RUN) {
            ret->verbose = true;
        } else {
            rc = take(argv[i], i + 1 < argc ? argv[i + 1] : NULL, use, ret);
            i++;
        }
    }
    return rc;
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
    int rc = parse(argc, argv, FOR_RUN, &o);

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
    int rc = parse(argc, argv, FOR_SHRINK, &o);

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
