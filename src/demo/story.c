#include "demo/story.h"

#include "base/str.h"
#include "cli/client.h"
#include "cli/sse.h"
#include "demo/narrate.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#define POLL_MS      200
#define READY_MS_MAX 60000

struct visitor { /* a user of the policy with a token of his own */
    char *user;
    struct client *client;
};

struct story_link {
    struct story *story;
    struct client *client;
    struct sse_reader reader;
    bool reading;
    int signals;
    VEC(struct visitor) visitors;
};

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void story_tell(const struct story *s, const char *fmt, ...)
{
    va_list list;

    if (s->quiet) {
        return;
    }
    va_start(list, fmt);
    vprintf(fmt, list);
    va_end(list);
    fflush(stdout);
}

/* ---- the journal ---- */

static void take_event(void *arg, const char *id, const char *event, const char *data)
{
    struct story *s = arg;
    json_t *record = json_loads(data, 0, NULL);

    (void)id;
    (void)event;
    if (record != NULL) {
        holdings_take(&s->holdings, record);
        if (!s->quiet) {
            narrate_record(&s->holdings, record);
            fflush(stdout);
        }
    }
    json_decref(record);
}

static bool was_interrupted(const struct story_link *l)
{
    struct signalfd_siginfo info;

    return read(l->signals, &info, sizeof(info)) == (ssize_t)sizeof(info);
}

/* One turn: what came is taken. */
static int turn(struct story *s, struct err *err)
{
    struct story_link *l = s->link;
    int rc = sse_reader_step(&l->reader, now_ms(), err);

    if (rc != 0) {
        return rc;
    }
    client_poll(l->client, l->signals, POLL_MS);
    if (was_interrupted(l)) {
        return err_set(err, ERR_CONFLICT, "the demo was interrupted");
    }
    if (ownmusterd_is_gone(&s->musterd)) {
        return err_set(err, ERR_UNREACHABLE, "musterd has ended by itself");
    }
    return 0;
}

int story_wait(struct story *s, story_met *met, const void *arg, const char *what, struct err *err)
{
    int64_t until = now_ms() + STORY_MS_MAX;
    int rc = 0;

    while (rc == 0 && !met(s, arg)) {
        if (now_ms() >= until) {
            return err_set(err, ERR_TIMEOUT, "waited %d s for: %s", STORY_MS_MAX / 1000, what);
        }
        rc = turn(s, err);
    }
    return rc;
}

struct goal {
    int64_t job;
    int64_t attempt;
    enum story_until until;
};

static bool is_reached(const struct story *s, const struct goal *g)
{
    const struct holdings_job *j = holdings_of(&s->holdings, g->job);

    if (j == NULL || j->attempt < g->attempt) {
        return false;
    }
    switch (g->until) {
    case STORY_RUNS:
        return j->running == j->tasks;
    case STORY_SAVED:
        return j->saved_seq > j->started_seq;
    case STORY_TOLD:
        return j->told_seq > j->started_seq;
    case STORY_WAITS:
        return j->state == HOLDINGS_WAITS;
    case STORY_KILLED:
        return j->killed_seq > j->started_seq;
    case STORY_ENDED:
    default:
        return j->state == HOLDINGS_ENDED;
    }
}

/* A job that is over reaches nothing more. */
static bool is_settled(const struct story *s, const void *arg)
{
    const struct goal *g = arg;
    const struct holdings_job *j = holdings_of(&s->holdings, g->job);

    return is_reached(s, g) || (j != NULL && j->state == HOLDINGS_ENDED);
}

int story_until(struct story *s, int64_t job, int64_t attempt, enum story_until until,
                struct err *err)
{
    static const char *const WORDS[] = {
        [STORY_RUNS] = "all tasks run",      [STORY_SAVED] = "a checkpoint is saved",
        [STORY_TOLD] = "it is told to stop", [STORY_WAITS] = "it is queued again",
        [STORY_KILLED] = "it is killed",     [STORY_ENDED] = "it is over"};
    const struct goal goal = {.job = job, .attempt = attempt, .until = until};
    CLEANUP(str_fini) struct str what = {0};
    const struct holdings_job *j;
    int rc;

