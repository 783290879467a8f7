/* daemon - what musterd is made of, and who holds it: one loop, one state, one thread that owns
 * both; a second one only writes (journalthread.h).
 *
 * Only files of this folder see inside.  The services read the core through view.h; what changes
 * it goes through command_put.
 */
#ifndef MUSTER_DAEMON_DAEMON_H
#define MUSTER_DAEMON_DAEMON_H

#include "base/clock.h"
#include "base/vec.h"
#include "config/config.h"
#include "core/view.h"
#include "daemon/answer.h"
#include "daemon/content.h"
#include "daemon/people.h"
#include "engine/engine.h"
#include "http/service.h"

struct command;
struct event;
struct event_base;
struct eventlog;
struct idempotency;
struct jobindex;
struct journalthread;
struct loop;
struct server;
struct signing;
struct waiting;

struct daemon_options { /* texts are lent for the life of the daemon; NULL = by file or account */
    const char *config;
    const char *state;
    const char *socket;
    const char *listen;
    const char *shepherd;
    bool simulate;
    bool play; /* no process is started: virtualcluster.h */
    bool thaw; /* forget earlier crashes */
};

struct daemon_site { /* one reading of a configuration */
    struct arena *arena;
    struct config config;
    const char *text; /* as it was read */
};

struct daemon_token_use {
    int64_t token;
    int64_t at_ms;
};

struct daemon_login { /* a name of the accounts' database, kept for a while */
    uint32_t uid;
    char *name;
    int64_t until_ms;
};

struct daemon {
    struct daemon_options options;
    char *state; /* directory */
    char *socket;
    char *listen;
    struct event_base *base;
    struct loop *loop;
    struct clock clock;
    struct journal *journal;
    struct engine *engine;
    struct backend *local;     /* NULL when the nodes are played */
    struct backend *played;    /* NULL when they are not */
    backend_sink *engine_sink; /* where the backend's facts go */
    void *engine_sink_ctx;
    struct server *server;
    struct service service;
    struct content *content;
    struct people *people;
    struct idempotency *idempotency;
    struct signing *signing;
    struct jobindex *jobs;
    struct journalthread *thread; /* NULL: the engine writes itself */
    struct waiting *waiting;
    struct eventlog *events;
    struct daemon_site *site; /* in force: classes, accounts, unknown users */
    char *file_digest;        /* of the configuration file as it was read last */
    char *refused; /* why the file on disk is not in force, NULL = it is, or never tried */
    VEC(struct command *) durable; /* answered when their record comes by, oldest first */
    size_t durable_at;             /* those before are answered */
    int64_t state_hash_seq;        /* of state_hash, which is made when it is asked for */
    char state_hash[HASH_TEXT_MAX];
    bool text_lost; /* the content store does not have the text of the policy in force */
    VEC(struct daemon_token_use) token_uses;
    VEC(struct daemon_login) logins;
    char *account_good; /* tasks may run as this one, until */
    int64_t account_good_until_ms;
    int64_t durable_seq; /* the newest durable record */
    int64_t started_ms;
    int64_t next_job;      /* the next id to give out, if the core's is lower */
    int64_t clock_step_ms; /* the wall clock was set by this much, not journaled yet */
    int64_t trim_ms;
    int64_t begun_ms;         /* when the last batch went to the thread */
    struct arena *spec_arena; /* of the last spec given to the engine */
    struct backend_spec spec; /* that one */
    char spec_digest[HASH_TEXT_MAX];
    struct arena *submit_arena; /* of the last submission that was read */
    bool reload;                /* the configuration is to be read once no batch is on its way */
    bool stopping;
    char *frozen_why;
    struct err full; /* why the disk is full, code 0 = it is not */
};

/* Everything up to the loop: state, journal, replay, backends, policy, sockets.  On failure nothing
 * is left behind. */
MUST_CHECK int daemon_open(const struct daemon_options *options, struct daemon **ret,
                           struct err *err);
void daemon_close(struct daemon *d);

/* Run until SIGTERM or SIGINT; 0 = stopped as asked. */
MUST_CHECK int daemon_run(struct daemon *d, struct err *err);

int64_t daemon_now_ms(struct daemon *d);
/* Plan, act, and begin to make durable what is queued; returns when to step again. */
int64_t daemon_step(struct daemon *d);
/* No more work is taken until there is room again. */
void daemon_disk_full(struct daemon *d, const struct err *err);
struct engine_hooks daemon_hooks(struct daemon *d);

/* Read the configuration file again (SIGHUP) and apply it if it differs from what was read last. */
void daemon_reload(struct daemon *d);

void daemon_site_free(struct daemon_site *s);

#endif
