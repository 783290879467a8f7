/* daemon - the wiring: what is opened in which order, and what happens in one step.
 *
 *      start: state directory, crash marks, journal (its lock), replay, adopt, policy, sockets
 *      run:   requests and reports queue facts; a step begins to make them durable, the journal's
 *             thread does, and at its end answers leave and the next step begins
 *      stop:  no new connections, answers, daemon_stopped, end; tasks run on below their
 * supervisors
 */
#include "daemon/daemon.h"

#include "backend/local/local.h"
#include "base/check.h"
#include "base/defaults.h"
#include "daemon/command.h"
#include "daemon/crashmark.h"
#include "daemon/eventlog.h"
#include "daemon/idempotency.h"
#include "daemon/jobindex.h"
#include "daemon/journalthread.h"
#include "daemon/loop.h"
#include "daemon/newsite.h"
#include "daemon/note.h"
#include "daemon/notify.h"
#include "daemon/opening.h"
#include "daemon/services.h"
#include "daemon/signing.h"
#include "daemon/statefile.h"
#include "daemon/submitspec.h"
#include "daemon/waiting.h"
#include "http/server.h"

#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define RETRY_MS   1000
#define GATHER_MS  50 /* between two batches that nobody waits for */
#define ROOM_BYTES ((unsigned long)1024 * 1024)
#define TRIM_MS    ((int64_t)60 * 1000)

int64_t daemon_now_ms(struct daemon *d)
{
    int64_t step_ms = 0;
    int64_t now_ms = clock_now_ms(&d->clock, &step_ms);

    d->clock_step_ms += step_ms;
    return now_ms;
}

/* ---- hooks of the engine ---- */

static int hook_spec(void *ctx, const struct fact_job_submitted *job, struct backend_spec *ret,
                     struct err *err)
{
    CLEANUP(str_fini) struct str text = {0};
    struct daemon *d = ctx;
    int rc = 0;

    if (strcmp(d->spec_digest, job->spec) != 0) { /* jobs that start together are often alike */
        d->spec_digest[0] = '\0';
        rc = content_get(d->content, job->spec, &text, err);
        arena_reset(d->spec_arena);
        rc = rc != 0 ? rc
                     : submitspec_parse(str_text(&text), text.len, d->spec_arena, &d->spec, err);
    }
    if (rc == 0) {
        snprintf(d->spec_digest, sizeof(d->spec_digest), "%s", job->spec);
        *ret = d->spec;
    }
    return rc;
}

static void hook_durable(void *ctx, const struct fact *fact, const struct journal_record *record)
{
    struct daemon *d = ctx;

    d->durable_seq = record->seq;
    if (opening_is_progress(fact->kind)) {
        crashmark_at(record->seq);
    }
    jobindex_add(d->jobs, record);
    eventlog_add(d->events, record);
    command_durable(d, fact);
    if (fact->kind == FACT_DEVICE_STUCK || fact->kind == FACT_NODE_LOST) {
        note(NOTE_WARN, "seq=%" PRId64 " kind=%s", record->seq, record->kind);
    }
}

static void hook_disk_full(void *ctx, bool full, const struct err *err)
{
    struct daemon *d = ctx;

    if (full && d->full.code != 0) {
        return; /* was told */
    }
    if (full) {
        d->full = *err;
        d->full.code = ERR_DISK_FULL;
        note(NOTE_ERROR, "no more work is taken: %s", err->text);
        notify_status("The disk is full: no more work is taken.");
    } else if (d->full.code != 0) {
        memset(&d->full, 0, sizeof(d->full));
        note(NOTE_INFO, "the disk has room again");
    }
}

static void hook_snapshot(void *ctx, const struct journal_snapshot *snapshot)
{
    signing_snapshot(ctx, snapshot);
}

