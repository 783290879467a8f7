/* display - times, spans and foreign text as people read them. */
#ifndef MUSTER_CLI_DISPLAY_H
#define MUSTER_CLI_DISPLAY_H

#include "base/str.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* "2026-11-30T15:56:07Z", or with the zone's offset when local; "-" for 0. */
void display_time(struct str *out, int64_t ms, bool local);
/* "45s", "18m", "2h05m", "3d04h"; negative spans count as 0. */
void display_span(struct str *out, int64_t ms);
/* Text that others wrote: control characters become '?', so that it cannot move the cursor. */
void display_text(struct str *out, const char *text);

int64_t display_now_ms(void);

/* Members of an object; "" and 0 when absent or of another type.  An integer that came as a decimal
 * string is read too. */
const char *member_text(const json_t *object, const char *key);
int64_t member_int(const json_t *object, const char *key);
bool member_flag(const json_t *object, const char *key);
/* The members of a list, separated by commas: texts or numbers. */
void member_join(struct str *out, const json_t *list);

#endif
