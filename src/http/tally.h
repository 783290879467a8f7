/* tally - HTTP's own metrics: requests by operation and status, how long they took, connections.
 *
 * A request is counted when its answer has left (or its client has).  Streams are counted, not
 * timed: their length says nothing about the server.
 */
#ifndef MUSTER_HTTP_TALLY_H
#define MUSTER_HTTP_TALLY_H

#include "base/str.h"

#include <stdint.h>

struct tally;

struct tally *tally_new(void);
void tally_free(struct tally *t);

/* row as in route.h, -1 = no row (404, a bad request); status 0 = the client went away first;
 * took_us < 0 = not timed. */
void tally_request(struct tally *t, int row, int status, int64_t took_us);
/* One more (1) or one less (-1) connection. */
void tally_connection(struct tally *t, int change);
/* A connection that was turned away. */
void tally_refused(struct tally *t);

/* Append Prometheus text. */
void tally_text(const struct tally *t, struct str *out);

/* Microseconds of CLOCK_MONOTONIC. */
int64_t tally_clock_us(void);

#endif
