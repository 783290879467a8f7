/* muster - the command line: find the command and run it. */
#include "cli/verb.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

static int unknown(const char *word)
{
    if (verb_is_group(word)) {
        fprintf(stderr, "muster: request.invalid: %s what?\n", word);
        verb_list(stderr, word);
    } else {
        fprintf(stderr, "muster: request.invalid: no command '%s'; `muster help` lists them\n",
                word);
    }
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
        return unknown(argv[1]);
    }
    used = verb_run(command, argc - used, argv + used);
    status = used != 0 ? used : status;
    if (fflush(stdout) != 0 || ferror(stdout) != 0) {
        fprintf(stderr, "muster: server.io: cannot write the output: %s\n", strerror(errno));
        return status != 0 ? status : 1;
    }
    return status;
}
