/* server - the HTTP API on a unix socket and on loopback TCP, within a libevent loop.
 *
 * One thread: everything here, and every call of the service, happens on the loop's thread.  The
 * daemon makes a server, runs its loop, and at the end server_stop: no new connections; idle ones
 * are closed; calls in flight are answered; streams end after what they have; then `stopped` is
 * called (at the latest after stop_ms_max) and the daemon calls server_free.
 */
#ifndef MUSTER_HTTP_SERVER_H
#define MUSTER_HTTP_SERVER_H

#include "base/err.h"
#include "http/service.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_base;
struct server;

struct server_config {        /* all 0: the defaults, and no socket */
    const char *unix_path;    /* NULL or "" = none */
    unsigned unix_mode;       /* 0 = 0666 */
    const char *tcp;          /* "127.0.0.1:8270", port 0 = a free one; NULL or "" = none */
    bool tcp_any;             /* an address that is not loopback is meant */
    const char *const *hosts; /* further names in Host that are this server's; lent */
    size_t host_count;
    bool metrics_auth;             /* /metrics needs the role read */
    size_t body_bytes_max;         /* 1 MiB */
    unsigned connections_max;      /* 2,048, see CONN_KEPT_PART */
    unsigned connections_peer_max; /* of one uid or one address: 512 */
    int64_t request_ms_max;        /* 30,000: a whole request, however it dribbles in */
    int64_t idle_ms_max;           /* 60,000: between requests, and a reader that takes nothing */
    int64_t answer_ms_max;         /* 120,000: to take an answer that is not a stream */
    int64_t heartbeat_ms;          /* 15,000 */
    int64_t stop_ms_max;           /* 10,000 */
};

/* config and its texts are lent for the life of the server (hosts) or the call (the rest); service
 * and base for the life of the server.  Errors: those of listener.h; ERR_INVALID: no socket at
 * all. */
MUST_CHECK int server_new(const struct server_config *config, const struct service *service,
                          struct event_base *base, struct server **ret, struct err *err);
/* Cuts what is left.  A call that is still unanswered may be answered later; nobody hears it. */
void server_free(struct server *s);

/* The real TCP port, 0 = no TCP. */
uint16_t server_port(const struct server *s);
unsigned server_connection_count(const struct server *s);

/* Stop gracefully; stopped(arg) is called once, from the loop, never within server_stop. */
void server_stop(struct server *s, void (*stopped)(void *arg), void *arg);

#endif
