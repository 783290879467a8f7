/* trainsave - the checkpoints of the demo's trainer: small files of a directory, renamed into
 * place, the newest two of which are kept. */
#ifndef MUSTER_DEMO_TRAINSAVE_H
#define MUSTER_DEMO_TRAINSAVE_H

#include "base/err.h"

#include <stdint.h>

struct trainsave {
    int64_t step;
    int64_t total; /* the counter after it */
};

/* Durable, then renamed to "step-NNNNNN". */
MUST_CHECK int trainsave_write(const char *dir, const struct trainsave *save, struct err *err);
/* The newest one; step 0 where there is none. */
MUST_CHECK int trainsave_read(const char *dir, struct trainsave *ret, struct err *err);

#endif
