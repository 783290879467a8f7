/* cmd_help - the help and the shell completion, both from the table of commands. */
#include "cli/verbs.h"

#include "base/check.h"

#include <string.h>

const struct verb *const VERBS[] = {
    SUBMIT_VERBS, ATTACH_VERBS,  JOB_VERBS,   LOG_VERBS,     TASK_VERBS, QUEUE_VERBS, NODE_VERBS,
    POLICY_VERBS, JOURNAL_VERBS, TOKEN_VERBS, PROGRAM_VERBS, HELP_VERBS, NULL,
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

/* ---- completion ---- */

/* The first words, each once; groups are neighbours in the table. */
static void add_first_words(struct str *out)
{
    struct str last = {0};

    for (size_t i = 0; VERBS[i] != NULL; i++) {
        for (const struct verb *c = VERBS[i]; c->name != NULL; c++) {
            size_t len = strcspn(c->name, " ");

            if (last.len == len && strncmp(str_text(&last), c->name, len) == 0) {
                continue;
            }
            str_clear(&last);
            str_add_n(&last, c->name, len);
            str_add(out, out->len > 0 ? " " : "");
            str_add_n(out, c->name, len);
        }
    }
    str_fini(&last);
}

static void add_options(struct str *out, const struct argp_option *o)
{
    for (; o != NULL && (o->name != NULL || o->doc != NULL); o++) {
        if (o->name != NULL && (o->flags & OPTION_HIDDEN) == 0) {
            str_addf(out, " --%s", o->name);
        }
    }
}

/* For "queue": " list show"; for "queue list": its options. */
static void print_cases(FILE *out)
{
    struct str common = {0};

    add_options(&common, COMMON_OPTIONS);
    for (size_t i = 0; VERBS[i] != NULL; i++) {
        for (const struct verb *c = VERBS[i]; c->name != NULL; c++) {
            struct str options = {0};

            add_options(&options, c->options);
            fprintf(out, "    '%s') words='%s%s' ;;\n", c->name, str_text(&options),
                    str_text(&common));
            str_fini(&options);
        }
    }
    str_fini(&common);
}

static void print_groups(FILE *out)
{
    static const char *const GROUPS[] = {"queue",  "pool",    "node", "gpu",
                                         "policy", "journal", "token"};

    for (size_t i = 0; i < ARRAY_LEN(GROUPS); i++) {
        size_t len = strlen(GROUPS[i]);

        fprintf(out, "    '%s') words='", GROUPS[i]);
        for (size_t k = 0; VERBS[k] != NULL; k++) {
            for (const struct verb *c = VERBS[k]; c->name != NULL; c++) {
                if (strncmp(c->name, GROUPS[i], len) == 0 && c->name[len] == ' ') {
                    fprintf(out, "%s ", c->name + len + 1);
                }
            }
        }
        fprintf(out, "' ;;\n");
    }
}

static void print_bash(FILE *out)
{
    struct str first = {0};

    add_first_words(&first);
    fprintf(out,
            "# bash completion of muster: source <(muster completion bash)\n"
            "_muster() {\n"
            "    local cur=${COMP_WORDS[COMP_CWORD]} a=${COMP_WORDS[1]} b=${COMP_WORDS[2]} "
            "words= key\n"
            "    COMPREPLY=()\n"
            "    if [ \"$COMP_CWORD\" = 1 ]; then\n"
            "        COMPREPLY=($(compgen -W '%s' -- \"$cur\")); return\n"
            "    fi\n"
            "    key=$a\n"
            "    case $a in queue|pool|node|gpu|policy|journal|token)\n"
            "        [ \"$COMP_CWORD\" -gt 2 ] && key=\"$a $b\" ;;\n"
            "    esac\n"
            "    case $key in\n",
            str_text(&first));
    print_groups(out);
    print_cases(out);
    fprintf(out, "    esac\n"
                 "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
                 "    [ ${#COMPREPLY[@]} = 0 ] && COMPREPLY=($(compgen -f -- \"$cur\"))\n"
                 "    return 0\n"
                 "}\n"
                 "complete -F _muster muster\n");
    str_fini(&first);
}

static void print_fish(FILE *out)
{
    fprintf(out, "# fish completion of muster: muster completion fish | source\n");
    for (size_t i = 0; VERBS[i] != NULL; i++) {
        for (const struct verb *c = VERBS[i]; c->name != NULL; c++) {
            size_t len = strcspn(c->name, " ");

            if (c->name[len] == '\0') {
                fprintf(out, "complete -c muster -n __fish_use_subcommand -a %s -d '%s'\n", c->name,
                        c->help);
            } else {
                fprintf(out,
                        "complete -c muster -n __fish_use_subcommand -a %.*s\n"
                        "complete -c muster -n '__fish_seen_subcommand_from %.*s' -a %s -d '%s'\n",
                        (int)len, c->name, (int)len, c->name, c->name + len + 1, c->help);
            }
            for (const struct argp_option *o = c->options;
                 o != NULL && (o->name != NULL || o->doc != NULL); o++) {
                if (o->name != NULL) {
                    fprintf(out, "complete -c muster -n '__fish_seen_subcommand_from %.*s' -l %s\n",
                            (int)len, c->name, o->name);
                }
            }
        }
    }
}

static int run_completion(struct cli *cli, const struct args *args)
{
    const char *shell = args_word(args, 0);
    struct err err;

    if (strcmp(shell, "bash") == 0) {
        print_bash(stdout);
    } else if (strcmp(shell, "zsh") == 0) {
        printf("# zsh completion of muster: source <(muster completion zsh)\n"
               "autoload -U +X bashcompinit && bashcompinit\n");
        print_bash(stdout);
    } else if (strcmp(shell, "fish") == 0) {
        print_fish(stdout);
    } else {
        (void)err_set(&err, ERR_INVALID, "no completion for '%s': bash, zsh or fish", shell);
        return cli_fail(cli, &err);
    }
    return 0;
}

static const struct argp_option HELP_OPTIONS[] = {{"tables", LONG, NULL, OPTION_HIDDEN,
                                                   "all commands and options, for checks", 1},
                                                  {0}};

const struct verb HELP_VERBS[] = {{"completion", "SHELL",
                                   "print a completion script for bash, zsh or fish", NULL, NULL, 1,
                                   1, VERB_MIXED, run_completion},
                                  {"help", "[COMMAND]", "list the commands, or explain one", NULL,
                                   HELP_OPTIONS, 0, 2, VERB_MIXED, run_help},
                                  {0}};
