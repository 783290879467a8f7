/* bench/journal - what a record costs in the journal: durable appends a second at batches of 1, 16
 * and 256 (wall time, with the disk's fsync), and thread CPU time a record of an append, a hash and
 * a checked read.  usage: bench-journal [DIRECTORY]  (which disk; /tmp if not given) */
#include "journal/journal.h"

#include "base/check.h"
#include "base/str.h"
#include "journal/chain.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BATCH_MAX  256
#define RECORDS    20000
#define WALL_NS    3000000000 /* a batch size gets at most this */
#define BODY_BYTES 300

static int64_t now_ns(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static const char *body(void)
{
    static char text[BODY_BYTES + 1];

    memset(text, 'x', BODY_BYTES);
    text[0] = text[BODY_BYTES - 1] = '"';
    return text;
}

static struct journal_record make_record(void)
{
    return (struct journal_record){.at_ms = 1700000000000,
                                   .true_at_ms = 1700000000000,
                                   .kind = "job_started",
                                   .version = 1,
                                   .bytes = body(),
                                   .len = BODY_BYTES};
}

static void measure_append(struct journal *j, size_t batch)
{
    struct journal_record records[BATCH_MAX];
    int64_t wall = now_ns(CLOCK_MONOTONIC);
    int64_t cpu = now_ns(CLOCK_THREAD_CPUTIME_ID);
    int64_t count = 0;
    struct err err;

    while (count < RECORDS && now_ns(CLOCK_MONOTONIC) - wall < WALL_NS) {
        for (size_t i = 0; i < batch; i++) {
            records[i] = make_record();
        }
        CHECK(journal_append(j, records, batch, &err) == 0);
        count += (int64_t)batch;
    }
    wall = now_ns(CLOCK_MONOTONIC) - wall;
    cpu = now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
    printf("append  batch %3zu  %8" PRId64 " records/s  %6" PRId64 " ns CPU a record\n", batch,
           count * 1000000000 / wall, cpu / count);
}

static void measure_hash(void)
{
    struct chain *chain = chain_new();
    struct journal_record r = make_record();
    unsigned char hash[JOURNAL_HASH_BYTES] = {0};
    int64_t cpu = now_ns(CLOCK_THREAD_CPUTIME_ID);

    for (r.seq = 1; r.seq <= RECORDS; r.seq++) {
        chain_next(chain, hash, &r, hash);
    }
    cpu = now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
    printf("hash    %d bytes  %6" PRId64 " ns CPU a record\n", BODY_BYTES, cpu / RECORDS);
    chain_free(chain);
}

static void measure_verify(struct journal *j)
{
    struct journal_verdict verdict = {0};
    int64_t cpu = now_ns(CLOCK_THREAD_CPUTIME_ID);

    CHECK(journal_verify(j, &verdict, NULL) == 0 && verdict.records > 0);
    cpu = now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
    printf("verify  %" PRId64 " records  %6" PRId64 " ns CPU a record\n", verdict.records,
           cpu / verdict.records);
}

int main(int argc, char **argv)
{
    static const char *const SUFFIXES[] = {"", ".lock", ".ballast", "-wal", "-shm"};
    static const size_t BATCHES[] = {1, 16, BATCH_MAX};
    struct journal *j = NULL;
    struct str path = {0};
    struct str name = {0};
    struct err err = {0};

    str_addf(&path, "%s/bench-journal-%d.db", argc > 1 ? argv[1] : "/tmp", (int)getpid());
    if (journal_open_sqlite(path.text, false, &j, &err) != 0) {
        fprintf(stderr, "bench-journal: %s\n", err.text);
        return 1;
    }
    for (size_t i = 0; i < ARRAY_LEN(BATCHES); i++) {
        measure_append(j, BATCHES[i]);
    }
    measure_hash();
    measure_verify(j);
    journal_close(j);
    for (size_t i = 0; i < ARRAY_LEN(SUFFIXES); i++) {
        str_clear(&name);
        str_addf(&name, "%s%s", path.text, SUFFIXES[i]);
        unlink(name.text);
    }
    str_fini(&name);
    str_fini(&path);
    return 0;
}
