/* filewatch - names that appear in directories: checkpoints renamed into place, status files
 * written.
 *
 * One inotify descriptor on the event loop.  A directory is watched for one key at a time; watching
 * it again gives it to the new key.
 */
#ifndef MUSTER_LOCAL_FILEWATCH_H
#define MUSTER_LOCAL_FILEWATCH_H

#include "base/err.h"

#include <event2/event.h>
#include <stdint.h>

struct filewatch;

struct filewatch_key {
    int64_t job;
    int64_t attempt;
    int64_t task; /* -1 = the job's checkpoint directory */
};

/* name was renamed into the directory of the key (a task's: or written there).  name NULL:
 * events were lost, look at everything. */
typedef void filewatch_seen(void *ctx, const struct filewatch_key *key, const char *name);

/* base and ctx are lent.  ERR_UNSUPPORTED: the system has no inotify instance left. */
MUST_CHECK int filewatch_new(struct event_base *base, filewatch_seen *seen, void *ctx,
                             struct filewatch **ret, struct err *err);
void filewatch_free(struct filewatch *w);

/* ERR_UNSUPPORTED: no watch is left (fs.inotify.max_user_watches). */
MUST_CHECK int filewatch_add(struct filewatch *w, int dir, const struct filewatch_key *key,
                             struct err *err);
void filewatch_remove(struct filewatch *w, const struct filewatch_key *key);

/* Tell at once what has been seen: before a task's end is told. */
void filewatch_drain(struct filewatch *w);

#endif
