/* muster-sim - cases, scenarios and seeded runs through the real engine in virtual time.
 *
 * Exit status: 0 all well, 1 something did not hold, 2 wrong usage or input.
 */
#include "base/str.h"
#include "sim/caserun.h"
#include "sim/scenario.h"
#include "sim/seeded.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static const char USAGE[] =
    "usage: muster-sim case [--explain] FILE...\n"
    "       muster-sim scenario [--update] FILE...\n"
    "       muster-sim run [--seed N] [--seeds COUNT] [--events N] [--verbose]\n";

static int usage(void)
{
    (void)fputs(USAGE, stderr);
    return 2;
}

/* One line of JSON a case; a case that cannot be read or set up is said on stderr. */
static int run_case(const char *path, bool explain)
{
    struct casefile c;
    struct str line = {0};
    struct str decisions = {0};
    struct err err = {0};
    int rc = casefile_read(path, &c, &err);

    if (rc == 0) {
        rc = caserun(&c, &line, explain ? &decisions : NULL, &err);
        casefile_fini(&c);
    }
    if (rc != 0) {
        (void)fprintf(stderr, "muster-sim: %s: %s: %s\n", err_name(rc), path, err.text);
    } else {
        (void)printf("%s\n", line.text);
        (void)fflush(stdout);
    }
    (void)fputs(str_text(&decisions), stderr);
    str_fini(&decisions);
    str_fini(&line);
    return rc != 0 ? 2 : 0;
}

static int main_case(int argc, char **argv)
{
    bool explain = argc > 0 && strcmp(argv[0], "--explain") == 0;
    int worst = 0;
    int i;

    if (argc < (explain ? 2 : 1)) {
        return usage();
    }
    for (i = explain ? 1 : 0; i < argc; i++) {
        int rc = run_case(argv[i], explain);

        worst = rc > worst ? rc : worst;
    }
    return worst;
}

/* 0 = as it should be, 1 = not, 2 = the file is wrong.  What is wrong is on ret, a line each. */
static int run_scenario(const char *path, bool update, struct str *ret)
{
    struct scenario_result r;
    struct err err = {0};
    int rc = scenario_play(path, &r, &err);

    if (rc == 0 && update && strcmp(str_text(&r.got), str_text(&r.want)) != 0) {
        rc = scenario_update(path, &r, &err);
        scenario_result_fini(&r);
        rc = rc == 0 ? scenario_play(path, &r, &err) : rc;
        str_addf(ret, "%s: written again\n", path);
    }
    if (rc != 0) {
        str_addf(ret, "%s (%s)\n", err.text, err_name(rc));
    } else if (r.failures.len > 0) {
        str_add(ret, r.failures.text);
    }
    rc = rc != 0 ? 2 : r.failures.len > 0;
    scenario_result_fini(&r);
    return rc;
}

/* Each line behind a "# ". */
static void print_comment(const char *text)
{
    while (*text != '\0') {
        size_t len = strcspn(text, "\n");

        (void)printf("# %.*s\n", (int)len, text);
        text += len + (text[len] == '\n' ? 1 : 0);
    }
}

/* The outcome as TAP, which meson and prove read. */
static int main_scenario(int argc, char **argv)
{
    bool update = argc > 0 && strcmp(argv[0], "--update") == 0;
    int worst = 0;
    int failed = 0;
    int i;

    argc -= update ? 1 : 0;
    argv += update ? 1 : 0;
    if (argc < 1) {
        return usage();
    }
    (void)printf("1..%d\n", argc);
    for (i = 0; i < argc; i++) {
        struct str text = {0};
        int rc = run_scenario(argv[i], update, &text);

        (void)printf("%s %d - %s\n", rc == 0 ? "ok" : "not ok", i + 1, argv[i]);
        print_comment(str_text(&text));
        (void)fflush(stdout);
        str_fini(&text);
        failed += rc != 0 ? 1 : 0;
        worst = rc > worst ? rc : worst;
    }
    (void)printf("# %d passed, %d failed\n", argc - failed, failed);
    return worst;
}

/* ---- run ---- */

struct run_options {
    int64_t seed;
    int64_t seeds;
    int64_t events;
    unsigned faults;
    bool verbose;
};

