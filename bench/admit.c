/* bench/admit - Kueue's own performance configuration, played over HTTP with the durable journal.
 *
 * 5 departments of 6 queues (reserved 20, borrow limit 100, reclaim any, preempt lower priority
 * within the queue).  Each queue gets 350 small jobs (1 GPU, 0.2 s, priority 50, one each 100 ms),
 * 100 medium (5 GPUs, 0.5 s, priority 100, each 500 ms) and 50 large (20 GPUs, 1 s, priority 200,
 * each 1.2 s): 15,000 jobs, and no schedule can end before 66 s.  A job is one task, as it is one
 * pod there; nodes are played (10 of 60 GPUs), grace is 0 and a stop takes no time.
 *
 * Waits are read from the journal afterwards: from the record of the submission to that of the
 * first start.  Kueue's figures are not measured here but quoted: commit ff69552 (August 2026), its
 * minimal manager with a real API server on two cores like these. */
#include "base/check.h"
#include "base/mem.h"
#include "base/str.h"
#include "benchd.h"
#include "benchhttp.h"
#include "journal/journal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DEPARTMENTS   5
#define QUEUES        6 /* of a department */
#define CONNECTIONS   64
#define CLASSES       3
#define WALL_S_MAX    75
#define CPU_MS_MAX    5000
#define PATIENCE_US   ((int64_t)300 * 1000000)
#define POLL_US       200000
#define JOBS_OF_QUEUE (350 + 100 + 50)
#define JOBS          (DEPARTMENTS * QUEUES * JOBS_OF_QUEUE)

static const struct class
{
    const char *name;
    int gpus;
    int priority;
    const char *seconds;
    int count;
    int64_t each_ms;
    int64_t kueue_wait_ms;
} CLASS[CLASSES] = {
    {"small", 1, 50, "0.2", 350, 100, 216000},
    {"medium", 5, 100, "0.5", 100, 500, 107700},
    {"large", 20, 200, "1", 50, 1200, 33400},
};

struct arrival {
    int64_t at_ms;
    int queue;
    int class;
};

struct tally { /* of one class */
    int64_t jobs;
    int64_t started;
    int64_t wait_ms;
    int64_t wait_ms_max;
};

struct story { /* of one job */
    int class; /* + 1 */
    int64_t submitted_ms;
    bool started;
};

struct run {
    struct benchhttp *http;
    size_t free_count;
    size_t free[CONNECTIONS];
    int64_t accepted;
    int64_t refused;
    char first_refusal[200];
    struct story *stories; /* by job */
    struct tally tally[CLASSES];
    int64_t starts;
    int64_t first_ms;
    int64_t last_ms;
};

static char *make_config(void)
{
    struct str s = {0};

    str_add(&s, "cluster: {name: bench}\npools:\n  - name: main\n    nodes:\n");
    for (int i = 0; i < DEPARTMENTS * QUEUES * 20 / 60; i++) {
        str_addf(&s, "      - {name: n%d, gpus: 60, model: a100-80gb, simulated: true}\n", i);
    }
    str_add(&s, "queues:\n");
    for (int d = 0; d < DEPARTMENTS; d++) {
        str_addf(&s, "  - name: d%d\n    reserved: {main: %d}\n    queues:\n", d, QUEUES * 20);
        for (int q = 0; q < QUEUES; q++) {
            str_addf(
                &s,
                "      - {name: d%dq%d, reserved: {main: 20}, borrow: {main: 100}, reclaim: any, "
                "preempt_within: lower_priority, grace: 0s, priority_max: 1000}\n",
                d, q);
        }
    }
    return str_take(&s);
}

/* ---- the load ---- */

static int by_time(const void *a, const void *b)
{
    const struct arrival *x = a;
    const struct arrival *y = b;

    return (x->at_ms > y->at_ms) - (x->at_ms < y->at_ms);
}

static struct arrival *make_arrivals(void)
{
    struct arrival *all = mem_new(JOBS, sizeof(*all));
    size_t count = 0;

    for (int q = 0; q < DEPARTMENTS * QUEUES; q++) {
        for (int c = 0; c < CLASSES; c++) {
            for (int i = 0; i < CLASS[c].count; i++) {
                all[count++] = (struct arrival){i * CLASS[c].each_ms, q, c};
            }
        }
    }
    CHECK(count == JOBS);
    qsort(all, count, sizeof(*all), by_time);
    return all;
}

