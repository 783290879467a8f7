/* listener - plain socket calls.  Looking whether a socket is stale, removing it and binding anew
 * are three steps; two daemons that start at once would remove each other's, so a lock file of 0600
 * goes around them (the directory itself could be locked by anybody who may read it). */
#include "http/listener.h"

#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 512

static int io_error(struct err *err, const char *what, const char *where)
{
    return err_set(err, ERR_IO, "%s %s: %s", what, where, strerror(errno));
}

static int make_parent(const char *path, struct err *err)
{
    char dir[LISTENER_PATH_MAX + 1];
    const char *slash = strrchr(path, '/');
    size_t len = slash != NULL ? (size_t)(slash - path) : 0;

    if (len == 0) {
        return 0;
    }
    memcpy(dir, path, len);
    dir[len] = '\0';
    if (mkdir(dir, 0755) != 0 && errno != EEXIST) {
        return io_error(err, "cannot make the directory", dir);
    }
    return 0;
}

/* Make room for the name: remove a socket nobody listens on. */
static int clear_stale(const struct sockaddr_un *address, struct err *err)
{
    struct stat st;
    int fd;
    int rc;

    if (lstat(address->sun_path, &st) != 0) {
        return errno == ENOENT ? 0 : io_error(err, "cannot look at", address->sun_path);
    }
    if (!S_ISSOCK(st.st_mode)) {
        return err_set(err, ERR_CONFLICT, "%s is in the way: it is not a socket",
                       address->sun_path);
    }
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return io_error(err, "no socket to try", address->sun_path);
    }
    rc = connect(fd, (const struct sockaddr *)address, sizeof(*address));
    if (rc == 0 || errno == EAGAIN) {
        close(fd);
        return err_set(err, ERR_LOCKED, "somebody already listens on %s", address->sun_path);
    }
    rc = errno;
    close(fd);
    if (rc != ECONNREFUSED) {
        errno = rc;
        return io_error(err, "cannot try", address->sun_path);
    }
    if (unlink(address->sun_path) != 0 && errno != ENOENT) {
        return io_error(err, "cannot remove the stale", address->sun_path);
    }
    return 0;
}

/* Bind and listen; l->path is the name, and a file of that name is there only on success. */
static int open_unix(struct listener *l, mode_t mode, struct err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat st;
    int rc;

    memcpy(address.sun_path, l->path, sizeof(l->path));
    rc = clear_stale(&address, err);
    if (rc != 0) {
        return rc;
    }
    l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (l->fd < 0) {
        return io_error(err, "no socket for", l->path);
    }
    if (bind(l->fd, (const struct sockaddr *)&address, sizeof(address)) != 0) {
        rc = io_error(err, "cannot bind", l->path);
        close(l->fd);
        return rc;
    }
    if (chmod(l->path, mode) != 0 || listen(l->fd, BACKLOG) != 0 || lstat(l->path, &st) != 0) {
        rc = io_error(err, "cannot listen on", l->path);
        unlink(l->path);
        close(l->fd);
        return rc;
    }
    l->dev = st.st_dev;
    l->ino = st.st_ino;
    return 0;
}

int listener_unix(const char *path, mode_t mode, struct listener *ret, struct err *err)
{
    struct listener l = {.fd = -1, .local = true};
    size_t len = strlen(path);
    char lock[LISTENER_PATH_MAX + 8];
    int lock_fd;
    int rc;

    if (len == 0 || len > LISTENER_PATH_MAX) {
        return err_set(err, ERR_RANGE, "a socket path has 1 to %d bytes, \"%.120s\" has %zu",
                       LISTENER_PATH_MAX, path, len);
    }
    memcpy(l.path, path, len);
    rc = make_parent(l.path, err);
    if (rc != 0) {
        return rc;
    }
    snprintf(lock, sizeof(lock), "%s.lock", l.path);
    lock_fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (lock_fd < 0 || flock(lock_fd, LOCK_EX) != 0) {
        rc = io_error(err, "cannot lock", lock);
        if (lock_fd >= 0) {
            close(lock_fd);
        }
        return rc;
    }
    rc = open_unix(&l, mode, err);
    unlink(lock);
    close(lock_fd);
    if (rc != 0) {
        return rc;
    }
    *ret = l;
    return 0;
}