    str_addf(&what, "job %" PRId64 ", attempt %" PRId64 ": %s", job, attempt, WORDS[until]);
    rc = story_wait(s, is_settled, &goal, what.text, err);
    if (rc == 0 && !is_reached(s, &goal)) {
        j = holdings_of(&s->holdings, job);
        rc = err_set(err, ERR_CONFLICT, "%s was wanted, but %s has %s in attempt %" PRId64,
                     what.text, j->name, j->outcome, j->attempt);
    }
    return rc;
}

static bool is_at(const struct story *s, const void *arg)
{
    return s->holdings.seq >= *(const int64_t *)arg;
}

int story_catch_up(struct story *s, struct err *err)
{
    json_t *version = NULL;
    int64_t seq = 0;
    int rc = story_get(s, "/v1/version", &version, err);

    if (rc == 0 && !str_to_int(json_string_value(json_object_get(version, "journal_seq")), &seq)) {
        rc = err_set(err, ERR_INTERNAL, "/v1/version names no journal_seq");
    }
    json_decref(version);
    return rc != 0 ? rc : story_wait(s, is_at, &seq, "the stream catches up with the journal", err);
}

/* ---- calls ---- */

int story_get(struct story *s, const char *path, json_t **ret, struct err *err)
{
    return client_call(s->link->client, "GET", path, NULL, ret, err);
}

int story_post(struct story *s, const char *path, json_t **ret, struct err *err)
{
    return client_call(s->link->client, "POST", path, NULL, ret, err);
}

int story_job(struct story *s, int64_t job, json_t **ret, struct err *err)
{
    char path[64];

    snprintf(path, sizeof(path), "/v1/jobs/%" PRId64, job);
    return story_get(s, path, ret, err);
}

static int write_token(const char *path, const char *token, struct err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool good =
        fd >= 0 && token != NULL && write(fd, token, strlen(token)) == (ssize_t)strlen(token);

    if (fd >= 0) {
        close(fd);
    }
    return good ? 0 : err_set(err, ERR_IO, "cannot write %s: %s", path, strerror(errno));
}

/* A token for the user, and a client that shows it. */
static int invite(struct story *s, const char *user, struct client **ret, struct err *err)
{
    CLEANUP(str_fini) struct str path = {0};
    const struct client_where where = {.socket = s->musterd.socket,
                                       .token_file =
                                           ownmusterd_path(&s->musterd, "tokens", user, &path)};
    json_t *body = json_pack("{s:s, s:s, s:s}", "name", user, "user", user, "ttl", "1h");
    json_t *answer = NULL;
    int rc = client_call(s->link->client, "POST", "/v1/tokens", body, &answer, err);

    if (rc == 0) {
        rc = write_token(path.text, json_string_value(json_object_get(answer, "token")), err);
    }
    if (rc == 0) {
        rc = client_open(&where, ret, err);
    }
    if (rc == 0) {
        vec_push(&s->link->visitors, (struct visitor){mem_text(user), *ret});
    }
    json_decref(body);
    json_decref(answer);
    return rc;
}

static int client_of(struct story *s, const char *user, struct client **ret, struct err *err)
{
    for (size_t i = 0; i < s->link->visitors.count; i++) {
        if (strcmp(s->link->visitors.items[i].user, user) == 0) {
            *ret = s->link->visitors.items[i].client;
            return 0;
        }
    }
    return invite(s, user, ret, err);
}

int story_submit(struct story *s, const char *user, json_t *body, int64_t *ret_job, struct err *err)
{
    struct client *client = NULL;
    json_t *answer = NULL;
    int rc = body == NULL ? err_set(err, ERR_INTERNAL, "the submission is no JSON")
                          : client_of(s, user, &client, err);

    if (rc == 0) {
        rc = client_call_once(client, "/v1/jobs", body, &answer, err);
    }
    if (rc == 0 && !str_to_int(json_string_value(json_object_get(answer, "job")), ret_job)) {
        rc = err_set(err, ERR_INTERNAL, "the answer to a submission names no job");
    }
    json_decref(body);
    json_decref(answer);
    return rc;
}

