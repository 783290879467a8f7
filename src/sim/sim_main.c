/* muster-sim - cases, scenarios and seeded runs through the real engine in virtual time.
 *
 * Exit status: 0 all well, 1 something did not hold, 2 wrong usage or input.
 */
#include "base/str.h"
#include "sim/caserun.h"
#include "sim/scenario.h"

#include <stdio.h>
#include <string.h>

static const char USAGE[] =
    "usage: muster-sim case FILE...\n"
    "       muster-sim scenario [--update] FILE...\n"
    "       muster-sim run [--seed N] [--seeds COUNT] [--events N] [--verbose]\n";

static int usage(void)
{
    (void)fputs(USAGE, stderr);
    return 2;
}

/* One line of JSON a case; a case that cannot be read or set up is said on stderr. */
static int run_case(const char *path)
{
    struct casefile c;
    struct str line = {0};
    struct err err = {0};
    int rc = casefile_read(path, &c, &err);

    if (rc == 0) {
        rc = caserun(&c, &line, &err);
        casefile_fini(&c);
    }
    if (rc != 0) {
        (void)fprintf(stderr, "muster-sim: %s: %s (%s)\n", path, err.text, err_name(rc));
    } else {
        (void)printf("%s\n", line.text);
        (void)fflush(stdout);
    }
    str_fini(&line);
    return rc != 0 ? 2 : 0;
}

static int main_case(int argc, char **argv)
{
    int worst = 0;
    int i;

    if (argc < 1) {
        return usage();
    }
    for (i = 0; i < argc; i++) {
        int rc = run_case(argv[i]);

        worst = rc > worst ? rc : worst;
    }
    return worst;
}

/* 0 = as it should be, 1 = not, 2 = the file is wrong. */
static int run_scenario(const char *path, bool update)
{
    struct scenario_result r;
    struct err err = {0};
    int rc = scenario_play(path, &r, &err);

    if (rc == 0 && update && strcmp(str_text(&r.got), str_text(&r.want)) != 0) {
        rc = scenario_update(path, &r, &err);
        (void)printf("%s: written again\n", path);
    }
    if (rc != 0) {
        (void)fprintf(stderr, "muster-sim: %s (%s)\n", err.text, err_name(rc));
    } else if (r.failures.len > 0) {
        (void)printf("%s", r.failures.text);
    }
    rc = rc != 0 ? 2 : r.failures.len > 0;
    scenario_result_fini(&r);
    return rc;
}

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
    for (i = 0; i < argc; i++) {
        int rc = run_scenario(argv[i], update);

        failed += rc != 0 ? 1 : 0;
        worst = rc > worst ? rc : worst;
    }
    (void)printf("%d passed, %d failed\n", argc - failed, failed);
    return worst;
}

int main(int argc, char **argv)
{
    if (argc >= 2 && strcmp(argv[1], "scenario") == 0) {
        return main_scenario(argc - 2, argv + 2);
    }
    if (argc >= 2 && strcmp(argv[1], "case") == 0) {
        return main_case(argc - 2, argv + 2);
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
