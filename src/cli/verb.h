/* verb - the table of commands and the reading of their words.
 *
 * One row a command: name, words, help, options.  From it come the dispatch, --help, the shell
 * completion and the check of the manual page.  Options are argp tables; what was given is kept by
 * the long name, so a command asks args_text(args, "queue").
 */
#ifndef MUSTER_CLI_VERB_H
#define MUSTER_CLI_VERB_H

#include "base/err.h"
#include "base/vec.h"
#include "cli/client.h"
#include "cli/table.h"

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

/* The key of an option that has no letter; one option a source line makes it unique in a table. */
#define LONG (1000 + __LINE__)

struct args_given {
    const char *name; /* the long name */
    const char *value;
};

struct args {
    VEC(struct args_given) given;
    VEC(char *) words;
    bool quoted; /* the words came after "--" */
};

struct verb;

struct cli { /* what a command runs with */
    const struct verb *verb;
    struct view view;
    int64_t timeout_ms;
    struct client *client; /* opened by cli_client */
};

enum verb_mode {
    VERB_MIXED, /* options and words in any order */
    VERB_REST,  /* options end at the first word: the rest belongs to the user's program */
    VERB_RAW,   /* a program of its own: nothing is parsed, all words are its own */
};

struct verb {
    const char *name;  /* "ps", "queue list" */
    const char *words; /* "JOB", "[NAME...]", for --help */
    const char *help;  /* one line */
    const char *more;  /* further lines of --help, NULL = none */
    const struct argp_option *options;
    int words_min;
    int words_max; /* -1 = any number */
    enum verb_mode mode;
    int (*run)(struct cli *cli, const struct args *args); /* gives the exit status */
};

/* The tables of the command files in the order of the help, ended by NULL; each table ends with a
 * row without a name. */
extern const struct verb *const VERBS[];

/* The options that every command takes. */
extern const struct argp_option COMMON_OPTIONS[];

/* The command of argv ("queue list" are two words), or NULL; ret_used says how many words name it.
 */
const struct verb *verb_find(int argc, char **argv, int *ret_used);
/* Are there commands whose names begin with this word and a space? */
bool verb_is_group(const char *word);
/* The option of "--queue", "--queue=x" or "-q", or NULL; abbreviations are none. */
const struct argp_option *verb_option(const struct verb *verb, const char *word);
/* The first option of a table from o on that people may use, or NULL. */
const struct argp_option *verb_next_option(const struct argp_option *o);
/* Print the commands (of one group, or all with NULL), a line each. */
void verb_list(FILE *out, const char *group);

/* Parse and run; prints usage errors itself and ends the process with status 2 on them. */
int verb_run(const struct verb *verb, int argc, char **argv);
/* Print the --help text of a command. */
void verb_help(const struct verb *verb, FILE *out);

const char *args_text(const struct args *args, const char *name);
bool args_has(const struct args *args, const char *name);
/* The values of an option that may be given several times: start with *at = 0; NULL ends. */
const char *args_next(const struct args *args, const char *name, size_t *at);
const char *args_word(const struct args *args, size_t i);
/* An option that is a number within [min, max]; unset leaves ret as it is. */
MUST_CHECK int args_int(const struct args *args, const char *name, int64_t min, int64_t max,
                        int64_t *ret, struct err *err);

/* The client, opened at the first call. */
MUST_CHECK int cli_client(struct cli *cli, struct err *err);
/* Print "muster: CODE: TEXT (field F)" on stderr; gives the exit status of the code. */
int cli_fail(const struct cli *cli, const struct err *err);
/* GET path (opens the client). */
MUST_CHECK int cli_get(struct cli *cli, const char *path, json_t **ret, struct err *err);
/* GET all pages of a list: {"items":[...]}. */
MUST_CHECK int cli_list(struct cli *cli, const char *path, json_t **ret, struct err *err);
MUST_CHECK int cli_post(struct cli *cli, const char *path, const json_t *body, json_t **ret,
                        struct err *err);

/* For CLEANUP. */
void answer_freep(json_t **json);

#endif
