/* logring - a log that cannot fill the disk: FILE, FILE.1 … FILE.(files - 1), the newest first.
 *
 * When FILE has file_bytes bytes it becomes FILE.1 and the oldest goes; together they never hold
 * more than file_bytes × files.  What goes with the oldest is counted.  Bytes that the disk refuses
 * are dropped and counted: a full disk must not stop a task.
 */
#ifndef MUSTER_LOCAL_LOGRING_H
#define MUSTER_LOCAL_LOGRING_H

#include "base/err.h"

#include <stddef.h>
#include <sys/types.h>

struct logring_limits {
    int64_t file_bytes;
    int64_t files;
    uid_t uid; /* owner of the files */
    gid_t gid;
};

struct logring;

/* dir is lent for the life of the ring.  ERR_IO. */
MUST_CHECK int logring_open(int dir, const char *name, const struct logring_limits *limits,
                            struct logring **ret, struct err *err);
void logring_write(struct logring *r, const char *data, size_t len);
int64_t logring_dropped(const struct logring *r);
/* Bytes that made way for newer ones. */
int64_t logring_overwritten(const struct logring *r);
void logring_close(struct logring *r);

#endif
