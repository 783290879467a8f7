#include "backend/local/shepherd_talk.h"

#include "backend/local/safedir.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void shepherd_talk_init(struct shepherd_talk *t)
{
    t->listen_fd = -1;
    for (size_t i = 0; i < SHEPHERD_TALK_CLIENTS; i++) {
        t->clients[i] = (struct shepherd_talk_client){.fd = -1};
    }
}

static void drop(struct shepherd_talk_client *c)
{
    if (c->fd >= 0) {
        close(c->fd);
    }
    c->fd = -1;
    c->len = 0;
}

void shepherd_talk_fini(struct shepherd_talk *t)
{
    for (size_t i = 0; i < SHEPHERD_TALK_CLIENTS; i++) {
        drop(&t->clients[i]);
    }
    if (t->listen_fd >= 0) {
        close(t->listen_fd);
        t->listen_fd = -1;
    }
}

/* The path may be longer than a socket address holds, so it is reached through its directory. */
int shepherd_talk_listen(struct shepherd_talk *t, const char *path, struct err *err)
{
    CLEANUP(mem_freep) char *dir = mem_text(path);
    CLEANUP(safedir_closep) int dir_fd = -1;
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    char *slash = strrchr(dir, '/');
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0 || slash == NULL || slash == dir) {
        return err_set(err, ERR_IO, "no socket %s: %s", path, strerror(errno));
    }
    *slash = '\0';
    dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    (void)unlinkat(dir_fd, slash + 1, 0);
    snprintf(addr.sun_path, sizeof(addr.sun_path), "/proc/self/fd/%d/%.80s", dir_fd, slash + 1);
    if (dir_fd < 0 || bind(fd, (const struct sockaddr *)&addr, sizeof(addr)) != 0 ||
        listen(fd, SHEPHERD_TALK_CLIENTS) != 0) {
        err_set(err, ERR_IO, "cannot listen on %s: %s", path, strerror(errno));
        close(fd);
        return ERR_IO;
    }
    t->listen_fd = fd;
    return 0;
}

/* A newcomer takes the place of the oldest if all are taken: a musterd that was killed may leave
 * half-open ones. */
static struct shepherd_talk_client *add(struct shepherd_talk *t, int fd)
{
    size_t at = 0;

    while (at < SHEPHERD_TALK_CLIENTS && t->clients[at].fd >= 0) {
        at++;
    }
    if (at == SHEPHERD_TALK_CLIENTS) {
        drop(&t->clients[0]);
        memmove(&t->clients[0], &t->clients[1],
                sizeof(t->clients[0]) * (SHEPHERD_TALK_CLIENTS - 1));
        at = SHEPHERD_TALK_CLIENTS - 1;
    }
    t->clients[at] = (struct shepherd_talk_client){.fd = fd};
    return &t->clients[at];
}

void shepherd_talk_add(struct shepherd_talk *t, int fd)
{
    (void)add(t, fd);
}

static void tell(struct shepherd_talk_client *c, const char *line)
{
    size_t len = strlen(line);

    if (c->fd >= 0 && send(c->fd, line, len, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)len) {
        drop(c);
    }
}

void shepherd_talk_tell_all(struct shepherd_talk *t, const char *line)
{
    for (size_t i = 0; i < SHEPHERD_TALK_CLIENTS; i++) {
        tell(&t->clients[i], line);
    }
}

static void let_in(struct shepherd_talk *t, const struct shepherd_talk_hooks *hooks)
{
    int fd = accept4(t->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct ucred peer = {0};
    socklen_t len = sizeof(peer);

    if (fd < 0) {
        return;
    }
    /* The directory of the socket is closed to others already; this is the second lock. */
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0 ||
        (peer.uid != geteuid() && peer.uid != 0)) {
        close(fd);
        return;
    }
    tell(add(t, fd), hooks->state(hooks->ctx));
}

static void take(struct shepherd_talk_client *c, const char *line,
                 const struct shepherd_talk_hooks *hooks)
{
    if (strcmp(line, "status") == 0) {
        tell(c, hooks->state(hooks->ctx));
    } else {
        hooks->order(hooks->ctx, line);
    }
}

static void listen_to(struct shepherd_talk_client *c, const struct shepherd_talk_hooks *hooks)
{
    char *end;
    ssize_t n = recv(c->fd, c->line + c->len, sizeof(c->line) - 1 - c->len, MSG_DONTWAIT);

    if (n <= 0) {
        if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
            drop(c);
        }
        return;
    }
    c->len += (size_t)n;
    c->line[c->len] = '\0';
    while ((end = strchr(c->line, '\n')) != NULL) {
        *end = '\0';
        take(c, c->line, hooks);
        if (c->fd < 0) {
            return; /* dropped: it does not read its answers */
        }
        c->len -= (size_t)(end + 1 - c->line);
        memmove(c->line, end + 1, c->len + 1);
    }
    if (c->len >= sizeof(c->line) - 1) {
        drop(c);
    }
}

void shepherd_talk_want(const struct shepherd_talk *t, struct pollfd ret[SHEPHERD_TALK_FDS])
{
    ret[0] = (struct pollfd){.fd = t->listen_fd, .events = POLLIN};
    for (size_t i = 0; i < SHEPHERD_TALK_CLIENTS; i++) {
        ret[1 + i] = (struct pollfd){.fd = t->clients[i].fd, .events = POLLIN};
    }
}

/* Newcomers last: they may take the place of a client that fds speaks of. */
void shepherd_talk_serve(struct shepherd_talk *t, const struct pollfd fds[SHEPHERD_TALK_FDS],
                         const struct shepherd_talk_hooks *hooks)
{
    for (size_t i = 0; i < SHEPHERD_TALK_CLIENTS; i++) {
        if (fds[1 + i].revents != 0 && t->clients[i].fd == fds[1 + i].fd) {
            listen_to(&t->clients[i], hooks);
        }
    }
    if (fds[0].revents != 0) {
        let_in(t, hooks);
    }
}