static void on_answer(void *ctx, size_t connection, int status, const char *body, size_t len)
{
    struct run *r = ctx;

    if (status == 201) {
        r->accepted++;
    } else if (r->refused++ == 0) {
        snprintf(r->first_refusal, sizeof(r->first_refusal), "%d %.*s", status, (int)len, body);
    }
    r->free[r->free_count++] = connection;
}

static void submit(struct run *r, const struct arrival *a)
{
    const struct class *class = &CLASS[a->class];
    char body[256];

    while (r->free_count == 0) {
        benchhttp_poll(r->http, 1);
    }
    snprintf(body, sizeof(body),
             "{\"queue\":\"d%dq%d\",\"name\":\"%s\",\"gpus\":%d,\"priority\":%d,\"command\":"
             "[\"sleep\",\"%s\"]}",
             a->queue / QUEUES, a->queue % QUEUES, class->name, class->gpus, class->priority,
             class->seconds);
    (void)benchhttp_send(r->http, r->free[--r->free_count], "/v1/jobs", body);
}

static bool all_over(const struct benchd *d)
{
    struct str text = {0};
    int status = benchhttp_ask(d->socket, "/v1/jobs?limit=1", NULL, &text);
    bool over = status == 200 && strstr(str_text(&text), "\"items\":[]") != NULL;

    str_fini(&text);
    return over;
}

static int play(struct run *r, const struct benchd *d)
{
    CLEANUP(mem_freep) struct arrival *all = make_arrivals();
    int64_t from_us;
    struct err err;

    if (benchhttp_open(d->socket, CONNECTIONS, on_answer, r, &r->http, &err) != 0) {
        fprintf(stderr, "bench-admit: %s\n", err.text);
        return 1;
    }
    for (size_t i = 0; i < CONNECTIONS; i++) {
        r->free[r->free_count++] = i;
    }
    from_us = benchd_now_us();
    for (size_t i = 0; i < JOBS; i++) {
        int64_t wait_us;

        while ((wait_us = from_us + all[i].at_ms * 1000 - benchd_now_us()) > 0) {
            benchhttp_poll(r->http, (int)(wait_us / 1000) + 1);
        }
        submit(r, &all[i]);
    }
    while (benchhttp_in_flight(r->http) > 0) {
        benchhttp_poll(r->http, 100);
    }
    benchhttp_close(r->http);
    while (!all_over(d) && benchd_now_us() - from_us < PATIENCE_US) {
        struct timespec pause = {.tv_nsec = POLL_US * 1000};

        nanosleep(&pause, NULL);
    }
    return 0;
}

/* ---- what the journal says ---- */

static int64_t number_of(const struct journal_record *record, const char *field)
{
    const char *at = memmem(record->bytes, record->len, field, strlen(field));

    return at != NULL ? strtoll(at + strlen(field), NULL, 10) : 0;
}

static void take_submitted(struct run *r, const struct journal_record *record)
{
    int64_t job = number_of(record, "{\"id\":");
    int64_t priority = number_of(record, "\"priority\":");
    struct story *story = &r->stories[job];

    CHECK(job > 0 && job <= JOBS);
    for (int c = 0; c < CLASSES; c++) {
        if (CLASS[c].priority == priority) {
            story->class = c + 1;
            r->tally[c].jobs++;
        }
    }
    story->submitted_ms = record->at_ms;
    r->first_ms = r->first_ms == 0 ? record->at_ms : r->first_ms;
}

static void take_started(struct run *r, const struct journal_record *record)
{
    int64_t job = number_of(record, "\"job\":");
    struct story *story = &r->stories[job];
    struct tally *tally = &r->tally[story->class - 1];
    int64_t wait_ms = record->at_ms - story->submitted_ms;

    CHECK(job > 0 && job <= JOBS && story->class > 0);
    r->starts++;
    if (!story->started) {
        story->started = true;
        tally->started++;
        tally->wait_ms += wait_ms;
        tally->wait_ms_max = wait_ms > tally->wait_ms_max ? wait_ms : tally->wait_ms_max;
    }
}

static bool each(void *ctx, const struct journal_record *record)
{
    struct run *r = ctx;

    if (strcmp(record->kind, "job_submitted") == 0) {
        take_submitted(r, record);
    } else if (strcmp(record->kind, "job_started") == 0) {
        take_started(r, record);
    } else if (strcmp(record->kind, "attempt_ended") == 0) {
        r->last_ms = record->at_ms;
    }
    return true;
}

