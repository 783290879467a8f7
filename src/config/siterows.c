#include "config/siterows.h"

#include "base/check.h"
#include "base/quantity.h"

#include <stddef.h>

#define TIME_MAX_MS  ((int64_t)10 * 365 * 86400 * 1000) /* ten years: sums stay far from 2^63 */
#define GPUS_MAX_GU  (GU_PER_GPU * 1000000)
#define GPUS_A_NODE  64 /* what the core takes of whole cards */
#define CPU_MAX      ((int64_t)1000 * 1000000)
#define MEMORY_MAX   ((int64_t)1 << 60)
#define PRIORITY_MAX 1000000
#define RETRIES_MAX  1000
#define WEIGHT_MAX   1000000

static const char *const SIMULATED_NAMES[] = {"false", "true", "auto", NULL};

static const struct setting DAEMON_ROWS_LIST[] = {
    {"socket", SETTING_WORD, 0, offsetof(struct site_daemon, socket), NULL, NULL, 0, 0, NULL,
     "Unix socket that answers local callers; by default /run/muster/muster.sock for root, else "
     "muster/muster.sock in XDG_RUNTIME_DIR."},
    {"listen", SETTING_WORD, 0, offsetof(struct site_daemon, listen), NULL, NULL, 0, 0, NULL,
     "Loopback address and port for plain HTTP, e.g. 127.0.0.1:8470; none by default, TLS belongs "
     "to a proxy in front."},
    {"state", SETTING_WORD, 0, offsetof(struct site_daemon, state), NULL, NULL, 0, 0, NULL,
     "Directory of the journal and all other state; by default /var/lib/muster for root, else "
     "muster in XDG_STATE_HOME."},
};
static const struct settings_table DAEMON_ROWS = {"daemon section", sizeof(struct site_daemon),
                                                  DAEMON_ROWS_LIST, ARRAY_LEN(DAEMON_ROWS_LIST)};

static const struct setting SITE_CLUSTER_ROWS_LIST[] = {
    {"name", SETTING_NAME, 0, offsetof(struct site_cluster, name), NULL, NULL, 0, 0, "muster",
     "Name of the site."},
    {"timezone", SETTING_WORD, 0, offsetof(struct site_cluster, timezone), NULL, NULL, 0, 0, "UTC",
     "IANA time zone by which months are billed, e.g. Europe/Berlin."},
    {"levels", SETTING_NAMES, 0, offsetof(struct site_cluster, levels), NULL, NULL, 0, 0, NULL,
     "Topology levels, outermost first; below them always comes node."},
    {"fair_share", SETTING_ENUM, 0, offsetof(struct site_cluster, fair_share), NULL,
     FAIR_SHARE_NAMES, 0, 0, "weighted",
     "How borrowers share what is idle: by order only, by taking from richer borrowers, or by "
     "age."},
    {"consolidation", SETTING_BOOL, 0, offsetof(struct site_cluster, consolidation), NULL, NULL, 0,
     0, "false", "May a preemptible job be stopped and restarted elsewhere to make room?"},
    {"overcommit", SETTING_BOOL, 0, offsetof(struct site_cluster, overcommit), NULL, NULL, 0, 0,
     "false", "May reserves exceed the capacity of a pool?"},
    {"node_lost", SETTING_DURATION, 0, offsetof(struct site_cluster, node_lost), NULL, NULL, 0,
     TIME_MAX_MS, "5m", "A node that is unknown for this long is lost."},
    {"restart_cost", SETTING_DURATION, 0, offsetof(struct site_cluster, restart_cost), NULL, NULL,
     0, TIME_MAX_MS, "60s", "Added to the work lost when victims are compared."},
    {"retries", SETTING_INT, 0, offsetof(struct site_cluster, retries), NULL, NULL, 0, RETRIES_MAX,
     "2", "Retries of a failed job that states none."},
    {"backoff", SETTING_DURATION, 0, offsetof(struct site_cluster, backoff), NULL, NULL, 0,
     TIME_MAX_MS, "30s", "First wait after a failure, doubled each time."},
    {"usage_half_life", SETTING_DURATION_OFF, 0, offsetof(struct site_cluster, usage_half_life),
     NULL, NULL, 1000, TIME_MAX_MS, "off", "Usage decay that orders equals."},
    {"ended_jobs", SETTING_INT, 0, offsetof(struct site_cluster, ended_jobs), NULL, NULL, 1,
     POLICY_ENDED_JOBS_MAX, "4096",
     "So many ended jobs are remembered and listed; older ones are in the journal only."},
};
const struct settings_table SITE_CLUSTER_ROWS = {"cluster", sizeof(struct site_cluster),
                                                 SITE_CLUSTER_ROWS_LIST,
                                                 ARRAY_LEN(SITE_CLUSTER_ROWS_LIST)};

