/* conn - the open connections: who each one's peer is, how many there may be, how one is ended.
 *
 * A connection is ended by shutdown(2), never by close: its descriptor is libmicrohttpd's, which
 * sees the end of the stream and frees it in its own order.
 */
#ifndef MUSTER_HTTP_CONN_H
#define MUSTER_HTTP_CONN_H

#include "http/auth.h"
#include "http/problem.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct exchange;

struct conn {
    struct conn *next; /* of conn_list */
    struct conn *prev;
    int fd;
    struct auth_peer peer;
    struct sockaddr_storage address; /* TCP */
    struct exchange *exchange;       /* NULL between requests */
    int64_t idle_since_ms;
};

#define CONN_KEPT_PART 32 /* one connection of as many is kept for root and musterd's account */

struct conn_list {
    struct conn *first;
    unsigned count;
    unsigned count_max;
    unsigned peer_max; /* of one uid, or one address */
};

/* Who is at the other end of fd?  ERR_IO: the kernel does not say. */
MUST_CHECK int conn_identify(struct conn *c, int fd, bool local,
                             const struct sockaddr_storage *address, struct err *err);
/* ERR_BUSY: one more of this peer, or at all, is too many. */
MUST_CHECK int conn_list_room(const struct conn_list *l, const struct conn *c, struct err *err);
void conn_list_add(struct conn_list *l, struct conn *c);
void conn_list_remove(struct conn_list *l, struct conn *c);

void conn_cut(int fd);
/* Say why first; only where no byte of another answer is on its way.  What does not fit the
 * socket's buffer at once is lost: this client is not waited for. */
void conn_cut_with(int fd, const struct problem *p);

#endif
