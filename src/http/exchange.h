/* exchange - one request and its answer, between libmicrohttpd and the service.
 *
 * MHD calls in this order: exchange_new (request line), exchange_step (headers; each piece of the
 * body; its end; again after a resume), exchange_free (answer sent, or client gone).  A call that
 * the daemon has not answered by then lives on until it does.
 */
#ifndef MUSTER_HTTP_EXCHANGE_H
#define MUSTER_HTTP_EXCHANGE_H

#include "http/auth.h"
#include "http/feed.h"
#include "http/service.h"
#include "http/tally.h"

#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct exchange;

/* What all exchanges of a server share; must live as long as they, or until exchange_free. */
struct exchange_env {
    const struct service *service;
    struct tally *tally;
    struct feed_loop loop;
    const char *const *hosts;
    size_t host_count;
    size_t body_bytes_max;
    int64_t request_ms_max; /* from the request line to the last byte of the body */
    int64_t answer_ms_max;  /* to send an answer that is not a stream */
    int64_t heartbeat_ms;
    bool metrics_auth;
    bool stopping; /* answer with Connection: close */
    uint32_t id_seed;
    uint64_t id_next;
    struct exchange *spare; /* of requests that are over, to be used again */
    int spare_count;
};

/* Free what is kept for other requests; there are none any more. */
void exchange_env_fini(struct exchange_env *env);

/* uri is as the client wrote it, with its query. */
struct exchange *exchange_new(struct exchange_env *env, const struct auth_peer *peer,
                              struct MHD_Connection *connection, const char *uri);
void exchange_free(struct exchange *x);

enum MHD_Result exchange_step(struct exchange *x, const char *method, const char *data,
                              size_t *len);

/* The request is not here whole yet. */
bool exchange_is_reading(const struct exchange *x);
bool exchange_is_stream(const struct exchange *x);
/* When the connection is to be cut, in ms of tally_clock_us; INT64_MAX = never. */
int64_t exchange_deadline_ms(const struct exchange *x);
/* Now and then, for streams. */
void exchange_tick(struct exchange *x, int fd, int64_t now_ms);
/* The server stops: a stream ends after what it has. */
void exchange_end_stream(struct exchange *x);
/* The server goes away now: a suspended connection must be resumed before MHD may stop. */
void exchange_let_go(struct exchange *x);

#endif
