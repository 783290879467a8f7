/* scene_expect - what the writer of a scenario knows to be right, checked where it is said:
 *   expect JOB STATE [attempt=] [tasks=] [stopping=] [nodes=n1,n2] [nominated=n2|none] [deadline=]
 *          [reserved=] [borrowed=] [preemptions=] [retries=] [code=why.x] [latest=] [earliest=]
 *   expect-queue QUEUE [used=] [lent=] [available=] [waiting=]
 *   expect-node NODE up|unknown|lost
 */
#ifndef MUSTER_SIM_SCENE_EXPECT_H
#define MUSTER_SIM_SCENE_EXPECT_H

#include "base/str.h"
#include "sim/scene_text.h"
#include "sim/words.h"
#include "sim/world.h"

/* Each adds one line to ret for each thing that is not so. */
void scene_expect_job(struct world *w, const struct scene_text *t, struct words *words,
                      struct str *ret);
void scene_expect_queue(struct world *w, struct words *words, struct str *ret);
void scene_expect_node(struct world *w, struct words *words, struct str *ret);

#endif
