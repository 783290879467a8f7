#include "benchd.h"

#include "base/check.h"
#include "base/mem.h"
#include "base/str.h"
#include "benchhttp.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define START_MS_MAX ((int64_t)120 * 1000)
#define POLL_US      2000

int64_t benchd_now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static char *join(const char *dir, const char *name)
{
    struct str s = {0};

    str_addf(&s, "%s/%s", dir, name);
    return str_take(&s);
}

int benchd_make(const char *config, struct benchd *ret, struct err *err)
{
    const char *where = getenv("TMPDIR");
    struct benchd d = {.dir = join(where != NULL ? where : "/tmp", "bench-XXXXXX")};
    CLEANUP(mem_freep) char *path = NULL;
    FILE *f;

    if (mkdtemp(d.dir) == NULL) {
        mem_free(d.dir);
        return err_set(err, ERR_IO, "no directory can be made: %s", strerror(errno));
    }
    d.socket = join(d.dir, "m.sock");
    d.state = join(d.dir, "state");
    path = join(d.dir, "muster.yaml");
    f = fopen(path, "w");
    if (f == NULL || fputs(config, f) < 0 || fclose(f) != 0) {
        benchd_fini(&d);
        return err_set(err, ERR_IO, "the configuration cannot be written: %s", strerror(errno));
    }
    *ret = d;
    return 0;
}

/* musterd lies beside the folder of this program. */
static char *find_musterd(void)
{
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    struct str s = {0};

    CHECK(n > 0);
    self[n] = '\0';
    *strrchr(self, '/') = '\0';
    str_addf(&s, "%s/../musterd", self);
    return str_take(&s);
}

static void become_musterd(const struct benchd *d)
{
    CLEANUP(mem_freep) char *musterd = find_musterd();
    CLEANUP(mem_freep) char *config = join(d->dir, "muster.yaml");
    CLEANUP(mem_freep) char *log = join(d->dir, "log");
    int fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    if (fd >= 0) {
        dup2(fd, STDOUT_FILENO);
        dup2(fd, STDERR_FILENO);
    }
    execl(musterd, musterd, "--config", config, "--state", d->state, "--socket", d->socket,
          "--virtual", (char *)NULL);
    _exit(127);
}

int benchd_start(struct benchd *d, int64_t *ret_ms, struct err *err)
{
    int64_t from_us = benchd_now_us();

    d->pid = fork();
    CHECK(d->pid >= 0);
    if (d->pid == 0) {
        become_musterd(d);
    }
    while (benchhttp_ask(d->socket, "/v1/version", NULL, NULL) != 200) {
        if (waitpid(d->pid, NULL, WNOHANG) == d->pid) {
            d->pid = 0;
            return err_set(err, ERR_IO, "musterd ended at its start, see %s/log", d->dir);
        }
        if (benchd_now_us() - from_us > START_MS_MAX * 1000) {
            return err_set(err, ERR_TIMEOUT, "musterd does not answer, see %s/log", d->dir);
        }
        usleep(POLL_US);
    }
    *ret_ms = (benchd_now_us() - from_us) / 1000;
    return 0;
}

void benchd_end(struct benchd *d, int number)
{
    if (d->pid > 0) {
        kill(d->pid, number);
        waitpid(d->pid, NULL, 0);
        d->pid = 0;
    }
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

void benchd_fini(struct benchd *d)
{
    benchd_end(d, SIGKILL);
    if (getenv("KEEP") == NULL) {
        nftw(d->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    }
    mem_free(d->dir);
    mem_free(d->socket);
    mem_free(d->state);
}

int64_t benchd_cpu_ms(const struct benchd *d)
{
    clockid_t clock;
    struct timespec t = {0};

    CHECK(clock_getcpuclockid(d->pid, &clock) == 0 && clock_gettime(clock, &t) == 0);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t benchd_loop_ms(const struct benchd *d)
{
    char path[64];
    long long ns = 0;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", (int)d->pid, (int)d->pid);
    f = fopen(path, "r");
    CHECK(f != NULL && fscanf(f, "%lld", &ns) == 1);
    fclose(f);
    return ns / 1000000;
}

int64_t benchd_memory_kib(const struct benchd *d)
{
    char path[64];
    char line[256];
    int64_t kib = 0;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)d->pid);
    f = fopen(path, "r");
    while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
        if (strncmp(line, "VmRSS:", 6) == 0) {
            kib = strtoll(line + 6, NULL, 10);
        }
    }
    if (f != NULL) {
        fclose(f);
    }
    return kib;
}
