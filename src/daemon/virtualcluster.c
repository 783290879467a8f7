/* The virtual backend knows virtual time only; here its time is the daemon's clock.  It is brought
 * up to now before each call, and by a timer when something is to happen. */
#include "daemon/virtualcluster.h"

#include "backend/virtual/virtual.h"
#include "base/check.h"
#include "base/mem.h"

#include <event2/event.h>
#include <stdbool.h>
#include <string.h>

#define WAIT_MS_MAX ((int64_t)60 * 1000)

struct virtualcluster {
    struct backend base;
    struct backend *played;
    struct virtualcluster_clock clock;
    struct event *timer;
};

static struct virtualcluster *self(struct backend *b)
{
    return (struct virtualcluster *)b;
}

int64_t virtualcluster_run_ms(const struct backend_spec *spec)
{
    const char *at = spec->arg_count == 2 ? spec->argv[1] : "";
    int64_t ms = 0;
    int64_t unit_ms = 1000;

    if (spec->arg_count != 2 || strcmp(spec->argv[0], "sleep") != 0) {
        return 0;
    }
    for (; *at >= '0' && *at <= '9' && ms < INT64_MAX / 100000; at++) {
        ms = ms * 10 + (*at - '0') * (int64_t)1000;
    }
    for (at += *at == '.'; *at >= '0' && *at <= '9'; at++) {
        unit_ms /= 10;
        ms += (*at - '0') * unit_ms;
    }
    return *at == '\0' ? ms : 0;
}

static void forward(void *ctx, const struct fact *fact)
{
    struct virtualcluster *c = ctx;

    c->base.sink(c->base.sink_ctx, fact);
}

static int64_t now_ms(const struct virtualcluster *c)
{
    return c->clock.now_ms(c->clock.ctx);
}

/* Ask to be called when something is to happen next. */
static void wait_for_next(struct virtualcluster *c)
{
    int64_t next_ms = virtual_next_ms(c->played);
    int64_t wait_ms = next_ms == INT64_MAX ? WAIT_MS_MAX : next_ms - now_ms(c);
    struct timeval wait;

    wait_ms = wait_ms < 0 ? 0 : wait_ms > WAIT_MS_MAX ? WAIT_MS_MAX : wait_ms;
    wait = (struct timeval){.tv_sec = (time_t)(wait_ms / 1000),
                            .tv_usec = (suseconds_t)(wait_ms % 1000 * 1000)};
    CHECK(event_add(c->timer, &wait) == 0);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct virtualcluster *c = arg;

    (void)fd;
    (void)what;
    virtual_run_until(c->played, now_ms(c));
    wait_for_next(c);
}

static int adopt(struct backend *b, const struct backend_held *held, size_t count, struct err *err)
{
    struct virtualcluster *c = self(b);

    virtual_run_until(c->played, now_ms(c));
    return c->played->ops->adopt(c->played, held, count, err);
}

static int observe(struct backend *b, const struct policy *policy, struct err *err)
{
    return self(b)->played->ops->observe(self(b)->played, policy, err);
}

static int start(struct backend *b, const struct backend_job *job, struct err *err)
{
    const struct virtual_behaviour how = {.run_ms = virtualcluster_run_ms(&job->spec)};
    struct virtualcluster *c = self(b);
    int rc;

    virtual_run_until(c->played, now_ms(c));
    virtual_set_default(c->played, &how);
    rc = c->played->ops->start(c->played, job, err);
    wait_for_next(c);
    return rc;
}

static int signal_tasks(struct backend *b, const struct backend_signal *what, struct err *err)
{
    struct virtualcluster *c = self(b);
    int rc;

    virtual_run_until(c->played, now_ms(c));
    rc = c->played->ops->signal(c->played, what, err);
    wait_for_next(c);
    return rc;
}

static int kill_tasks(struct backend *b, int64_t job, int64_t attempt,
                      const struct backend_task *tasks, size_t task_count, struct err *err)
{
    struct virtualcluster *c = self(b);
    int rc;

    virtual_run_until(c->played, now_ms(c));
    rc = c->played->ops->kill(c->played, job, attempt, tasks, task_count, err);
    wait_for_next(c);
    return rc;
}

static void forget(struct backend *b, int64_t job, int64_t attempt)
{
    self(b)->played->ops->forget(self(b)->played, job, attempt);
}

static void free_all(struct backend *b)
{
    struct virtualcluster *c = self(b);

    event_free(c->timer);
    c->played->ops->free(c->played);
    mem_free(c);
}

struct backend *virtualcluster_new(const char *cluster, struct event_base *base,
                                   const struct virtualcluster_clock *clock)
{
    static const struct backend_ops OPS = {
        .name = "virtual",
        .adopt = adopt,
        .observe = observe,
        .start = start,
        .signal = signal_tasks,
        .kill = kill_tasks,
        .forget = forget,
        .free = free_all,
    };
    struct virtualcluster *c = mem_new(1, sizeof(*c));

    c->base.ops = &OPS;
    c->played = virtual_new(cluster);
    c->played->sink = forward;
    c->played->sink_ctx = c;
    c->clock = *clock;
    c->timer = evtimer_new(base, on_timer, c);
    CHECK(c->timer != NULL);
    return &c->base;
}
