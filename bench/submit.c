/* bench/submit - durable submissions a second over HTTP, with a kill -9 in the middle.
 *
 * One musterd on this machine, whose nodes are played and full, so that every job waits; this
 * program sends POST /v1/jobs over its unix socket, one at a time on each of many connections, each
 * job with an environment of its own.  Half way musterd is killed and started again.  At the end
 * every job whose 201 has come is looked for in the list of jobs: none may be missing.  The value
 * counts answers (so commits) over the time that musterd was there to give them.
 *
 * Why so many connections: a commit takes what the disk takes (some ms), and by Little's law a rate
 * is the number in flight by that time.  There is no pipelining, and no job array.
 *
 * usage: bench-submit [--seconds N] [--connections N]; $TMPDIR says which disk */
#include "base/check.h"
#include "base/mem.h"
#include "base/str.h"
#include "benchd.h"
#include "benchhttp.h"
#include "journal/journal.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BUDGET         20000
#define JOBS_MAX       4000000
#define QUEUES         4
#define RAW_BATCH      64
#define RAW_BODY_BYTES 330 /* what a submission is in the journal */

static const char CONFIG[] =
    "cluster: {name: bench}\n"
    "pools:\n"
    "  - name: main\n"
    "    nodes: [{name: box, gpus: 8, model: a100-80gb, simulated: true}]\n"
    "queues:\n"
    "  - {name: q0, reserved: {main: 2}}\n"
    "  - {name: q1, reserved: {main: 2}}\n"
    "  - {name: q2, reserved: {main: 2}}\n"
    "  - {name: q3, reserved: {main: 2}}\n";

struct run {
    struct benchhttp *http;
    int64_t sent;
    int64_t answered;
    int64_t refused;
    int64_t cut; /* no answer: the connection ended */
    int64_t until_us;
    int64_t *began_us; /* by connection */
    int64_t *took_us;  /* of each answer */
    char *acked;       /* by job id */
    bool version;      /* GET /v1/version instead */
    char first_refusal[200];
};

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static void send_next(struct run *r, size_t connection)
{
    char body[256];
    int64_t now_us = benchd_now_us();

    if (now_us >= r->until_us) {
        return;
    }
    snprintf(body, sizeof(body),
             "{\"queue\":\"q%d\",\"name\":\"train\",\"gpus\":%d,\"command\":[\"sleep\",\"86400\"],"
             "\"env\":{\"SEED\":\"%" PRId64 "\"}}",
             (int)(r->sent % QUEUES), 1 << (r->sent / QUEUES % 4), r->sent);
    r->began_us[connection] = now_us;
    r->sent++;
    (void)benchhttp_send(r->http, connection, r->version ? "/v1/version" : "/v1/jobs",
                         r->version ? NULL : body);
}

static void on_answer(void *ctx, size_t connection, int status, const char *body, size_t len)
{
    static const char JOB[] = "\"job\":\"";
    struct run *r = ctx;
    const char *job = len > 0 ? memmem(body, len, JOB, strlen(JOB)) : NULL;
    int64_t id = job != NULL ? strtoll(job + strlen(JOB), NULL, 10) : 0;

    if (status == 0) {
        r->cut++;
        return;
    }
    if (status == 201 && id > 0 && id < JOBS_MAX) {
        r->acked[id] = 1;
    } else if (status != 200 && r->refused++ == 0) {
        snprintf(r->first_refusal, sizeof(r->first_refusal), "%d %.*s", status, (int)len, body);
    }
    if (status == 201 || status == 200) {
        r->took_us[r->answered++ % JOBS_MAX] = benchd_now_us() - r->began_us[connection];
    }
    send_next(r, connection);
}

