/* daemonmetrics - the daemon's own numbers in the Prometheus text format. */
#ifndef MUSTER_DAEMON_DAEMONMETRICS_H
#define MUSTER_DAEMON_DAEMONMETRICS_H

#include <jansson.h>

/* For http/service.h: ctx is the daemon; free *ret_text with mem_free. */
void daemonmetrics_text(void *ctx, json_t *unused, char **ret_text);

#endif
