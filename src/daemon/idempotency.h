/* idempotency - submissions that are sent again under the same key give the same answer, for 24
 * hours, over restarts too: the key lies in the job's entry of the content store, and the jobs
 * tell it back.  The same key with another body is an error. */
#ifndef MUSTER_DAEMON_IDEMPOTENCY_H
#define MUSTER_DAEMON_IDEMPOTENCY_H

#include "daemon/daemon.h"

#define IDEMPOTENCY_MS      ((int64_t)24 * 3600 * 1000)
#define IDEMPOTENCY_KEY_MAX 255

struct idempotency;

struct idempotency *idempotency_new(void);
void idempotency_free(struct idempotency *x);

enum idempotency_state { IDEMPOTENCY_NEW, IDEMPOTENCY_KNOWN, IDEMPOTENCY_BUSY };

struct idempotency_id { /* of a key and its owner, and of what was asked; hex */
    char key[65];
    char body[65];
};

/* Of the caller, the key and the body of a call. */
void idempotency_id_of(const struct service_call *call, struct idempotency_id *ret);
/* KNOWN: *ret_answer is a new reference.  BUSY: it is on its way to the disk.  ERR_IDEMPOTENCY. */
MUST_CHECK int idempotency_find(struct daemon *d, const struct idempotency_id *id,
                                enum idempotency_state *ret, json_t **ret_answer, struct err *err);
/* Under way; then its answer (NULL = it failed and may be tried again). */
void idempotency_begin(struct idempotency *x, const struct idempotency_id *id, int64_t now_ms);
void idempotency_end(struct idempotency *x, const struct idempotency_id *id, const json_t *answer);
/* Forget what is old. */
void idempotency_trim(struct idempotency *x, int64_t now_ms);

#endif
