/* completion - what may stand at the cursor of a command line, from the table of commands.
 *
 * The scripts for the shells hold no word of the table: they hand over the line and show the
 * answer, so that a new command or option needs no new script.
 */
#ifndef MUSTER_CLI_COMPLETION_H
#define MUSTER_CLI_COMPLETION_H

#include "base/vec.h"

#include <stddef.h>

enum completion_kind {
    COMPLETION_NONE, /* the rows, or nothing */
    COMPLETION_JOBS,
    COMPLETION_ENDED_JOBS, /* those that ended too */
    COMPLETION_QUEUES,
    COMPLETION_POOLS,
    COMPLETION_NODES,
    COMPLETION_FILES,
    COMPLETION_PROGRAMS,
};

struct completion_row {
    const char *text; /* lent */
    size_t len;
    const char *help; /* lent, one line, "" = none */
};

struct completion {
    enum completion_kind kind;
    VEC(struct completion_row) rows; /* all that fit what is typed */
    char *typed;                     /* the part of the word that is completed */
    char *prefix; /* what the shell's word holds before it ("--queue="), "" in bash */
};

/* words are those behind the program's name, at the number of the one with the cursor (it may be
 * the one behind the last).  bash cuts "--queue=x" into three words, the others do not; both are
 * taken. The caller ends ret with completion_fini. */
void completion_find(size_t count, char *const *words, size_t at, struct completion *ret);
void completion_fini(struct completion *c);

#endif
