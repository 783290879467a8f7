/* local_checkpoint - the checkpoints that an attempt renames into MUSTER_CHECKPOINT_DIR.
 *
 * Each is told with its true time, but a job that renames without end must not fill the journal:
 * beyond a burst one a second is told, and of those that wait the newest are kept.
 */
#ifndef MUSTER_LOCAL_LOCAL_CHECKPOINT_H
#define MUSTER_LOCAL_LOCAL_CHECKPOINT_H

#include "backend/local/local_attempt.h"

/* made_ms of the attempt is set. */
void local_checkpoint_init(struct local_attempt *a);
void local_checkpoint_fini(struct local_attempt *a);

/* A name was renamed into the directory.  Hidden names are none. */
void local_checkpoint_seen(struct local_attempt *a, const char *name);

/* Tell those that wait now: the attempt has begun, or a task ends. */
void local_checkpoint_flush(struct local_attempt *a);

/* Look for the newest one that was made in this attempt and not told by this object: after a
 * restart, or when events were lost. */
void local_checkpoint_scan(struct local_attempt *a);

#endif
