#include "backend/local/local.h"

#include "backend/local/inventory.h"
#include "backend/local/local_adopt.h"
#include "backend/local/local_attempt.h"
#include "backend/local/local_checkpoint.h"
#include "backend/local/local_state.h"
#include "backend/local/local_task.h"
#include "base/check.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOG_FILE_BYTES (16 * 1024 * 1024)
#define LOG_FILES      4
#define PIDS_MAX       16384 /* far above real work */
#define PORT_FIRST     20000 /* below the ports that kernels give to clients */
#define PORT_LAST      29999
#define REAP_MS        20
#define TOKEN_MAX      256
#define BWRAP          "/usr/bin/bwrap"
#define NVML_LIBRARY   "libnvidia-ml.so.1"

/* ---- helpers of the parts ---- */

int64_t local_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void local_tell(struct local *l, enum fact_kind kind, const void *body, int64_t true_at_ms)
{
    struct fact fact = {.kind = kind, .true_at_ms = true_at_ms, .body.any = body};

    CHECK(l->base.sink != NULL);
    l->base.sink(l->base.sink_ctx, &fact);
}

void local_warn(const struct local *l, const char *fmt, ...)
{
    char text[512];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (l->config.hooks.warn != NULL) {
        l->config.hooks.warn(l->config.hooks.ctx, text);
    } else {
        fprintf(stderr, "local: %s\n", text);
    }
}

struct local_attempt *local_find(const struct local *l, int64_t job, int64_t attempt)
{
    for (size_t i = 0; i < l->attempts.count; i++) {
        if (l->attempts.items[i]->job == job && l->attempts.items[i]->attempt == attempt) {
            return l->attempts.items[i];
        }
    }
    return NULL;
}

static struct local *self_of(struct backend *b)
{
    return (struct local *)(void *)b;
}

static const struct local *const_self_of(const struct backend *b)
{
    return (const struct local *)(const void *)b;
}

/* ---- starters ---- */

static void reap(evutil_socket_t fd, short what, void *arg)
{
    struct local *l = arg;
    struct timeval wait = {.tv_usec = REAP_MS * 1000};
    size_t i = 0;

    (void)fd;
    (void)what;
    while (i < l->starters.count) {
        struct local_starter s = l->starters.items[i];
        int status = 0;

        if (waitpid(s.pid, &status, WNOHANG) == 0) {
            i++;
            continue;
        }
        vec_remove(&l->starters, i);
        if (s.task != NULL && status != 0) {
            local_task_start_failed(s.task, "its supervisor was not started");
        }
    }
    if (l->starters.count > 0) {
        (void)event_add(l->reaper, &wait);
    }
}

void local_add_starter(struct local *l, pid_t pid, struct local_task *task)
{
    struct timeval wait = {.tv_usec = REAP_MS * 1000};

    vec_push(&l->starters, ((struct local_starter){.pid = pid, .task = task}));
    (void)event_add(l->reaper, &wait);
}

void local_drop_starter(struct local *l, const struct local_task *task)
{
    for (size_t i = 0; i < l->starters.count; i++) {
        if (l->starters.items[i].task == task) {
            l->starters.items[i].task = NULL;
        }
    }
}

/* ---- start ---- */

static void refuse(struct local *l, const struct backend_job *job, size_t index,
                   const struct err *why)
{
    struct fact_task_refused fact = {
        .job = job->job,
        .attempt = job->attempt,
        .task = job->tasks[index].task,
        .reason = why->text,
        .node_fault = why->code == ERR_IO,
        .step = backend_step_of(job, index),
    };

    local_tell(l, FACT_TASK_REFUSED, &fact, 0);
}

/* Is there something to start: was neither this one started, nor one of its number in a later step?
 * One of an earlier step that still dies (a stuck one was given up) does not stand in its way. */
static bool is_due(const struct local_attempt *a, int64_t task, int64_t step)
{
    const struct local_task *t = local_attempt_task(a, task);

    return t == NULL || t->step < step;
}

static void drop_last_task(struct local_attempt *a)
{
    struct err err;
    struct local_task *t = vec_pop(&a->tasks);

    if (safedir_remove(a->dir_fd, t->control, &err) != 0) {
        local_warn(a->local, "attempts/%s/%s stays: %s", a->name, t->control, err.text);
    }
    local_task_free(t);
}

