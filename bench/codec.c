/* bench/codec - what writing and reading a record costs, thread CPU time, best of three; jansson's
 * parse of the same text beside it.  usage: bench-codec [RECORDS] */
#include "core/codec.h"

#include "base/arena.h"
#include "base/check.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int64_t cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static const char SUBMITTED[] =
    "{\"id\":48213,\"name\":\"llama-ft-7\",\"queue\":12,\"subject\":\"s-91c2f0\",\"limit_ms\":"
    "43200000,\"groups\":[{\"name\":\"worker\",\"tasks\":4,\"min_tasks\":4,\"gpus\":8,\"cpu_"
    "milli\":"
    "96000,\"memory_bytes\":1099511627776,\"model\":\"h100-80gb\",\"required\":\"rack\"}],\"spec\":"
    "\"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\"}";

/* A start of `tasks` tasks of 8 cards, as the core would write it. */
static void started(struct str *s, int tasks)
{
    str_add(s, "{\"job\":48213,\"attempt\":1,\"step\":1,\"pool\":1,\"tasks\":[");
    for (int t = 0; t < tasks; t++) {
        str_addf(s, "%s{\"task\":%d,\"node\":%d,\"devices\":[", t > 0 ? "," : "", t + 1, t + 3);
        for (int d = 0; d < 8; d++) {
            str_addf(s, "%s{\"slot\":%d,\"gu\":126000}", d > 0 ? "," : "", d + 1);
        }
        str_add(s, "],\"cpu_milli\":96000,\"memory_bytes\":1099511627776}");
    }
    str_addf(s,
             "],\"reserved_gu\":%d,\"why\":{\"rule\":\"entitled\",\"text\":\"fits the reserve of "
             "research\",\"numbers\":[{\"name\":\"reserved_gu\",\"value\":3024000},{\"name\":"
             "\"used_gu\",\"value\":1008000},{\"name\":\"want_gu\",\"value\":%d}]}}",
             tasks * 8 * 126000, tasks * 8 * 126000);
}

struct cost {
    int64_t decode_ns, encode_ns, jansson_ns;
};

static struct cost measure_once(enum fact_kind kind, const char *text, int count)
{
    size_t len = strlen(text);
    struct arena *arena = arena_make();
    struct str out = {0};
    struct fact fact = {0};
    struct cost cost;
    int64_t from = cpu_ns();

    for (int i = 0; i < count; i++) {
        arena_reset(arena);
        CHECK(codec_decode_fact(kind, text, len, arena, &fact, NULL) == 0);
    }
    cost.decode_ns = (cpu_ns() - from) / count;
    from = cpu_ns();
    for (int i = 0; i < count; i++) {
        str_clear(&out);
        codec_encode_fact(&fact, &out);
    }
    cost.encode_ns = (cpu_ns() - from) / count;
    from = cpu_ns();
    for (int i = 0; i < count; i++) {
        json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);

        CHECK(root != NULL);
        json_decref(root);
    }
    cost.jansson_ns = (cpu_ns() - from) / count;
    CHECK(strcmp(str_text(&out), text) == 0);
    str_fini(&out);
    arena_free(arena);
    return cost;
}

static void measure(const char *what, enum fact_kind kind, const char *text, int count)
{
    struct cost best = measure_once(kind, text, count);

    for (int i = 0; i < 2; i++) {
        struct cost next = measure_once(kind, text, count);

        best.decode_ns = next.decode_ns < best.decode_ns ? next.decode_ns : best.decode_ns;
        best.encode_ns = next.encode_ns < best.encode_ns ? next.encode_ns : best.encode_ns;
        best.jansson_ns = next.jansson_ns < best.jansson_ns ? next.jansson_ns : best.jansson_ns;
    }
    printf("%-28s %5zu bytes  decode %6" PRId64 " ns  encode %6" PRId64
           " ns  jansson parse %6" PRId64 " ns\n",
           what, strlen(text), best.decode_ns, best.encode_ns, best.jansson_ns);
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 100000;
    struct str one = {0}, four = {0};

    if (count < 1) {
        fprintf(stderr, "usage: bench-codec [RECORDS], a positive number\n");
        return 2;
    }
    started(&one, 1);
    started(&four, 4);
    measure("task_running", FACT_TASK_RUNNING, "{\"job\":48213,\"attempt\":1,\"task\":3}", count);
    measure("job_submitted", FACT_JOB_SUBMITTED, SUBMITTED, count);
    measure("job_started, 8 GPUs", FACT_JOB_STARTED, str_text(&one), count);
    measure("job_started, 32 GPUs", FACT_JOB_STARTED, str_text(&four), count);
    str_fini(&one);
    str_fini(&four);
    return 0;
}
