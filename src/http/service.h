/* service - the table of queries and commands between HTTP and the daemon.
 *
 * HTTP sees only this: it finds the row of a request, checks who asks and what they may, and calls
 * `call`.  The daemon answers through `done`, at once for queries, after the commit for commands
 * (no answer leaves before its event is durable).  Tests fill the table with a stand-in.
 */
#ifndef MUSTER_HTTP_SERVICE_H
#define MUSTER_HTTP_SERVICE_H

#include "base/err.h"
#include "http/jsonin.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a caller may: a set of these. */
enum service_role {
    ROLE_READ = 1,     /* every known caller */
    ROLE_SUBMIT = 2,   /* submit to the queues named for them; act on their own jobs */
    ROLE_OPERATOR = 4, /* nodes, other people's jobs, priorities above the queue's */
    ROLE_ADMIN = 8,    /* policy, tokens of others */
    ROLE_AUDITOR = 16, /* the whole journal */
    ROLE_TASK = 32,    /* a running job's own token: done and checkpoint of that job */
};

/* op, method, path ({x} is a path parameter), least role, needs a JSON body */
#define SERVICE_TABLE(X)                                                                           \
    X(JOB_LIST, "GET", "/v1/jobs", ROLE_READ, false)                                               \
    X(JOB_SUBMIT, "POST", "/v1/jobs", ROLE_SUBMIT, true)                                           \
    X(JOB_SHOW, "GET", "/v1/jobs/{job}", ROLE_READ, false)                                         \
    X(JOB_WHY, "GET", "/v1/jobs/{job}/why", ROLE_READ, false)                                      \
    X(JOB_LOGS, "GET", "/v1/jobs/{job}/logs", ROLE_READ, false)                                    \
    X(JOB_CANCEL, "POST", "/v1/jobs/{job}/cancel", ROLE_SUBMIT, false)                             \
    X(JOB_HOLD, "POST", "/v1/jobs/{job}/hold", ROLE_SUBMIT, false)                                 \
    X(JOB_RELEASE, "POST", "/v1/jobs/{job}/release", ROLE_SUBMIT, false)                           \
    X(JOB_REQUEUE, "POST", "/v1/jobs/{job}/requeue", ROLE_SUBMIT, false)                           \
    X(JOB_DONE, "POST", "/v1/jobs/{job}/done", ROLE_TASK, false)                                   \
    X(JOB_CHECKPOINT, "POST", "/v1/jobs/{job}/checkpoint", ROLE_TASK, false)                       \
    X(QUEUE_LIST, "GET", "/v1/queues", ROLE_READ, false)                                           \
    X(QUEUE_SHOW, "GET", "/v1/queues/{queue}", ROLE_READ, false)                                   \
    X(POOL_LIST, "GET", "/v1/pools", ROLE_READ, false)                                             \
    X(NODE_LIST, "GET", "/v1/nodes", ROLE_READ, false)                                             \
    X(NODE_SHOW, "GET", "/v1/nodes/{node}", ROLE_READ, false)                                      \
    X(NODE_DRAIN, "POST", "/v1/nodes/{node}/drain", ROLE_OPERATOR, false)                          \
    X(NODE_RESUME, "POST", "/v1/nodes/{node}/resume", ROLE_OPERATOR, false)                        \
    X(GPU_LIST, "GET", "/v1/gpus", ROLE_READ, false)                                               \
    X(POLICY_SHOW, "GET", "/v1/policy", ROLE_READ, false)                                          \
    X(POLICY_CHECK, "POST", "/v1/policy/check", ROLE_READ, true)                                   \
    X(POLICY_PLAN, "POST", "/v1/policy/plan", ROLE_READ, true)                                     \
    X(POLICY_APPLY, "POST", "/v1/policy/apply", ROLE_ADMIN, true)                                  \
    X(JOURNAL_LIST, "GET", "/v1/journal", ROLE_AUDITOR, false)                                     \
    X(JOURNAL_SHOW, "GET", "/v1/journal/{seq}", ROLE_AUDITOR, false)                               \
    X(JOURNAL_VERIFY, "POST", "/v1/journal/verify", ROLE_AUDITOR, false)                           \
    X(JOURNAL_EXPORT, "GET", "/v1/journal/export", ROLE_AUDITOR, false)                            \
    X(JOURNAL_CHECKPOINT, "POST", "/v1/journal/checkpoint", ROLE_AUDITOR, false)                   \
    X(JOURNAL_KEY, "GET", "/v1/journal/key", ROLE_READ, false)                                     \
    X(JOURNAL_ROTATE, "POST", "/v1/journal/key/rotate", ROLE_ADMIN, false)                         \
    X(EVENTS, "GET", "/v1/events", ROLE_READ, false)                                               \
    X(TOKEN_LIST, "GET", "/v1/tokens", ROLE_READ, false)                                           \
    X(TOKEN_CREATE, "POST", "/v1/tokens", ROLE_SUBMIT, true)                                       \
    X(TOKEN_REVOKE, "DELETE", "/v1/tokens/{token}", ROLE_SUBMIT, false)                            \
    X(WHOAMI, "GET", "/v1/whoami", ROLE_READ, false)                                               \
    X(VERSION, "GET", "/v1/version", ROLE_READ, false)

