#include "daemon/services.h"

#include "base/check.h"
#include "daemon/account.h"
#include "daemon/bodyread.h"
#include "daemon/command.h"
#include "daemon/jobview.h"

#include <string.h>
#include <time.h>

static const char *const NO_PARAMS[] = {NULL};

/* The job of the path, or an answer. */
static const struct job *target(struct daemon *d, const struct asked *a)
{
    int64_t id = answer_target_id(a, "job");
    const struct job *j = id == 0 ? NULL : view_job(engine_core(d->engine), id);

    if (id != 0 && j == NULL) {
        answer_refuse(a, ERR_NOT_FOUND, "",
                      "there is no job %lld, or it ended long ago: see the journal", (long long)id);
    }
    return j;
}

struct filter {
    const char *state;
    const char *queue;
    const char *user;
    bool all;
    int queue_index; /* -1 = any */
};

static bool read_filter(struct daemon *d, const struct asked *a, struct filter *f)
{
    static const char *const PARAMS[] = {"state", "queue", "user", "all", "limit", "cursor", NULL};
    const struct queue_tree *tree = view_queues(engine_core(d->engine));
    int i = 0;

    f->state = answer_param(a->call, "state", "");
    f->queue = answer_param(a->call, "queue", "");
    f->user = answer_param(a->call, "user", "");
    f->all = f->state[0] != '\0';
    f->queue_index = -1;
    if (!answer_params(a, PARAMS) || !answer_param_bool(a, "all", &f->all)) {
        return false;
    }
    while (f->state[0] != '\0' && JOB_STATE_NAMES[i] != NULL &&
           strcmp(JOB_STATE_NAMES[i], f->state) != 0) {
        i++;
    }
    if (JOB_STATE_NAMES[i] == NULL) {
        answer_refuse(a, ERR_INVALID, "state", "there is no state \"%s\"", f->state);
        return false;
    }
    if (f->queue[0] != '\0') {
        f->queue_index = tree == NULL ? -1 : queue_index_of_name(tree, f->queue);
        if (f->queue_index < 0) {
            answer_refuse(a, ERR_NOT_FOUND, "queue", "there is no queue \"%s\"", f->queue);
            return false;
        }
    }
    return true;
}

static bool passes(struct daemon *d, const struct filter *f, const struct job *j)
{
    if (!f->all && job_is_ended(j)) {
        return false;
    }
    if (f->state[0] != '\0' && strcmp(JOB_STATE_NAMES[j->state], f->state) != 0) {
        return false;
    }
    if (f->user[0] != '\0' && strcmp(people_name(d->people, j->subject), f->user) != 0) {
        return false;
    }
    return f->queue_index < 0 || (j->queue >= 0 && queue_covers(view_queues(engine_core(d->engine)),
                                                                f->queue_index, j->queue));
}

/* CPU time of one page for saying why jobs wait: some 3 us a job, up to 2 ms where thousands of
 * different requests wait beside planned starts.  The rows behind have no info; `why` tells it of
 * each. */
#define INFO_CPU_NS_MAX ((int64_t)100000000)

