/* command - a fact that somebody waits for: put to the engine, answered once it is durable.
 *
 * The engine says a fact's seq before it shows the record; what an answer needs of the record (the
 * id a job was given) is known only then.  So commands wait in the daemon's list, in order of seq,
 * until their record comes by.
 */
#ifndef MUSTER_DAEMON_COMMAND_H
#define MUSTER_DAEMON_COMMAND_H

#include "daemon/daemon.h"

/* The answer from the durable fact; own is what command_new was given. */
typedef json_t *command_answer(struct daemon *d, const struct fact *fact, void *own);
/* What own points to is no longer needed. */
typedef void command_forget(void *own);

struct command {
    struct daemon *d;
    service_done *done; /* NULL = nobody waits */
    void *arg;
    command_answer *answer;
    command_forget *forget; /* may be NULL */
    void *own;
    bool created;
    int64_t seq;
    void (*failed)(struct daemon *d, void *own, int rc, const struct err *err); /* may be NULL */
};

/* Queue the fact (copied); the call is answered later. */
void command_put(const struct command *c, const struct fact *fact);

/* A durable record has come: answer who waits for it. */
void command_durable(struct daemon *d, const struct fact *fact);

/* {"seq"} with what the fact speaks of: "job", "node" or "id" (of a token). */
json_t *command_answer_seq(struct daemon *d, const struct fact *fact, void *own);

#endif
