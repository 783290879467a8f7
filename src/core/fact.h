/* fact - every event of the journal: what the world did (facts) and what the core decided
 * (decisions).
 *
 * A decision is a fact too, once it is journaled: it carries devices, split, victims with their
 * cost, rule and numbers, and applying it recomputes none of them.  Kinds and fields are only
 * added.
 *
 * A fact's body and all it points to is lent: it lives in the arena it was decoded into or built
 * in. Ids: 0 = none.  Amounts _gu (126,000 a GPU), times ms UTC, bytes.
 */
#ifndef MUSTER_CORE_FACT_H
#define MUSTER_CORE_FACT_H

#include "core/policy.h"
#include "core/schema.h"

/* kind, JSON name (of the journal), struct, is a decision */
#define FACT_TABLE(X)                                                                              \
    X(POLICY_SET, "policy_set", policy_set, false)                                                 \
    X(NODE_SEEN, "node_seen", node_seen, false)                                                    \
    X(NODE_STATE, "node_state", node_state, false)                                                 \
    X(NODE_DRAIN, "node_drain", node_drain, false)                                                 \
    X(DEVICE_STATE, "device_state", device_state, false)                                           \
    X(JOB_SUBMITTED, "job_submitted", job_submitted, false)                                        \
    X(JOB_HELD, "job_held", job_asked, false)                                                      \
    X(JOB_RELEASED, "job_released", job_asked, false)                                              \
    X(JOB_CANCEL, "job_cancel", job_asked, false)                                                  \
    X(JOB_REQUEUE, "job_requeue", job_asked, false)                                                \
    X(JOB_DONE, "job_done", job_asked, false)                                                      \
    X(JOB_CHECKPOINTED, "job_checkpointed", job_checkpointed, false)                               \
    X(TASK_RUNNING, "task_running", task_running, false)                                           \
    X(TASK_ENDED, "task_ended", task_ended, false)                                                 \
    X(TASK_REFUSED, "task_refused", task_refused, false)                                           \
    X(CLOCK_STEPPED, "clock_stepped", clock_stepped, false)                                        \
    X(DAEMON_STARTED, "daemon_started", daemon_state, false)                                       \
    X(DAEMON_STOPPED, "daemon_stopped", daemon_state, false)                                       \
    X(POLICY_REFUSED, "policy_refused", policy_refused, false)                                     \
    X(TOKEN_CREATED, "token_created", token_created, false)                                        \
    X(TOKEN_REVOKED, "token_revoked", token_revoked, false)                                        \
    X(JOURNAL_KEY, "journal_key", journal_key, false)                                              \
    X(JOURNAL_CHECKPOINT, "journal_checkpoint", journal_checkpoint, false)                         \
    X(JOB_STARTED, "job_started", job_started, true)                                               \
    X(JOB_CLAIMED, "job_claimed", job_claimed, true)                                               \
    X(JOB_STOPPED, "job_stopped", job_stopped, true)                                               \
    X(JOB_KILLED, "job_killed", job_killed, true)                                                  \
    X(NOMINATION_ENDED, "nomination_ended", nomination_ended, true)                                \
    X(ATTEMPT_ENDED, "attempt_ended", attempt_ended, true)                                         \
    X(DEVICE_STUCK, "device_stuck", device_stuck, true)                                            \
    X(NODE_LOST, "node_lost", node_lost, true)

enum fact_kind {
    FACT_NONE,
#define FACT_ENUM(kind, name, body, decision) FACT_##kind,
    FACT_TABLE(FACT_ENUM)
#undef FACT_ENUM
        FACT_KIND_COUNT
};

/* ---- what the world did ---- */

struct fact_policy_set {
    struct policy policy;
    const char *subject; /* who applied it; "" at start */
};

struct fact_device {
    int64_t slot; /* index on the node */
    const char *uuid;
    const char *model;
    int64_t memory_bytes;
    bool mig;            /* in MIG mode, cut as work asks */
    const char *profile; /* a static slice: this row is one instance of it; "" = a whole card */
    int64_t charge_gu;   /* of a static slice; 0 = from the table of models */
};

