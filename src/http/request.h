/* request - reading what a client wrote: percent escapes, the query, the JSON body, ids.
 *
 * Everything here is strict: text that is not quite right is refused with the place, never mended.
 */
#ifndef MUSTER_HTTP_REQUEST_H
#define MUSTER_HTTP_REQUEST_H

#include "base/err.h"
#include "http/jsonin.h"
#include "http/service.h"

#include <stdbool.h>
#include <stddef.h>

#define REQUEST_DEPTH_MAX 32
#define REQUEST_ID_MAX    64
#define REQUEST_KEY_MAX   128

/* The parameters of a query, in its order.  Names and values point into text. */
struct request_query {
    char *text;
    struct service_param params[SERVICE_PARAM_MAX];
    size_t count;
};

/* Decode len bytes of %XX (and '+' as a space, if plus) into ret, which has room for len + 1.
 * ERR_SYNTAX: a broken escape, a control character, not UTF-8.  ret is scratch on failure. */
MUST_CHECK int request_decode(const char *from, size_t len, bool plus, char *ret, struct err *err);

/* Read "a=1&b=2".  "a" alone is a with "".  ERR_SYNTAX, ERR_RANGE (more than SERVICE_PARAM_MAX),
 * ERR_INVALID (a name twice).  The caller owns the result and ends it with request_query_fini. */
MUST_CHECK int request_query(const char *text, struct request_query *ret, struct err *err);
void request_query_fini(struct request_query *q);

/* One JSON object, which lives in the arena.  ERR_SYNTAX says line:column; ERR_INVALID: JSON, but
 * not an object; ERR_RANGE: nested deeper than REQUEST_DEPTH_MAX. */
MUST_CHECK int request_body(const char *bytes, size_t len, struct arena *arena,
                            const struct jsonin **ret, struct err *err);

/* NULL, "application/json", with or without charset=utf-8. */
bool request_is_json(const char *content_type);
/* [A-Za-z0-9._:-]{1,max}: safe in a header, a log and a journal. */
bool request_is_token(const char *text, size_t max);

#endif