enum service_op {
#define SERVICE_ENUM(op, method, path, role, body) SERVICE_##op,
    SERVICE_TABLE(SERVICE_ENUM)
#undef SERVICE_ENUM
        SERVICE_OP_COUNT
};

struct service_caller {
    const char *subject; /* opaque id */
    unsigned roles;      /* of enum service_role */
    uint32_t uid;        /* of a local peer; (uint32_t)-1 over TCP */
    int64_t task_job;    /* ROLE_TASK: the job it speaks for */
    int64_t task_attempt;
};

#define SERVICE_PARAM_MAX 16

struct service_param {
    const char *name;
    const char *value; /* decoded; UTF-8 was checked */
};

struct service_call { /* lent until done is called */
    enum service_op op;
    struct service_caller caller;
    const char *target; /* the path parameter, "" = none */
    struct service_param
        params[SERVICE_PARAM_MAX]; /* of the query; unknown ones are the op's to refuse */
    size_t param_count;
    const struct jsonin *body; /* an object; NULL = none */
    const char *body_text;     /* the same as it came */
    size_t body_len;
    const char *idempotency_key; /* "" = none */
    const char *request_id;
    const char *last_event_id; /* of EVENTS, the header as it came; "" = none */
};

/* A body that is produced piece by piece (logs, export, events).  HTTP pulls; the daemon wakes it.
 */
struct service_stream;
struct service_stream_ops {
    /* Up to room bytes into buf: > 0 bytes, 0 = nothing now (HTTP suspends until wake), -1 = the
     * end.  A stream of events gives 0 only between two events: a heartbeat may follow. */
    int64_t (*pull)(struct service_stream *s, char *buf, size_t room);
    void (*close)(struct service_stream *s);
};
struct service_stream {
    const struct service_stream_ops *ops;
    const char *content_type;
    void (*wake)(
        void *arg); /* set by HTTP; called by the daemon, on the loop thread, when there is more */
    void *wake_arg;
};

struct service_answer {
    int rc;            /* 0 or an err_code */
    struct err err;    /* when rc != 0 */
    const char *field; /* where the request is wrong, e.g. "groups[0].gpus", "" = nowhere */
    json_t *json;      /* taken by HTTP; NULL with a stream or an error */
    char *text;        /* taken by HTTP (mem_free): the JSON as it goes out, in place of json */
    struct service_stream *stream; /* taken by HTTP: ends with ops->close */
    bool created;                  /* 201 instead of 200 */
};

/* Called exactly once a call, on the loop thread, within call() or later. */
typedef void service_done(void *arg, struct service_answer *answer);

struct service {
    void *ctx;
    void (*call)(void *ctx, const struct service_call *call, service_done *done, void *arg);
    /* Who is behind a local peer's uid, or a bearer token (not ended by NUL problems: len given)?
     * ERR_UNAUTHENTICATED. */
    int (*who_uid)(void *ctx, uint32_t uid, struct service_caller *ret, struct err *err);
    int (*who_token)(void *ctx, const char *token, struct service_caller *ret, struct err *err);
    /* Prometheus text of the daemon's own metrics; HTTP adds its own. */
    void (*metrics)(void *ctx, json_t *unused, char **ret_text);
    /* 0 healthy, else why not in err (disk full, frozen, backend away): /healthz gives 200 or 503.
     */
    int (*health)(void *ctx, struct err *err);
};

const char *service_op_name(enum service_op op);

#endif
