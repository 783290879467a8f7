/* benchhttp - a client of many connections for benchmarks: HTTP/1.1 with keep-alive over a unix
 * socket, one request in flight on each connection, one thread, epoll.
 *
 * Not a general client: it reads only answers with a Content-Length, as musterd's API gives them.
 */
#ifndef MUSTER_BENCH_BENCHHTTP_H
#define MUSTER_BENCH_BENCHHTTP_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct benchhttp;

/* An answer: status 0 = the connection ended before it came. */
typedef void benchhttp_each(void *ctx, size_t connection, int status, const char *body, size_t len);

/* Opens all connections.  ERR_IO. */
MUST_CHECK int benchhttp_open(const char *socket_path, size_t count, benchhttp_each *each,
                              void *ctx, struct benchhttp **ret, struct err *err);
void benchhttp_close(struct benchhttp *h);

/* A POST with this JSON body, or a GET where it is NULL.  False: the connection has ended. */
bool benchhttp_send(struct benchhttp *h, size_t connection, const char *path, const char *body);
/* Take what has come, waiting at most this long for the first of it. */
void benchhttp_poll(struct benchhttp *h, int wait_ms);
size_t benchhttp_in_flight(const struct benchhttp *h);

/* One request on a connection of its own; the status, 0 = no answer.  ret may be NULL. */
int benchhttp_ask(const char *socket_path, const char *path, const char *body, struct str *ret);

#endif
