/* route - a walk over some forty rows: a table in a cache line or two beats a tree here, and the
 * order of SERVICE_TABLE stays free. */
#include "http/route.h"

#include "base/check.h"
#include "http/request.h"

#include <stdio.h>
#include <string.h>

static const struct route_row ROWS[ROUTE_COUNT] = {
#define ROUTE_ROW(op, method, path, role, body)                                                    \
    [SERVICE_##op] = {#op, (method), (path), (role), (body)},
    SERVICE_TABLE(ROUTE_ROW)
#undef ROUTE_ROW
        [ROUTE_HEALTHZ] = {"HEALTHZ", "GET", "/healthz", 0, false},
    [ROUTE_METRICS] = {"METRICS", "GET", "/metrics", 0, false},
    [ROUTE_OPENAPI] = {"OPENAPI", "GET", "/openapi.json", 0, false},
};

const struct route_row *route_row(int row)
{
    CHECK(row >= 0 && row < ROUTE_COUNT);
    return &ROWS[row];
}

/* Does path fit pattern, whose one parameter is a whole segment?  The raw parameter is lent. */
static bool fits(const char *pattern, const char *path, const char **ret_param, size_t *ret_len)
{
    const char *brace = strchr(pattern, '{');
    const char *rest;
    size_t before;
    size_t len;

    if (brace == NULL) {
        *ret_len = 0;
        return strcmp(pattern, path) == 0;
    }
    before = (size_t)(brace - pattern);
    if (strncmp(pattern, path, before) != 0) {
        return false;
    }
    rest = strchr(brace, '}') + 1;
    len = strcspn(path + before, "/");
    if (len == 0 || strcmp(path + before + len, rest) != 0) {
        return false;
    }
    *ret_param = path + before;
    *ret_len = len;
    return true;
}

static bool is_pattern(int row)
{
    return strchr(ROWS[row].path, '{') != NULL;
}

static bool is_fixed_path(const char *path)
{
    for (int row = 0; row < ROUTE_COUNT; row++) {
        if (strcmp(ROWS[row].path, path) == 0) {
            return true;
        }
    }
    return false;
}

int route_find(const char *method, const char *path, struct route *ret, struct err *err)
{
    bool fixed = is_fixed_path(path);
    bool seen = false;

    for (int row = 0; row < ROUTE_COUNT; row++) {
        const char *param = "";
        size_t len = 0;

        if ((fixed && is_pattern(row)) || !fits(ROWS[row].path, path, &param, &len)) {
            continue;
        }
        seen = true;
        if (strcmp(ROWS[row].method, method) != 0) {
            continue;
        }
        if (len > ROUTE_TARGET_MAX) {
            return err_set(err, ERR_RANGE, "a path parameter of %zu bytes: %d is the most", len,
                           ROUTE_TARGET_MAX);
        }
        *ret = (struct route){.row = row};
        return request_decode(param, len, false, ret->target, err);
    }
    if (!seen) {
        return err_set(err, ERR_NOT_FOUND, "there is no \"%.120s\"; /openapi.json lists what is",
                       path);
    }
    return err_set(err, ERR_METHOD, "\"%.120s\" does not take %.16s", path, method);
}

void route_allow(const char *path, char *ret)
{
    bool fixed = is_fixed_path(path);
    size_t used = 0;

    ret[0] = '\0';
    for (int row = 0; row < ROUTE_COUNT; row++) {
        const char *param;
        size_t len;

        if ((fixed && is_pattern(row)) || !fits(ROWS[row].path, path, &param, &len)) {
            continue;
        }
        used += (size_t)snprintf(ret + used, ROUTE_ALLOW_MAX - used, "%s%s", used > 0 ? ", " : "",
                                 ROWS[row].method);
        CHECK(used < ROUTE_ALLOW_MAX);
    }
}