static const struct setting CHARGE_ROWS_LIST[] = {
    {"model", SETTING_WORD, SETTING_REQUIRED, offsetof(struct site_charge, model), NULL, NULL, 0, 0,
     NULL, "Model of the card, e.g. h100-80gb."},
    {"profile", SETTING_WORD, SETTING_REQUIRED, offsetof(struct site_charge, profile), NULL, NULL,
     0, 0, NULL, "MIG profile, e.g. 1g.10gb."},
    {"gpus", SETTING_GPUS, SETTING_REQUIRED, offsetof(struct site_charge, gpus), NULL, NULL, 1,
     GU_PER_GPU, NULL, "What one instance is charged."},
};
static const struct settings_table CHARGE_ROWS = {"charge", sizeof(struct site_charge),
                                                  CHARGE_ROWS_LIST, ARRAY_LEN(CHARGE_ROWS_LIST)};

static const struct setting SITE_NODE_ROWS_LIST[] = {
    {"name", SETTING_WORD, SETTING_REQUIRED, offsetof(struct site_node, name), NULL, NULL, 0, 0,
     NULL, "Name, or names: n[1-7] or n[01-04,9]."},
    {"gpus", SETTING_INT, 0, offsetof(struct site_node, gpus), NULL, NULL, 0, GPUS_A_NODE, "0",
     "How many GPUs the node has."},
    {"model", SETTING_WORD, 0, offsetof(struct site_node, model), NULL, NULL, 0, 0, "gpu",
     "Model of its GPUs, e.g. h100-80gb."},
    {"mig", SETTING_BOOL, 0, offsetof(struct site_node, mig), NULL, NULL, 0, 0, "false",
     "Are the cards in MIG mode and cut as work asks?"},
    {"simulated", SETTING_ENUM, 0, offsetof(struct site_node, simulated), NULL, SIMULATED_NAMES, 0,
     0, "false",
     "Simulated GPUs: processes are real, GPUs are not. auto: simulated where the driver finds no "
     "such cards. Needs musterd --simulate."},
    {"cpus", SETTING_CPU, 0, offsetof(struct site_node, cpus), NULL, NULL, 0, CPU_MAX, "0",
     "CPUs of the node; 0 = those of this machine."},
    {"memory", SETTING_BYTES, 0, offsetof(struct site_node, memory), NULL, NULL, 0, MEMORY_MAX, "0",
     "Memory of the node; 0 = that of this machine."},
    {"labels", SETTING_LABELS, 0, offsetof(struct site_node, labels), NULL, NULL, 0, 0, NULL,
     "Labels that jobs may ask for."},
    {"domains", SETTING_LABELS, 0, offsetof(struct site_node, domains), NULL, NULL, 0, 0, NULL,
     "Where the node stands: a domain for each level."},
};
const struct settings_table SITE_NODE_ROWS = {"node", sizeof(struct site_node), SITE_NODE_ROWS_LIST,
                                              ARRAY_LEN(SITE_NODE_ROWS_LIST)};