static bool run_parse(int argc, char **argv, struct run_options *ret)
{
    int i;

    for (i = 0; i < argc; i++) {
        const struct {
            const char *name;
            int64_t *value;
        } rows[] = {{"--seed", &ret->seed}, {"--seeds", &ret->seeds}, {"--events", &ret->events}};
        size_t k;

        for (k = 0; k < 3 && strcmp(argv[i], rows[k].name) != 0; k++) {
        }
        if (strcmp(argv[i], "--faults") == 0 && i + 1 < argc) {
            struct err err = {0};

            if (seeded_faults_parse(argv[++i], &ret->faults, &err) != 0) {
                (void)fprintf(stderr, "muster-sim: --faults: %s\n", err.text);
                return false;
            }
        } else if (strcmp(argv[i], "--verbose") == 0) {
            ret->verbose = true;
        } else if (k == 3 || i + 1 == argc || !str_to_int(argv[i + 1], rows[k].value) ||
                   *rows[k].value < 0) {
            return false;
        } else {
            i++;
        }
    }
    return ret->seeds > 0;
}

static int run_child(const struct run_options *o, int64_t seed, volatile int64_t *progress)
{
    const struct seeded_options options = {.seed = (uint64_t)seed,
                                           .events = o->events,
                                           .faults = o->faults,
                                           .verbose = o->verbose};
    struct seeded_result r;
    bool well;

    seeded_run(&options, progress, &r);
    well = r.failure.len == 0;
    (void)printf(
        "seed %lld: %s: %lld events, %lld steps, %lld records, %lld starts, %lld evictions, "
        "%lld restarts, %lld crashes (%lld carried, %lld frozen), %lld disk faults, "
        "%lld flips, %lld refused, %lld plans compared, %lld probes, core %lld ms, chain %s, "
        "state %s\n",
        (long long)seed, well ? "ok" : "FAILED", (long long)r.events, (long long)r.steps,
        (long long)r.records, (long long)r.starts, (long long)r.evictions, (long long)r.restarts,
        (long long)r.crashes, (long long)r.carried, (long long)r.frozen, (long long)r.disk_faults,
        (long long)r.flips, (long long)r.refused, (long long)r.compared, (long long)r.probes,
        (long long)(r.core_us / 1000), r.chain, r.state);
    if (!well) {
        (void)printf("    %s\n", r.failure.text);
    }
    seeded_result_fini(&r);
    (void)fflush(stdout);
    return well ? 0 : 1;
}

/* Each seed is a process of its own, so that a broken CHECK ends one life and its event is known.
 */
static bool run_seed(const struct run_options *o, int64_t seed, volatile int64_t *progress)
{
    int status = 0;
    pid_t child;

    *progress = 0;
    (void)fflush(stdout);
    child = fork();
    if (child == 0) {
        _exit(run_child(o, seed, progress));
    }
    if (child < 0 || waitpid(child, &status, 0) != child) {
        perror("muster-sim");
        return false;
    }
    if (WIFSIGNALED(status)) {
        (void)printf("seed %lld: FAILED: ended by signal %d in event %lld\n", (long long)seed,
                     WTERMSIG(status), (long long)*progress);
    }
    if (status != 0) {
        (void)printf("    again: muster-sim run --seed %lld --events %lld\n", (long long)seed,
                     (long long)*progress);
    }
    return status == 0;
}

static int main_run(int argc, char **argv)
{
    struct run_options o = {.seed = 1, .seeds = 1, .events = 1000, .faults = SEEDED_ALL_FAULTS};
    volatile int64_t *progress;
    int64_t failed = 0;
    int64_t i;

    if (!run_parse(argc, argv, &o)) {
        return usage();
    }
    progress =
        mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (progress == MAP_FAILED) {
        perror("muster-sim");
        return 1;
    }
    for (i = 0; i < o.seeds; i++) {
        failed += run_seed(&o, o.seed + i, progress) ? 0 : 1;
    }
    (void)printf("%lld passed, %lld failed\n", (long long)(o.seeds - failed), (long long)failed);
    return failed > 0 ? 1 : 0;
}

int main(int argc, char **argv)
{
    if (argc >= 2 && strcmp(argv[1], "scenario") == 0) {
        return main_scenario(argc - 2, argv + 2);
    }
    if (argc >= 2 && strcmp(argv[1], "case") == 0) {
        return main_case(argc - 2, argv + 2);
    }
    if (argc >= 2 && strcmp(argv[1], "run") == 0) {
        return main_run(argc - 2, argv + 2);
    }
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        (void)printf("muster-sim %s\n", MUSTER_VERSION);
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        (void)fputs(USAGE, stdout);
        return 0;
    }
    return usage();
}
