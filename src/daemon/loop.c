#include "daemon/loop.h"

#include "base/check.h"
#include "base/mem.h"

#include <event2/event.h>
#include <signal.h>
#include <stdbool.h>

#define TICK_MS     1000
#define WAIT_MS_MAX ((int64_t)60 * 1000)

struct loop {
    struct event_base *base;
    struct loop_hooks hooks;
    struct event *step;
    struct event *tick;
    struct event *signals[3];
    bool soon;
};

static struct timeval interval(int64_t ms)
{
    struct timeval tv;

    tv.tv_sec = (time_t)(ms / 1000);
    tv.tv_usec = (suseconds_t)(ms % 1000 * 1000);
    return tv;
}

static void wait_for_step(struct loop *l, int64_t ms)
{
    struct timeval tv = interval(ms);

    CHECK(event_add(l->step, &tv) == 0);
}

static void on_step(evutil_socket_t fd, short what, void *arg)
{
    struct loop *l = arg;
    int64_t next_ms;
    int64_t wait_ms;

    (void)fd;
    (void)what;
    l->soon = false;
    next_ms = l->hooks.step(l->hooks.d);
    wait_ms = WAIT_MS_MAX;
    if (next_ms != INT64_MAX) {
        wait_ms = next_ms - l->hooks.now_ms(l->hooks.d);
        wait_ms = wait_ms < 0 ? 0 : wait_ms;
    }
    wait_ms = wait_ms > WAIT_MS_MAX ? WAIT_MS_MAX : wait_ms;
    wait_for_step(l, l->soon ? 0 : wait_ms);
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
    struct loop *l = arg;

    (void)fd;
    (void)what;
    l->hooks.tick(l->hooks.d);
}

static void on_signal(evutil_socket_t number, short what, void *arg)
{
    struct loop *l = arg;

    (void)what;
    if (number == SIGHUP) {
        l->hooks.reload(l->hooks.d);
    } else {
        l->hooks.stop(l->hooks.d, (int)number);
    }
}

int loop_new(struct event_base *base, const struct loop_hooks *hooks, struct loop **ret,
             struct err *err)
{
    static const int SIGNALS[] = {SIGTERM, SIGINT, SIGHUP};
    struct loop *l = mem_new(1, sizeof(*l));
    struct timeval second = interval(TICK_MS);

    l->base = base;
    l->hooks = *hooks;
    signal(SIGPIPE, SIG_IGN);
    l->step = evtimer_new(base, on_step, l);
    l->tick = event_new(base, -1, EV_PERSIST, on_tick, l);
    CHECK(l->step != NULL && l->tick != NULL);
    if (event_add(l->tick, &second) != 0) {
        loop_free(l);
        return err_set(err, ERR_INTERNAL, "the loop takes no timer");
    }
    for (size_t i = 0; i < ARRAY_LEN(SIGNALS); i++) {
        l->signals[i] = evsignal_new(base, SIGNALS[i], on_signal, l);
        if (l->signals[i] == NULL || event_add(l->signals[i], NULL) != 0) {
            loop_free(l);
            return err_set(err, ERR_INTERNAL, "signal %d cannot be watched", SIGNALS[i]);
        }
    }
    *ret = l;
    return 0;
}

void loop_free(struct loop *l)
{
    if (l == NULL) {
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(l->signals); i++) {
        if (l->signals[i] != NULL) {
            event_free(l->signals[i]);
        }
    }
    event_free(l->step);
    event_free(l->tick);
    mem_free(l);
}

void loop_step_soon(struct loop *l)
{
    if (l != NULL && !l->soon) {
        l->soon = true;
        wait_for_step(l, 0);
    }
}

void loop_step_now(struct loop *l)
{
    on_step(-1, 0, l);
}

int loop_run(struct loop *l, struct err *err)
{
    loop_step_soon(l);
    if (event_base_dispatch(l->base) < 0) {
        return err_set(err, ERR_INTERNAL, "the loop of events failed");
    }
    return 0;
}

void loop_end(struct loop *l)
{
    event_base_loopbreak(l->base);
}