static const struct setting SITE_POOL_ROWS_LIST[] = {
    {"name", SETTING_NAME, SETTING_REQUIRED, offsetof(struct site_pool, name), NULL, NULL, 0, 0,
     NULL, "Name of the pool."},
    {"share_within", SETTING_ENUM, 0, offsetof(struct site_pool, share_within), NULL,
     SHARE_WITHIN_NAMES, 0, 0, "top",
     "Who may sit on one device together: children of the same top queue, one user, or anyone. MPS "
     "is always one user."},
    {"mixed", SETTING_BOOL, 0, offsetof(struct site_pool, mixed), NULL, NULL, 0, 0, "false",
     "May the pool hold several models?"},
    {"cpu_per_gpu", SETTING_CPU, 0, offsetof(struct site_pool, cpu_per_gpu), NULL, NULL, 0, CPU_MAX,
     "0", "CPUs kept for each free GPU against tasks without GPUs."},
    {"nodes", SETTING_LIST, 0, offsetof(struct site_pool, nodes), &SITE_NODE_ROWS, NULL, 0, 0, NULL,
     "Nodes of the pool."},
};
const struct settings_table SITE_POOL_ROWS = {"pool", sizeof(struct site_pool), SITE_POOL_ROWS_LIST,
                                              ARRAY_LEN(SITE_POOL_ROWS_LIST)};

