#include "demo/holdings.h"

#include "base/check.h"
#include "base/quantity.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMORY_SLICE_GB 10 /* of the 80 GB card of the afternoon */
#define POOL            "h100"
#define QUEUE           "inference"

/* A field with its default value is not written. */
static int64_t number(const json_t *o, const char *name)
{
    return (int64_t)json_integer_value(json_object_get(o, name));
}

static const char *text(const json_t *o, const char *name)
{
    const char *value = json_string_value(json_object_get(o, name));

    return value == NULL ? "" : value;
}

__attribute__((format(printf, 2, 3))) static void fault(struct holdings *h, const char *fmt, ...)
{
    va_list list;

    if (h->faults++ == 0) {
        va_start(list, fmt);
        vsnprintf(h->fault, sizeof(h->fault), fmt, list);
        va_end(list);
    }
}

void holdings_fini(struct holdings *h)
{
    vec_fini(&h->rows);
    vec_fini(&h->jobs);
    vec_fini(&h->pools);
    vec_fini(&h->queues);
    vec_fini(&h->nodes);
}

/* ---- questions ---- */

static struct holdings_job *job_of(const struct holdings *h, int64_t job)
{
    for (size_t i = 0; i < h->jobs.count; i++) {
        if (h->jobs.items[i].id == job) {
            return &h->jobs.items[i];
        }
    }
    return NULL;
}

const struct holdings_job *holdings_of(const struct holdings *h, int64_t job)
{
    return job_of(h, job);
}

const char *holdings_queue(const struct holdings *h, int64_t queue)
{
    for (size_t i = 0; i < h->queues.count; i++) {
        if (h->queues.items[i].id == queue) {
            return h->queues.items[i].name;
        }
    }
    return "?";
}

const char *holdings_node(const struct holdings *h, int64_t node)
{
    for (size_t i = 0; i < h->nodes.count; i++) {
        if (h->nodes.items[i].id == node) {
            return h->nodes.items[i].name;
        }
    }
    return "?";
}

static const char *pool_of_node(const struct holdings *h, int64_t node)
{
    for (size_t i = 0; i < h->nodes.count; i++) {
        for (size_t k = 0; h->nodes.items[i].id == node && k < h->pools.count; k++) {
            if (h->pools.items[k].id == h->nodes.items[i].pool) {
                return h->pools.items[k].name;
            }
        }
    }
    return "?";
}

int64_t holdings_gu(const struct holdings *h, const char *pool, const char *queue)
{
    int64_t sum = 0;

    for (size_t i = 0; i < h->rows.count; i++) {
        const struct holding *row = &h->rows.items[i];
        const struct holdings_job *j = job_of(h, row->job);

        if ((pool == NULL || strcmp(pool_of_node(h, row->node), pool) == 0) &&
            (queue == NULL || (j != NULL && strcmp(holdings_queue(h, j->queue), queue) == 0))) {
            sum += row->gu;
        }
    }
    return sum;
}

int64_t holdings_job_gu(const struct holdings *h, int64_t job)
{
    int64_t sum = 0;

    for (size_t i = 0; i < h->rows.count; i++) {
        sum += h->rows.items[i].job == job ? h->rows.items[i].gu : 0;
    }
    return sum;
}

static bool same_card(const struct holding *a, const struct holding *b)
{
    return a->node == b->node && a->slot == b->slot;
}

int64_t holdings_cards(const struct holdings *h, const char *pool)
{
    int64_t cards = 0;

    for (size_t i = 0; i < h->rows.count; i++) {
        bool first = strcmp(pool_of_node(h, h->rows.items[i].node), pool) == 0;

        for (size_t k = 0; k < i && first; k++) {
            first = !same_card(&h->rows.items[k], &h->rows.items[i]);
        }
        cards += first;
    }
    return cards;
}

const struct holding *holdings_row(const struct holdings *h, int64_t job)
{
    for (size_t i = 0; i < h->rows.count; i++) {
        if (h->rows.items[i].job == job) {
            return &h->rows.items[i];
        }
    }
    return NULL;
}

/* ---- rules ---- */

static bool overlap(const struct holding *a, const struct holding *b)
{
    return same_card(a, b) && (a->size == 0 || b->size == 0 ||
                               (a->start < b->start + b->size && b->start < a->start + a->size));
}

static void check_row(struct holdings *h, size_t at)
{
    const struct holding *row = &h->rows.items[at];

    for (size_t i = 0; i < at; i++) {
        if (overlap(&h->rows.items[i], row)) {
            fault(h,
                  "record %" PRId64 ": GPU %" PRId64 " of %s is held by jobs %" PRId64
                  " and %" PRId64 " at once",
                  h->seq, row->slot, holdings_node(h, row->node), h->rows.items[i].job, row->job);
        }
    }
}

