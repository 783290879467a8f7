/* eventlog - the open streams of events: each reads the journal from its own place, so a slow
 * reader costs one buffer and loses nothing.  The newest records are kept in memory as they are
 * sent, so that a thousand readers cost one reading; and the more there are, the more seldom they
 * are woken (a thousand: each 50 ms). */
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
/* A durable record has come, in order. */
void eventlog_add(struct eventlog *l, const struct journal_record *record);
/* New records are durable: wake who waits, now or soon. */
void eventlog_wake(struct eventlog *l);
/* Wake all now: musterd stops. */
void eventlog_wake_all(struct eventlog *l);

/* The journal as NDJSON from a seq on, piece by piece. */
struct service_stream *eventlog_export(struct daemon *d, int64_t from_seq);

#endif
