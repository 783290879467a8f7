/* server - libmicrohttpd without threads and without a listening socket: its epoll descriptor is
 * one event of the loop, and connections are accepted here, because only so the limits per uid, the
 * peer's credentials and an orderly stop are ours.  (Its own listening would need one daemon a
 * socket and knows no uid.)
 *
 * MHD's timeouts count inactivity; the absolute ones, against a client that dribbles, are a scan of
 * all connections some times a second.  A connection is cut by shutdown(2): MHD sees the end of the
 * stream and frees it in its own order.
 */
#include "http/server.h"

#include "base/check.h"
#include "base/mem.h"
#include "http/exchange.h"
#include "http/listener.h"
#include "http/problem.h"

#include <errno.h>
#include <event2/event.h>
#include <inttypes.h>
#include <limits.h>
#include <microhttpd.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#define LISTENER_MAX 2
/* Request line and headers, and what is read of the body at a time. */
#define CONNECTION_BYTES_MAX ((size_t)32 << 10)
#define ACCEPT_MAX           64 /* of one turn of the loop */

struct connection {
    struct server *server;
    struct connection *next;
    struct connection *prev;
    int fd;
    struct auth_peer peer;
    struct sockaddr_storage address;
    struct exchange *exchange; /* NULL between requests */
    int64_t idle_since_ms;
    bool started; /* MHD owns it */
};

struct server {
    struct exchange_env env;
    struct server_config config; /* with defaults filled in */
    struct event_base *base;
    struct MHD_Daemon *mhd;
    struct listener listeners[LISTENER_MAX];
    struct event *accepts[LISTENER_MAX];
    size_t listener_count;
    bool paused; /* out of descriptors: the listeners wait for the next tick */
    struct event *pump;
    struct event *timer; /* when MHD asks for it */
    struct event *tick;
    struct connection *connections;
    unsigned connection_count;
    struct connection *starting; /* between MHD_add_connection and its notification */
    void (*stopped)(void *arg);
    void *stopped_arg;
    int64_t stop_at_ms;
};

static int64_t now_ms(void)
{
    return tally_clock_us() / 1000;
}

static struct timeval in_ms(int64_t ms)
{
    return (struct timeval){.tv_sec = (time_t)(ms / 1000),
                            .tv_usec = (suseconds_t)(ms % 1000 * 1000)};
}

/* Let MHD work, then ask when it wants to be called again without a socket having changed. */
static void run_mhd(struct server *s)
{
    MHD_UNSIGNED_LONG_LONG wait_ms = 0;

    CHECK(MHD_run(s->mhd) == MHD_YES);
    if (MHD_get_timeout(s->mhd, &wait_ms) != MHD_YES) {
        evtimer_del(s->timer);
        return;
    }
    struct timeval wait = in_ms((int64_t)(wait_ms < 60000 ? wait_ms : 60000));

    evtimer_add(s->timer, &wait);
}

static void on_pump(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    run_mhd(arg);
}

static void cut(struct connection *c)
{
    shutdown(c->fd, SHUT_RDWR);
}

/* Say why, if no byte of an answer is on its way, and cut.  What does not fit the socket's buffer
 * at once is lost: this client is not waited for. */
static void cut_with(int fd, const struct problem *p)
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

static void add_connection(struct server *s, struct connection *c)
{
    c->next = s->connections;
    if (c->next != NULL) {
        c->next->prev = c;
    }
    s->connections = c;
    s->connection_count++;
    tally_connection(s->env.tally, 1);
}

static void free_connection(struct connection *c)
{
    struct server *s = c->server;

    if (c->next != NULL) {
        c->next->prev = c->prev;
    }
    if (c->prev != NULL) {
        c->prev->next = c->next;
    } else {
        s->connections = c->next;
    }
    s->connection_count--;
    tally_connection(s->env.tally, -1);
    mem_free(c);
}

static bool same_peer(const struct connection *a, const struct connection *b)
{
    if (a->peer.local != b->peer.local) {
        return false;
    }
    if (a->peer.local) {
        return a->peer.uid == b->peer.uid;
    }
    if (a->address.ss_family != b->address.ss_family) {
        return false;
    }
    if (a->address.ss_family == AF_INET) {
        const struct sockaddr_in *x = (const struct sockaddr_in *)&a->address;
        const struct sockaddr_in *y = (const struct sockaddr_in *)&b->address;

        return x->sin_addr.s_addr == y->sin_addr.s_addr;
    }
    const struct sockaddr_in6 *x = (const struct sockaddr_in6 *)&a->address;
    const struct sockaddr_in6 *y = (const struct sockaddr_in6 *)&b->address;

    return memcmp(&x->sin6_addr, &y->sin6_addr, sizeof(x->sin6_addr)) == 0;
}

