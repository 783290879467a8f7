/* server - libmicrohttpd without threads and without a listening socket: its epoll descriptor is
 * one event of the loop, and connections are accepted here, because only so the limits per uid, the
 * peer's credentials and an orderly stop are ours.  (Its own listening would need one daemon a
 * socket and knows no uid.)
 *
 * MHD's timeouts count inactivity; the absolute ones, against a client that dribbles, are a scan of
 * all connections some times a second.
 */
#include "http/server.h"

#include "base/check.h"
#include "base/mem.h"
#include "http/conn.h"
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
/* Request line and headers, and what is read of the body at a time; libmicrohttpd clears it for
 * each request. */
#define CONNECTION_BYTES_MAX ((size_t)16 << 10)
#define ACCEPT_MAX           64 /* of one turn of the loop */
/* MHD_USE_NO_THREAD_SAFETY of libmicrohttpd 0.9.77 and later, which otherwise begins a connection
 * that is added in its next turn, and then tells nobody if it could not.  Older releases begin it
 * at once in any case, and do not look at this bit. */
#define ONE_THREAD (1U << 19)

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
    struct conn_list conns;
    struct conn *starting; /* between MHD_add_connection and its notification */
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

/* A connection was resumed: libmicrohttpd without a thread tells nobody. */
static void kick(void *arg)
{
    struct server *s = arg;

    if (s->timer != NULL) {
        event_active(s->timer, EV_TIMEOUT, 0);
    }
}

static void forget(struct server *s, struct conn *c)
{
    conn_list_remove(&s->conns, c);
    tally_connection(s->env.tally, -1);
    mem_free(c);
}

static void start_connection(struct server *s, bool local, int fd,
                             const struct sockaddr_storage *address, socklen_t len)
{
    struct problem p = {.request_id = "-"};
    CLEANUP(mem_freep) struct conn *c = mem_new(1, sizeof(*c));
    struct conn *added;

    if (conn_identify(c, fd, local, address, &p.err) != 0 ||
        conn_list_room(&s->conns, c, &p.err) != 0) {
        tally_refused(s->env.tally);
        conn_cut_with(fd, &p);
        close(fd);
        return;
    }
    c->idle_since_ms = now_ms();
    conn_list_add(&s->conns, c);
    tally_connection(s->env.tally, 1);
    added = c;
    c = NULL;
    s->starting = added;
    if (MHD_add_connection(s->mhd, fd, (const struct sockaddr *)&added->address, len) != MHD_YES &&
        s->starting != NULL) {
        /* MHD has closed fd; it would have had it forgotten, had it told us of its start. */
        forget(s, added);
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

static struct conn *conn_of(struct MHD_Connection *m)
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
        forget(s, *context);
        *context = NULL;
    }
}

static void *on_uri(void *arg, const char *uri, struct MHD_Connection *m)
{
    struct server *s = arg;
    struct conn *c = conn_of(m);

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
    struct conn *c = conn_of(m);
    struct server *s = arg;

    (void)code;
    if (*context != NULL) {
        exchange_free(*context);
    }
    *context = NULL;
    c->exchange = NULL;
    c->idle_since_ms = now_ms();
    if (s->env.stopping) {
        conn_cut(c->fd); /* its answer may have been queued before, with keep-alive */
    }
}

static void check_connection(struct server *s, struct conn *c, int64_t now)
{
    struct problem p = {.status = MHD_HTTP_REQUEST_TIMEOUT, .request_id = "-"};

    if (c->exchange == NULL) {
        if (now - c->idle_since_ms >= s->config.idle_ms_max) {
            conn_cut(c->fd);
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
        conn_cut_with(c->fd, &p);
    } else {
        conn_cut(c->fd);
    }
}

static void check_stop(struct server *s, int64_t now)
{
    void (*stopped)(void *arg) = s->stopped;

    if (stopped != NULL && (s->conns.count == 0 || now >= s->stop_at_ms)) {
        s->stopped = NULL;
        stopped(s->stopped_arg);
    }
}

/* The last thing of a turn: stopped may free s. */
static void on_pump(evutil_socket_t fd, short what, void *arg)
{
    struct server *s = arg;

    (void)fd;
    (void)what;
    run_mhd(s);
    check_stop(s, now_ms());
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
    for (struct conn *c = s->conns.first; c != NULL; c = c->next) {
        check_connection(s, c, now);
    }
    run_mhd(s);
    check_stop(s, now);
}

static void fill_defaults(struct server_config *c)
{
    c->unix_mode = c->unix_mode != 0 ? c->unix_mode : 0666;
    c->body_bytes_max = c->body_bytes_max != 0 ? c->body_bytes_max : (size_t)1 << 20;
    c->connections_max = c->connections_max != 0 ? c->connections_max : 2048;
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

    s->mhd = MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME |
                                  ONE_THREAD,
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
    s->conns.count_max = s->config.connections_max;
    s->conns.peer_max = s->config.connections_peer_max;
    s->base = base;
    s->env = (struct exchange_env){
        .service = service,
        .tally = tally_new(),
        .loop = {kick, s},
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
    for (struct conn *c = s->conns.first; c != NULL; c = c->next) {
        if (c->exchange != NULL) {
            exchange_let_go(c->exchange);
        }
    }
    if (s->mhd != NULL) {
        MHD_stop_daemon(s->mhd);
    }
    CHECK(s->conns.count == 0);
    exchange_env_fini(&s->env);
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
    return s->conns.count;
}

void server_stop(struct server *s, void (*stopped)(void *arg), void *arg)
{
    close_listeners(s);
    s->env.stopping = true;
    s->stopped = stopped;
    s->stopped_arg = arg;
    s->stop_at_ms = now_ms() + s->config.stop_ms_max;
    for (struct conn *c = s->conns.first; c != NULL; c = c->next) {
        if (c->exchange == NULL) {
            conn_cut(c->fd);
        } else {
            exchange_end_stream(c->exchange);
        }
    }
    kick(s);
}
