/* feed - a service_stream as the body of an answer.
 *
 * Bytes are pulled when the client's socket has room, so a slow reader costs one buffer.  With
 * nothing to pull the connection is suspended; it goes on when the daemon wakes it, when a
 * heartbeat is due (text/event-stream only: a comment, sent only where pull had nothing, so never
 * within an event), when the client has gone, or when the server ends.
 */
#ifndef MUSTER_HTTP_FEED_H
#define MUSTER_HTTP_FEED_H

#include "http/service.h"

#include <stdbool.h>
#include <stdint.h>

struct feed;
struct MHD_Connection;
struct MHD_Response;

/* Who runs libmicrohttpd: without a thread of its own it does not notice a resumed connection by
 * itself, so kick is called after each, and must see to an MHD_run soon. */
struct feed_loop {
    void (*kick)(void *arg);
    void *arg;
};

/* Takes the stream; loop is lent for the life of the result.  heartbeat_ms is the time without a
 * byte after which one is sent. */
struct feed *feed_new(struct service_stream *taken, struct MHD_Connection *connection,
                      const struct feed_loop *loop, int64_t heartbeat_ms);
/* Closes the stream.  The response, if one was made, must not be read any more. */
void feed_free(struct feed *f);

/* The caller destroys the result after it is queued. */
struct MHD_Response *feed_response(struct feed *f);

/* Now and then: heartbeats, and whether the client is still there. */
void feed_tick(struct feed *f, int fd, int64_t now_ms);
/* End the body once pull has nothing more at the moment. */
void feed_end(struct feed *f);

#endif
