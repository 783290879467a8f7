#include "daemon/logstream.h"

#include "base/check.h"

#include <event2/event.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define AGE_MAX   32
#define FOLLOW_MS 250

struct logstream {
    struct service_stream base;
    struct daemon *d;
    struct logstream_ask ask;
    struct event *timer; /* NULL = not followed */
    int fd;              /* -1 = no file yet */
    ino_t inode;
};

/* Open the file of this age; false if there is none. */
static bool open_age(struct logstream *s, int64_t age)
{
    struct local_log which = s->ask.log;
    CLEANUP(mem_freep) char *path = NULL;
    struct stat st;
    int fd;

    which.age = age;
    path = local_log_path(s->d->local, &which);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        return false;
    }
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return false;
    }
    if (s->fd >= 0) {
        close(s->fd);
    }
    s->fd = fd;
    s->inode = st.st_ino;
    return true;
}

/* The age that the open file has now; -1 = it has left the ring. */
static int64_t age_now(const struct logstream *s)
{
    for (int64_t age = 0; age < AGE_MAX; age++) {
        struct local_log which = s->ask.log;
        CLEANUP(mem_freep) char *path = NULL;
        struct stat st;

        which.age = age;
        path = local_log_path(s->d->local, &which);
        if (stat(path, &st) != 0) {
            return -1;
        }
        if (st.st_ino == s->inode) {
            return age;
        }
    }
    return -1;
}

static bool open_oldest(struct logstream *s)
{
    int64_t age = AGE_MAX;

    while (age > 0 && !open_age(s, age - 1)) {
        age--;
    }
    return age > 0;
}

/* Go on to the file that came after the open one. */
static bool open_next(struct logstream *s)
{
    int64_t age;

    if (s->fd < 0) {
        return open_oldest(s);
    }
    age = age_now(s);
    return age != 0 && open_age(s, age < 0 ? 0 : age - 1);
}

/* Place the newest file so that `tail` lines are left. */
static void seek_tail(struct logstream *s)
{
    char chunk[8192];
    off_t at;
    off_t end;
    int64_t lines = 0;

    if (!open_age(s, 0)) {
        return;
    }
    if (s->ask.tail == 0) {
        lseek(s->fd, 0, SEEK_END);
        return;
    }
    end = at = lseek(s->fd, 0, SEEK_END);
    while (at > 0) {
        size_t want = at < (off_t)sizeof(chunk) ? (size_t)at : sizeof(chunk);
        ssize_t n = pread(s->fd, chunk, want, at - (off_t)want);

        for (ssize_t i = n; i-- > 0;) {
            off_t place = at - (off_t)want + i;

            if (chunk[i] == '\n' && place + 1 < end && ++lines == s->ask.tail) {
                lseek(s->fd, place + 1, SEEK_SET);
                return;
            }
        }
        at -= (off_t)want;
    }
    lseek(s->fd, 0, SEEK_SET);
}

static bool is_over(const struct logstream *s)
{
    const struct job *j = view_job(engine_core(s->d->engine), s->ask.log.job);

    return j == NULL || j->attempt != s->ask.log.attempt || !job_is_active(j);
}

/* Bytes that are to be left out are read and dropped. */
static int64_t skip(struct logstream *s, char *buf, int64_t n)
{
    int64_t drop = s->ask.from < n ? s->ask.from : n;

    memmove(buf, buf + drop, (size_t)(n - drop));
    s->ask.from -= drop;
    return n - drop;
}

static int64_t pull(struct service_stream *base, char *buf, size_t room)
{
    struct logstream *s = (struct logstream *)base;
    bool over = is_over(s); /* asked before the last look, so that nothing written is missed */

    for (;;) {
        ssize_t n = s->fd < 0 ? 0 : read(s->fd, buf, room);
        int64_t left;

        if (n < 0) {
            return -1;
        }
        if (n == 0 && !open_next(s)) {
            return s->ask.follow && !over && !s->d->stopping ? 0 : -1;
        }
        left = n == 0 ? 0 : skip(s, buf, n);
        if (left > 0) {
            return left;
        }
    }
}

static void close_stream(struct service_stream *base)
{
    struct logstream *s = (struct logstream *)base;

    if (s->timer != NULL) {
        event_free(s->timer);
    }
    if (s->fd >= 0) {
        close(s->fd);
    }
    mem_free(s);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct logstream *s = arg;

    (void)fd;
    (void)what;
    if (s->base.wake != NULL) {
        s->base.wake(s->base.wake_arg);
    }
}

struct service_stream *logstream_new(struct daemon *d, const struct logstream_ask *ask)
{
    static const struct service_stream_ops OPS = {pull, close_stream};
    struct logstream *s = mem_new(1, sizeof(*s));
    struct timeval interval = {0, FOLLOW_MS * 1000};

    s->base.ops = &OPS;
    s->base.content_type = "text/plain; charset=utf-8";
    s->d = d;
    s->ask = *ask;
    s->fd = -1;
    if (ask->tail >= 0) {
        seek_tail(s);
    }
    if (ask->follow) {
        s->timer = event_new(d->base, -1, EV_PERSIST, on_timer, s);
        CHECK(s->timer != NULL);
        event_add(s->timer, &interval);
    }
    return &s->base;
}
