/* client - HTTP to musterd, over the local socket or TCP.
 *
 * Where it goes: MUSTER_SERVER (https, or http on loopback) with a token from MUSTER_TOKEN or the
 * token file, else MUSTER_SOCKET, else the first of the usual sockets that exists.  A token is
 * never sent over plain HTTP to another machine, and a token file that others can read is refused.
 *
 * Calls wait for the whole answer; streams (logs, events) are moved by client_poll, all at once.
 */
#ifndef MUSTER_CLI_CLIENT_H
#define MUSTER_CLI_CLIENT_H

#include "base/err.h"
#include "base/str.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct client;
struct client_stream;

/* What client_open may be told instead of reading the environment; NULL = from there. */
struct client_where {
    const char *socket;
    const char *token_file;
    int64_t timeout_ms; /* for one call, 0 = 30 s */
};

MUST_CHECK int client_open(const struct client_where *where, struct client **ret, struct err *err);
void client_close(struct client *c);

/* body may be NULL.  ret may be NULL; the caller owns *ret, which is NULL for an empty answer. The
 * codes are those of problem+json, ERR_UNREACHABLE, ERR_TIMEOUT, ERR_INTERNAL (no JSON). */
MUST_CHECK int client_call(struct client *c, const char *method, const char *path,
                           const json_t *body, json_t **ret, struct err *err);
/* POST with an idempotency key: asked again when the connection breaks, done once. */
MUST_CHECK int client_call_once(struct client *c, const char *path, const json_t *body,
                                json_t **ret, struct err *err);
/* The field that the last problem named, "" = none. */
const char *client_field(const struct client *c);
/* The address in words, for messages. */
const char *client_address(const struct client *c);

typedef void client_sink(void *arg, const char *data, size_t len);

/* Begin to read path; data goes to sink from within client_poll.  last_event_id may be NULL. */
struct client_stream *client_stream_open(struct client *c, const char *path,
                                         const char *last_event_id, client_sink *sink, void *arg);
void client_stream_close(struct client_stream *s);
bool client_stream_ended(const struct client_stream *s);
/* Of an ended stream: 0 when it was complete, else why not. */
int client_stream_result(const struct client_stream *s, struct err *err);
/* Move all streams; returns after timeout_ms, or when one moved, or when fd (-1 = none) has input.
 */
void client_poll(struct client *c, int fd, int timeout_ms);

/* Read one stream to its end. */
MUST_CHECK int client_read(struct client *c, const char *path, client_sink *sink, void *arg,
                           struct err *err);

/* Append one path element or one query parameter, percent-encoded. */
void path_add(struct str *path, const char *element);
void path_add_query(struct str *path, const char *name, const char *value);

/* What a problem+json answer says; ret_field has room for field_room bytes.  Always fails. */
int client_problem(long status, const char *text, size_t len, char *ret_field, size_t field_room,
                   struct err *err);

#endif