/* ---- begin and end ---- */

static int signals_open(struct err *err)
{
    sigset_t set;
    int fd;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return fd >= 0 ? fd : err_set(err, ERR_IO, "cannot read signals: %s", strerror(errno));
}

static int wait_for_answer(struct story *s, struct err *err)
{
    const struct timespec tick = {.tv_nsec = 50000000};
    int64_t until = now_ms() + READY_MS_MAX;
    json_t *answer = NULL;
    int rc;

    while ((rc = story_get(s, "/v1/version", &answer, err)) != 0 && now_ms() < until) {
        if (ownmusterd_is_gone(&s->musterd)) {
            return err_set(err, ERR_UNREACHABLE, "musterd has ended by itself");
        }
        nanosleep(&tick, NULL);
    }
    json_decref(answer);
    return rc;
}

int story_begin(struct story *s, struct err *err)
{
    const struct client_where where = {.socket = s->musterd.socket, .timeout_ms = 60000};
    struct story_link *l = mem_new(1, sizeof(*l));
    int rc;

    s->link = l;
    l->story = s;
    l->signals = signals_open(err);
    if (l->signals < 0) {
        return l->signals;
    }
    rc = ownmusterd_start(&s->musterd, err);
    if (rc == 0) {
        rc = client_open(&where, &l->client, err);
    }
    if (rc == 0) {
        rc = wait_for_answer(s, err);
    }
    if (rc == 0) {
        sse_reader_init(&l->reader, l->client, "/v1/events?from=1", take_event, s);
        l->reading = true;
        rc = story_catch_up(s, err);
    }
    return rc;
}

static bool all_ended(const struct story *s, const void *arg)
{
    (void)arg;
    for (size_t i = 0; i < s->holdings.jobs.count; i++) {
        if (s->holdings.jobs.items[i].state != HOLDINGS_ENDED) {
            return false;
        }
    }
    return true;
}

/* Tasks outlive musterd by design, so they are ended first. */
static int cancel_all(struct story *s, struct err *err)
{
    int rc = story_catch_up(s, err);

    for (size_t i = 0; rc == 0 && i < s->holdings.jobs.count; i++) {
        const struct holdings_job *j = &s->holdings.jobs.items[i];
        char path[64];

        if (j->state != HOLDINGS_ENDED) {
            snprintf(path, sizeof(path), "/v1/jobs/%" PRId64 "/cancel", j->id);
            rc = story_post(s, path, NULL, err);
            rc = rc == ERR_CONFLICT ? 0 : rc; /* it ended meanwhile */
        }
    }
    return rc != 0 ? rc : story_wait(s, all_ended, NULL, "all jobs are over", err);
}

int story_end(struct story *s, struct err *err)
{
    int rc = 0;
    int stopped;

    if (s->link != NULL && s->link->reading && !ownmusterd_is_gone(&s->musterd)) {
        rc = cancel_all(s, err);
        sse_reader_fini(&s->link->reader);
        s->link->reading = false;
    }
    stopped = ownmusterd_stop(&s->musterd, rc == 0 ? err : NULL);
    return rc != 0 ? rc : stopped;
}

void story_fini(struct story *s)
{
    struct story_link *l = s->link;

    if (l != NULL) {
        if (l->reading) {
            sse_reader_fini(&l->reader);
        }
        for (size_t i = 0; i < l->visitors.count; i++) {
            mem_free(l->visitors.items[i].user);
            client_close(l->visitors.items[i].client);
        }
        vec_fini(&l->visitors);
        client_close(l->client);
        if (l->signals >= 0) {
            close(l->signals);
        }
        mem_free(l);
    }
    holdings_fini(&s->holdings);
    scorecard_free(s->card);
    s->link = NULL;
    s->card = NULL;
}
