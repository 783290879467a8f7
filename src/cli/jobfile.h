/* jobfile - a job written as YAML: the members of POST /v1/jobs. */
#ifndef MUSTER_CLI_JOBFILE_H
#define MUSTER_CLI_JOBFILE_H

#include "cli/jobspec.h"

/* Add what the file says to s.  file is its name in messages ("job.yaml:7:3: ...").  ERR_SYNTAX,
 * ERR_UNKNOWN_FIELD, ERR_TOO_LARGE; s may then hold a part. */
MUST_CHECK int jobfile_read(struct jobspec *s, const char *file, const char *text, size_t len,
                            struct err *err);

#endif