static const struct setting SITE_QUEUE_ROWS_LIST[] = {
    {"name", SETTING_NAME, SETTING_REQUIRED, offsetof(struct site_queue, name), NULL, NULL, 0, 0,
     NULL, "Name, unique among all queues."},
    {"reserved", SETTING_AMOUNTS, 0, offsetof(struct site_queue, reserved), NULL, NULL, 0,
     GPUS_MAX_GU, NULL,
     "Guaranteed GPUs by pool; of an inner queue with its children, by default their sum."},
    {"limit", SETTING_AMOUNTS, 0, offsetof(struct site_queue, limit), NULL, NULL, 0, GPUS_MAX_GU,
     NULL, "The most by pool, borrowed included; none by default."},
    {"lend", SETTING_AMOUNTS, 0, offsetof(struct site_queue, lend), NULL, NULL, 0, GPUS_MAX_GU,
     NULL, "How much of its unused reserve others may use, by pool; all by default, 0 = never."},
    {"borrow", SETTING_AMOUNTS, 0, offsetof(struct site_queue, borrow), NULL, NULL, 0, GPUS_MAX_GU,
     NULL, "The most it may use above its reserve, by pool; no bound by default."},
    {"weight", SETTING_INT, 0, offsetof(struct site_queue, weight), NULL, NULL, 0, WEIGHT_MAX, "1",
     "Its part of what is idle, relative to its siblings."},
    {"priority_max", SETTING_INT, SETTING_INHERIT, offsetof(struct site_queue, priority_max), NULL,
     NULL, -PRIORITY_MAX, PRIORITY_MAX, "0", "The highest priority that members may ask for."},
    {"reclaim", SETTING_ENUM, SETTING_INHERIT, offsetof(struct site_queue, reclaim), NULL,
     QUEUE_RECLAIM_NAMES, 0, 0, "any", "What its jobs may take back."},
    {"preempt_within", SETTING_ENUM, SETTING_INHERIT, offsetof(struct site_queue, preempt_within),
     NULL, QUEUE_PREEMPT_NAMES, 0, 0, "lower_priority", "Whom a job may preempt in its own queue."},
    {"order", SETTING_ENUM, SETTING_INHERIT, offsetof(struct site_queue, order), NULL,
     QUEUE_ORDER_NAMES, 0, 0, "fair", "Order of jobs of one priority."},
    {"sandbox", SETTING_ENUM, SETTING_INHERIT, offsetof(struct site_queue, sandbox), NULL,
     QUEUE_SANDBOX_NAMES, 0, 0, "optional",
     "required: every task runs in a sandbox (bubblewrap), not only those of jobs that ask for "
     "one."},
    {"state", SETTING_ENUM, 0, offsetof(struct site_queue, state), NULL, QUEUE_STATE_NAMES, 0, 0,
     "open", "closed: no starts, the reserve is lent. draining: no new work."},
    {"grace", SETTING_DURATION, SETTING_INHERIT, offsetof(struct site_queue, grace), NULL, NULL, 0,
     TIME_MAX_MS, "60s", "Time between the preemption signal and the kill."},
    {"grace_max", SETTING_DURATION, SETTING_INHERIT, offsetof(struct site_queue, grace_max), NULL,
     NULL, 0, TIME_MAX_MS, "10m", "The longest grace a job may ask for."},
    {"min_run", SETTING_DURATION, SETTING_INHERIT, offsetof(struct site_queue, min_run), NULL, NULL,
     0, TIME_MAX_MS, "0",
     "Minimum run time before a job may be taken for fairness; 30m by default under order "
     "attained."},
    {"min_run_binds_all", SETTING_BOOL, SETTING_INHERIT,
     offsetof(struct site_queue, min_run_binds_all), NULL, NULL, 0, 0, "false",
     "Does min_run also hold against entitled claims and priority?"},
    {"drain_after", SETTING_DURATION_OFF, SETTING_INHERIT, offsetof(struct site_queue, drain_after),
     NULL, NULL, 0, TIME_MAX_MS, "12h",
     "A job that waited this long holds back new starts in front of it."},
    {"gang_repair", SETTING_DURATION, SETTING_INHERIT, offsetof(struct site_queue, gang_repair),
     NULL, NULL, 0, TIME_MAX_MS, "60s",
     "How long a broken gang claims its missing tasks before it is stopped whole."},
    {"stop_stuck", SETTING_DURATION, SETTING_INHERIT, offsetof(struct site_queue, stop_stuck), NULL,
     NULL, 0, TIME_MAX_MS, "60s",
     "A device not proven free this long after the kill is out of service."},
    {"start_timeout", SETTING_DURATION, SETTING_INHERIT, offsetof(struct site_queue, start_timeout),
     NULL, NULL, 1000, TIME_MAX_MS, "10m", "An attempt that starts for longer fails."},
    {"nonpreemptible_may_borrow", SETTING_BOOL, SETTING_INHERIT,
     offsetof(struct site_queue, nonpreemptible_may_borrow), NULL, NULL, 0, 0, "false",
     "May non-preemptible jobs borrow?"},
    {"pools", SETTING_NAMES, SETTING_INHERIT, offsetof(struct site_queue, pools), NULL, NULL, 0, 0,
     NULL,
     "Pools tried in this order for a job that names none; by default those the queue has amounts "
     "for, else all."},
    {"members", SETTING_NAMES, 0, offsetof(struct site_queue, members), NULL, NULL, 0, 0, NULL,
     "Users who may submit, besides those whose own entry names the queue."},
    {"queues", SETTING_LIST, 0, offsetof(struct site_queue, queues), &SITE_QUEUE_ROWS, NULL, 0, 0,
     NULL, "Queues below this one; work is submitted to the lowest."},
};
const struct settings_table SITE_QUEUE_ROWS = {"queue", sizeof(struct site_queue),
                                               SITE_QUEUE_ROWS_LIST,
                                               ARRAY_LEN(SITE_QUEUE_ROWS_LIST)};

static const struct setting SITE_CLASS_ROWS_LIST[] = {
    {"preemptible", SETTING_BOOL, 0, offsetof(struct site_class, preemptible), NULL, NULL, 0, 0,
     NULL,
     "May jobs of the class be preempted, if they do not say? training true, service and workspace "
     "false."},
    {"grace", SETTING_DURATION, 0, offsetof(struct site_class, grace), NULL, NULL, 0, TIME_MAX_MS,
     "0", "Grace of jobs that ask for none; 0 = the queue's."},
    {"time_limit", SETTING_DURATION, 0, offsetof(struct site_class, time_limit), NULL, NULL, 0,
     TIME_MAX_MS, "0", "Time limit of jobs that state none; 0 = none."},
};
const struct settings_table SITE_CLASS_ROWS = {"class", sizeof(struct site_class),
                                               SITE_CLASS_ROWS_LIST,
                                               ARRAY_LEN(SITE_CLASS_ROWS_LIST)};