static bool is_one_too_many(const struct server *s, const struct connection *c)
{
    unsigned same = 0;

    if (s->connection_count >= s->config.connections_max) {
        return true;
    }
    for (const struct connection *other = s->connections; other != NULL; other = other->next) {
        same += same_peer(other, c) ? 1 : 0;
    }
    return same >= s->config.connections_peer_max;
}

static void refuse(struct server *s, int fd)
{
    struct problem p = {.request_id = "-"};

    err_set(&p.err, ERR_BUSY, "too many connections: at most %u, and %u of one peer",
            s->config.connections_max, s->config.connections_peer_max);
    tally_refused(s->env.tally);
    cut_with(fd, &p);
    close(fd);
}

static void start_connection(struct server *s, bool local, int fd,
                             const struct sockaddr_storage *address, socklen_t len)
{
    struct connection *c = mem_new(1, sizeof(*c));
    struct ucred cred = {.uid = (uid_t)-1};
    socklen_t cred_len = sizeof(cred);

    c->server = s;
    c->fd = fd;
    c->address = *address;
    c->idle_since_ms = now_ms();
    if (local && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &cred_len) != 0) {
        close(fd);
        mem_free(c);
        return;
    }
    c->peer = (struct auth_peer){.local = local, .uid = (uint32_t)cred.uid};
    if (is_one_too_many(s, c)) {
        refuse(s, fd);
        mem_free(c);
        return;
    }
    add_connection(s, c);
    s->starting = c;
    if (MHD_add_connection(s->mhd, fd, (const struct sockaddr *)&c->address, len) != MHD_YES) {
        /* MHD has closed fd; it has freed c if it had told us of its start. */
        if (s->starting != NULL) {
            free_connection(c);
        }
    }
    s->starting = NULL;
}

/* A listener that stays ready while no descriptor is left would keep the loop spinning. */
static void pause_accept(struct server *s, bool paused)
{
    s->paused = paused;
    for (size_t i = 0; i < s->listener_count; i++) {
        CHECK((paused ? event_del(s->accepts[i]) : event_add(s->accepts[i], NULL)) == 0);
    }
}

static void on_accept(evutil_socket_t listener, short what, void *arg)
{
    struct server *s = arg;
    bool local = s->listeners[0].fd == listener ? s->listeners[0].local : s->listeners[1].local;

    (void)what;
    for (int i = 0; i < ACCEPT_MAX; i++) {
        struct sockaddr_storage address = {0};
        socklen_t len = sizeof(address);
        int fd = accept4(listener, (struct sockaddr *)&address, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (fd < 0 && (errno == EINTR || errno == ECONNABORTED)) {
            continue;
        }
        if (fd < 0) {
            if (errno != EAGAIN) {
                pause_accept(s, true);
            }
            break;
        }
        start_connection(s, local, fd, &address, len);
    }
    run_mhd(s);
}

static struct connection *connection_of(struct MHD_Connection *m)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(m, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    CHECK(info != NULL && info->socket_context != NULL);
    return info->socket_context;
}

static void on_connection(void *arg, struct MHD_Connection *m, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct server *s = arg;

    (void)m;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        CHECK(s->starting != NULL);
        *context = s->starting;
        s->starting = NULL;
    } else {
        free_connection(*context);
        *context = NULL;
    }
}

static void *on_uri(void *arg, const char *uri, struct MHD_Connection *m)
{
    struct server *s = arg;
    struct connection *c = connection_of(m);

    c->exchange = exchange_new(&s->env, &c->peer, m, uri);
    return c->exchange;
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *m, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *len, void **context)
{
    (void)arg;
    (void)m;
    (void)url;
    (void)version;
    return exchange_step(*context, method, data, len);
}

static void on_completed(void *arg, struct MHD_Connection *m, void **context,
                         enum MHD_RequestTerminationCode code)
{
    struct connection *c = connection_of(m);
    struct server *s = arg;