/* Others never come nearer to inference than its whole reserve. */
static void check_kept(struct holdings *h)
{
    int64_t all = holdings_gu(h, POOL, NULL);
    int64_t own = holdings_gu(h, POOL, QUEUE);
    int64_t capacity = 0;

    for (size_t i = 0; i < h->nodes.count; i++) {
        capacity += strcmp(pool_of_node(h, h->nodes.items[i].id), POOL) == 0 ? 8 * GU_PER_GPU : 0;
    }
    h->lent_most_gu = all - own > h->lent_most_gu ? all - own : h->lent_most_gu;
    h->inference_gu = own > h->inference_gu ? own : h->inference_gu;
    if (all - own > capacity - h->kept_gu) {
        fault(h, "record %" PRId64 ": %" PRId64 " GPUs of " POOL " are held by others than " QUEUE,
              h->seq, (all - own) / GU_PER_GPU);
    }
}

/* ---- records ---- */

static void take_names(const json_t *list, struct holdings_name *(*add)(struct holdings *),
                       struct holdings *h)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        struct holdings_name *name = add(h);

        name->id = number(item, "id");
        name->pool = number(item, "pool");
        snprintf(name->name, sizeof(name->name), "%s", text(item, "name"));
    }
}

static struct holdings_name *add_pool(struct holdings *h)
{
    vec_push(&h->pools, (struct holdings_name){0});
    return &h->pools.items[h->pools.count - 1];
}

static struct holdings_name *add_queue(struct holdings *h)
{
    vec_push(&h->queues, (struct holdings_name){0});
    return &h->queues.items[h->queues.count - 1];
}

static struct holdings_name *add_node(struct holdings *h)
{
    vec_push(&h->nodes, (struct holdings_name){0});
    return &h->nodes.items[h->nodes.count - 1];
}

static void take_policy(struct holdings *h, const json_t *body)
{
    const json_t *policy = json_object_get(body, "policy");
    const json_t *queues = json_object_get(policy, "queues");

    vec_clear(&h->pools);
    vec_clear(&h->queues);
    vec_clear(&h->nodes);
    take_names(json_object_get(policy, "pools"), add_pool, h);
    take_names(queues, add_queue, h);
    take_names(json_object_get(policy, "nodes"), add_node, h);
    for (size_t i = 0; i < json_array_size(queues); i++) {
        const json_t *queue = json_array_get(queues, i);

        if (strcmp(text(queue, "name"), QUEUE) == 0) {
            h->kept_gu = number(json_array_get(json_object_get(queue, "quotas"), 0), "reserved_gu");
        }
    }
}

static void take_node(struct holdings *h, const json_t *body)
{
    int64_t devices = (int64_t)json_array_size(json_object_get(body, "devices"));

    h->gpus += devices;
    h->simulated_gpus += json_is_true(json_object_get(body, "simulated")) ? devices : 0;
}

static void take_submitted(struct holdings *h, const json_t *body)
{
    const json_t *groups = json_object_get(body, "groups");
    struct holdings_job j = {.id = number(body, "id"), .queue = number(body, "queue")};

    snprintf(j.name, sizeof(j.name), "%s", text(body, "name"));
    for (size_t i = 0; i < json_array_size(groups); i++) {
        j.tasks += number(json_array_get(groups, i), "tasks");
    }
    vec_push(&h->jobs, j);
}

static int64_t slice_size(const char *profile)
{
    const char *gb = strchr(profile, '.');

    return gb == NULL ? 0 : (int64_t)strtol(gb + 1, NULL, 10) / MEMORY_SLICE_GB;
}

static void take_grant(struct holdings *h, struct holdings_job *j, const json_t *grant)
{
    const json_t *devices = json_object_get(grant, "devices");

    for (size_t i = 0; i < json_array_size(devices); i++) {
        const json_t *d = json_array_get(devices, i);
        struct holding row = {.job = j->id,
                              .task = number(grant, "task"),
                              .node = number(grant, "node"),
                              .slot = number(d, "slot"),
                              .gu = number(d, "gu"),
                              .start = number(d, "start"),
                              .size = slice_size(text(d, "profile"))};

        j->recut = j->recut || json_is_true(json_object_get(d, "recut"));
        vec_push(&h->rows, row);
        check_row(h, h->rows.count - 1);
    }
}

static void take_started(struct holdings *h, struct holdings_job *j, const json_t *body,
                         int64_t at_ms)
{
    const json_t *tasks = json_object_get(body, "tasks");

    if ((int64_t)json_array_size(tasks) != j->tasks) {
        fault(h, "record %" PRId64 ": %zu of the %" PRId64 " tasks of job %" PRId64 " start",
              h->seq, json_array_size(tasks), j->tasks, j->id);
    }
    j->state = HOLDINGS_STARTED;
    j->attempt = number(body, "attempt");
    j->running = 0;
    j->started_seq = h->seq;
    j->started_ms = at_ms;
    j->reserved_gu = number(body, "reserved_gu");
    j->borrowed_gu = number(body, "borrowed_gu");
    j->older_gu = holdings_gu(h, NULL, holdings_queue(h, j->queue));
    j->recut = false;
    j->unsaved_gu_ms = 0;
    for (size_t i = 0; i < json_array_size(tasks); i++) {
        take_grant(h, j, json_array_get(tasks, i));
    }
    check_kept(h);
}

