/* tally - fixed arrays, no map: rows are known, and statuses come from one list whose last entry
 * stands for all others.  The bounds go from a query in memory to a commit on a slow disk. */
#include "http/tally.h"

#include "base/check.h"
#include "base/mem.h"
#include "http/route.h"

#include <ctype.h>
#include <inttypes.h>
#include <time.h>

#define ROW_COUNT (ROUTE_COUNT + 1) /* the last is "no row" */

static const int STATUSES[] = {200, 201, 400, 401, 403, 404, 405, 408, 409, 413,
                               415, 422, 500, 501, 502, 503, 504, 507, 0};
#define STATUS_COUNT ARRAY_LEN(STATUSES)

static const int64_t BOUNDS_US[] = {100,     250,     500,     1000,    2500,   5000,
                                    10000,   25000,   50000,   100000,  250000, 500000,
                                    1000000, 2500000, 5000000, 10000000};
#define BOUND_COUNT ARRAY_LEN(BOUNDS_US)

struct row_tally {
    uint64_t by_status[STATUS_COUNT];
    uint64_t buckets[BOUND_COUNT]; /* not cumulative */
    uint64_t timed;
    int64_t sum_us;
};

struct tally {
    struct row_tally rows[ROW_COUNT];
    int64_t connections;
    uint64_t accepted;
    uint64_t refused;
};

struct tally *tally_new(void)
{
    return mem_new(1, sizeof(struct tally));
}

void tally_free(struct tally *t)
{
    mem_free(t);
}

void tally_request(struct tally *t, int row, int status, int64_t took_us)
{
    struct row_tally *r = &t->rows[row < 0 ? ROUTE_COUNT : row];
    size_t at = 0;

    CHECK(row < ROUTE_COUNT);
    while (at < STATUS_COUNT - 1 && STATUSES[at] != status) {
        at++;
    }
    r->by_status[at]++;
    if (took_us < 0) {
        return;
    }
    r->timed++;
    r->sum_us += took_us;
    for (size_t i = 0; i < BOUND_COUNT; i++) {
        if (took_us <= BOUNDS_US[i]) {
            r->buckets[i]++;
            break;
        }
    }
}

void tally_connection(struct tally *t, int change)
{
    t->connections += change;
    if (change > 0) {
        t->accepted++;
    }
    CHECK(t->connections >= 0);
}

void tally_refused(struct tally *t)
{
    t->refused++;
}

static void add_op(struct str *out, int row)
{
    const char *name = row == ROUTE_COUNT ? "none" : route_row(row)->name;

    for (; *name != '\0'; name++) {
        str_add_char(out, (char)tolower((unsigned char)*name));
    }
}

/* Seconds as exact decimal text. */
static void add_seconds(struct str *out, int64_t us)
{
    str_addf(out, "%" PRId64 ".%06" PRId64, us / 1000000, us % 1000000);
}

static void add_counts(const struct tally *t, struct str *out)
{
    str_add(out, "# HELP muster_http_requests_total Requests by operation and HTTP status (0: the "
                 "client left first, or a rare status).\n"
                 "# TYPE muster_http_requests_total counter\n");
    for (int row = 0; row < ROW_COUNT; row++) {
        for (size_t i = 0; i < STATUS_COUNT; i++) {
            if (t->rows[row].by_status[i] == 0) {
                continue;
            }
            str_add(out, "muster_http_requests_total{op=\"");
            add_op(out, row);
            str_addf(out, "\",code=\"%d\"} %" PRIu64 "\n", STATUSES[i], t->rows[row].by_status[i]);
        }
    }
}

static void add_histogram(const struct tally *t, int row, struct str *out)
{
    const struct row_tally *r = &t->rows[row];
    uint64_t sum = 0;

    for (size_t i = 0; i < BOUND_COUNT; i++) {
        sum += r->buckets[i];
        str_add(out, "muster_http_request_seconds_bucket{op=\"");
        add_op(out, row);
        str_add(out, "\",le=\"");
        add_seconds(out, BOUNDS_US[i]);
        str_addf(out, "\"} %" PRIu64 "\n", sum);
    }
    str_add(out, "muster_http_request_seconds_bucket{op=\"");
    add_op(out, row);
    str_addf(out, "\",le=\"+Inf\"} %" PRIu64 "\nmuster_http_request_seconds_sum{op=\"", r->timed);
    add_op(out, row);
    str_add(out, "\"} ");
    add_seconds(out, r->sum_us);
    str_add(out, "\nmuster_http_request_seconds_count{op=\"");
    add_op(out, row);
    str_addf(out, "\"} %" PRIu64 "\n", r->timed);
}

void tally_text(const struct tally *t, struct str *out)
{
    add_counts(t, out);
    str_add(out, "# HELP muster_http_request_seconds From the request line to the answer.\n"
                 "# TYPE muster_http_request_seconds histogram\n");
    for (int row = 0; row < ROW_COUNT; row++) {
        if (t->rows[row].timed > 0) {
            add_histogram(t, row, out);
        }
    }
    str_addf(out,
             "# HELP muster_http_connections Open connections.\n"
             "# TYPE muster_http_connections gauge\n"
             "muster_http_connections %" PRId64 "\n"
             "# HELP muster_http_connections_total Connections taken.\n"
             "# TYPE muster_http_connections_total counter\n"
             "muster_http_connections_total %" PRIu64 "\n"
             "# HELP muster_http_connections_refused_total Connections turned away: too many.\n"
             "# TYPE muster_http_connections_refused_total counter\n"
             "muster_http_connections_refused_total %" PRIu64 "\n",
             t->connections, t->accepted, t->refused);
}

int64_t tally_clock_us(void)
{
    struct timespec now;

    CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}
