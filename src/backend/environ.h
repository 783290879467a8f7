/* environ - the environment of a task: MUSTER_*, the usual variables of distributed training, those
 * that scripts written for Slurm read, and the account's own.
 *
 * Later settings win: the account's, then the job's allowlisted ones, then ours, so that a job
 * cannot give itself another rank or another GPU.
 */
#ifndef MUSTER_BACKEND_ENVIRON_H
#define MUSTER_BACKEND_ENVIRON_H

#include "backend/backend.h"

#include <stdbool.h>
#include <stddef.h>

struct environ_list { /* "NAME=value", ends with NULL */
    char **items;
    size_t count;
    size_t room;
};

/* What a task sees of its place in the job.  Tasks are ranked by their number; a node's rank is the
 * order in which the tasks come to it. */
struct environ_place {
    int64_t rank;
    int64_t world_size;
    int64_t local_rank;
    int64_t local_size;
    int64_t node_rank;
    int64_t node_count;
    const struct backend_node *node;
};

struct environ_files { /* paths; NULL or "" = none */
    const char *checkpoint_dir;
    const char *status_file;
    const char *tasks_file;
    const char *token_file;
    const char *preempt_file;
    const char *socket;
};

struct environ_account {
    const char *user;
    const char *home;
    const char *shell;
};

struct environ_input {
    const struct backend_job *job;
    size_t index; /* of the task in job->tasks */
    struct environ_account account;
    struct environ_files files;
    const char *master_addr;
    int64_t master_port;
};

/* The place of job->tasks[index]. */
void environ_place_of(const struct backend_job *job, size_t index, struct environ_place *ret);

/* The value of CUDA_VISIBLE_DEVICES: UUIDs of real cards and slices; indices of simulated cards,
 * "MIG-SIM-NODE-SLOT-START-PROFILE" for simulated slices; "" without a GPU, so that a task sees no
 * card that it does not hold.  Free with mem_free. */
char *environ_devices(const struct fact_grant *task, const struct backend_node *node);

/* Everything. */
void environ_build(const struct environ_input *in, struct environ_list *ret);

/* Set one, in the place of what had the name. */
void environ_set(struct environ_list *list, const char *name, const char *value);
/* NULL if it is not set. */
const char *environ_get(const struct environ_list *list, const char *name);
void environ_fini(struct environ_list *list);

#endif