static const struct setting CLASSES_ROWS_LIST[] = {
    {"training", SETTING_SECTION, 0, offsetof(struct site_classes, training), &SITE_CLASS_ROWS,
     NULL, 0, 0, NULL, "Batch work."},
    {"service", SETTING_SECTION, 0, offsetof(struct site_classes, service), &SITE_CLASS_ROWS, NULL,
     0, 0, NULL, "Inference."},
    {"workspace", SETTING_SECTION, 0, offsetof(struct site_classes, workspace), &SITE_CLASS_ROWS,
     NULL, 0, 0, NULL, "Interactive work."},
};
static const struct settings_table CLASSES_ROWS = {"classes section", sizeof(struct site_classes),
                                                   CLASSES_ROWS_LIST, ARRAY_LEN(CLASSES_ROWS_LIST)};

static const struct setting SITE_USER_ROWS_LIST[] = {
    {"name", SETTING_NAME, SETTING_REQUIRED, offsetof(struct site_user, name), NULL, NULL, 0, 0,
     NULL, "Name of the person."},
    {"account", SETTING_WORD, 0, offsetof(struct site_user, account), NULL, NULL, 0, 0, NULL,
     "Account of this machine that tasks run as; by default the name; self = the account of "
     "musterd."},
    {"subject", SETTING_NAME, 0, offsetof(struct site_user, subject), NULL, NULL, 0, 0, NULL,
     "Opaque id in the journal; made at first sight by default."},
    {"roles", SETTING_NAMES, 0, offsetof(struct site_user, roles), NULL, NULL, 0, 0, NULL,
     "submit, operator, admin, auditor; submit by default."},
    {"queues", SETTING_NAMES, 0, offsetof(struct site_user, queues), NULL, NULL, 0, 0, NULL,
     "Queues the person may submit to; an inner queue stands for all below it."},
};
const struct settings_table SITE_USER_ROWS = {"user", sizeof(struct site_user), SITE_USER_ROWS_LIST,
                                              ARRAY_LEN(SITE_USER_ROWS_LIST)};

static const struct setting SITE_ROWS_LIST[] = {
    {"daemon", SETTING_SECTION, 0, offsetof(struct site, daemon), &DAEMON_ROWS, NULL, 0, 0, NULL,
     "Where musterd listens and keeps its state; read at start only."},
    {"cluster", SETTING_SECTION, 0, offsetof(struct site, cluster), &SITE_CLUSTER_ROWS, NULL, 0, 0,
     NULL, "What holds for the whole site."},
    {"pools", SETTING_LIST, SETTING_REQUIRED, offsetof(struct site, pools), &SITE_POOL_ROWS, NULL,
     0, 0, NULL, "Pools and their nodes."},
    {"queues", SETTING_LIST, SETTING_REQUIRED, offsetof(struct site, queues), &SITE_QUEUE_ROWS,
     NULL, 0, 0, NULL, "The tree of queues."},
    {"classes", SETTING_SECTION, 0, offsetof(struct site, classes), &CLASSES_ROWS, NULL, 0, 0, NULL,
     "Defaults of jobs by class."},
    {"users", SETTING_LIST, 0, offsetof(struct site, users), &SITE_USER_ROWS, NULL, 0, 0, NULL,
     "Who may do what."},
    {"unknown_users", SETTING_NAMES, 0, offsetof(struct site, unknown_users), NULL, NULL, 0, 0,
     NULL,
     "Queues that local accounts without an entry may submit to; by default they are refused."},
    {"charges", SETTING_LIST, 0, offsetof(struct site, charges), &CHARGE_ROWS, NULL, 0, 0, NULL,
     "Charges of MIG profiles where memory slices are not wanted."},
};
const struct settings_table SITE_ROWS = {"configuration", sizeof(struct site), SITE_ROWS_LIST,
                                         ARRAY_LEN(SITE_ROWS_LIST)};
