/* config - the one file a site writes: where the daemon listens, and the policy.
 *
 * Every error is `file:line:column: field: what is wrong ("value"), what is right`; a file's errors
 * are all found in one reading (COMPLAINT_MAX are kept).
 */
#ifndef MUSTER_CONFIG_CONFIG_H
#define MUSTER_CONFIG_CONFIG_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "config/complaint.h"
#include "core/policy.h"

#include <stdbool.h>

struct config_user {
    const char *name;
    const char *account; /* OS account its tasks run as; "" = the daemon's own */
};

struct config_class { /* what jobs of a class get where they say nothing */
    bool preemptible;
    int64_t grace_ms; /* 0 = the queue's */
    int64_t limit_ms; /* 0 = none */
};

struct config {
    const char *socket; /* "" = not stated, as the two below */
    const char *listen;
    const char *state;
    struct policy policy;           /* ids are index + 1: see policyids; subjects may be "" */
    struct config_user *users;      /* by the index of policy.users */
    bool *node_auto;                /* by the index of policy.nodes: simulated: auto */
    struct config_class classes[3]; /* by enum job_class */
    const char **unknown_queues;    /* where accounts without an entry may submit, by name */
    size_t unknown_queue_count;     /* 0 = they are refused */
};

/* Read the text of a file; all of ret lives in the arena of c.  On failure err has the first
 * complaint, c all.  ERR_POLICY, ERR_POLICY_DOUBLE, ERR_POLICY_OVERCOMMIT, ERR_SYNTAX,
 * ERR_UNKNOWN_FIELD … */
MUST_CHECK int config_read(const char *text, size_t len, struct complaints *c, struct config *ret,
                           struct err *err);

/* The same from a file; ret_text (may be NULL) gets its bytes, in the arena of c.  ERR_NOT_FOUND,
 * ERR_IO: it cannot be read. */
MUST_CHECK int config_load(const char *path, struct complaints *c, struct config *ret,
                           const char **ret_text, struct err *err);

/* The settings as roff, for muster.yaml(5). */
void config_manual(struct str *ret);

#endif
