/* siterows - the tables of all settings of the configuration file, and the structs they fill.
 *
 * What stands here is what was written, with defaults but before names are resolved; policyfile
 * makes the policy from it. */
#ifndef MUSTER_CONFIG_SITEROWS_H
#define MUSTER_CONFIG_SITEROWS_H

#include "config/settings.h"
#include "core/policy.h"

enum site_simulated { SIMULATED_NO, SIMULATED_YES, SIMULATED_AUTO };

struct site_daemon {
    struct settings_head head;
    const char *socket; /* "" = by the account */
    const char *listen; /* "127.0.0.1:PORT", "" = none */
    const char *state;  /* "" = by the account */
};

struct site_cluster {
    struct settings_head head;
    const char *name;
    const char *timezone;
    struct settings_list levels; /* of settings_pair */
    int fair_share;
    bool consolidation;
    bool overcommit;
    int64_t node_lost;
    int64_t restart_cost;
    int64_t ended_jobs;
    int64_t retries;
    int64_t backoff;
    int64_t usage_half_life;
};

struct site_charge {
    struct settings_head head;
    const char *model;
    const char *profile;
    int64_t gpus;
};

struct site_node {
    struct settings_head head;
    const char *name; /* may hold one [1-7,9] */
    int64_t gpus;
    const char *model;
    bool mig;
    int simulated; /* enum site_simulated */
    int64_t cpus;  /* 0 = as many as the machine has */
    int64_t memory;
    struct settings_list labels;
    struct settings_list domains;
};

struct site_pool {
    struct settings_head head;
    const char *name;
    int share_within;
    bool mixed;
    int64_t cpu_per_gpu;
    struct settings_list nodes; /* of site_node */
};

struct site_queue {
    struct settings_head head;
    const char *name;
    struct settings_list reserved; /* of settings_pair: pool, GPU units */
    struct settings_list limit;
    struct settings_list lend;
    struct settings_list borrow;
    int64_t weight;
    int64_t priority_max;
    int reclaim;
    int preempt_within;
    int order;
    int sandbox;
    int state;
    int64_t grace;
    int64_t grace_max;
    int64_t min_run;
    bool min_run_binds_all;
    int64_t drain_after;
    int64_t gang_repair;
    int64_t stop_stuck;
    int64_t start_timeout;
    bool nonpreemptible_may_borrow;
    struct settings_list pools;
    struct settings_list members;
    struct settings_list queues; /* of site_queue */
};

struct site_class {
    struct settings_head head;
    bool preemptible;
    int64_t grace;
    int64_t time_limit;
};

struct site_classes {
    struct settings_head head;
    struct site_class training;
    struct site_class service;
    struct site_class workspace;
};

struct site_user {
    struct settings_head head;
    const char *name;
    const char *account;
    const char *subject;
    struct settings_list roles;
    struct settings_list queues;
};

struct site {
    struct settings_head head;
    struct site_daemon daemon;
    struct site_cluster cluster;
    struct settings_list pools;
    struct settings_list queues;
    struct site_classes classes;
    struct settings_list users;
    struct settings_list unknown_users; /* queues; empty = refused */
    struct settings_list charges;
};

extern const struct settings_table SITE_ROWS;
extern const struct settings_table SITE_CLUSTER_ROWS;
extern const struct settings_table SITE_POOL_ROWS;
extern const struct settings_table SITE_NODE_ROWS;
extern const struct settings_table SITE_QUEUE_ROWS;
extern const struct settings_table SITE_CLASS_ROWS;
extern const struct settings_table SITE_USER_ROWS;

#endif
