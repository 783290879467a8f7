/* eventlog - the open streams of events: each reads the journal from its own place, so a slow
 * reader costs one buffer and loses nothing. */
#ifndef MUSTER_DAEMON_EVENTLOG_H
#define MUSTER_DAEMON_EVENTLOG_H

#include "daemon/daemon.h"

#define EVENTLOG_STREAMS_MAX 1000

struct eventlog;

struct eventlog *eventlog_new(struct daemon *d);
void eventlog_free(struct eventlog *l);

struct eventlog_filter {
    int64_t from_seq;
    int64_t job;         /* 0 = all */
    enum fact_kind kind; /* FACT_NONE = all */
};

/* ERR_BUSY: there are too many. */
MUST_CHECK int eventlog_stream(struct eventlog *l, const struct eventlog_filter *filter,
                               struct service_stream **ret, struct err *err);
/* New records are durable: wake who waits. */
void eventlog_wake(struct eventlog *l);

/* The journal as NDJSON from a seq on, piece by piece. */
struct service_stream *eventlog_export(struct daemon *d, int64_t from_seq);

#endif