static void start_task(struct local_attempt *a, const struct backend_job *job, size_t index,
                       const struct osaccount *account)
{
    int64_t task = job->tasks[index].task;
    int64_t step = backend_step_of(job, index);
    struct local_task *t;
    struct err err;

    if (!is_due(a, task, step)) {
        return;
    }
    t = local_task_new(a, task, step);
    if (local_task_start(t, job, index, account, &err) != 0) {
        drop_last_task(a);
        refuse(a->local, job, index, &err);
    }
}

static const char *account_of(const struct local *l, const char *account)
{
    return account == NULL || account[0] == '\0' ? l->config.account : account;
}

static int find_attempt(struct local *l, const struct backend_job *job,
                        const struct osaccount *account, struct local_attempt **ret,
                        struct err *err)
{
    struct local_attempt *a = local_find(l, job->job, job->attempt);
    int rc = 0;

    if (a == NULL) {
        rc = local_attempt_new(l, job, account, &a, err);
    }
    if (rc == 0) {
        rc = local_attempt_want(a, job, err);
    }
    if (rc == 0) {
        *ret = a;
    }
    return rc;
}

/* A failure of the whole start is told for each task that it was about; the call itself is fine. */
static int start(struct backend *b, const struct backend_job *job, struct err *err)
{
    struct local *l = self_of(b);
    struct local_attempt *a = local_find(l, job->job, job->attempt);
    struct osaccount *account = mem_new(1, sizeof(*account));
    struct err why;
    int rc;

    (void)err;
    rc = osaccount_find(account_of(l, job->spec.account), account, &why);
    if (rc == 0) {
        rc = find_attempt(l, job, account, &a, &why);
    }
    for (size_t i = 0; i < job->task_count; i++) {
        if (rc == 0) {
            start_task(a, job, i, account);
        } else if (a == NULL || is_due(a, job->tasks[i].task, backend_step_of(job, i))) {
            refuse(l, job, i, &why);
        }
    }
    mem_free(account);
    return 0;
}

/* ---- signal, kill, forget ---- */

static bool is_over(const struct local_task *t)
{
    return t->state == LOCAL_TASK_ENDED || t->state == LOCAL_TASK_SWEEPING;
}

/* Are there tasks that stay when the named ones go? */
static bool some_stay(const struct local_attempt *a, const struct backend_task *tasks, size_t count)
{
    for (size_t i = 0; i < a->tasks.count; i++) {
        const struct local_task *t = a->tasks.items[i];

        if (!is_over(t) && !backend_task_among(tasks, count, t->task, t->step)) {
            return true;
        }
    }
    return false;
}

/* The file first, so that a task finds it when the signal comes. */
static int signal_tasks(struct backend *b, const struct backend_signal *what, struct err *err)
{
    struct local *l = self_of(b);
    struct local_attempt *a = local_find(l, what->job, what->attempt);
    struct err why;
    bool shrinks;

    if (a == NULL) {
        return err_set(err, ERR_NOT_FOUND, "attempt %" PRId64 ".%" PRId64 " is not here", what->job,
                       what->attempt);
    }
    shrinks = some_stay(a, what->tasks, what->task_count);
    for (size_t i = 0; i < a->tasks.count; i++) {
        struct local_task *t = a->tasks.items[i];

        if (is_over(t) || !backend_task_among(what->tasks, what->task_count, t->task, t->step)) {
            continue;
        }
        if (shrinks) {
            local_attempt_leave(a, t->task);
        }
        if (what->deadline_ms > 0 &&
            local_task_write_deadline(t, what->deadline_ms, what->reason, &why) != 0) {
            local_warn(l, "task %s does not see its deadline: %s", t->key, why.text);
        }
        local_task_signal(t, what->number != 0 ? what->number : SIGTERM);
    }
    return 0;
}

static int kill_tasks(struct backend *b, int64_t job, int64_t attempt,
                      const struct backend_task *tasks, size_t task_count, struct err *err)
{
    struct local_attempt *a = local_find(self_of(b), job, attempt);

    if (a == NULL) {
        return err_set(err, ERR_NOT_FOUND, "attempt %" PRId64 ".%" PRId64 " is not here", job,
                       attempt);
    }
    for (size_t i = 0; i < a->tasks.count; i++) {
        struct local_task *t = a->tasks.items[i];

        if (!is_over(t) && backend_task_among(tasks, task_count, t->task, t->step)) {
            local_task_kill(t);
        }
    }
    return 0;
}