    (void)code;
    if (*context != NULL) {
        exchange_free(*context);
    }
    *context = NULL;
    c->exchange = NULL;
    c->idle_since_ms = now_ms();
    if (s->env.stopping) {
        cut(c); /* its answer may have been queued before, with keep-alive */
    }
}

static void check_connection(struct server *s, struct connection *c, int64_t now)
{
    struct problem p = {.status = MHD_HTTP_REQUEST_TIMEOUT, .request_id = "-"};

    if (c->exchange == NULL) {
        if (now - c->idle_since_ms >= s->config.idle_ms_max) {
            cut(c);
        }
        return;
    }
    exchange_tick(c->exchange, c->fd, now);
    if (now < exchange_deadline_ms(c->exchange)) {
        return;
    }
    if (exchange_is_reading(c->exchange)) {
        err_set(&p.err, ERR_TIMEOUT, "the request was not here whole after %" PRId64 " ms",
                s->config.request_ms_max);
        cut_with(c->fd, &p);
    } else {
        cut(c);
    }
}

static void check_stop(struct server *s, int64_t now)
{
    void (*stopped)(void *arg) = s->stopped;

    if (stopped != NULL && (s->connection_count == 0 || now >= s->stop_at_ms)) {
        s->stopped = NULL;
        stopped(s->stopped_arg);
    }
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
    struct server *s = arg;
    int64_t now = now_ms();

    (void)fd;
    (void)what;
    if (s->paused) {
        pause_accept(s, false);
    }
    for (struct connection *c = s->connections; c != NULL; c = c->next) {
        check_connection(s, c, now);
    }
    run_mhd(s);
    check_stop(s, now);
}

static void fill_defaults(struct server_config *c)
{
    c->unix_mode = c->unix_mode != 0 ? c->unix_mode : 0666;
    c->body_bytes_max = c->body_bytes_max != 0 ? c->body_bytes_max : (size_t)1 << 20;
    c->connections_max = c->connections_max != 0 ? c->connections_max : 1024;
    c->connections_peer_max = c->connections_peer_max != 0 ? c->connections_peer_max : 512;
    c->request_ms_max = c->request_ms_max != 0 ? c->request_ms_max : 30000;
    c->idle_ms_max = c->idle_ms_max != 0 ? c->idle_ms_max : 60000;
    c->answer_ms_max = c->answer_ms_max != 0 ? c->answer_ms_max : 120000;
    c->heartbeat_ms = c->heartbeat_ms != 0 ? c->heartbeat_ms : 15000;
    c->stop_ms_max = c->stop_ms_max != 0 ? c->stop_ms_max : 10000;
}

static int open_listeners(struct server *s, struct err *err)
{
    const struct server_config *c = &s->config;
    int rc = 0;

    if (c->unix_path != NULL && c->unix_path[0] != '\0') {
        rc = listener_unix(c->unix_path, (mode_t)c->unix_mode, &s->listeners[s->listener_count],
                           err);
        s->listener_count += rc == 0 ? 1 : 0;
    }
    if (rc == 0 && c->tcp != NULL && c->tcp[0] != '\0') {
        rc = listener_tcp(c->tcp, c->tcp_any, &s->listeners[s->listener_count], err);
        s->listener_count += rc == 0 ? 1 : 0;
    }
    if (rc == 0 && s->listener_count == 0) {
        rc = err_set(err, ERR_INVALID, "neither a unix socket nor a TCP address to listen on");
    }
    return rc;
}

static int start_mhd(struct server *s, struct err *err)
{
    const union MHD_DaemonInfo *info;
    unsigned idle_s = (unsigned)((s->config.idle_ms_max + 999) / 1000);

    s->mhd = MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME,
                              0, NULL, NULL, on_request, s, MHD_OPTION_STRICT_FOR_CLIENT, 1,
                              MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_BYTES_MAX,
                              MHD_OPTION_CONNECTION_LIMIT, s->config.connections_max + 1,
                              MHD_OPTION_CONNECTION_TIMEOUT, idle_s, MHD_OPTION_URI_LOG_CALLBACK,
                              on_uri, s, MHD_OPTION_NOTIFY_COMPLETED, on_completed, s,
                              MHD_OPTION_NOTIFY_CONNECTION, on_connection, s, MHD_OPTION_END);
    if (s->mhd == NULL) {
        return err_set(err, ERR_IO, "cannot start the HTTP server: %s", strerror(errno));
    }
    info = MHD_get_daemon_info(s->mhd, MHD_DAEMON_INFO_EPOLL_FD);
    CHECK(info != NULL && info->epoll_fd >= 0);
    s->pump = event_new(s->base, info->epoll_fd, EV_READ | EV_PERSIST, on_pump, s);
    return 0;
}

