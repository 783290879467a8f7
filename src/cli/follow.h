/* follow - stay with a job until it ends: its events, and its logs where they are wanted. */
#ifndef MUSTER_CLI_FOLLOW_H
#define MUSTER_CLI_FOLLOW_H

#include "cli/verb.h"

#include <stdbool.h>
#include <stdint.h>

struct follow_want {
    bool logs;        /* show the logs of rank 0 */
    bool all;         /* of all ranks, each line with its rank */
    bool quiet;       /* no events on stderr */
    bool visit;       /* it is another's submission: signals detach and nothing is cancelled */
    int64_t tail;     /* with visit: lines of what was written before, -1 = all of it */
    int64_t from_seq; /* journal position before the submission, 0 = not known */
};

/* Block the signals that are answered (SIGINT, SIGTERM, SIGHUP); before the submission, so that a
 * Ctrl-C in between is not lost.  The descriptor tells of them. */
int follow_signals(void);

/* The job's own exit code is *ret_status: 128 + n for a signal, 0 after detaching.  signals is what
 * follow_signals gave. */
MUST_CHECK int follow_job(struct cli *cli, const char *job, const struct follow_want *want,
                          int signals, int *ret_status, struct err *err);

/* The exit code that an ended job stands for. */
int follow_exit_status(const json_t *job);

#endif
