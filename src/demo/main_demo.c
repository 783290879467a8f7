/* muster-demo - plays a story with real processes: `muster demo afternoon`.
 *
 * The jobs of the story are this program too: `muster-demo trainer` and `muster-demo gate`. */
#include "base/argline.h"
#include "base/err.h"
#include "base/str.h"
#include "demo/afternoon.h"
#include "demo/gate.h"
#include "demo/trainer.h"

#include <argp.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

enum { KEY_FAST = 256, KEY_KEEP, KEY_LEDGER, KEY_MORE, KEY_STEP_MS, KEY_SAVE_EVERY, KEY_IGNORE };

struct arguments {
    struct afternoon_want afternoon;
    struct trainer_want trainer;
    const char *words[2];
    int word_count;
};

static const struct argp_option OPTIONS[] = {
    {"fast", KEY_FAST, NULL, 0, "Shorter times", 0},
    {"keep", KEY_KEEP, NULL, 0, "Keep the folder with journal, logs and policy", 0},
    {"quiet", 'q', NULL, 0, "Print the scorecard only", 0},
    {"ledger", KEY_LEDGER, "FILE", OPTION_HIDDEN, NULL, 0},
    {"more", KEY_MORE, "N", OPTION_HIDDEN, NULL, 0},
    {"step-ms", KEY_STEP_MS, "N", OPTION_HIDDEN, NULL, 0},
    {"save-every", KEY_SAVE_EVERY, "N", OPTION_HIDDEN, NULL, 0},
    {"ignore-signal", KEY_IGNORE, NULL, OPTION_HIDDEN, NULL, 0},
    {0},
};

static int64_t number(struct argp_state *state, const char *arg)
{
    int64_t value = 0;

    if (!str_to_int(arg, &value) || value < 1 || value > 1000000) {
        argp_error(state, "\"%s\" is not a number from 1 to 1000000", arg);
    }
    return value;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;

    switch (key) {
    case KEY_FAST:
        a->afternoon.fast = true;
        return 0;
    case KEY_KEEP:
        a->afternoon.keep = true;
        return 0;
    case 'q':
        a->afternoon.quiet = true;
        return 0;
    case KEY_LEDGER:
        a->trainer.ledger = arg;
        return 0;
    case KEY_MORE:
        a->trainer.more = number(state, arg);
        return 0;
    case KEY_STEP_MS:
        a->trainer.step_ms = number(state, arg);
        return 0;
    case KEY_SAVE_EVERY:
        a->trainer.save_every = number(state, arg);
        return 0;
    case KEY_IGNORE:
        a->trainer.ignores_signal = true;
        return 0;
    case ARGP_KEY_ARG:
        if (a->word_count == 2) {
            argp_usage(state);
        }
        a->words[a->word_count++] = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void print_version(FILE *stream, struct argp_state *state)
{
    (void)state;
    fprintf(stream, "muster-demo %s\n", MUSTER_VERSION);
}

static bool is_word(const struct arguments *a, const char *word, int count)
{
    return a->word_count == count && strcmp(a->words[0], word) == 0;
}

int main(int argc, char **argv)
{
    static const struct argp ARGP = {
        OPTIONS,
        parse,
        "afternoon",
        "Play a story with real processes against a musterd of its own, and check every step.\v"
        "afternoon: 64 simulated GPUs, four teams.  A gang borrows, gives back, and goes on from "
        "its checkpoint; twenty people share cards in MIG slices; what inference keeps is never "
        "touched.  Takes about a minute.  The exit status is 0 if everything was as it must be.",
        NULL,
        NULL,
        NULL};
    struct arguments a = {
        .trainer = {.ledger = "/dev/null", .more = 1, .step_ms = 100, .save_every = 10}};

    setlocale(LC_ALL, "C.UTF-8");
    argp_program_version_hook = print_version;
    argline_parse(&ARGP, argc, argv, 0, &a);
    if (is_word(&a, "afternoon", 1)) {
        return afternoon_run(&a.afternoon);
    }
    if (is_word(&a, "trainer", 1)) {
        return trainer_run(&a.trainer);
    }
    if (is_word(&a, "gate", 2)) {
        return gate_wait(a.words[1]);
    }
    fprintf(stderr,
            "muster-demo: %s: the demo that there is is afternoon; see `muster-demo "
            "--help`\n",
            err_name(ERR_INVALID));
    return err_exit(ERR_INVALID);
}
