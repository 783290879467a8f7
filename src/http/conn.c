/* conn - a list: a count of one peer's connections at each accept is a thousand comparisons at the
 * most, and a map from uid to count would have to be kept right. */
#include "http/conn.h"

#include "base/check.h"
#include "base/mem.h"

#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int conn_identify(struct conn *c, int fd, bool local, const struct sockaddr_storage *address,
                  struct err *err)
{
    struct ucred cred = {.uid = (uid_t)-1};
    socklen_t len = sizeof(cred);

    if (local && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) != 0) {
        return err_set(err, ERR_IO, "the peer is unknown: %s", strerror(errno));
    }
    c->fd = fd;
    c->address = *address;
    c->peer = (struct auth_peer){.local = local, .uid = (uint32_t)cred.uid};
    return 0;
}

static bool same_address(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
    if (a->ss_family != b->ss_family) {
        return false;
    }
    if (a->ss_family == AF_INET) {
        struct sockaddr_in x;
        struct sockaddr_in y;

        memcpy(&x, a, sizeof(x));
        memcpy(&y, b, sizeof(y));
        return x.sin_addr.s_addr == y.sin_addr.s_addr;
    }
    struct sockaddr_in6 x;
    struct sockaddr_in6 y;

    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    return memcmp(&x.sin6_addr, &y.sin6_addr, sizeof(x.sin6_addr)) == 0;
}

static bool same_peer(const struct conn *a, const struct conn *b)
{
    if (a->peer.local || b->peer.local) {
        return a->peer.local == b->peer.local && a->peer.uid == b->peer.uid;
    }
    return same_address(&a->address, &b->address);
}

/* Some of all connections are kept for root and musterd's own account, so that the operator gets in
 * when two others have taken the rest. */
static unsigned room_for(const struct conn_list *l, const struct conn *c)
{
    bool master = c->peer.local && (c->peer.uid == 0 || c->peer.uid == geteuid());

    return master ? l->count_max : l->count_max - l->count_max / CONN_KEPT_PART;
}

int conn_list_room(const struct conn_list *l, const struct conn *c, struct err *err)
{
    unsigned count_max = room_for(l, c);
    unsigned same = 0;

    for (const struct conn *other = l->first; other != NULL; other = other->next) {
        same += same_peer(other, c) ? 1 : 0;
    }
    if (l->count >= count_max) {
        return err_set(err, ERR_BUSY, "too many connections: %u are the most", count_max);
    }
    if (same >= l->peer_max) {
        return err_set(err, ERR_BUSY, "too many connections of one %s: %u are the most",
                       c->peer.local ? "uid" : "address", l->peer_max);
    }
    return 0;
}

void conn_list_add(struct conn_list *l, struct conn *c)
{
    c->prev = NULL;
    c->next = l->first;
    if (c->next != NULL) {
        c->next->prev = c;
    }
    l->first = c;
    l->count++;
}

void conn_list_remove(struct conn_list *l, struct conn *c)
{
    CHECK(l->count > 0);
    if (c->next != NULL) {
        c->next->prev = c->prev;
    }
    if (c->prev != NULL) {
        c->prev->next = c->next;
    } else {
        CHECK(l->first == c);
        l->first = c->next;
    }
    l->count--;
}

void conn_cut(int fd)
{
    shutdown(fd, SHUT_RDWR);
}

void conn_cut_with(int fd, const struct problem *p)
{
    CLEANUP(mem_freep) char *body = problem_text(p);
    int status = problem_status(p);
    char head[256];
    int len = snprintf(head, sizeof(head),
                       "HTTP/1.1 %d %s\r\nConnection: close\r\nCache-Control: no-store\r\n"
                       "Content-Type: application/problem+json\r\nContent-Length: %zu\r\n\r\n",
                       status, MHD_get_reason_phrase_for((unsigned)status), strlen(body));

    CHECK(len > 0 && (size_t)len < sizeof(head));
    if (send(fd, head, (size_t)len, MSG_NOSIGNAL | MSG_DONTWAIT | MSG_MORE) == len) {
        (void)!send(fd, body, strlen(body), MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    shutdown(fd, SHUT_RDWR);
}
