/* facttext - one line for people about a fact. */
#ifndef MUSTER_DAEMON_FACTTEXT_H
#define MUSTER_DAEMON_FACTTEXT_H

#include "base/str.h"
#include "core/view.h"
#include "daemon/people.h"

/* Names of queues, pools and nodes are those of now; people may be NULL. */
void facttext_write(const struct core *core, const struct people *people, const struct fact *fact,
                    struct str *ret);

#endif
