/* Two slots, one for an append and one for a snapshot, filled by the loop and emptied by the
 * thread in the order they came; an eventfd tells the loop of the end of an append.
 *
 * Why content first: a record names what lies in the content store by its digest, so that must be
 * on the disk before the record can be. */
#include "daemon/journalthread.h"

#include "base/check.h"
#include "base/mem.h"

#include <errno.h>
#include <event2/event.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct journalthread {
    struct journal *journal;
    void (*done)(void *ctx, const struct journalthread_result *result);
    void *ctx;
    struct event *event;
    int wake_fd;
    pthread_t thread;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t wanted;
    pthread_cond_t idle;
    bool stop;
    bool working; /* outside the lock */
    bool append;  /* the slot of the append is full */
    int content_fd;
    struct journal_record *records;
    size_t count;
    bool snapshot; /* that of the snapshot */
    struct journal_snapshot snapshot_taken;
    bool ended; /* there is a result */
    struct journalthread_result result;
};

/* ---- the thread ---- */

static void append(const struct journalthread *t, struct journalthread_result *ret)
{
    *ret = (struct journalthread_result){0};
    if (t->content_fd >= 0 && fdatasync(t->content_fd) != 0) {
        bool full = errno == ENOSPC || errno == EDQUOT;

        ret->content_failed = true;
        ret->rc = err_set(&ret->err, full ? ERR_DISK_FULL : ERR_IO,
                          "the content store cannot be synced: %s", strerror(errno));
        return;
    }
    ret->rc = journal_append(t->journal, t->records, t->count, &ret->err);
}

static void wake(const struct journalthread *t)
{
    const uint64_t one = 1;

    CHECK(write(t->wake_fd, &one, sizeof(one)) == (ssize_t)sizeof(one));
}

static void work_snapshot(struct journalthread *t)
{
    struct journal_snapshot snapshot = t->snapshot_taken;
    int rc;

    t->snapshot = false;
    t->working = true;
    pthread_mutex_unlock(&t->lock);
    rc = journal_snapshot_put(t->journal, &snapshot, NULL);
    (void)rc; /* without it the next start takes longer; the next one is tried in time */
    mem_freep(&snapshot.bytes);
    pthread_mutex_lock(&t->lock);
    t->working = false;
}

static void work_append(struct journalthread *t)
{
    struct journalthread_result result;

    t->append = false;
    t->working = true;
    pthread_mutex_unlock(&t->lock);
    append(t, &result);
    pthread_mutex_lock(&t->lock);
    t->working = false;
    t->result = result;
    t->ended = true;
    wake(t);
}

static void *run(void *arg)
{
    struct journalthread *t = arg;

    pthread_mutex_lock(&t->lock);
    for (;;) {
        if (t->snapshot) {
            work_snapshot(t);
        } else if (t->append) {
            work_append(t);
        } else if (t->stop) {
            break;
        } else {
            pthread_cond_broadcast(&t->idle);
            pthread_cond_wait(&t->wanted, &t->lock);
        }
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

/* ---- the loop's side ---- */

void journalthread_append(struct journalthread *t, int content_fd, struct journal_record *records,
                          size_t count)
{
    pthread_mutex_lock(&t->lock);
    CHECK(!t->append && !t->ended);
    t->append = true;
    t->content_fd = content_fd;
    t->records = records;
    t->count = count;
    pthread_cond_signal(&t->wanted);
    pthread_mutex_unlock(&t->lock);
}

void journalthread_refuse(struct journalthread *t, int rc, const struct err *why)
{
    pthread_mutex_lock(&t->lock);
    CHECK(!t->append && !t->ended);
    t->result = (struct journalthread_result){.rc = rc, .err = *why, .content_failed = true};
    t->ended = true;
    wake(t);
    pthread_mutex_unlock(&t->lock);
}

void journalthread_snapshot(struct journalthread *t, const struct journal_snapshot *taken)
{
    pthread_mutex_lock(&t->lock);
    if (t->snapshot) { /* the disk does not keep up: the newer one will do */
        mem_freep(&t->snapshot_taken.bytes);
    }
    t->snapshot = true;
    t->snapshot_taken = *taken;
    pthread_cond_signal(&t->wanted);
    pthread_mutex_unlock(&t->lock);
}

void journalthread_wait(struct journalthread *t)
{
    pthread_mutex_lock(&t->lock);
    while (t->append || t->snapshot || t->working) {
        pthread_cond_wait(&t->idle, &t->lock);
    }
    pthread_mutex_unlock(&t->lock);
}

bool journalthread_collect(struct journalthread *t, struct journalthread_result *ret)
{
    uint64_t count;
    bool ended;

    pthread_mutex_lock(&t->lock);
    ended = t->ended;
    if (ended) {
        *ret = t->result;
        t->ended = false;
        CHECK(read(t->wake_fd, &count, sizeof(count)) == (ssize_t)sizeof(count));
    }
    pthread_mutex_unlock(&t->lock);
    return ended;
}

static void on_wake(evutil_socket_t fd, short what, void *arg)
{
    struct journalthread *t = arg;
    struct journalthread_result result;

    (void)fd;
    (void)what;
    if (journalthread_collect(t, &result)) {
        t->done(t->ctx, &result);
    }
}

/* ---- life ---- */

/* Signals are the loop's. */
static int start_thread(struct journalthread *t)
{
    sigset_t all;
    sigset_t before;
    int rc;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&t->thread, NULL, run, t);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc == 0) {
        (void)pthread_setname_np(t->thread, "journal"); /* for top -H and perf */
    }
    return rc;
}

static void free_parts(struct journalthread *t)
{
    if (t->event != NULL) {
        event_free(t->event);
    }
    if (t->wake_fd >= 0) {
        close(t->wake_fd);
    }
    pthread_mutex_destroy(&t->lock);
    pthread_cond_destroy(&t->wanted);
    pthread_cond_destroy(&t->idle);
    mem_free(t);
}

int journalthread_new(struct journal *journal, struct event_base *base,
                      void (*done)(void *ctx, const struct journalthread_result *result), void *ctx,
                      struct journalthread **ret, struct err *err)
{
    struct journalthread *t = mem_new(1, sizeof(*t));
    int rc = 0;

    t->journal = journal;
    t->done = done;
    t->ctx = ctx;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->wanted, NULL);
    pthread_cond_init(&t->idle, NULL);
    t->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (t->wake_fd < 0) {
        rc = err_set(err, ERR_IO, "no eventfd can be made: %s", strerror(errno));
        free_parts(t);
        return rc;
    }
    t->event = event_new(base, t->wake_fd, EV_READ | EV_PERSIST, on_wake, t);
    CHECK(t->event != NULL && event_add(t->event, NULL) == 0);
    rc = start_thread(t);
    if (rc != 0) {
        rc = err_set(err, ERR_IO, "the thread of the journal cannot be started: %s", strerror(rc));
        free_parts(t);
        return rc;
    }
    *ret = t;
    return 0;
}

void journalthread_free(struct journalthread *t)
{
    if (t == NULL) {
        return;
    }
    pthread_mutex_lock(&t->lock);
    t->stop = true;
    pthread_cond_signal(&t->wanted);
    pthread_mutex_unlock(&t->lock);
    pthread_join(t->thread, NULL);
    free_parts(t);
}
