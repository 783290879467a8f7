#include "daemon/services.h"

#include "base/check.h"
#include "daemon/account.h"
#include "daemon/logstream.h"

#include <string.h>

static bool read_ask(const struct asked *a, struct logstream_ask *ask)
{
    static const char *const PARAMS[] = {"task", "attempt", "stream", "follow",
                                         "tail", "from",    NULL};
    const char *stream = answer_param(a->call, "stream", "stdout");

    ask->tail = -1;
    if (!answer_params(a, PARAMS) || !answer_param_int(a, "task", 0, INT32_MAX, &ask->log.task) ||
        !answer_param_int(a, "attempt", 1, INT64_MAX, &ask->log.attempt) ||
        !answer_param_bool(a, "follow", &ask->follow) ||
        !answer_param_int(a, "tail", 0, 1000000, &ask->tail) ||
        !answer_param_int(a, "from", 0, INT64_MAX, &ask->from)) {
        return false;
    }
    if (strcmp(stream, "stdout") != 0 && strcmp(stream, "stderr") != 0) {
        answer_refuse(a, ERR_INVALID, "stream", "stream is \"%s\", write stdout or stderr", stream);
        return false;
    }
    ask->log.error = strcmp(stream, "stderr") == 0;
    return true;
}

static int64_t tasks_of(const struct job *j)
{
    int64_t count = 0;

    for (size_t i = 0; i < j->ask->group_count; i++) {
        count += j->ask->groups[i].tasks;
    }
    return count;
}

void service_job_logs(struct daemon *d, const struct asked *a)
{
    struct logstream_ask ask = {0};
    struct service_answer answer = {.field = ""};
    const struct job *j;
    struct err err;
    int64_t id;

    if (!read_ask(a, &ask)) {
        return;
    }
    id = answer_target_id(a, "job");
    if (id == 0) {
        return;
    }
    j = view_job(engine_core(d->engine), id);
    if (j == NULL || d->local == NULL) {
        answer_refuse(a, ERR_NOT_FOUND, "",
                      j == NULL ? "there is no job %lld"
                                : "the nodes are played: job %lld has no log",
                      (long long)id);
        return;
    }
    if ((a->call->caller.roles & ROLE_AUDITOR) == 0 &&
        account_owns(&a->call->caller, j, &err) != 0) {
        answer_error(a, err.code, &err, "");
        return;
    }
    if (j->attempt == 0 || ask.log.attempt > j->attempt) {
        answer_refuse(a, ERR_NOT_FOUND, ask.log.attempt == 0 ? "" : "attempt",
                      "job %lld has had %lld attempts so far", (long long)id,
                      (long long)j->attempt);
        return;
    }
    if (ask.log.task >= tasks_of(j)) {
        answer_refuse(a, ERR_NOT_FOUND, "task", "job %lld asks for %lld tasks, the first is 0",
                      (long long)id, (long long)tasks_of(j));
        return;
    }
    ask.log.job = id;
    ask.log.attempt = ask.log.attempt == 0 ? j->attempt : ask.log.attempt;
    answer.stream = logstream_new(d, &ask);
    a->done(a->arg, &answer);
}