struct fact_node_seen { /* a node and its devices, whole; a later one replaces it */
    int64_t id; /* 0 in a report of a backend for a node that has none yet: the engine fills it */
    const char *name;
    const char *cluster;
    int64_t pool;
    bool simulated;
    int64_t cpu_milli;
    int64_t memory_bytes;
    struct policy_label *labels;
    size_t label_count;
    struct policy_label *domains;
    size_t domain_count;
    struct fact_device *devices;
    size_t device_count;
};

enum node_state { NODE_UP, NODE_UNKNOWN, NODE_GONE /* the engine says it is lost for good */ };
extern const char *const NODE_STATE_NAMES[]; /* up unknown gone */

struct fact_node_state {
    int64_t node;
    int state; /* enum node_state */
    const char *reason;
};

struct fact_node_drain {
    int64_t node;
    bool drain;    /* false: resume */
    int64_t by_ms; /* jobs are stopped then, 0 = let them end */
    const char *reason;
    const char *subject;
};

struct fact_device_state {
    int64_t node;
    int64_t slot;
    bool out; /* out of service */
    const char *reason;
};

/* What each task of a group asks for. */
struct fact_group {
    const char *name;
    int64_t tasks;
    int64_t min_tasks;   /* < tasks: elastic */
    int64_t gpus;        /* whole GPUs a task */
    const char *profile; /* MIG profile, "" = none */
    int64_t slices;      /* instances of it a task */
    int64_t share_gu;    /* share of one device, 0 = none */
    int64_t share_memory_bytes;
    bool mps;
    int64_t cpu_milli;
    int64_t memory_bytes;
    const char *model;    /* GPU model, "" = any */
    const char *required; /* topology level, "" = none */
    const char *preferred;
    struct policy_label *labels; /* the node must carry all */
    size_t label_count;
    const char **nodes; /* allowed nodes by name, empty = all */
    size_t node_count;
};

struct fact_job_submitted {
    int64_t id;
    int64_t array; /* first id of the array it belongs to, 0 = none */
    int64_t element;
    const char *name;
    int64_t queue; /* a leaf */
    const char *subject;
    int job_class; /* enum job_class */
    bool nonpreemptible;
    bool independent; /* tasks need not reach each other: allows gangs on slices */
    bool held;
    int64_t priority;
    int64_t *pools; /* named by the job, in order; empty = the queue's */
    size_t pool_count;
    int64_t limit_ms;     /* per attempt from running, 0 = none */
    int64_t predicted_ms; /* stated prediction, 0 = none */
    int64_t grace_ms;     /* asked for, 0 = the queue's */
    int64_t signal;       /* preemption signal number, 0 = SIGTERM */
    int64_t retries;
    int64_t backoff_ms;
    struct fact_group *groups;
    size_t group_count;
    const char *spec; /* digest of command, script and environment in the content store */
    bool sandbox;     /* its tasks are fenced off from the rest of their node */
};

struct fact_job_asked { /* hold, release, cancel, requeue, done: who asked */
    int64_t job;
    int64_t attempt; /* done: of which attempt, else 0 */
    const char *subject;
    const char *reason;
};

struct fact_job_checkpointed {
    int64_t job;
    int64_t attempt;
    const char *name;
};

/* A task's number may be granted again within its attempt (repair, growth after a shrink), so what
 * is said of a task names the step of the lease that it was started in.  A fact about another step
 * than the one that holds the number now is stale and refused; 0 = not known (records of releases
 * that did not say it): taken to be about the one that holds it. */
struct fact_task_running {
    int64_t job;
    int64_t attempt;
    int64_t task;
    int64_t step;
};

enum task_cause { TASK_EXITED, TASK_SIGNALLED, TASK_LOST, TASK_TIMEOUT };
extern const char *const TASK_CAUSE_NAMES[]; /* exited signalled lost timeout */

struct fact_task_ended { /* proof that the task is gone and its devices are free */
    int64_t job;
    int64_t attempt;
    int64_t task;
    int cause;      /* enum task_cause */
    int64_t status; /* exit status, or the signal's number */
    int64_t step;
};

