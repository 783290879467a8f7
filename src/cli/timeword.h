/* timeword - a point in time as people give it to an option. */
#ifndef MUSTER_CLI_TIMEWORD_H
#define MUSTER_CLI_TIMEWORD_H

#include "base/err.h"

#include <stdint.h>

/* "2h", "90m": from now on; "2026-12-01T18:00:00Z" (or +01:00, or nothing for UTC): then.
 * ERR_INVALID: neither, or a day that does not exist. */
MUST_CHECK int timeword_read(const char *text, int64_t now_ms, int64_t *ret_ms, struct err *err);

#endif