/* Send for this long; kill: the process goes away in the middle of it all. */
static int64_t drive(struct run *r, struct benchd *d, size_t connections, int64_t ms, bool kill)
{
    int64_t from_us = benchd_now_us();
    struct err err;

    if (benchhttp_open(d->socket, connections, on_answer, r, &r->http, &err) != 0) {
        fprintf(stderr, "bench-submit: %s\n", err.text);
        exit(1);
    }
    r->until_us = from_us + ms * 1000 + (kill ? 1000000 : 0);
    for (size_t i = 0; i < connections; i++) {
        send_next(r, i);
    }
    while (benchhttp_in_flight(r->http) > 0) {
        benchhttp_poll(r->http, 100);
        if (kill && d->pid != 0 && benchd_now_us() - from_us >= ms * 1000) {
            ms = (benchd_now_us() - from_us) / 1000;
            benchd_end(d, SIGKILL);
        }
    }
    benchhttp_close(r->http);
    r->http = NULL;
    return kill ? ms : (benchd_now_us() - from_us) / 1000;
}

/* Every job of the list, marked in seen. */
static int64_t list_jobs(const struct benchd *d, char *seen)
{
    static const char JOB[] = "{\"job\":\"";
    static const char NEXT[] = "\"next\":\"";
    struct str page = {0};
    struct str path = {0};
    int64_t count = 0;
    const char *cursor = "0";

    while (cursor != NULL) {
        const char *at;
        char next[32];

        str_clear(&path);
        str_addf(&path, "/v1/jobs?limit=1000&cursor=%s", cursor);
        if (benchhttp_ask(d->socket, path.text, NULL, &page) != 200) {
            fprintf(stderr, "bench-submit: no list of jobs: %.200s\n", str_text(&page));
            exit(1);
        }
        for (at = page.text; (at = strstr(at, JOB)) != NULL; count++) {
            at += strlen(JOB);
            seen[strtoll(at, NULL, 10) % JOBS_MAX] = 1;
        }
        at = strstr(page.text, NEXT);
        cursor = at == NULL ? NULL : next;
        if (at != NULL) {
            snprintf(next, sizeof(next), "%" PRId64, (int64_t)strtoll(at + strlen(NEXT), NULL, 10));
        }
    }
    str_fini(&page);
    str_fini(&path);
    return count;
}

static int64_t percentile(struct run *r, int64_t ppm)
{
    int64_t count = r->answered < JOBS_MAX ? r->answered : JOBS_MAX;

    qsort(r->took_us, (size_t)count, sizeof(*r->took_us), by_size);
    return count == 0 ? 0 : r->took_us[count * ppm / 1000000];
}

static struct run *new_run(size_t connections)
{
    struct run *r = mem_new(1, sizeof(*r));

    r->began_us = mem_new(connections, sizeof(*r->began_us));
    r->took_us = mem_new(JOBS_MAX, sizeof(*r->took_us));
    r->acked = mem_new(JOBS_MAX, 1);
    return r;
}

static void free_run(struct run *r)
{
    mem_free(r->began_us);
    mem_free(r->took_us);
    mem_free(r->acked);
    mem_free(r);
}

/* ---- the baselines ---- */

static void baseline_version(struct benchd *d, size_t connections)
{
    struct run *r = new_run(connections);
    int64_t cpu_ms = benchd_cpu_ms(d);
    int64_t ms;

    r->version = true;
    ms = drive(r, d, connections, 2000, false);
    cpu_ms = benchd_cpu_ms(d) - cpu_ms;
    printf("baseline: GET /v1/version, %zu connections: %" PRId64 " answers/s, %" PRId64
           " us CPU of musterd each\n",
           connections, r->answered * 1000 / (ms + 1), cpu_ms * 1000 / (r->answered + 1));
    free_run(r);
}

static void baseline_journal(const struct benchd *d, size_t batch)
{
    struct journal_record *records = mem_new(batch, sizeof(*records));
    CLEANUP(str_fini) struct str path = {0};
    char body[RAW_BODY_BYTES + 1];
    struct journal *j = NULL;
    struct err err;
    int64_t from_us;
    int64_t count = 0;

    str_addf(&path, "%s/raw.db", d->dir);
    memset(body, 'x', sizeof(body));
    body[0] = body[RAW_BODY_BYTES - 1] = '"';
    CHECK(journal_open_sqlite(path.text, false, &j, &err) == 0);
    from_us = benchd_now_us();
    while (benchd_now_us() - from_us < 2000000) {
        for (size_t i = 0; i < batch; i++) {
            records[i] = (struct journal_record){.kind = "job_submitted",
                                                 .version = 1,
                                                 .bytes = body,
                                                 .len = RAW_BODY_BYTES};
        }
        CHECK(journal_append(j, records, batch, &err) == 0);
        count += (int64_t)batch;
    }
    printf("baseline: raw appends in batches of %zu: %" PRId64 " records/s\n", batch,
           count * 1000000 / (benchd_now_us() - from_us));
    journal_close(j);
    mem_free(records);
}

