/* feed - states of the connection: flowing (MHD calls give_bytes when the socket has room) and
 * suspended (nobody calls).  MHD does not watch a suspended socket, so feed_tick asks the kernel
 * whether the other end was closed; otherwise the log of a silent job would hold its connection for
 * ever.
 *
 * A reader that ends with an error does not get its connection freed at once: libmicrohttpd
 * (0.9.75, epoll) takes it out of its list of ready ones and looks again when an older connection
 * ends or the idle time is over.  So a client that has gone is sent a few bytes, and the write that
 * fails ends the connection. */
#include "http/feed.h"

#include "base/mem.h"
#include "http/tally.h"

#include <microhttpd.h>
#include <poll.h>
#include <string.h>

/* One read: enough for many events, small beside the connection's own buffer. */
#define FEED_BLOCK_BYTES 16384

static const char HEARTBEAT[] = ": hb\n\n";
#define HEARTBEAT_LEN (sizeof(HEARTBEAT) - 1)

struct feed {
    struct service_stream *stream;
    struct MHD_Connection *connection;
    const struct feed_loop *loop;
    int64_t heartbeat_ms;
    int64_t last_ms; /* the last byte */
    bool events;
    bool suspended;
    bool pulling;
    bool woken;  /* during a pull */
    bool beat;   /* a heartbeat is due */
    bool gone;   /* the client */
    bool ending; /* the server */
};

static void go_on(struct feed *f)
{
    if (f->suspended) {
        f->suspended = false;
        MHD_resume_connection(f->connection);
        f->loop->kick(f->loop->arg);
    }
}

static void on_wake(void *arg)
{
    struct feed *f = arg;

    if (f->pulling) {
        f->woken = true;
        return;
    }
    go_on(f);
}

struct feed *feed_new(struct service_stream *taken, struct MHD_Connection *connection,
                      const struct feed_loop *loop, int64_t heartbeat_ms)
{
    struct feed *f = mem_new(1, sizeof(*f));
    static const char EVENTS[] = "text/event-stream";

    f->stream = taken;
    f->connection = connection;
    f->loop = loop;
    f->heartbeat_ms = heartbeat_ms;
    f->last_ms = tally_clock_us() / 1000;
    f->events = strncmp(taken->content_type, EVENTS, sizeof(EVENTS) - 1) == 0;
    taken->wake = on_wake;
    taken->wake_arg = f;
    return f;
}

void feed_free(struct feed *f)
{
    if (f != NULL) {
        f->stream->wake = NULL;
        f->stream->ops->close(f->stream);
        mem_free(f);
    }
}

static ssize_t give_heartbeat(struct feed *f, char *buf)
{
    f->beat = false;
    f->last_ms = tally_clock_us() / 1000;
    memcpy(buf, HEARTBEAT, HEARTBEAT_LEN);
    return HEARTBEAT_LEN;
}

static ssize_t give_bytes(void *arg, uint64_t pos, char *buf, size_t room)
{
    struct feed *f = arg;
    int64_t count;

    (void)pos;
    if (f->gone) { /* see feed_tick */
        return give_heartbeat(f, buf);
    }
    f->pulling = true;
    f->woken = false;
    count = f->stream->ops->pull(f->stream, buf, room);
    f->pulling = false;
    if (count > 0) {
        f->beat = false;
        f->last_ms = tally_clock_us() / 1000;
        return (ssize_t)count;
    }
    if (count < 0 || f->ending) {
        return MHD_CONTENT_READER_END_OF_STREAM;
    }
    if (f->beat && room >= HEARTBEAT_LEN) {
        return give_heartbeat(f, buf);
    }
    MHD_suspend_connection(f->connection);
    f->suspended = true;
    if (f->woken) {
        go_on(f);
    }
    return 0;
}

struct MHD_Response *feed_response(struct feed *f)
{
    return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, FEED_BLOCK_BYTES, give_bytes, f,
                                             NULL);
}

void feed_tick(struct feed *f, int fd, int64_t now_ms)
{
    struct pollfd state = {.fd = fd, .events = POLLRDHUP};

    if (!f->suspended) {
        return;
    }
    if (poll(&state, 1, 0) > 0) {
        f->gone = true;
        go_on(f);
    } else if (f->events && now_ms - f->last_ms >= f->heartbeat_ms) {
        f->beat = true;
        go_on(f);
    }
}

void feed_end(struct feed *f)
{
    f->ending = true;
    go_on(f);
}
