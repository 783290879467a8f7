/* jobscript - a script with #MUSTER lines before its first command. */
#ifndef MUSTER_CLI_JOBSCRIPT_H
#define MUSTER_CLI_JOBSCRIPT_H

#include "cli/jobspec.h"

/* Add what the lines say to s.  ERR_SYNTAX and those of jobspec_set, with "train.sh:3: " before; s
 * may then hold a part. */
MUST_CHECK int jobscript_read(struct jobspec *s, const char *file, const char *text, size_t len,
                              struct err *err);

#endif