static void take_claimed(struct holdings *h, const json_t *body, int64_t at_ms)
{
    const json_t *victims = json_object_get(body, "victims");

    for (size_t i = 0; i < json_array_size(victims); i++) {
        const json_t *v = json_array_get(victims, i);
        struct holdings_job *j = job_of(h, number(v, "job"));

        if (j == NULL) {
            continue;
        }
        j->state = HOLDINGS_STOPPING;
        j->told_seq = h->seq;
        j->told_ms = at_ms;
        j->told_for = number(body, "job");
        j->deadline_ms = number(v, "deadline_ms");
        j->priced_gu_ms = number(v, "lost_gu_ms");
        j->cost_gu_ms = number(v, "cost_gu_ms");
        j->preemptions++;
    }
}

/* What the task did since the last checkpoint is lost if the attempt is preempted. */
static void take_task_ended(struct holdings *h, struct holdings_job *j, int64_t task, int64_t at_ms)
{
    int64_t since_ms = j->saved_ms > j->started_ms ? j->saved_ms : j->started_ms;

    j->running -= j->running > 0;
    for (size_t i = h->rows.count; i-- > 0;) {
        struct holding row = h->rows.items[i];

        if (row.job == j->id && row.task == task) {
            j->unsaved_gu_ms += row.gu * (at_ms > since_ms ? at_ms - since_ms : 0);
            vec_remove(&h->rows, i);
        }
    }
    if (holdings_row(h, j->id) == NULL) {
        j->gone_seq = h->seq;
        j->gone_ms = at_ms;
    }
}

static void take_attempt_ended(struct holdings *h, struct holdings_job *j, const json_t *body)
{
    snprintf(j->outcome, sizeof(j->outcome), "%s", text(body, "outcome"));
    if (j->outcome[0] == '\0') {
        snprintf(j->outcome, sizeof(j->outcome), "succeeded");
    }
    j->state = strcmp(j->outcome, "requeued") == 0 ? HOLDINGS_WAITS : HOLDINGS_ENDED;
    j->lost_gu_ms = number(body, "lost_gu_ms");
    if (holdings_row(h, j->id) != NULL) {
        fault(h, "record %" PRId64 ": job %" PRId64 " has ended and holds GPUs", h->seq, j->id);
    }
}

static void take_of_job(struct holdings *h, struct holdings_job *j, const json_t *record)
{
    const json_t *body = json_object_get(record, "body");
    const char *kind = text(record, "kind");
    int64_t at_ms = number(record, "at_ms");

    if (strcmp(kind, "job_started") == 0) {
        take_started(h, j, body, at_ms);
    } else if (strcmp(kind, "task_running") == 0) {
        j->running += number(body, "attempt") == j->attempt;
    } else if (strcmp(kind, "job_checkpointed") == 0) {
        j->saved++;
        j->saved_seq = h->seq;
        j->saved_ms = number(record, "true_at_ms");
    } else if (strcmp(kind, "job_killed") == 0) {
        j->killed_seq = h->seq;
        j->killed_ms = at_ms;
    } else if (strcmp(kind, "task_ended") == 0) {
        take_task_ended(h, j, number(body, "task"), at_ms);
    } else if (strcmp(kind, "attempt_ended") == 0) {
        take_attempt_ended(h, j, body);
    }
}

void holdings_take(struct holdings *h, const json_t *record)
{
    const json_t *body = json_object_get(record, "body");
    const char *kind = text(record, "kind");
    int64_t seq = strtoll(text(record, "seq"), NULL, 10);
    struct holdings_job *j;

    if (seq != h->seq + 1) {
        fault(h, "record %" PRId64 " comes after record %" PRId64, seq, h->seq);
    }
    h->seq = seq;
    h->begin_ms = h->begin_ms == 0 ? number(record, "at_ms") : h->begin_ms;
    if (strcmp(kind, "policy_set") == 0) {
        take_policy(h, body);
    } else if (strcmp(kind, "node_seen") == 0) {
        take_node(h, body);
    } else if (strcmp(kind, "job_submitted") == 0) {
        take_submitted(h, body);
    } else {
        if (strcmp(kind, "job_claimed") == 0) {
            take_claimed(h, body, number(record, "at_ms"));
        }
        j = job_of(h, number(body, "job"));
        if (j != NULL) {
            take_of_job(h, j, record);
        }
    }
}
