/* scene_site - the lines of a scenario that say what the site is:
 *   levels block rack
 *   pool NAME [share_within=top|user|any] [mixed] [cpu_per_gpu=2]
 *   node NAME gpus=8 [pool=] [model=] [mig] [cpu=] [memory=] [label.KEY=VALUE] [LEVEL=DOMAIN]
 *   queue NAME [parent=] [reserved= limit= lend= borrow=] [POOL.reserved= …] [weight=] [state=]
 *         [reclaim=] [preempt_within=] [order=] [grace=] [min_run=] …
 *   set [fair_share=] [consolidation=] [overcommit=] [node_lost=] …
 *   drop node NAME | drop queue NAME
 * The same lines, given again later, change what is there: what they do not name stays.
 */
#ifndef MUSTER_SIM_SCENE_SITE_H
#define MUSTER_SIM_SCENE_SITE_H

#include "sim/site.h"
#include "sim/words.h"

/* Take the line if its verb is one of these; the verb was taken by the caller.  False: it is none
 * of them.  Failures are with the words. */
bool scene_site_line(struct site *s, const char *verb, struct words *w);

#endif
