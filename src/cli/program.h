/* program - the programs that muster runs for some commands: muster-sim, muster-demo,
 * muster-journal. */
#ifndef MUSTER_CLI_PROGRAM_H
#define MUSTER_CLI_PROGRAM_H

#include "base/err.h"
#include "base/str.h"

/* Where the program lies: $MUSTER_LIBEXEC, beside this one, ../libexec/muster, or a folder of its
 * name in a build tree.  ERR_NOT_FOUND. */
MUST_CHECK int program_find(const char *name, struct str *ret, struct err *err);
/* Become that program; argv ends with NULL, argv[0] is replaced.  Comes back on failure only. */
MUST_CHECK int program_exec(const char *name, char **argv, struct err *err);

#endif