static int64_t cpu_ns(void)
{
    struct timespec t;

    CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void service_job_list(struct daemon *d, const struct asked *a)
{
    const struct core *core = engine_core(d->engine);
    int64_t info_until_ns = cpu_ns() + INFO_CPU_NS_MAX;
    struct answer_page page;
    struct filter f;

    if (!read_filter(d, a, &f) || !answer_page_begin(a, &page)) {
        return;
    }
    for (const struct job *j = view_job_next(core, page.after); j != NULL;
         j = view_job_next(core, j->id)) {
        if (!passes(d, &f, j)) {
            continue;
        }
        if ((int64_t)json_array_size(page.items) == page.limit) {
            page.more = true;
            break;
        }
        answer_page_add(&page, j->id, jobview_row(d, j, cpu_ns() < info_until_ns));
    }
    answer_page_end(a, &page);
}

void service_job_show(struct daemon *d, const struct asked *a)
{
    const struct job *j;

    if (!answer_params(a, NO_PARAMS)) {
        return;
    }
    j = target(d, a);
    if (j != NULL) {
        answer_json(a, jobview_full(d, j));
    }
}

void service_job_why(struct daemon *d, const struct asked *a)
{
    const struct job *j;
    struct arena *arena;
    struct why why;
    struct err err;
    int rc;

    if (!answer_params(a, NO_PARAMS)) {
        return;
    }
    j = target(d, a);
    if (j == NULL) {
        return;
    }
    arena = arena_make();
    rc = why_job(engine_core(d->engine), j->id, daemon_now_ms(d), arena, &why, &err);
    if (rc != 0) {
        answer_error(a, rc, &err, "");
    } else {
        answer_json(a, jobview_why(d, &why));
    }
    arena_free(arena);
}

/* ---- what people ask of a job ---- */

static bool read_reason(const struct asked *a, struct arena *arena, const char **ret)
{
    static const char *const FIELDS[] = {"reason", NULL};
    struct bodyread r;

    *ret = "";
    if (a->call->body == NULL) {
        return true;
    }
    bodyread_init(&r, arena);
    if (!jsonin_is(a->call->body, JSONIN_OBJECT)) {
        bodyread_fail(&r, ERR_INVALID, "", "write an object: {\"reason\": …}");
    } else {
        bodyread_known(&r, a->call->body, FIELDS);
        *ret = bodyread_text(&r, a->call->body, "reason", "");
    }
    if (r.rc == 0 && strlen(*ret) > 1000) {
        bodyread_fail(&r, ERR_TOO_LARGE, "reason", "is longer than 1000 bytes");
    }
    if (r.rc != 0) {
        answer_error(a, r.rc, &r.err, r.field);
    }
    return r.rc == 0;
}

/* All facts of the form job_asked have one body. */
static void ask(struct daemon *d, const struct asked *a, enum fact_kind kind, int64_t attempt)
{
    struct fact_job_asked body = {.attempt = attempt, .subject = a->call->caller.subject};
    struct fact fact = {.kind = kind, .body.any = &body};
    struct command command = {.d = d, .done = a->done, .arg = a->arg};
    struct arena *arena;
    const struct job *j;
    struct err err;
    int rc;

    if (!answer_params(a, NO_PARAMS)) {
        return;
    }
    j = target(d, a);
    if (j == NULL) {
        return;
    }
    rc = kind == FACT_JOB_DONE && a->call->caller.task_job == j->id
             ? 0
             : account_owns(&a->call->caller, j, &err);
    if (rc != 0) {
        answer_error(a, rc, &err, "");
        return;
    }
    arena = arena_make();
    if (read_reason(a, arena, &body.reason)) {
        body.job = j->id;
        command.answer = command_answer_seq;
        command_put(&command, &fact);
    }
    arena_free(arena);
}

void service_job_cancel(struct daemon *d, const struct asked *a)
{
    ask(d, a, FACT_JOB_CANCEL, 0);
}

void service_job_hold(struct daemon *d, const struct asked *a)
{
    ask(d, a, FACT_JOB_HELD, 0);
}

void service_job_release(struct daemon *d, const struct asked *a)
{
    ask(d, a, FACT_JOB_RELEASED, 0);
}

void service_job_requeue(struct daemon *d, const struct asked *a)
{
    ask(d, a, FACT_JOB_REQUEUE, 0);
}

/* A task speaks for its own attempt, a person for the one that runs. */
static int64_t attempt_of(struct daemon *d, const struct asked *a)
{
    int64_t id;
    const struct job *j;

    if (a->call->caller.task_job != 0) {
        return a->call->caller.task_attempt;
    }
    j = str_to_int(a->call->target, &id) ? view_job(engine_core(d->engine), id) : NULL;
    return j == NULL ? 0 : j->attempt;
}

void service_job_done(struct daemon *d, const struct asked *a)
{
    ask(d, a, FACT_JOB_DONE, attempt_of(d, a));
}

void service_job_checkpoint(struct daemon *d, const struct asked *a)
{
    static const char *const FIELDS[] = {"name", NULL};
    struct fact_job_checkpointed body = {.attempt = attempt_of(d, a), .name = ""};
    struct fact fact = {.kind = FACT_JOB_CHECKPOINTED, .body.as_JOB_CHECKPOINTED = &body};
    struct command command = {.d = d, .done = a->done, .arg = a->arg};
    struct arena *arena;
    struct bodyread r;
    const struct job *j;

    if (!answer_params(a, NO_PARAMS)) {
        return;
    }
    j = target(d, a);
    if (j == NULL) {
        return;
    }
    arena = arena_make();
    bodyread_init(&r, arena);
    body.job = j->id;
    if (a->call->caller.task_job != j->id) {
        r.rc = account_owns(&a->call->caller, j, &r.err);
    }
    if (r.rc == 0 && a->call->body != NULL) {
        bodyread_known(&r, a->call->body, FIELDS);
        body.name = bodyread_text(&r, a->call->body, "name", "");
        if (strlen(body.name) > 1000) {
            bodyread_fail(&r, ERR_TOO_LARGE, "name", "is longer than 1000 bytes");
        }
    }
    if (r.rc != 0) {
        answer_error(a, r.rc, &r.err, r.field);
    } else {
        command.answer = command_answer_seq;
        command_put(&command, &fact);
    }
    arena_free(arena);
}
