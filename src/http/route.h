/* route - from a method and a raw path to the row that answers.
 *
 * The rows are SERVICE_TABLE and three pages of HTTP's own.  A path is matched segment by segment
 * before it is decoded, so a "%2F" belongs to a parameter ("/v1/nodes/local%2Fn1" is the node
 * "local/n1").  A fixed path hides a pattern that would match it too: "/v1/journal/verify" is
 * never a record.
 */
#ifndef MUSTER_HTTP_ROUTE_H
#define MUSTER_HTTP_ROUTE_H

#include "base/err.h"
#include "http/service.h"

#include <stdbool.h>
#include <stddef.h>

/* Rows 0 .. SERVICE_OP_COUNT - 1 are those of SERVICE_TABLE. */
enum route_page { ROUTE_HEALTHZ = SERVICE_OP_COUNT, ROUTE_METRICS, ROUTE_OPENAPI, ROUTE_COUNT };

#define ROUTE_TARGET_MAX 255
#define ROUTE_ALLOW_MAX  64

struct route_row {
    const char *name; /* "JOB_LIST" */
    const char *method;
    const char *path;
    unsigned role; /* 0 = anyone, even unknown */
    bool body;     /* a JSON body must be there */
};

struct route {
    int row;
    char target[ROUTE_TARGET_MAX + 1]; /* decoded, "" = the path has no parameter */
};

/* The row; lent for ever. */
const struct route_row *route_row(int row);

/* path is without its query.  ERR_NOT_FOUND: no such path.  ERR_METHOD: there is, with other
 * methods (route_allow names them).  ERR_SYNTAX, ERR_RANGE: the parameter is not decent text. */
MUST_CHECK int route_find(const char *method, const char *path, struct route *ret, struct err *err);
/* The methods of path, "GET, POST"; ret has ROUTE_ALLOW_MAX bytes. */
void route_allow(const char *path, char *ret);

#endif