struct fact_task_refused { /* the backend could not start it; nothing runs */
    int64_t job;
    int64_t attempt;
    int64_t task;
    const char *reason;
    bool node_fault; /* the node is to be avoided by the retry */
    int64_t step;
};

struct fact_clock_stepped {
    int64_t by_ms; /* forwards > 0 */
};

struct fact_daemon_state {
    const char *version;
    bool frozen;
    const char *reason;
};

struct fact_policy_refused {
    const char *digest;
    const char *reason;
};

struct fact_token_created {
    int64_t id;
    const char *subject;
    const char *digest; /* SHA-256 of the token, hex */
    const char *name;
    const char **roles; /* empty = what the subject may */
    size_t role_count;
    int64_t expires_ms; /* 0 = never */
};

struct fact_token_revoked {
    int64_t id;
    const char *subject;
};

/* The journal's own records change no state; journal/attest.h says what is signed. */
struct fact_journal_key {   /* from here on this key signs */
    const char *key;        /* its id */
    const char *public_key; /* hex */
    const char *previous;   /* id of the key it takes over from, "" = the first */
    const char *signature;  /* by that key, hex; "" = the first, or that key was lost */
    const char *subject;    /* who asked for it, "" = musterd itself */
};

struct fact_journal_checkpoint { /* everything up to signed_seq is as these hashes say */
    int64_t signed_seq;
    const char *hash;       /* of that record, hex */
    const char *state_hash; /* of the canonical snapshot after it, hex */
    int64_t format;         /* of the snapshot */
    const char *key;        /* id of the key that signed */
    const char *signature;  /* hex */
    const char *subject;    /* who asked for it, "" = musterd itself */
};

/* ---- what the core decided ---- */

struct fact_grant_device {
    int64_t slot;
    int64_t gu;           /* charged: 126,000 for a whole card, the share, or the slice's charge */
    const char *profile;  /* MIG: what is held */
    int64_t start;        /* MIG: first memory slice */
    bool recut;           /* MIG: idle instances go for it */
    int64_t memory_bytes; /* share */
};

struct fact_grant { /* one task and what it holds */
    int64_t task;   /* number in the job, over all groups: 0 … */
    int64_t group;
    int64_t node;
    struct fact_grant_device *devices;
    size_t device_count;
    int64_t cpu_milli;
    int64_t memory_bytes;
    int64_t step; /* of the lease in which it was granted; 0 = that of the decision it stands in */
};

/* Why a decision was made: rule of DESIGN section 4 by a stable word, and the numbers it rested on.
 */
struct fact_number {
    const char *name; /* e.g. "reserved_gu" */
    int64_t value;
};

struct fact_reason {
    const char *rule; /* "entitled", "borrow", "reclaim", "priority", "planned", "growth", … */
    const char *text; /* one sentence for people */
    struct fact_number *numbers;
    size_t number_count;
    int64_t *jobs; /* ids it speaks of */
    size_t job_count;
};

struct fact_job_started {
    int64_t job;
    int64_t attempt;
    int64_t step; /* 1 = the attempt's start; each growth is the next, with the full wanted set */
    int64_t pool;
    struct fact_grant *tasks; /* step > 1: all that are wanted now, the running ones included */
    size_t task_count;
    int64_t reserved_gu; /* split of the job's own units as of now */
    int64_t borrowed_gu;
    int64_t *passes; /* jobs with a planned start that this one may run in front of, and is a victim
                        for */
    size_t pass_count;
    struct fact_reason why;
};

struct fact_victim {
    int64_t job;
    int64_t attempt;
    int64_t *tasks; /* elastic: only these stop; empty = the whole job */
    size_t task_count;
    int64_t gu;               /* freed */
    int64_t lost_gu_ms;       /* work lost, without the restart cost */
    int64_t cost_gu_ms;       /* what was compared */
    int64_t deadline_ms;      /* kill then */
    bool nominee;             /* not running: its nomination is taken over */
    int64_t move_node;        /* a move: where it goes on, 0 = none */
    struct fact_grant *moved; /* a move: what is promised to it */
    size_t moved_count;
};

