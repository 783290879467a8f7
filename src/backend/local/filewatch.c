#include "backend/local/filewatch.h"

#include "base/mem.h"
#include "base/vec.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#define BATCH_BYTES 16384

struct row {
    int wd;
    struct filewatch_key key;
};

struct filewatch {
    int fd;
    struct event *event;
    filewatch_seen *seen;
    void *ctx;
    VEC(struct row) rows;
};

static void tell(struct filewatch *w, const struct inotify_event *e)
{
    struct filewatch_key key;

    if ((e->mask & IN_Q_OVERFLOW) != 0) {
        w->seen(w->ctx, NULL, NULL);
        return;
    }
    for (size_t i = 0; i < w->rows.count; i++) {
        if (w->rows.items[i].wd == e->wd && e->len > 0) {
            key = w->rows.items[i].key; /* the taker may remove the row */
            w->seen(w->ctx, &key, e->name);
            return;
        }
    }
}

void filewatch_drain(struct filewatch *w)
{
    union {
        struct inotify_event align;
        char bytes[BATCH_BYTES];
    } batch;
    ssize_t n;

    if (w == NULL) {
        return;
    }
    while ((n = read(w->fd, batch.bytes, sizeof(batch.bytes))) > 0) {
        size_t at = 0;

        while (at < (size_t)n) {
            const struct inotify_event *e = (const void *)(batch.bytes + at);

            at += sizeof(*e) + e->len;
            tell(w, e);
        }
    }
}

static void ready(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    filewatch_drain(arg);
}

int filewatch_new(struct event_base *base, filewatch_seen *seen, void *ctx, struct filewatch **ret,
                  struct err *err)
{
    int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    struct filewatch *w;

    if (fd < 0) {
        return err_set(err, ERR_UNSUPPORTED, "no inotify: %s", strerror(errno));
    }
    w = mem_new(1, sizeof(*w));
    w->fd = fd;
    w->seen = seen;
    w->ctx = ctx;
    w->event = event_new(base, fd, EV_READ | EV_PERSIST, ready, w);
    if (w->event == NULL || event_add(w->event, NULL) != 0) {
        filewatch_free(w);
        return err_set(err, ERR_INTERNAL, "the event loop takes no inotify");
    }
    *ret = w;
    return 0;
}

void filewatch_free(struct filewatch *w)
{
    if (w == NULL) {
        return;
    }
    if (w->event != NULL) {
        event_free(w->event);
    }
    close(w->fd);
    vec_fini(&w->rows);
    mem_free(w);
}

int filewatch_add(struct filewatch *w, int dir, const struct filewatch_key *key, struct err *err)
{
    uint32_t mask = key->task < 0 ? IN_MOVED_TO : IN_MOVED_TO | IN_CLOSE_WRITE;
    char path[64];
    int wd;

    if (w == NULL) {
        return err_set(err, ERR_UNSUPPORTED, "there is no inotify");
    }
    snprintf(path, sizeof(path), "/proc/self/fd/%d", dir);
    wd = inotify_add_watch(w->fd, path, mask);
    if (wd < 0) {
        return err_set(err, ERR_UNSUPPORTED, "no inotify watch (fs.inotify.max_user_watches): %s",
                       strerror(errno));
    }
    for (size_t i = 0; i < w->rows.count; i++) {
        if (w->rows.items[i].wd == wd) {
            w->rows.items[i].key = *key;
            return 0;
        }
    }
    vec_push(&w->rows, ((struct row){.wd = wd, .key = *key}));
    return 0;
}

void filewatch_remove(struct filewatch *w, const struct filewatch_key *key)
{
    for (size_t i = 0; w != NULL && i < w->rows.count; i++) {
        const struct filewatch_key *k = &w->rows.items[i].key;

        if (k->job == key->job && k->attempt == key->attempt && k->task == key->task) {
            (void)inotify_rm_watch(w->fd, w->rows.items[i].wd);
            vec_remove(&w->rows, i);
            return;
        }
    }
}
