#include "demo/narrate.h"

#include "base/check.h"
#include "base/quantity.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DESKS "desk-" /* twenty alike are told as one */

struct line {
    const struct holdings *h;
    const struct holdings_job *job;
    const json_t *record;
    const json_t *body;
};

static const char *text_of(const json_t *o, const char *name)
{
    const char *value = json_string_value(json_object_get(o, name));

    return value == NULL ? "" : value;
}

static int64_t number_of(const json_t *o, const char *name)
{
    return (int64_t)json_integer_value(json_object_get(o, name));
}

static void begin(const struct line *l)
{
    int64_t ms = number_of(l->record, "at_ms") - l->h->begin_ms;

    printf("  %3" PRId64 ".%03" PRId64 " #%-4s ", ms / 1000, ms % 1000, text_of(l->record, "seq"));
    if (l->job != NULL) {
        printf("job %" PRId64 " %s: ", l->job->id, l->job->name);
    }
}

/* ---- one kind each ---- */

static void tell_submitted(const struct line *l)
{
    begin(l);
    printf("submitted to %s, %" PRId64 " task%s\n", holdings_queue(l->h, l->job->queue),
           l->job->tasks, l->job->tasks == 1 ? "" : "s");
}

static void tell_started(const struct line *l)
{
    char all[QUANTITY_TEXT_MAX], own[QUANTITY_TEXT_MAX], lent[QUANTITY_TEXT_MAX];

    quantity_gpus_text(l->job->reserved_gu + l->job->borrowed_gu, all);
    quantity_gpus_text(l->job->reserved_gu, own);
    quantity_gpus_text(l->job->borrowed_gu, lent);
    begin(l);
    printf("starts on %s GPUs = %s reserved + %s borrowed, attempt %" PRId64 "%s\n", all, own, lent,
           l->job->attempt, l->job->recut ? ", its card is cut anew" : "");
}

static void tell_running(const struct line *l)
{
    if (l->job->running == l->job->tasks) {
        begin(l);
        printf("%s%" PRId64 " task%s run%s\n", l->job->tasks == 1 ? "its " : "all its ",
               l->job->tasks, l->job->tasks == 1 ? "" : "s", l->job->tasks == 1 ? "s" : "");
    }
}

static void tell_claimed(const struct line *l)
{
    const json_t *victims = json_object_get(l->body, "victims");

    begin(l);
    printf("is promised what it asked for (rule %s)\n",
           text_of(json_object_get(l->body, "why"), "rule"));
    for (size_t i = 0; i < json_array_size(victims); i++) {
        const json_t *v = json_array_get(victims, i);
        const struct holdings_job *j = holdings_of(l->h, number_of(v, "job"));

        printf("                job %" PRId64 " %s is told to stop within %" PRId64 " s; it would "
               "lose %" PRId64 " GPU-s\n",
               number_of(v, "job"), j == NULL ? "" : j->name,
               (number_of(v, "deadline_ms") - number_of(l->record, "at_ms")) / 1000,
               number_of(v, "lost_gu_ms") / (GU_PER_GPU * 1000));
    }
}

static void tell_saved(const struct line *l)
{
    begin(l);
    printf("saved checkpoint %s\n", text_of(l->body, "name"));
}

static void tell_killed(const struct line *l)
{
    begin(l);
    printf("has not stopped: its grace is over, it is killed\n");
}

static void tell_ended(const struct line *l)
{
    begin(l);
    if (l->job->state == HOLDINGS_WAITS) {
        printf("has stopped and waits again; work lost: %" PRId64 ".%" PRId64 " GPU-s\n",
               l->job->lost_gu_ms / (GU_PER_GPU * 1000),
               l->job->lost_gu_ms / (GU_PER_GPU * 100) % 10);
    } else {
        printf("attempt %" PRId64 " %s\n", number_of(l->body, "attempt"), l->job->outcome);
    }
}

static void tell_text(const struct line *l)
{
    const struct line bare = {.h = l->h, .record = l->record, .body = l->body};

    begin(&bare);
    printf("%s\n", text_of(l->record, "text"));
}

static const struct {
    const char *kind;
    void (*tell)(const struct line *l);
    bool loud; /* told of the desks as well */
} KINDS[] = {{"daemon_started", tell_text, true},      {"policy_set", tell_text, true},
             {"job_submitted", tell_submitted, false}, {"job_started", tell_started, false},
             {"task_running", tell_running, false},    {"job_claimed", tell_claimed, true},
             {"job_stopped", tell_text, false},        {"job_checkpointed", tell_saved, true},
             {"job_killed", tell_killed, true},        {"attempt_ended", tell_ended, false},
             {"nomination_ended", tell_text, true},    {"task_refused", tell_text, true},
             {"device_stuck", tell_text, true},        {"node_lost", tell_text, true},
             {"job_cancel", tell_text, false}};

void narrate_record(const struct holdings *h, const json_t *record)
{
    struct line l = {.h = h, .record = record, .body = json_object_get(record, "body")};
    const char *kind = text_of(record, "kind");
    bool submitted = strcmp(kind, "job_submitted") == 0;

    l.job = holdings_of(h, number_of(l.body, submitted ? "id" : "job"));
    for (size_t i = 0; i < ARRAY_LEN(KINDS); i++) {
        if (strcmp(KINDS[i].kind, kind) == 0 &&
            (KINDS[i].loud || l.job == NULL || strncmp(l.job->name, DESKS, strlen(DESKS)) != 0)) {
            KINDS[i].tell(&l);
        }
    }
}
