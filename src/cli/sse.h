/* sse - server-sent events: the parser, and a reader that comes back after a broken connection.
 *
 * The parser takes the stream in pieces of any size.  Comments (the heartbeat) and unknown fields
 * are skipped, as the standard says; "retry" too, since the reader has its own pace.
 */
#ifndef MUSTER_CLI_SSE_H
#define MUSTER_CLI_SSE_H

#include "base/err.h"
#include "base/str.h"
#include "cli/client.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One event; all texts are lent until the call returns.  id is that of the stream so far. */
typedef void sse_event(void *arg, const char *id, const char *event, const char *data);

struct sse {
    sse_event *call;
    void *arg;
    struct str line;
    struct str id;
    struct str last_id; /* of the last whole event: what a reconnect asks to go on from */
    struct str event;
    struct str data;
    bool has_data;
    bool after_cr; /* a "\n" that follows belongs to the line end before */
    bool begun;    /* the byte order mark was looked for */
};

void sse_init(struct sse *s, sse_event *call, void *arg);
void sse_fini(struct sse *s);
void sse_feed(struct sse *s, const char *data, size_t len);
/* The connection is gone: forget the unfinished event and its id. */
void sse_reset(struct sse *s);

struct sse_reader {
    struct sse sse;
    struct client *client;
    struct client_stream *stream;
    char *path;
    int64_t retry_at_ms; /* 0 = connected */
    int64_t heard_ms;
    int tries;
};

/* path is copied; events come from within client_poll. */
void sse_reader_init(struct sse_reader *r, struct client *client, const char *path, sse_event *call,
                     void *arg);
void sse_reader_fini(struct sse_reader *r);
/* Call in the loop: reconnects what broke (0.2 s, doubled up to 5 s).  Fails when the server
 * refuses the stream for good; a server that is away is waited for. */
MUST_CHECK int sse_reader_step(struct sse_reader *r, int64_t now_ms, struct err *err);

#endif