/* ---- the run ---- */

static int start(struct benchd *d, int64_t *ret_ms)
{
    struct err err;

    if (benchd_start(d, ret_ms, &err) != 0) {
        fprintf(stderr, "bench-submit: %s\n", err.text);
        return 1;
    }
    return 0;
}

/* This program's own CPU time: it shares the cores. */
static int64_t own_cpu_ms(void)
{
    struct timespec t;

    CHECK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) == 0);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int measure(struct benchd *d, size_t connections, int64_t seconds)
{
    struct run *r = new_run(connections);
    char *seen = mem_new(JOBS_MAX, 1);
    int64_t acked = 0;
    int64_t missing = 0;
    int64_t start_ms = 0;
    int64_t ms;
    int64_t cpu_ms;
    int64_t loop_ms;
    int64_t own_ms;
    int64_t before;
    int64_t listed;
    int64_t value;

    if (start(d, &start_ms) != 0) {
        return 1;
    }
    baseline_version(d, connections);
    ms = drive(r, d, connections, seconds * 500, true);
    printf("killed after %" PRId64 " answers in %" PRId64 " ms, %" PRId64 " in flight\n",
           r->answered, ms, r->cut);
    if (start(d, &start_ms) != 0) {
        return 1;
    }
    printf("started again in %" PRId64 " ms\n", start_ms);
    cpu_ms = benchd_cpu_ms(d);
    loop_ms = benchd_loop_ms(d);
    own_ms = own_cpu_ms();
    before = r->answered;
    ms += drive(r, d, connections, seconds * 500, false);
    cpu_ms = benchd_cpu_ms(d) - cpu_ms;
    loop_ms = benchd_loop_ms(d) - loop_ms;
    own_ms = own_cpu_ms() - own_ms;
    before = r->answered - before + 1;
    printf("musterd: %" PRId64 " us CPU a job in the second half, %" PRId64
           " of them in the loop; it has %" PRId64 " KiB; %" PRId64 " us more of this program\n",
           cpu_ms * 1000 / before, loop_ms * 1000 / before, benchd_memory_kib(d),
           own_ms * 1000 / before);
    listed = list_jobs(d, seen);
    for (int64_t i = 0; i < JOBS_MAX; i++) {
        acked += r->acked[i];
        missing += r->acked[i] && !seen[i] ? 1 : 0;
    }
    printf("answered %" PRId64 ", refused %" PRId64 "%s%s; listed %" PRId64 ", missing %" PRId64
           "\n",
           acked, r->refused, r->refused > 0 ? ", the first: " : "", r->first_refusal, listed,
           missing);
    printf("an answer took %" PRId64 " us median, %" PRId64 " us p99\n", percentile(r, 500000),
           percentile(r, 990000));
    value = acked * 1000 / (ms + 1);
    printf("submit %" PRId64 " jobs/s budget %d\n", value, BUDGET);
    free_run(r);
    mem_free(seen);
    return missing == 0 && value >= BUDGET ? 0 : 1;
}

int main(int argc, char **argv)
{
    int64_t seconds = 10;
    int64_t connections = 384;
    struct benchd d;
    struct err err;
    int rc;

    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--seconds") == 0) {
            CHECK(str_to_int(argv[i + 1], &seconds) && seconds > 0);
        } else if (strcmp(argv[i], "--connections") == 0) {
            CHECK(str_to_int(argv[i + 1], &connections) && connections > 0);
        }
    }
    if (benchd_make(CONFIG, &d, &err) != 0) {
        fprintf(stderr, "bench-submit: %s\n", err.text);
        return 1;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    baseline_journal(&d, RAW_BATCH);
    baseline_journal(&d, 1024);
    rc = measure(&d, (size_t)connections, seconds);
    benchd_fini(&d);
    return rc;
}
