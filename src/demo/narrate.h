/* narrate - a record of the journal as one short line: time since the story began, journal number,
 * what happened. */
#ifndef MUSTER_DEMO_NARRATE_H
#define MUSTER_DEMO_NARRATE_H

#include "demo/holdings.h"

#include <jansson.h>

/* Print the line, or nothing for records that tell nothing new (a task of many, a token).  The
 * holdings have taken the record. */
void narrate_record(const struct holdings *h, const json_t *record);

#endif
