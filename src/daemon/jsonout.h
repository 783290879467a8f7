/* jsonout - values as the API writes them: ids and units as decimal text, units also as GPUs. */
#ifndef MUSTER_DAEMON_JSONOUT_H
#define MUSTER_DAEMON_JSONOUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

void jsonout_text(json_t *o, const char *key, const char *text); /* NULL as "" */
void jsonout_id(json_t *o, const char *key, int64_t id);         /* 0 as null */
void jsonout_big(json_t *o, const char *key, int64_t value);     /* decimal text: past 2^53 */
void jsonout_int(json_t *o, const char *key, int64_t value);
void jsonout_bool(json_t *o, const char *key, bool value);
/* KEY_gu and KEY_gpus; INT64_MAX and below 0 = no limit: null. */
void jsonout_gu(json_t *o, const char *key, int64_t gu);
/* A time, null when 0. */
void jsonout_ms(json_t *o, const char *key, int64_t ms);
/* A list of ids. */
json_t *jsonout_ids(const int64_t *ids, size_t count);

#endif
