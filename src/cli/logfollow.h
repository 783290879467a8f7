/* logfollow - one log of one task as it grows, across broken connections: what was shown is counted
 * and asked for no second time. */
#ifndef MUSTER_CLI_LOGFOLLOW_H
#define MUSTER_CLI_LOGFOLLOW_H

#include "base/err.h"
#include "base/str.h"
#include "cli/client.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct logfollow {
    struct client *client;
    char *job;
    int64_t attempt; /* 0 = the last one */
    int64_t task;
    const char *stream; /* "stdout", "stderr" */
    FILE *out;
    char *prefix; /* put before each line, NULL = the bytes as they are */
    int64_t tail; /* lines to begin with, -1 = all */
    int64_t shown_bytes;
    int64_t retry_at_ms;
    struct client_stream *live;
    struct str line; /* with a prefix: the line that is not complete */
    bool ended;      /* the server said all there is */
    int missing;     /* the code while there is no such log yet, else 0 */
};

struct logfollow *logfollow_new(struct client *client, const char *job, int64_t attempt,
                                int64_t task, const char *stream);
void logfollow_free(struct logfollow *l);
void logfollow_set_prefix(struct logfollow *l, const char *prefix);
/* Call in the loop.  Fails when the server refuses for good; a log that does not exist yet and a
 * server that is away are waited for. */
MUST_CHECK int logfollow_step(struct logfollow *l, int64_t now_ms, struct err *err);
/* Show the last lines of what there is and go on behind them.  All of the log is read for it, since
 * only so the place is known from which to go on after a broken connection. */
MUST_CHECK int logfollow_begin(struct logfollow *l, int64_t lines, struct err *err);
/* The path of GET .../logs. */
void logfollow_path(const struct logfollow *l, bool follow, struct str *path);

#endif
