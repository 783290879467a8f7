/* cmd_help - the help, from the table of commands. */
#include "cli/verbs.h"

#include <string.h>

const struct verb *const VERBS[] = {
    SUBMIT_VERBS, ATTACH_VERBS,  JOB_VERBS,        TOP_VERBS,    LOG_VERBS,
    TASK_VERBS,   QUEUE_VERBS,   NODE_VERBS,       POLICY_VERBS, JOURNAL_VERBS,
    TOKEN_VERBS,  PROGRAM_VERBS, COMPLETION_VERBS, HELP_VERBS,   NULL,
};

static void print_options(FILE *out, const char *prefix, const struct argp_option *o)
{
    for (; o != NULL && (o->name != NULL || o->doc != NULL); o++) {
        if (o->name != NULL && (o->flags & OPTION_HIDDEN) == 0) {
            fprintf(out, "%s--%s\n", prefix, o->name);
        }
    }
}

/* "COMMAND<tab>--option" a line: for the check of the manual page. */
static void print_all(FILE *out)
{
    print_options(out, "\t", COMMON_OPTIONS);
    for (size_t i = 0; VERBS[i] != NULL; i++) {
        for (const struct verb *c = VERBS[i]; c->name != NULL; c++) {
            struct str prefix = {0};

            if (c->name[0] == '_') {
                continue; /* for scripts, not for people */
            }
            fprintf(out, "%s\t\n", c->name);
            str_addf(&prefix, "%s\t", c->name);
            print_options(out, str_text(&prefix), c->options);
            str_fini(&prefix);
        }
    }
}

static int run_help(struct cli *cli, const struct args *args)
{
    const struct verb *command;
    struct err err;
    int used;

    if (args_has(args, "tables")) {
        print_all(stdout);
        return 0;
    }
    if (args->words.count == 0) {
        printf("usage: muster COMMAND [OPTION...] [WORD...]\n\n");
        verb_list(stdout, NULL);
        printf("\n`muster help COMMAND` and muster(1) say more.\n");
        return 0;
    }
    command = verb_find((int)args->words.count, args->words.items, &used);
    if (command != NULL && (size_t)used == args->words.count) {
        verb_help(command, stdout);
        return 0;
    }
    if (args->words.count == 1 && verb_is_group(args_word(args, 0))) {
        verb_list(stdout, args_word(args, 0));
        return 0;
    }
    (void)err_set(&err, ERR_INVALID, "no command '%s'", args_word(args, 0));
    return cli_fail(cli, &err);
}

static const struct argp_option HELP_OPTIONS[] = {{"tables", LONG, NULL, OPTION_HIDDEN,
                                                   "all commands and options, for checks", 1},
                                                  {0}};

const struct verb HELP_VERBS[] = {{"help", "[COMMAND]", "list the commands, or explain one", NULL,
                                   HELP_OPTIONS, 0, 2, VERB_MIXED, run_help},
                                  {0}};
