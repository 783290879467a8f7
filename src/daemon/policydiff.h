/* policydiff - how two policies differ, setting by setting, in words for people. */
#ifndef MUSTER_DAEMON_POLICYDIFF_H
#define MUSTER_DAEMON_POLICYDIFF_H

#include "core/policy.h"

#include <jansson.h>

/* A list of {"what": "queues.research.grace", "from": "60s", "to": "90s"}; "" = was not there. from
 * may be NULL. */
json_t *policydiff_changes(const struct policy *from, const struct policy *to);

#endif
