#include "benchhttp.h"

#include "base/check.h"
#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define EVENTS_MAX  64
#define CHUNK_BYTES 65536

struct connection {
    int fd; /* -1 = ended */
    bool busy;
    struct str out;
    struct str in;
};

struct benchhttp {
    int epoll;
    size_t count;
    size_t in_flight;
    struct connection *all;
    benchhttp_each *each;
    void *ctx;
};

static int dial(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    CHECK(strlen(path) < sizeof(address.sun_path));
    memcpy(address.sun_path, path, strlen(path));
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

int benchhttp_open(const char *socket_path, size_t count, benchhttp_each *each, void *ctx,
                   struct benchhttp **ret, struct err *err)
{
    struct benchhttp *h = mem_new(1, sizeof(*h));

    h->epoll = epoll_create1(EPOLL_CLOEXEC);
    CHECK(h->epoll >= 0);
    h->each = each;
    h->ctx = ctx;
    h->all = mem_new(count, sizeof(*h->all));
    for (; h->count < count; h->count++) {
        struct epoll_event event = {.events = EPOLLIN, .data = {.u64 = h->count}};
        int fd = dial(socket_path);

        h->all[h->count].fd = fd;
        if (fd < 0) {
            benchhttp_close(h);
            return err_set(err, ERR_IO, "%s: connection %zu of %zu: %s", socket_path, h->count + 1,
                           count, strerror(errno));
        }
        CHECK(epoll_ctl(h->epoll, EPOLL_CTL_ADD, fd, &event) == 0);
    }
    *ret = h;
    return 0;
}

void benchhttp_close(struct benchhttp *h)
{
    if (h == NULL) {
        return;
    }
    for (size_t i = 0; i < h->count; i++) {
        if (h->all[i].fd >= 0) {
            close(h->all[i].fd);
        }
        str_fini(&h->all[i].out);
        str_fini(&h->all[i].in);
    }
    close(h->epoll);
    mem_free(h->all);
    mem_free(h);
}

size_t benchhttp_in_flight(const struct benchhttp *h)
{
    return h->in_flight;
}

static void hang_up(struct benchhttp *h, size_t at)
{
    struct connection *c = &h->all[at];

    close(c->fd);
    c->fd = -1;
    str_clear(&c->in);
    if (c->busy) {
        c->busy = false;
        h->in_flight--;
        h->each(h->ctx, at, 0, "", 0);
    }
}

static void write_request(struct str *out, const char *path, const char *body)
{
    str_clear(out);
    if (body == NULL) {
        str_addf(out, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path);
        return;
    }
    str_addf(out,
             "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
             "Content-Length: %zu\r\n\r\n%s",
             path, strlen(body), body);
}

static bool write_all(int fd, const struct str *text)
{
    size_t done = 0;

    while (done < text->len) {
        ssize_t n = send(fd, text->text + done, text->len - done, MSG_NOSIGNAL);

        if (n <= 0) {
            return false;
        }
        done += (size_t)n;
    }
    return true;
}

bool benchhttp_send(struct benchhttp *h, size_t connection, const char *path, const char *body)
{
    struct connection *c = &h->all[connection];

    if (c->fd < 0) {
        return false;
    }
    CHECK(!c->busy);
    write_request(&c->out, path, body);
    if (!write_all(c->fd, &c->out)) {
        hang_up(h, connection);
        return false;
    }
    c->busy = true;
    h->in_flight++;
    return true;
}

/* Length of the whole answer at the start of in, 0 = it is not all there. */
static size_t answer_len(const struct str *in, int *ret_status, size_t *ret_head)
{
    static const char LENGTH[] = "\r\nContent-Length: ";
    const char *end = in->len > 0 ? memmem(in->text, in->len, "\r\n\r\n", 4) : NULL;
    const char *length;
    size_t head;
    size_t total;

    if (end == NULL) {
        return 0;
    }
    head = (size_t)(end - in->text) + 4;
    length = memmem(in->text, head, LENGTH, strlen(LENGTH));
    CHECK(length != NULL && head > 12);
    total = head + strtoul(length + strlen(LENGTH), NULL, 10);
    *ret_status = (int)strtol(in->text + 9, NULL, 10);
    *ret_head = head;
    return in->len >= total ? total : 0;
}

static void take(struct benchhttp *h, size_t at)
{
    static char chunk[CHUNK_BYTES];
    struct connection *c = &h->all[at];
    ssize_t n = recv(c->fd, chunk, sizeof(chunk), 0);
    int status = 0;
    size_t head = 0;
    size_t len;

    if (n <= 0) {
        hang_up(h, at);
        return;
    }
    str_add_n(&c->in, chunk, (size_t)n);
    len = answer_len(&c->in, &status, &head);
    if (len == 0) {
        return;
    }
    CHECK(len == c->in.len && c->busy);
    c->busy = false;
    h->in_flight--;
    h->each(h->ctx, at, status, c->in.text + head, len - head);
    str_clear(&c->in);
}

void benchhttp_poll(struct benchhttp *h, int wait_ms)
{
    struct epoll_event events[EVENTS_MAX];
    int count = epoll_wait(h->epoll, events, EVENTS_MAX, wait_ms);

    for (int i = 0; i < count; i++) {
        if (h->all[events[i].data.u64].fd >= 0) {
            take(h, (size_t)events[i].data.u64);
        }
    }
}

struct asking {
    int status;
    struct str *body;
};

static void asked(void *ctx, size_t connection, int status, const char *body, size_t len)
{
    struct asking *a = ctx;

    (void)connection;
    a->status = status;
    if (a->body != NULL) {
        str_clear(a->body);
        str_add_n(a->body, body, len);
    }
}

int benchhttp_ask(const char *socket_path, const char *path, const char *body, struct str *ret)
{
    struct asking a = {0, ret};
    struct benchhttp *h = NULL;

    if (benchhttp_open(socket_path, 1, asked, &a, &h, NULL) != 0) {
        return 0;
    }
    if (benchhttp_send(h, 0, path, body)) {
        while (benchhttp_in_flight(h) > 0) {
            benchhttp_poll(h, 1000);
        }
    }
    benchhttp_close(h);
    return a.status;
}