/* The core took a task for lost that lives (a stuck one, say): it is killed and then forgotten. */
static void forget(struct backend *b, int64_t job, int64_t attempt)
{
    struct local *l = self_of(b);
    struct local_attempt *a = local_find(l, job, attempt);
    bool living = false;
    char name[LOCAL_NAME_MAX];

    if (a == NULL) { /* one that could not be read */
        snprintf(name, sizeof(name), "%" PRId64 ".%" PRId64, job, attempt);
        (void)!safedir_remove(l->attempts_fd, name, NULL);
        return;
    }
    for (size_t i = 0; i < a->tasks.count; i++) {
        if (a->tasks.items[i]->state != LOCAL_TASK_ENDED) {
            living = true;
            local_task_kill(a->tasks.items[i]);
        }
    }
    a->unwanted = living;
    if (!living) {
        local_attempt_remove(a);
    }
}

static int adopt(struct backend *b, const struct backend_held *held, size_t count, struct err *err)
{
    return local_adopt(self_of(b), held, count, err);
}

static int observe(struct backend *b, const struct policy *policy, struct err *err)
{
    return inventory_observe(self_of(b), policy, err);
}

/* ---- what is seen in files ---- */

static void seen(void *ctx, const struct filewatch_key *key, const char *name)
{
    struct local *l = ctx;
    struct local_attempt *a;

    if (key == NULL) {
        for (size_t i = 0; i < l->attempts.count; i++) {
            local_checkpoint_scan(l->attempts.items[i]);
        }
        return;
    }
    a = local_find(l, key->job, key->attempt);
    if (a == NULL) {
        return;
    }
    if (key->task < 0) {
        local_checkpoint_seen(a, name);
    } else if (strcmp(name, "status") == 0) {
        local_attempt_look_done(a, key->task);
    }
}

/* ---- the object ---- */

static void free_local(struct backend *b)
{
    struct local *l = self_of(b);

    if (b == NULL) {
        return;
    }
    for (size_t i = 0; i < l->attempts.count; i++) {
        local_attempt_free(l->attempts.items[i]);
    }
    vec_fini(&l->attempts);
    vec_fini(&l->starters);
    filewatch_free(l->watch);
    if (l->reaper != NULL) {
        event_free(l->reaper);
    }
    safedir_closep(&l->attempts_fd);
    safedir_closep(&l->logs_fd);
    safedir_closep(&l->checkpoints_fd);
    safedir_closep(&l->runtime_fd);
    str_fini(&l->capabilities);
    mem_free((void *)(uintptr_t)l->config.state_dir);
    mem_free((void *)(uintptr_t)l->config.runtime_dir);
    mem_free((void *)(uintptr_t)l->config.shepherd);
    mem_free((void *)(uintptr_t)l->config.socket);
    mem_free((void *)(uintptr_t)l->config.account);
    mem_free((void *)(uintptr_t)l->config.cgroup);
    mem_free((void *)(uintptr_t)l->config.nvml);
    mem_free((void *)(uintptr_t)l->config.bwrap);
    mem_free((void *)(uintptr_t)l->config.systemd_run);
    mem_free(l);
}

static const struct backend_ops OPS = {
    .name = "local",
    .adopt = adopt,
    .observe = observe,
    .start = start,
    .signal = signal_tasks,
    .kill = kill_tasks,
    .forget = forget,
    .free = free_local,
};

/* Only where it would work: the host runs systemd, we are root, and the program is there. */
static const char *find_systemd_run(void)
{
    static const char PATH[] = "/usr/bin/systemd-run";

    return geteuid() == 0 && access("/run/systemd/system", F_OK) == 0 && access(PATH, X_OK) == 0
               ? PATH
               : "";
}

static const char *given(const char *text, const char *fallback)
{
    return mem_text(text == NULL ? fallback : text);
}

