/* shepherd_talk - the socket of a supervisor: who listens to it, and what they order.
 *
 * Lines in both directions, ended by newline.  A listener gets the state when it comes and whenever
 * it changes; one that does not read is dropped, since nothing may hold a supervisor up.
 */
#ifndef MUSTER_LOCAL_SHEPHERD_TALK_H
#define MUSTER_LOCAL_SHEPHERD_TALK_H

#include "base/err.h"

#include <poll.h>
#include <stddef.h>

#define SHEPHERD_TALK_CLIENTS 4
#define SHEPHERD_TALK_FDS     (1 + SHEPHERD_TALK_CLIENTS)
#define SHEPHERD_TALK_LINE    64 /* no order is as long */

struct shepherd_talk_client {
    int fd; /* -1 = free */
    char line[SHEPHERD_TALK_LINE];
    size_t len;
};

struct shepherd_talk {
    int listen_fd;
    struct shepherd_talk_client clients[SHEPHERD_TALK_CLIENTS];
};

/* What the supervisor does with an order; state is what it says of itself, a line. */
struct shepherd_talk_hooks {
    void *ctx;
    void (*order)(void *ctx, const char *line);
    const char *(*state)(void *ctx);
};

void shepherd_talk_init(struct shepherd_talk *t);
void shepherd_talk_fini(struct shepherd_talk *t);

/* Listen at path; only the owner of this process and root are let in.  ERR_IO. */
MUST_CHECK int shepherd_talk_listen(struct shepherd_talk *t, const char *path, struct err *err);

/* Take a connection; it is told nothing yet. */
void shepherd_talk_add(struct shepherd_talk *t, int fd);

void shepherd_talk_tell_all(struct shepherd_talk *t, const char *line);

/* Fill in what to wait for; then do what came. */
void shepherd_talk_want(const struct shepherd_talk *t, struct pollfd ret[SHEPHERD_TALK_FDS]);
void shepherd_talk_serve(struct shepherd_talk *t, const struct pollfd fds[SHEPHERD_TALK_FDS],
                         const struct shepherd_talk_hooks *hooks);

#endif
