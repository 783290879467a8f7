/* listener - the sockets on which clients are awaited: a unix socket, loopback TCP.
 *
 * The unix socket may be open to all (0666): who connects is known by the kernel's word.  A socket
 * file that a dead process left is replaced; one behind which somebody listens never is.
 */
#ifndef MUSTER_HTTP_LISTENER_H
#define MUSTER_HTTP_LISTENER_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define LISTENER_PATH_MAX 107 /* sun_path without its NUL */

struct listener {
    int fd; /* -1 = closed */
    bool local;
    uint16_t port;                    /* TCP: the real one */
    char path[LISTENER_PATH_MAX + 1]; /* unix: "" for TCP */
    dev_t dev;                        /* of the socket file, so that only ours is removed */
    ino_t ino;
};

/* A missing directory is made with 0755 (one level).  mode is that of the socket file.
 * ERR_RANGE: path too long.  ERR_LOCKED: somebody listens there.  ERR_CONFLICT: a file that is no
 * socket is in the way.  ERR_IO: the system refused. */
MUST_CHECK int listener_unix(const char *path, mode_t mode, struct listener *ret, struct err *err);

/* "127.0.0.1:8270", "[::1]:8270", "localhost:8270"; port 0 takes a free one.  ERR_INVALID: not such
 * a text.  ERR_FORBIDDEN: not loopback, and any is false.  ERR_LOCKED: the port is in use. */
MUST_CHECK int listener_tcp(const char *address, bool any, struct listener *ret, struct err *err);

/* Close, and remove the socket file if it is still ours. */
void listener_fini(struct listener *l);

#endif