/* One task must not take all numbers that the host has for processes. */
static int64_t pids_default(void)
{
    CLEANUP(mem_freep) char *text = NULL;
    long long host = 0;

    if (safedir_read(AT_FDCWD, "/proc/sys/kernel/pid_max", 64, &text, NULL) == 0) {
        (void)sscanf(text, "%lld", &host);
    }
    return host > 0 && host / 2 < PIDS_MAX ? host / 2 : PIDS_MAX;
}

static void take_config(struct local *l, const struct local_config *c)
{
    l->config = *c;
    l->config.state_dir = given(c->state_dir, "");
    l->config.runtime_dir = given(c->runtime_dir, "");
    l->config.shepherd = given(c->shepherd, "");
    l->config.socket = given(c->socket, "");
    l->config.account = given(c->account, "");
    l->config.cgroup = given(c->cgroup, "muster");
    l->config.nvml = given(c->nvml, NVML_LIBRARY);
    l->config.bwrap = given(c->bwrap, BWRAP);
    l->config.systemd_run = given(c->systemd_run, find_systemd_run());
    l->config.log_file_bytes = c->log_file_bytes > 0 ? c->log_file_bytes : LOG_FILE_BYTES;
    l->config.log_files = c->log_files > 0 ? c->log_files : LOG_FILES;
    l->config.pids_max = c->pids_max == 0 ? pids_default() : c->pids_max;
    l->config.port_first = c->port_first > 0 ? c->port_first : PORT_FIRST;
    l->config.port_last = c->port_last >= l->config.port_first ? c->port_last : PORT_LAST;
    if (l->config.port_last < l->config.port_first) {
        l->config.port_last = l->config.port_first;
    }
}

/* Tasks and supervisors have other working directories, so what they are told is absolute; that an
 * operator put a link in the place of a directory is his to decide. */
static int make_absolute(const char **path, bool directory, struct err *err)
{
    char *real;

    if (directory && mkdir(*path, 0700) != 0 && errno != EEXIST) {
        return err_set(err, ERR_IO, "cannot make directory %s: %s", *path, strerror(errno));
    }
    real = realpath(*path, NULL);
    if (real == NULL) {
        return err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "%s: %s", *path,
                       strerror(errno));
    }
    mem_free((void *)(uintptr_t)*path);
    *path = mem_text(real);
    free(real);
    return 0;
}

static int make_all_absolute(struct local *l, struct err *err)
{
    int rc = make_absolute(&l->config.state_dir, true, err);

    if (rc == 0) {
        rc = make_absolute(&l->config.runtime_dir, true, err);
    }
    return rc != 0 ? rc : make_absolute(&l->config.shepherd, false, err);
}

static int open_dirs(struct local *l, struct err *err)
{
    struct safedir_owner through = {.uid = geteuid(), .gid = getegid(), .mode = l->dir_mode};
    struct safedir_owner closed = {.uid = geteuid(), .gid = getegid(), .mode = 0700};
    CLEANUP(safedir_closep) int state = -1;
    int rc = safedir_make(AT_FDCWD, l->config.state_dir, &through, &state, err);

    if (rc == 0) {
        rc = safedir_make(state, "attempts", &through, &l->attempts_fd, err);
    }
    if (rc == 0) {
        rc = safedir_make(state, "logs", &through, &l->logs_fd, err);
    }
    if (rc == 0) {
        rc = safedir_make(state, "checkpoints", &through, &l->checkpoints_fd, err);
    }
    if (rc == 0) {
        rc = safedir_make(AT_FDCWD, l->config.runtime_dir, &closed, &l->runtime_fd, err);
    }
    return rc;
}

static void describe(struct local *l)
{
    struct str *s = &l->capabilities;

    if (l->config.systemd_run[0] != '\0') {
        str_add(s, "tasks are units of systemd with control groups of their own\n");
    } else {
        str_addf(s, "%s\n", l->cgroup.text);
    }
    str_add(s, geteuid() == 0 ? "tasks run as the accounts of their users\n"
                              : "musterd is not root: it runs jobs of its own account only\n");
    str_addf(s,
             access(l->config.bwrap, X_OK) == 0
                 ? "jobs that ask for a sandbox get one by %s\n"
                 : "no sandbox: there is no %s (package bubblewrap); a job that asks for one is "
                   "refused\n",
             l->config.bwrap);
    if (l->watch == NULL) {
        str_add(s, "no inotify: checkpoints renamed into place are not seen\n");
    }
    str_add(s, "real cards in MIG mode are used as they are cut; simulated ones are cut as work "
               "asks\n");
    if (l->config.simulate) {
        str_add(s, "simulated GPUs are taken: their processes are real, the GPUs are not\n");
    }
}