struct fact_job_claimed { /* capacity is promised to a job; victims are told to stop, in one step */
    int64_t job;
    int64_t pool;
    int64_t step; /* of the lease that it will become: 1, or a growth */
    struct fact_grant *tasks;
    size_t task_count;
    struct fact_victim *victims;
    size_t victim_count;
    bool exact;         /* least loss was searched exactly */
    int64_t candidates; /* how many there were */
    struct fact_reason why;
};

enum stop_cause {
    STOP_CANCELLED,
    STOP_REQUEUED,
    STOP_LIMIT,
    STOP_BROKEN_GANG,
    STOP_DRAIN,
    STOP_START_TIMEOUT,
    STOP_FAILED
};
extern const char
    *const STOP_CAUSE_NAMES[]; /* cancelled requeued limit broken_gang drain start_timeout failed */

struct fact_job_stopped { /* an attempt is told to stop, for no claim */
    int64_t job;
    int64_t attempt;
    int cause; /* enum stop_cause */
    int64_t deadline_ms;
    int64_t lost_gu_ms;
    struct fact_reason why;
};

struct fact_job_killed { /* the grace is over: the whole tree is killed */
    int64_t job;
    int64_t attempt;
    int64_t *tasks; /* empty = all that are left */
    size_t task_count;
    int64_t lost_gu_ms;
};

struct fact_nomination_ended {
    int64_t job;
    const char
        *reason; /* "cancelled", "taken_over", "device_lost", "policy", "held", "elsewhere" */
    int64_t by;  /* who took it over */
    int64_t lost_gu_ms; /* work that was lost for nothing */
    int64_t *victims;
    size_t victim_count;
};

enum attempt_outcome { OUTCOME_SUCCEEDED, OUTCOME_FAILED, OUTCOME_CANCELLED, OUTCOME_REQUEUED };
extern const char *const ATTEMPT_OUTCOME_NAMES[]; /* succeeded failed cancelled requeued */

struct fact_attempt_ended { /* all its tasks are gone; or a waiting job is cancelled (attempt 0) */
    int64_t job;
    int64_t attempt;
    int outcome; /* enum attempt_outcome */
    int64_t status;
    int64_t signal;
    bool retry;            /* counts against the job's retries */
    int64_t not_before_ms; /* requeued: backoff */
    int64_t avoid_node;    /* requeued: node at fault */
    int64_t lost_gu_ms;    /* by this end: fault or preemption */
    struct fact_reason why;
};

struct fact_device_stuck { /* not proven free within stop_stuck: out of service */
    int64_t job;
    int64_t attempt;
    int64_t task;
    int64_t node;
    int64_t *slots;
    size_t slot_count;
};

struct fact_node_lost { /* unknown for node_lost, or gone: what ran there is taken as ended */
    int64_t node;
    const char *reason;
};

struct fact {
    int64_t seq;        /* given by the journal; 0 before */
    int64_t at_ms;      /* recorded */
    int64_t true_at_ms; /* when it was true in the world; 0 = at_ms */
    enum fact_kind kind;
    union {
        const void *any;
#define FACT_MEMBER(kind, name, body, decision) const struct fact_##body *as_##kind;
        FACT_TABLE(FACT_MEMBER)
#undef FACT_MEMBER
    } body;
};

/* The body of a fact, for reading: fact_of(f, JOB_SUBMITTED)->queue. */
#define fact_of(f, KIND) ((f)->body.as_##KIND)

/* Of parts that the snapshot shares. */
extern const struct schema BODY_grant, BODY_reason, BODY_job_submitted, BODY_node_seen;

const char *fact_kind_name(enum fact_kind kind);
/* FACT_NONE for a name that no kind has. */
enum fact_kind fact_kind_of(const char *name);
bool fact_kind_is_decision(enum fact_kind kind);
const struct schema *fact_kind_schema(enum fact_kind kind);

#endif
