/* muster - the command line: find the command and run it. */
#include "base/check.h"
#include "base/nearest.h"
#include "base/str.h"
#include "cli/verb.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

/* What people who come from elsewhere type. */
static const char *const HABITS[][2] = {
    {"sbatch", "submit"},
    {"srun", "run"},
    {"squeue", "ps"},
    {"scancel", "cancel"},
    {"sinfo", "node list"},
    {"sattach", "attach"},
    {"scontrol", "show"},
    {"sacct", "ps -a"},
    {"list", "ps"},
    {"ls", "ps"},
    {"jobs", "ps"},
    {"status", "ps"},
    {"kill", "cancel"},
    {"delete", "cancel"},
    {"stop", "cancel"},
    {"nodes", "node list"},
    {"queues", "queue list"},
    {"gpus", "gpu list"},
    {"pools", "pool list"},
    {"info", "show"},
    {"describe", "show"},
    {"explain", "why"},
    {"watch", "top"},
    {"drain", "node drain"},
    {"resume", "node resume"},
    {"apply", "policy apply"},
    {"login", "token create NAME --save"},
};

/* The command that somebody may have meant, "" = who knows. */
static void guess(const char *word, const char *group, struct str *ret)
{
    size_t skip = group != NULL ? strlen(group) + 1 : 0;
    struct nearest n;

    for (size_t i = 0; group == NULL && i < ARRAY_LEN(HABITS); i++) {
        if (strcmp(HABITS[i][0], word) == 0) {
            str_add(ret, HABITS[i][1]);
            return;
        }
    }
    nearest_begin(&n, word, strlen(word));
    for (size_t i = 0; VERBS[i] != NULL; i++) {
        for (const struct verb *c = VERBS[i]; c->name != NULL; c++) {
            bool inside = group == NULL ||
                          (strncmp(c->name, group, skip - 1) == 0 && c->name[skip - 1] == ' ');

            if (c->name[0] != '_' && inside) {
                nearest_try(&n, c->name + skip, strcspn(c->name + skip, " "));
            }
        }
    }
    if (n.best != NULL) {
        str_addf(ret, "%s%s", group != NULL ? group : "", group != NULL ? " " : "");
        str_add_n(ret, n.best, n.best_len);
    }
}

static int unknown(const char *word, const char *second)
{
    struct str meant = {0};

    if (verb_is_group(word) && (second == NULL || second[0] == '-')) {
        fprintf(stderr, "muster: request.invalid: %s what?\n", word);
        verb_list(stderr, word);
        return 2;
    }
    if (verb_is_group(word)) {
        guess(second, word, &meant);
        fprintf(stderr, "muster: request.invalid: no command '%s %s'; ", word, second);
    } else if (word[0] == '-') {
        fprintf(stderr, "muster: request.invalid: no option '%s' before a command; ", word);
    } else {
        guess(word, NULL, &meant);
        fprintf(stderr, "muster: request.invalid: no command '%s'; ", word);
    }
    if (meant.len > 0) {
        fprintf(stderr, "did you mean `muster %s`?  ", str_text(&meant));
    }
    fprintf(stderr, "`muster help%s%s` lists them\n", verb_is_group(word) ? " " : "",
            verb_is_group(word) ? word : "");
    str_fini(&meant);
    return 2;
}

int main(int argc, char **argv)
{
    char help[] = "help", version[] = "version";
    char *words[] = {argv[0], help, NULL};
    const struct verb *command;
    int used, status;

    setlocale(LC_ALL, "");
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        argv = words;
        status = argc < 2 ? 2 : 0;
        argc = 2;
    } else {
        status = 0;
        if (strcmp(argv[1], "--version") == 0) {
            argv[1] = version;
        }
    }
    command = verb_find(argc - 1, argv + 1, &used);
    if (command == NULL && argc == 3 && verb_is_group(argv[1]) &&
        (strcmp(argv[2], "--help") == 0 || strcmp(argv[2], "-h") == 0)) {
        verb_list(stdout, argv[1]);
        return 0;
    }
    if (command == NULL) {
        return unknown(argv[1], argc > 2 ? argv[2] : NULL);
    }
    used = verb_run(command, argc - used, argv + used);
    status = used != 0 ? used : status;
    errno = 0; /* of a write that failed before, nothing but the mark is left */
    if (fflush(stdout) != 0 || ferror(stdout) != 0) {
        fprintf(stderr, "muster: server.io: cannot write the output%s%s\n", errno != 0 ? ": " : "",
                errno != 0 ? strerror(errno) : "");
        return status != 0 ? status : 1;
    }
    return status;
}
