/* cmd_program - commands that are programs of their own: their words are passed on untouched. */
#include "cli/verbs.h"

#include "cli/program.h"

#include <string.h>

static int run_program(struct cli *cli, const struct args *args)
{
    VEC(char *) argv = {0};
    struct str name = {0};
    struct err err;

    str_addf(&name, "muster-%s", cli->verb->name);
    vec_push(&argv, NULL);
    for (size_t i = 0; i < args->words.count; i++) {
        vec_push(&argv, args->words.items[i]);
    }
    vec_push(&argv, NULL);
    if (program_exec(str_text(&name), argv.items, &err) == 0) {
        return 0;
    }
    vec_fini(&argv);
    str_fini(&name);
    return cli_fail(cli, &err);
}

const struct verb PROGRAM_VERBS[] = {{"sim", "[WORD...]",
                                      "replay cases and traces in the simulator (muster-sim)", NULL,
                                      NULL, 0, -1, VERB_RAW, run_program},
                                     {"demo", "[WORD...]",
                                      "play a story with real processes (muster-demo)", NULL, NULL,
                                      0, -1, VERB_RAW, run_program},
                                     {0}};