static int read_journal(struct run *r, const struct benchd *d, int64_t *ret_records)
{
    CLEANUP(str_fini) struct str path = {0};
    struct journal *j = NULL;
    struct err err;
    int rc;

    str_addf(&path, "%s/journal.db", d->state);
    rc = journal_open_sqlite(path.text, true, &j, &err);
    if (rc == 0) {
        rc = journal_read(j, 1, INT64_MAX, each, r, &err);
        *ret_records = journal_last_seq(j);
        journal_close(j);
    }
    if (rc != 0) {
        fprintf(stderr, "bench-admit: %s\n", err.text);
    }
    return rc;
}

/* ---- the verdict ---- */

static void tell_rounds(const struct benchd *d)
{
    static const char *const NAMES[] = {"\nmuster_engine_rounds_total ",
                                        "\nmuster_core_cpu_seconds_total "};
    struct str text = {0};

    if (benchhttp_ask(d->socket, "/metrics", NULL, &text) == 200) {
        for (size_t i = 0; i < 2; i++) {
            const char *at = strstr(str_text(&text), NAMES[i]);

            printf("%s %.*s", i == 0 ? "musterd:" : ",",
                   (int)strcspn(at != NULL ? at + 1 : "", "\n"), at != NULL ? at + 1 : "");
        }
        printf("\n");
    }
    str_fini(&text);
}

static bool tell(const struct run *r, int64_t cpu_ms, int64_t loop_ms, int64_t records)
{
    int64_t wall_ms = r->last_ms - r->first_ms;
    bool good = r->accepted == JOBS && wall_ms <= WALL_S_MAX * 1000 && cpu_ms <= CPU_MS_MAX;

    printf("accepted %" PRId64 " of %d, refused %" PRId64 " %s\n", r->accepted, JOBS, r->refused,
           r->first_refusal);
    for (int c = 0; c < CLASSES; c++) {
        const struct tally *t = &r->tally[c];
        int64_t mean_ms = t->started > 0 ? t->wait_ms / t->started : INT64_MAX;

        good = good && t->started == t->jobs && mean_ms < CLASS[c].kueue_wait_ms;
        printf("%-6s  %5" PRId64 " of %5" PRId64 " started, mean wait %6" PRId64
               " ms (Kueue %6" PRId64 "), max %6" PRId64 " ms\n",
               CLASS[c].name, t->started, t->jobs, mean_ms, CLASS[c].kueue_wait_ms, t->wait_ms_max);
    }
    printf("starts %" PRId64 ", so %" PRId64 " jobs were stopped for others; %" PRId64 " records\n",
           r->starts, r->starts - JOBS, records);
    printf("musterd's CPU %" PRId64 " ms, %" PRId64
           " of them in the loop; budget %d (Kueue 98600, without its API server)\n",
           cpu_ms, loop_ms, CPU_MS_MAX);
    printf("wall %" PRId64 " ms (Kueue 383500; no schedule is shorter than 66000)\n", wall_ms);
    printf("admit %" PRId64 " s budget %d\n", (wall_ms + 999) / 1000, WALL_S_MAX);
    return good;
}

int main(void)
{
    CLEANUP(mem_freep) char *config = make_config();
    struct run *r = mem_new(1, sizeof(*r));
    int64_t records = 0;
    int64_t ms = 0;
    int64_t cpu_ms = 0;
    int64_t loop_ms = 0;
    struct benchd d;
    struct err err;
    bool good = false;

    r->stories = mem_new(JOBS + 1, sizeof(*r->stories));
    if (benchd_make(config, &d, &err) != 0) {
        fprintf(stderr, "bench-admit: %s\n", err.text);
        return 1;
    }
    if (benchd_start(&d, &ms, &err) != 0) {
        fprintf(stderr, "bench-admit: %s\n", err.text);
    } else if (play(r, &d) == 0) {
        cpu_ms = benchd_cpu_ms(&d);
        loop_ms = benchd_loop_ms(&d);
        tell_rounds(&d);
        good = read_journal(r, &d, &records) == 0 && tell(r, cpu_ms, loop_ms, records);
    }
    benchd_fini(&d);
    mem_free(r->stories);
    mem_free(r);
    return good ? 0 : 1;
}
