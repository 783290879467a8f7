/* scene_text - decisions and explanations as lines for people, for scenarios and reports:
 *   0 start A1.1 on n1:0-7 n2:0-3, 8 reserved + 4 borrowed (borrow)
 *   100 claim n2:0-7 for B1 (entitled): A1 stops by 160, 1200 GPU s lost
 * Times are seconds since the beginning of the scenario.
 */
#ifndef MUSTER_SIM_SCENE_TEXT_H
#define MUSTER_SIM_SCENE_TEXT_H

#include "base/str.h"
#include "core/why.h"
#include "sim/roll.h"

struct scene_text {
    const struct roll *roll;
    int64_t zero_ms; /* the time that is 0 */
};

/* Seconds, with as many decimals as are needed. */
void scene_text_time(const struct scene_text *t, int64_t at_ms, struct str *ret);
/* A line for a decision; nothing for what the world did. */
void scene_text_fact(const struct scene_text *t, const struct fact *fact, struct str *ret);
void scene_text_why(const struct scene_text *t, const struct why *why, int64_t now_ms,
                    struct str *ret);

#endif