static int prepare(struct local *l, struct err *err)
{
    struct osaccount *account = mem_new(1, sizeof(*account));
    struct err why;
    int rc = osaccount_find(l->config.account, account, err);

    mem_free(account);
    if (rc == 0) {
        rc = make_all_absolute(l, err);
    }
    if (rc == 0) {
        rc = open_dirs(l, err);
    }
    if (rc == 0 && access(l->config.shepherd, X_OK) != 0) {
        rc = err_set(err, ERR_NOT_FOUND, "the supervisor %s cannot be run: %s", l->config.shepherd,
                     strerror(errno));
    }
    if (rc != 0) {
        return rc;
    }
    if (filewatch_new(l->loop, seen, l, &l->watch, &why) != 0) {
        local_warn(l, "checkpoints are not seen: %s", why.text);
    }
    if (l->config.cgroup[0] != '\0' && l->config.systemd_run[0] == '\0') {
        cgroup_probe(l->config.cgroup, &l->cgroup);
    } else {
        snprintf(l->cgroup.text, sizeof(l->cgroup.text),
                 "control groups are off: memory, processes and CPU of tasks are not limited");
    }
    describe(l);
    return 0;
}

struct backend *local_new(const struct local_config *config, struct event_base *base,
                          struct err *err)
{
    struct local *l = mem_new(1, sizeof(*l));

    l->base.ops = &OPS;
    l->loop = base;
    l->attempts_fd = l->logs_fd = l->checkpoints_fd = l->runtime_fd = -1;
    /* Accounts pass through to their own files, but cannot list; without root there is but one. */
    l->dir_mode = geteuid() == 0 ? 0711 : 0700;
    take_config(l, config);
    l->reaper = evtimer_new(base, reap, l);
    if (l->reaper == NULL || prepare(l, err) != 0) {
        free_local(&l->base);
        return NULL;
    }
    return &l->base;
}

const char *local_capabilities(const struct backend *b)
{
    return str_text(&const_self_of(b)->capabilities);
}

int local_account_check(const struct backend *b, const char *account, struct err *err)
{
    struct osaccount *found = mem_new(1, sizeof(*found));
    int rc = osaccount_find(account_of(const_self_of(b), account), found, err);

    mem_free(found);
    return rc;
}

char *local_log_path(const struct backend *b, const struct local_log *which)
{
    struct str s = {0};

    str_addf(&s, "%s/logs/%" PRId64 "/%" PRId64 ".%" PRId64 ".%s",
             const_self_of(b)->config.state_dir, which->job, which->attempt, which->task,
             which->error ? "stderr" : "stdout");
    if (which->age > 0) {
        str_addf(&s, ".%" PRId64, which->age);
    }
    return str_take(&s);
}

char *local_checkpoint_dir(const struct backend *b, int64_t job)
{
    struct str s = {0};

    str_addf(&s, "%s/checkpoints/%" PRId64, const_self_of(b)->config.state_dir, job);
    return str_take(&s);
}

/* Constant time in what is secret. */
static bool same_secret(const char *a, const char *b)
{
    size_t len = strlen(a);
    unsigned char differ = 0;

    if (strlen(b) != len) {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        differ |= (unsigned char)(a[i] ^ b[i]);
    }
    return differ == 0;
}

bool local_token_check(const struct backend *b, const char *token, int64_t *ret_job,
                       int64_t *ret_attempt)
{
    const struct local_attempt *a;
    CLEANUP(mem_freep) char *kept = NULL;
    int64_t job;
    int64_t attempt;
    char under;

    if (sscanf(token, "mat_%" SCNd64 ".%" SCNd64 "%c", &job, &attempt, &under) != 3 ||
        under != '_') {
        return false;
    }
    a = local_find(const_self_of(b), job, attempt);
    if (a == NULL || safedir_read(a->dir_fd, "token", TOKEN_MAX, &kept, NULL) != 0 ||
        !same_secret(kept, token)) {
        return false;
    }
    *ret_job = job;
    *ret_attempt = attempt;
    return true;
}
