/* opening - the parts of a start, in their order; each leaves what it opened in the daemon. */
#ifndef MUSTER_DAEMON_OPENING_H
#define MUSTER_DAEMON_OPENING_H

#include "daemon/daemon.h"

/* Paths, state directory, crash marks, content store, people. */
MUST_CHECK int opening_state(struct daemon *d, struct err *err);
/* Journal, replay, clock; frozen after two crashes at the same record. */
MUST_CHECK int opening_engine(struct daemon *d, struct err *err);
/* The backend of this machine; what runs is adopted. */
MUST_CHECK int opening_backend(struct daemon *d, struct err *err);
/* The policy of the file, if the file has changed since it was read last.  A refusal is journaled
 * and leaves the policy in force; ERR_ is returned only where there is none. */
MUST_CHECK int opening_policy(struct daemon *d, struct err *err);
MUST_CHECK int opening_server(struct daemon *d, struct err *err);

/* Does a record of this kind show that musterd got on?  Its own starts and what it sees at each of
 * them do not. */
bool opening_is_progress(enum fact_kind kind);

#endif
