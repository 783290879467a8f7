/* pick - what one node could take: how many tasks of a group, and which devices for the next. */
#ifndef MUSTER_CORE_PICK_H
#define MUSTER_CORE_PICK_H

#include "core/job.h"
#include "core/node.h"

struct core;

/* Does the job still keep away from the node at which it failed last? */
bool pick_avoids(const struct core *c, const struct job *job);

/* How many tasks of the group the node takes now (for slices and shares at least 1 if one fits). */
int64_t pick_count(const struct core *c, const struct job *job, const struct node *n,
                   const struct fact_group *want);

/* Choose the devices of one task; they live in the plan arena.  False: none fits. */
bool pick_devices(struct core *c, const struct job *job, const struct node *n,
                  const struct fact_group *want, struct lease_task *ret);

/* How many shares as the group asks for lie within so many units and bytes of one device. */
int64_t pick_shares_in(const struct fact_group *want, int64_t gu, int64_t memory_bytes);

/* Would the group leave less behind on a than on b?  Ties: the lower id. */
bool pick_is_tighter(const struct node *a, const struct node *b, const struct fact_group *want);

/* Charge of one slice of the profile on this device, -1 = it has none. */
int64_t pick_slice_gu(const struct core *c, const struct device *d, const char *profile);

/* Labels, model and allowed nodes: may the group ever be on this node? */
bool pick_node_suits(const struct node *n, const struct fact_group *want);

#endif
