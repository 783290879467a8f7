/* casefile - a neutral scheduling case: one JSON file with nodes, queues, jobs and the knobs that
 * it assumes, as a site and a list of jobs.  What a case expects is not read: a judge compares.
 */
#ifndef MUSTER_SIM_CASEFILE_H
#define MUSTER_SIM_CASEFILE_H

#include "base/err.h"
#include "sim/site.h"

struct case_slices { /* instances of one profile on a node */
    const char *profile;
    int64_t count;
};

struct case_node {
    const struct policy_node *row; /* name, whole cards, model, domains */
    int64_t gpus;
    struct case_slices *slices;
    size_t slice_count;
};

struct case_job {
    const char *name;
    int64_t queue;
    int64_t priority;
    int64_t submitted; /* order of age, smaller = older */
    int64_t pods;
    int64_t min_pods;
    int64_t gpus_per_pod;
    int64_t share_gu;    /* 0 = whole GPUs or slices */
    const char *profile; /* "" = none */
    int64_t charge_gu;   /* of one of its slices */
    bool preemptible;
    const char *model;
    const char *required;
    const char *preferred;
    const char **nodes;
    size_t node_count;
    bool running;
    const char **on; /* node of each running pod */
    size_t on_count;
    int64_t *gpu_index; /* of each running pod, for shares */
    size_t gpu_index_count;
};

struct casefile {
    const char *id;
    struct site site; /* without nodes: they are told as facts, see nodes */
    VEC(struct policy_node) rows;
    VEC(struct case_node) nodes;
    VEC(struct case_job) jobs; /* in the order of the file */
};

/* ERR_SYNTAX: not JSON (the text says where); ERR_INVALID: the text names the field. */
MUST_CHECK int casefile_read(const char *path, struct casefile *ret, struct err *err);
void casefile_fini(struct casefile *c);

#endif
