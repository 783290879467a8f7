/* waiting - calls that come while a batch is on its way to the disk.
 *
 * The core is then ahead of the journal by that batch, and what it says may never come true.  So
 * calls wait until the batch is durable (or the core was replayed) and are answered before the next
 * one begins: no answer shows what is not durable.  A submission is begun at once, as its own
 * answer comes later anyway; if it would be answered at once (refused), it waits and is made again.
 */
#ifndef MUSTER_DAEMON_WAITING_H
#define MUSTER_DAEMON_WAITING_H

#include "daemon/services.h"

struct waiting;

struct waiting *waiting_new(void);
/* Calls that still wait are not answered any more. */
void waiting_free(struct waiting *w);

/* Begin a submission ahead of the disk. */
void waiting_ahead(struct waiting *w, struct daemon *d, const struct asked *a,
                   service_handler *handler);
/* Have the call wait. */
void waiting_add(struct waiting *w, const struct asked *a, service_handler *handler);
/* The batch has ended: make the calls. */
void waiting_run(struct waiting *w, struct daemon *d);

#endif
