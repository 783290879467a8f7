/* benchd - one musterd for a benchmark, in a directory of its own, with simulated nodes. */
#ifndef MUSTER_BENCH_BENCHD_H
#define MUSTER_BENCH_BENCHD_H

#include "base/err.h"

#include <stdint.h>
#include <sys/types.h>

struct benchd {
    char *dir; /* in $TMPDIR or /tmp; its disk is the one that is measured */
    char *socket;
    char *state;
    pid_t pid; /* 0 = not running */
};

/* A directory with this configuration.  ERR_IO. */
MUST_CHECK int benchd_make(const char *config, struct benchd *ret, struct err *err);
/* Start musterd and wait until it answers; the time it took.  ERR_IO: it ended, see the log. */
MUST_CHECK int benchd_start(struct benchd *d, int64_t *ret_ms, struct err *err);
/* End it with a signal and wait for its end. */
void benchd_end(struct benchd *d, int signal);
/* Ends it, if need be, and removes the directory. */
void benchd_fini(struct benchd *d);

/* CPU time of the process so far, all its threads. */
int64_t benchd_cpu_ms(const struct benchd *d);
/* The same of its first thread, which is the one that decides. */
int64_t benchd_loop_ms(const struct benchd *d);
/* Its resident memory. */
int64_t benchd_memory_kib(const struct benchd *d);
int64_t benchd_now_us(void);

#endif