/* Split "HOST:PORT" or "[HOST]:PORT". */
static int split(const char *address, char *host, size_t room, int64_t *ret_port, struct err *err)
{
    const char *colon = strrchr(address, ':');
    size_t len = colon != NULL ? (size_t)(colon - address) : 0;
    bool bracket = len > 2 && address[0] == '[' && address[len - 1] == ']';
    const char *from = bracket ? address + 1 : address;

    len -= bracket ? 2 : 0;
    if (len == 0 || len >= room || !str_to_int(colon + 1, ret_port) || *ret_port < 0 ||
        *ret_port > 65535 || (!bracket && memchr(from, ':', len) != NULL)) {
        return err_set(err, ERR_INVALID,
                       "\"%.80s\" is not an address: right is \"127.0.0.1:8270\" or \"[::1]:8270\"",
                       address);
    }
    memcpy(host, from, len);
    host[len] = '\0';
    if (strcmp(host, "localhost") == 0) {
        memcpy(host, "127.0.0.1", sizeof("127.0.0.1"));
    }
    return 0;
}

static bool is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        struct sockaddr_in in;

        memcpy(&in, address, sizeof(in));
        return ntohl(in.sin_addr.s_addr) >> 24 == 127;
    }
    if (address->sa_family == AF_INET6) {
        struct sockaddr_in6 in6;

        memcpy(&in6, address, sizeof(in6));
        return IN6_IS_ADDR_LOOPBACK(&in6.sin6_addr);
    }
    return false;
}

static int open_tcp(const struct addrinfo *info, const char *address, struct listener *ret,
                    struct err *err)
{
    struct listener l = {.fd = -1};
    struct sockaddr_storage bound;
    socklen_t len = sizeof(bound);
    int one = 1;

    l.fd = socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (l.fd < 0) {
        return io_error(err, "no socket for", address);
    }
    if (setsockopt(l.fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) != 0 ||
        bind(l.fd, info->ai_addr, info->ai_addrlen) != 0 || listen(l.fd, BACKLOG) != 0 ||
        getsockname(l.fd, (struct sockaddr *)&bound, &len) != 0) {
        int code = errno == EADDRINUSE ? ERR_LOCKED : ERR_IO;

        err_set(err, code, "cannot listen on %s: %s", address, strerror(errno));
        close(l.fd);
        return code;
    }
    if (bound.ss_family == AF_INET) {
        struct sockaddr_in in;

        memcpy(&in, &bound, sizeof(in));
        l.port = ntohs(in.sin_port);
    } else {
        struct sockaddr_in6 in6;

        memcpy(&in6, &bound, sizeof(in6));
        l.port = ntohs(in6.sin6_port);
    }
    *ret = l;
    return 0;
}

int listener_tcp(const char *address, bool any, struct listener *ret, struct err *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE};
    struct addrinfo *info = NULL;
    char host[80];
    char service[8];
    int64_t port;
    int rc;
    struct str text = {0};

    rc = split(address, host, sizeof(host), &port, err);
    if (rc != 0) {
        return rc;
    }
    str_add_int(&text, port);
    memcpy(service, text.text, text.len + 1);
    str_fini(&text);
    if (getaddrinfo(host, service, &hints, &info) != 0) {
        return err_set(err, ERR_INVALID, "\"%.80s\" is not a numeric address", host);
    }
    if (!any && !is_loopback(info->ai_addr)) {
        rc = err_set(err, ERR_FORBIDDEN,
                     "%.80s is not loopback: the API is plain HTTP, put a TLS proxy in front",
                     address);
    } else {
        rc = open_tcp(info, address, ret, err);
    }
    freeaddrinfo(info);
    return rc;
}

void listener_fini(struct listener *l)
{
    struct stat st;

    if (l->fd < 0) {
        return;
    }
    close(l->fd);
    l->fd = -1;
    if (l->path[0] != '\0' && lstat(l->path, &st) == 0 && st.st_dev == l->dev &&
        st.st_ino == l->ino) {
        unlink(l->path);
    }
}