static int64_t hook_cpu_us(void *ctx)
{
    struct timespec t;

    (void)ctx;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

struct engine_hooks daemon_hooks(struct daemon *d)
{
    return (struct engine_hooks){
        .ctx = d,
        .spec = hook_spec,
        .durable = hook_durable,
        .snapshot = hook_snapshot,
        .disk_full = hook_disk_full,
        .cpu_us = hook_cpu_us,
    };
}

/* ---- the step ---- */

static void put_clock_step(struct daemon *d)
{
    struct fact_clock_stepped body = {.by_ms = d->clock_step_ms};
    struct fact fact = {.kind = FACT_CLOCK_STEPPED, .body.as_CLOCK_STEPPED = &body};

    if (d->clock_step_ms != 0) {
        note(NOTE_WARN, "the clock was set by_ms=%" PRId64, d->clock_step_ms);
        d->clock_step_ms = 0;
        engine_put(d->engine, &fact, NULL, NULL);
    }
}

/* What backends tell comes in crowds: jobs that start together end together.  A batch, its syncs
 * and its plan cost the same for one report as for many, so reports alone are taken each 50 ms at
 * the most; what people ask is never held back, and takes along what is there. */
static bool is_gathering(const struct daemon *d, int64_t now_ms)
{
    return d->thread != NULL && !engine_is_asked(d->engine) && now_ms >= d->begun_ms &&
           now_ms < d->begun_ms + GATHER_MS;
}

int64_t daemon_step(struct daemon *d)
{
    int64_t now_ms = daemon_now_ms(d);
    int64_t seq = d->durable_seq;
    int64_t next_ms;
    struct err err;

    if (engine_in_flight(d->engine)) {
        return INT64_MAX; /* its end comes first */
    }
    if (is_gathering(d, now_ms)) {
        return d->begun_ms + GATHER_MS;
    }
    /* What a fact names must be there before it; the thread sees to that itself. */
    if (d->thread == NULL && content_sync(d->content, &err) != 0) {
        hook_disk_full(d, true, &err);
        return now_ms + RETRY_MS;
    }
    put_clock_step(d);
    next_ms = engine_step(d->engine, now_ms);
    if (engine_in_flight(d->engine)) {
        d->begun_ms = now_ms;
    }
    if (d->durable_seq != seq) {
        eventlog_wake(d->events);
    }
    return next_ms;
}

/* ---- the journal's thread ---- */

static void begin_append(void *ctx, struct journal_record *records, size_t count)
{
    struct daemon *d = ctx;
    struct err err;
    int fd = -1;
    int rc = content_take_unsynced(d->content, &fd, &err);

    if (rc != 0) {
        journalthread_refuse(d->thread, rc, &err);
    } else {
        journalthread_append(d->thread, fd, records, count);
    }
}

static void begin_snapshot(void *ctx, const struct journal_snapshot *taken)
{
    struct daemon *d = ctx;

    journalthread_snapshot(d->thread, taken);
}

static void wait_for_thread(void *ctx)
{
    struct daemon *d = ctx;

    journalthread_wait(d->thread);
}

/* The batch has ended: what waited for it goes on, before the next one begins. */
static void take_end(struct daemon *d, const struct journalthread_result *result)
{
    int64_t seq = d->durable_seq;

    if (result->content_failed) {
        content_sync_failed(d->content);
    }
    engine_committed(d->engine, daemon_now_ms(d), result->rc, &result->err);
    if (d->durable_seq != seq) {
        eventlog_wake(d->events);
    }
    waiting_run(d->waiting, d);
    if (d->reload) {
        daemon_reload(d);
    }
}

/* The next batch goes to the disk before the answers of this one are sent: else those who are
 * answered ask again at once, all come into one batch, and loop and disk work by turns. */
static void appended(void *ctx, const struct journalthread_result *result)
{
    struct daemon *d = ctx;

    take_end(d, result);
    loop_step_now(d->loop);
}

static int start_thread(struct daemon *d, struct err *err)
{
    const struct engine_committer committer = {
        .ctx = d,
        .append = begin_append,
        .snapshot = begin_snapshot,
        .wait = wait_for_thread,
    };
    int rc = journalthread_new(d->journal, d->base, appended, d, &d->thread, err);

    if (rc == 0) {
        engine_set_committer(d->engine, &committer);
    }
    return rc;
}

/* Take what is on its way; from then on a step is synchronous again. */
static void end_thread(struct daemon *d)
{
    struct journalthread_result result;

    if (d->thread == NULL) {
        return;
    }
    journalthread_wait(d->thread);
    if (journalthread_collect(d->thread, &result)) {
        take_end(d, &result);
    }
    engine_set_committer(d->engine, NULL);
    journalthread_free(d->thread);
    d->thread = NULL;
}

void daemon_disk_full(struct daemon *d, const struct err *err)
{
    if (d->full.code == 0) {
        hook_disk_full(d, true, err);
    }
}

/* Full for the content store while the journal still has its ballast: look again each second. */
static void look_for_room(struct daemon *d)
{
    struct statvfs disk;

    if (d->full.code != 0 && !engine_disk_full(d->engine) && statvfs(d->state, &disk) == 0 &&
        disk.f_bavail * disk.f_frsize >= ROOM_BYTES) {
        hook_disk_full(d, false, NULL);
    }
}

static void tick(struct daemon *d)
{
    int64_t now_ms = daemon_now_ms(d);

    look_for_room(d);
    signing_tick(d, now_ms);
    notify_watchdog();
    if (d->clock_step_ms != 0) {
        loop_step_soon(d->loop);
    }
    if (now_ms >= d->trim_ms) {
        idempotency_trim(d->idempotency, now_ms);
        d->trim_ms = now_ms + TRIM_MS;
    }
}

/* ---- stop ---- */

static void put_state(struct daemon *d, enum fact_kind kind, const char *reason)
{
    struct fact_daemon_state body = {.version = MUSTER_VERSION,
                                     .frozen = engine_frozen(d->engine),
                                     .reason = reason};
    struct fact fact = {.kind = kind, .body.as_DAEMON_STARTED = &body};

    engine_put(d->engine, &fact, NULL, NULL);
}

static void stopped(void *arg)
{
    struct daemon *d = arg;

    end_thread(d);
    put_state(d, FACT_DAEMON_STOPPED, "asked to stop");
    daemon_step(d);
    loop_end(d->loop);
}

static void stop(struct daemon *d, int number)
{
    if (d->stopping) {
        note(NOTE_WARN, "signal=%d again: ending at once", number);
        loop_end(d->loop);
        return;
    }
    note(NOTE_INFO, "signal=%d: stopping, tasks run on", number);
    d->stopping = true;
    notify_stopping();
    eventlog_wake_all(d->events);
    server_stop(d->server, stopped, d);
}

int daemon_run(struct daemon *d, struct err *err)
{
    const struct policy *policy = view_policy(engine_core(d->engine));

    notify_ready();
    note(NOTE_INFO, "ready socket=%s port=%u state=%s seq=%" PRId64 "%s%s", d->socket,
         (unsigned)server_port(d->server), d->state, d->durable_seq,
         d->options.play       ? " VIRTUAL NODES: no process is started"
         : d->options.simulate ? " simulated GPUs are allowed"
                               : "",
         engine_frozen(d->engine) ? " FROZEN" : "");
    if (policy != NULL) {
        notify_status("Running.");
    }
    return loop_run(d->loop, err);
}

/* ---- the policy file ---- */

void daemon_reload(struct daemon *d)
{
    struct err err;

    d->reload = engine_in_flight(d->engine);
    if (d->reload) {
        return; /* the policy it is compared with may not be durable yet */
    }
    notify_reloading();
    if (opening_policy(d, &err) != 0) {
        note(NOTE_ERROR, "the policy stays as it was: %s", err.text);
    }
    notify_ready();
}

/* ---- life ---- */

int daemon_open(const struct daemon_options *options, struct daemon **ret, struct err *err)
{
    struct daemon *d = mem_new(1, sizeof(*d));
    struct loop_hooks hooks = {
        .d = d,
        .step = daemon_step,
        .now_ms = daemon_now_ms,
        .stop = stop,
        .reload = daemon_reload,
        .tick = tick,
    };
    int rc;

    d->options = *options;
    d->spec_arena = arena_make();
    d->submit_arena = arena_make();
    d->jobs = jobindex_new();
    d->events = eventlog_new(d);
    d->idempotency = idempotency_new();
    d->waiting = waiting_new();
    d->base = event_base_new();
    CHECK(d->base != NULL);
    rc = opening_state(d, err);
    if (rc == 0) {
        rc = opening_engine(d, err);
    }
    if (rc == 0) {
        rc = loop_new(d->base, &hooks, &d->loop, err);
    }
    if (rc == 0) {
        rc = opening_backend(d, err);
    }
    if (rc == 0) {
        put_state(d, FACT_DAEMON_STARTED, d->frozen_why == NULL ? "" : d->frozen_why);
        rc = opening_policy(d, err);
    }
    if (rc == 0) {
        rc = signing_open(d, err); /* behind all that refuses a start: no key is left by one */
    }
    if (rc == 0) {
        daemon_step(d);
        rc = opening_server(d, err);
    }
    if (rc == 0) {
        rc = start_thread(d, err);
    }
    if (rc != 0) {
        daemon_close(d);
        return rc;
    }
    *ret = d;
    return 0;
}

void daemon_close(struct daemon *d)
{
    if (d == NULL) {
        return;
    }
    end_thread(d);
    server_free(d->server);
    waiting_free(d->waiting);
    eventlog_free(d->events);
    if (d->local != NULL) {
        d->local->ops->free(d->local);
    }
    if (d->played != NULL) {
        d->played->ops->free(d->played);
    }
    engine_close(d->engine);
    journal_close(d->journal);
    loop_free(d->loop);
    content_close(d->content);
    people_close(d->people);
    idempotency_free(d->idempotency);
    signing_free(d->signing);
    jobindex_free(d->jobs);
    daemon_site_free(d->site);
    if (d->base != NULL) {
        event_base_free(d->base);
    }
    for (size_t i = d->durable_at; i < d->durable.count; i++) {
        mem_free(d->durable.items[i]);
    }
    vec_fini(&d->durable);
    vec_fini(&d->token_uses);
    for (size_t i = 0; i < d->logins.count; i++) {
        mem_free(d->logins.items[i].name);
    }
    vec_fini(&d->logins);
    mem_free(d->account_good);
    arena_free(d->spec_arena);
    arena_free(d->submit_arena);
    mem_free(d->state);
    mem_free(d->socket);
    mem_free(d->listen);
    mem_free(d->file_digest);
    mem_free(d->refused);
    mem_free(d->frozen_why);
    mem_free(d);
}
