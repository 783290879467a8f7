/* sbatchline - the #SBATCH lines of a script, cut into options as sbatch cuts them.
 *
 * The tokens are those of sbatch 22.05, tried with the program itself: a backslash takes the next
 * character as it is, in quotes too; an unquoted # ends the line; "#SBATCH-N2" needs no blank; the
 * last of two equal options counts; the reading ends at the first line that is neither empty nor a
 * comment.  Lines behind it, which sbatch skips without a word, are noted.
 */
#ifndef MUSTER_CLI_SBATCHLINE_H
#define MUSTER_CLI_SBATCHLINE_H

#include "base/err.h"
#include "base/str.h"
#include "cli/sbatchoption.h"

#include <stddef.h>

struct sbatchline_given {
    char *value; /* owned; NULL = not given, "" for an option without a value */
    int line;
};

struct sbatchline {
    struct sbatchline_given given[SBATCHOPTION_COUNT];
    int count; /* lines that were read */
};

/* Cut the lines of a script into l, which is zeroed before; notes gets a line of text for each that
 * stands too late.  End l with sbatchline_fini, after a failure too.  ERR_SYNTAX with file and
 * line. */
MUST_CHECK int sbatchline_read(struct sbatchline *l, const char *file, const char *text, size_t len,
                               struct str *notes, struct err *err);
void sbatchline_fini(struct sbatchline *l);

#endif
