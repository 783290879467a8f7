/* logstream - the log of a task as a stream: the ring of files from the oldest to the newest, and
 * on as it grows. */
#ifndef MUSTER_DAEMON_LOGSTREAM_H
#define MUSTER_DAEMON_LOGSTREAM_H

#include "backend/local/local.h"
#include "daemon/daemon.h"

struct logstream_ask {
    struct local_log log; /* age is not used */
    bool follow;          /* until the attempt has ended */
    int64_t tail;         /* only that many last lines; -1 = all */
    int64_t from;         /* bytes of what is kept to leave out */
};

struct service_stream *logstream_new(struct daemon *d, const struct logstream_ask *ask);

#endif
