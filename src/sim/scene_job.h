/* scene_job - the lines of a scenario that say what a job asks for and how it behaves:
 *   submit NAME queue= [class=] [preemptible=] [priority=] [limit=] [tasks= min= gpus= | mig=
 * slices= | share= share_memory= mps] [cpu= memory= model= required= preferred= nodes= label.K=V] …
 *   group tasks= gpus= …           a further group of the job on the line above
 *   behave NAME [run=] [status=] [stops=] [ignores-signal] [stuck] [start=] [refuses] …
 */
#ifndef MUSTER_SIM_SCENE_JOB_H
#define MUSTER_SIM_SCENE_JOB_H

#include "backend/virtual/virtual.h"
#include "core/fact.h"
#include "sim/site.h"
#include "sim/words.h"

#define SCENE_GROUPS_MAX 8

/* Fill all but id and groups; lists live in the arena of the words. */
void scene_job_words(struct site *s, struct words *w, struct fact_job_submitted *ret);
void scene_group_words(struct words *w, struct fact_group *ret);
/* Change what the words name. */
void scene_behaviour_words(struct words *w, struct virtual_behaviour *how);

#endif
