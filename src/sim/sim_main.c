/* muster-sim - cases, scenarios and seeded runs through the real engine in virtual time.
 *
 * Exit status: 0 all well, 1 something did not hold, 2 wrong usage or input.
 */
#include "base/str.h"
#include "sim/caserun.h"
#include "sim/scenario.h"
#include "sim/sim_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char USAGE[] =
    "usage: muster-sim case [--explain] FILE...\n"
    "       muster-sim scenario [--update] FILE...\n"
    "       muster-sim run [--seed N] [--seeds COUNT] [--events N] [--faults LIST] [--verbose]\n"
    "       muster-sim run --replay FILE [--verbose]\n"
    "       muster-sim shrink [--seed N] [--events N] [--faults LIST] [--replay FILE]\n"
    "                         [--budget SECONDS] [--output FILE]\n"
    "faults: all (default), none, or some of crash, disk, full, flip, node, reply, task, clock,\n"
    "        freeze with commas between them; which of them a life has is up to its seed\n";

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

int main(int argc, char **argv)
{
    if (argc >= 2 && strcmp(argv[1], "scenario") == 0) {
        return main_scenario(argc - 2, argv + 2);
    }
    if (argc >= 2 && strcmp(argv[1], "case") == 0) {
        return main_case(argc - 2, argv + 2);
    }
    if (argc >= 2 && strcmp(argv[1], "run") == 0) {
        return sim_run(argc - 2, argv + 2);
    }
    if (argc >= 2 && strcmp(argv[1], "shrink") == 0) {
        return sim_shrink(argc - 2, argv + 2);
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
