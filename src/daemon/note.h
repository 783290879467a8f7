/* note - what musterd tells its operator: one line a failure or a change, on standard error, with
 * the priority that journald reads. */
#ifndef MUSTER_DAEMON_NOTE_H
#define MUSTER_DAEMON_NOTE_H

#include "base/err.h"

enum note_level { NOTE_ERROR = 3, NOTE_WARN = 4, NOTE_INFO = 6 };

void note(enum note_level level, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