/* Often enough for the shortest of the limits. */
static int64_t tick_ms(const struct server_config *c)
{
    int64_t shortest = c->request_ms_max < c->heartbeat_ms ? c->request_ms_max : c->heartbeat_ms;

    shortest = c->idle_ms_max < shortest ? c->idle_ms_max : shortest;
    shortest /= 10;
    return shortest < 10 ? 10 : shortest > 500 ? 500 : shortest;
}

static void start_events(struct server *s)
{
    struct timeval tick = in_ms(tick_ms(&s->config));

    s->timer = evtimer_new(s->base, on_pump, s);
    s->tick = event_new(s->base, -1, EV_PERSIST, on_tick, s);
    CHECK(s->pump != NULL && s->timer != NULL && s->tick != NULL);
    CHECK(event_add(s->pump, NULL) == 0 && event_add(s->tick, &tick) == 0);
    for (size_t i = 0; i < s->listener_count; i++) {
        s->accepts[i] = event_new(s->base, s->listeners[i].fd, EV_READ | EV_PERSIST, on_accept, s);
        CHECK(s->accepts[i] != NULL && event_add(s->accepts[i], NULL) == 0);
    }
}

int server_new(const struct server_config *config, const struct service *service,
               struct event_base *base, struct server **ret, struct err *err)
{
    struct server *s = mem_new(1, sizeof(*s));
    int rc;

    s->config = *config;
    fill_defaults(&s->config);
    s->base = base;
    s->env = (struct exchange_env){
        .service = service,
        .tally = tally_new(),
        .hosts = config->hosts,
        .host_count = config->host_count,
        .body_bytes_max = s->config.body_bytes_max,
        .request_ms_max = s->config.request_ms_max,
        .answer_ms_max = s->config.answer_ms_max,
        .heartbeat_ms = s->config.heartbeat_ms,
        .metrics_auth = config->metrics_auth,
    };
    /* Only to tell the requests of two runs apart. */
    if (getrandom(&s->env.id_seed, sizeof(s->env.id_seed), GRND_NONBLOCK) < 0) {
        s->env.id_seed = (uint32_t)tally_clock_us();
    }
    rc = open_listeners(s, err);
    if (rc == 0) {
        rc = start_mhd(s, err);
    }
    if (rc != 0) {
        server_free(s);
        return rc;
    }
    start_events(s);
    *ret = s;
    return 0;
}

static void close_listeners(struct server *s)
{
    for (size_t i = 0; i < s->listener_count; i++) {
        if (s->accepts[i] != NULL) {
            event_free(s->accepts[i]);
            s->accepts[i] = NULL;
        }
        listener_fini(&s->listeners[i]);
    }
    s->listener_count = 0;
}

static void free_event(struct event **e)
{
    if (*e != NULL) {
        event_free(*e);
        *e = NULL;
    }
}

void server_free(struct server *s)
{
    if (s == NULL) {
        return;
    }
    close_listeners(s);
    free_event(&s->pump);
    free_event(&s->timer);
    free_event(&s->tick);
    for (struct connection *c = s->connections; c != NULL; c = c->next) {
        if (c->exchange != NULL) {
            exchange_let_go(c->exchange);
        }
    }
    if (s->mhd != NULL) {
        MHD_stop_daemon(s->mhd);
    }
    CHECK(s->connection_count == 0);
    tally_free(s->env.tally);
    mem_free(s);
}

uint16_t server_port(const struct server *s)
{
    for (size_t i = 0; i < s->listener_count; i++) {
        if (!s->listeners[i].local) {
            return s->listeners[i].port;
        }
    }
    return 0;
}

unsigned server_connection_count(const struct server *s)
{
    return s->connection_count;
}

void server_stop(struct server *s, void (*stopped)(void *arg), void *arg)
{
    close_listeners(s);
    s->env.stopping = true;
    s->stopped = stopped;
    s->stopped_arg = arg;
    s->stop_at_ms = now_ms() + s->config.stop_ms_max;
    for (struct connection *c = s->connections; c != NULL; c = c->next) {
        if (c->exchange == NULL) {
            cut(c);
        } else {
            exchange_end_stream(c->exchange);
        }
    }
}
