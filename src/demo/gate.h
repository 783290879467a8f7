/* gate - a job that holds its GPUs until a file is there: the demo decides when it ends, not a
 * clock. */
#ifndef MUSTER_DEMO_GATE_H
#define MUSTER_DEMO_GATE_H

#include "base/err.h"

/* Wait for the file; gives the exit status: 0 when it came, 1 when its folder went or nobody made
 * it within a quarter of an hour.  SIGTERM ends the process as usual. */
int gate_wait(const char *path);
/* Let those go who wait for it. */
MUST_CHECK int gate_open(const char *path, struct err *err);

#endif
