/* crashmark - which record musterd was at when it crashed, so that the third start on the same one
 * does not crash too.
 *
 * STATE/crashes holds a line "SEQ" a crash: written by the handler of SIGABRT, SIGSEGV, SIGBUS,
 * SIGFPE and SIGILL, so that kill -9, a power cut or a full memory are no crash.  seq is that of
 * the last durable record which is not musterd's own account of its starts (those would make each
 * start look like progress).
 */
#ifndef MUSTER_DAEMON_CRASHMARK_H
#define MUSTER_DAEMON_CRASHMARK_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* Opens the file in the state directory and installs the handlers.  ERR_IO. */
MUST_CHECK int crashmark_open(const char *state, struct err *err);
/* How many crashes at the end of the file were at this seq. */
int crashmark_count(int64_t seq);
/* What the handler would write. */
void crashmark_at(int64_t seq);
/* Forget all. */
void crashmark_clear(void);
void crashmark_close(void);

#endif
