/* err - the one table of codes that the API, the CLI and why use, and the error value.
 *
 * A name is never reused and never changes its meaning; rows are only added.  The exit status is
 * that of the CLI (0 ok, 1 generic, 2 usage, 3 waits, 4 denied, 5 not found, 6 auth, 7 conflict, 8
 * unreachable, 124 timeout).
 */
#ifndef MUSTER_BASE_ERR_H
#define MUSTER_BASE_ERR_H

#include <stdbool.h>
#include <stdint.h>

#define MUST_CHECK             __attribute__((warn_unused_result))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))

#define ERR_TABLE(X) /* symbol, code, name, HTTP status, exit status */                            \
    X(ERR_INVALID, -1, "request.invalid", 400, 2)                                                  \
    X(ERR_SYNTAX, -2, "request.syntax", 400, 2)                                                    \
    X(ERR_NOT_FOUND, -3, "request.not_found", 404, 5)                                              \
    X(ERR_CONFLICT, -4, "request.conflict", 409, 7)                                                \
    X(ERR_TOO_LARGE, -5, "request.too_large", 413, 2)                                              \
    X(ERR_UNKNOWN_FIELD, -6, "request.unknown_field", 400, 2)                                      \
    X(ERR_RANGE, -7, "request.range", 400, 2)                                                      \
    X(ERR_METHOD, -8, "request.method", 405, 2)                                                    \
    X(ERR_BUSY, -9, "request.busy", 503, 8)                                                        \
    X(ERR_IDEMPOTENCY, -10, "request.idempotency_mismatch", 422, 7)                                \
    X(ERR_UNAUTHENTICATED, -11, "auth.unauthenticated", 401, 6)                                    \
    X(ERR_FORBIDDEN, -12, "auth.forbidden", 403, 6)                                                \
    X(ERR_UNREACHABLE, -13, "server.unreachable", 502, 8)                                          \
    X(ERR_TIMEOUT, -14, "server.timeout", 504, 124)                                                \
    X(ERR_INTERNAL, -15, "server.internal", 500, 1)                                                \
    X(ERR_FROZEN, -16, "server.frozen", 503, 8)                                                    \
    X(ERR_DISK_FULL, -17, "server.disk_full", 507, 8)                                              \
    X(ERR_IO, -18, "server.io", 500, 1)                                                            \
    X(ERR_LOCKED, -19, "server.locked", 409, 7)                                                    \
    X(ERR_UNSUPPORTED, -20, "server.unsupported", 501, 1)                                          \
    X(ERR_JOURNAL_DAMAGED, -21, "journal.damaged", 500, 1)                                         \
    X(ERR_JOURNAL_EPOCH, -22, "journal.old_epoch", 409, 7)                                         \
    X(ERR_JOURNAL_NEWER, -23, "journal.newer", 500, 1)                                             \
    X(ERR_POLICY, -24, "policy.invalid", 422, 2)                                                   \
    X(ERR_POLICY_CYCLE, -25, "policy.cycle", 422, 2)                                               \
    X(ERR_POLICY_DOUBLE, -26, "policy.double", 422, 2)                                             \
    X(ERR_POLICY_OVERCOMMIT, -27, "policy.overcommit", 422, 2)                                     \
    X(ERR_POLICY_IN_USE, -28, "policy.in_use", 409, 7)                                             \
    X(ERR_QUEUE_NOT_LEAF, -29, "queue.not_leaf", 422, 4)                                           \
    X(ERR_QUEUE_CLOSED, -30, "queue.closed", 409, 4)                                               \
    X(ERR_QUEUE_DENIED, -31, "queue.denied", 403, 4)                                               \
    X(ERR_PRIORITY_DENIED, -32, "queue.priority_denied", 403, 4)                                   \
    X(ERR_OVER_LIMIT, -33, "quota.over_limit", 422, 4)                                             \
    X(ERR_OVER_BORROW, -34, "quota.over_borrow_limit", 422, 4)                                     \
    X(ERR_OVER_LEND, -35, "quota.not_lent", 422, 4)                                                \
    X(ERR_OVER_RESERVE, -36, "quota.nonpreemptible_over_reserve", 422, 4)                          \
    X(ERR_OVER_POOL, -37, "quota.over_pool", 422, 4)                                               \
    X(ERR_NO_PROFILE, -38, "place.no_profile", 422, 4)                                             \
    X(ERR_NO_MODEL, -39, "place.no_model", 422, 4)                                                 \
    X(ERR_NO_NODE, -40, "place.no_node", 422, 4)                                                   \
    X(ERR_NO_DOMAIN, -41, "place.no_domain", 422, 4)                                               \
    X(ERR_NO_LEVEL, -42, "place.no_level", 422, 4)                                                 \
    X(ERR_SLICE_GANG, -43, "place.slice_gang", 422, 4)                                             \
    X(ERR_JOB_STATE, -44, "job.wrong_state", 409, 7)                                               \
    X(ERR_JOB_ACCOUNT, -45, "job.no_account", 403, 4)                                              \
    X(ERR_TOKEN, -46, "token.invalid", 401, 6)                                                     \
    X(WHY_HELD, -100, "why.held", 200, 3)                                                          \
    X(WHY_BACKOFF, -101, "why.backoff", 200, 3)                                                    \
    X(WHY_QUEUE_CLOSED, -102, "why.queue_closed", 200, 3)                                          \
    X(WHY_LIMIT, -103, "why.limit", 200, 3)                                                        \
    X(WHY_BORROW_LIMIT, -104, "why.borrow_limit", 200, 3)                                          \
    X(WHY_NOT_LENT, -105, "why.not_lent", 200, 3)                                                  \
    X(WHY_NO_IDLE, -106, "why.no_idle", 200, 3)                                                    \
    X(WHY_NONPREEMPTIBLE, -107, "why.nonpreemptible_over_reserve", 200, 3)                         \
    X(WHY_FRAGMENTED, -108, "why.fragmented", 200, 3)                                              \
    X(WHY_NO_NODE, -109, "why.no_node", 200, 3)                                                    \
    X(WHY_NO_DOMAIN, -110, "why.no_domain", 200, 3)                                                \
    X(WHY_NO_SLICE, -111, "why.no_slice", 200, 3)                                                  \
    X(WHY_NOMINATED_ELSEWHERE, -112, "why.nominated_elsewhere", 200, 3)                            \
    X(WHY_NOMINATED, -113, "why.nominated", 200, 3)                                                \
    X(WHY_PLANNED_START, -114, "why.planned_start", 200, 3)                                        \
    X(WHY_DRAINING_FOR, -115, "why.draining_for", 200, 3)                                          \
    X(WHY_AHEAD, -116, "why.ahead", 200, 3)                                                        \
    X(WHY_UNDELIVERED, -117, "why.undelivered", 200, 3)                                            \
    X(WHY_NO_VICTIM, -118, "why.no_victim", 200, 3)                                                \
    X(WHY_NEVER, -119, "why.never", 200, 4)                                                        \
    X(WHY_FROZEN, -120, "why.frozen", 200, 3)                                                      \
    X(WHY_STARTS_NOW, -121, "why.starts_now", 200, 3)                                              \
    X(WHY_CPU_MEMORY, -122, "why.cpu_memory", 200, 3)

enum err_code {
    ERR_OK = 0,
#define ERR_ENUM(sym, num, name, http, exit) sym = (num),
    ERR_TABLE(ERR_ENUM)
#undef ERR_ENUM
};

#define ERR_TEXT_MAX 320

struct err {
    enum err_code code;
    char text[ERR_TEXT_MAX];
};

/* Fill err, if there is one, and return code, so that a failure is one line. */
int err_set(struct err *err, enum err_code code, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* The stable name of a code, "server.internal" for one that is not in the table. */
const char *err_name(int code);
int err_http(int code);
int err_exit(int code);
/* The code of a name, or ERR_INTERNAL. */
enum err_code err_of_name(const char *name);

#endif
