/* muster-shepherd CONTROL_DIR SOCKET [FD] - the supervisor of one task.
 *
 * It is a process of its own so that a task outlives musterd, kill -9 included, and holds no lock.
 * It leads a session of its own (and, where systemd runs, a unit of its own), is a subreaper, so
 * that every process of the task stays below it, and knows four things: the control directory with
 * spec.json, the unix socket where it takes commands and tells events, the logs, the main process.
 *
 *      start ──> RUNNING ── main process ended ──> LEFTOVER ── 1 s ──> KILLING ──> gone ──> record
 *        │          └──────────── kill ──────────────────────────────────┘
 *        └─ refused ──> record
 *
 * The task has ended when no child is left (as a subreaper we have them all), its control group is
 * empty, and no process bears its mark.  Then exit.json is written (fsync, rename) and the
 * supervisor ends; if the disk is full it stays, tells the end from memory and tries again.
 *
 * Lines of the socket.  To us: "signal N", "kill", "status", "forget".  From us: "running
 * PID", "ended exited|signalled STATUS AT_MS", "refused NODE_FAULT AT_MS TEXT".
 */
#include "backend/local/exitrec.h"
#include "backend/local/logring.h"
#include "backend/local/safedir.h"
#include "backend/local/shepherd_child.h"
#include "backend/local/shepherd_talk.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CLIENTS_MAX  4
#define LINE_MAX_LEN 64
#define LEFTOVER_MS  1000 /* from SIGTERM to SIGKILL for what the main process left behind */
#define TICK_MS      20
#define RECORD_MS    1000 /* between tries to write the record on a full disk */
#define KILL_ROUNDS  64   /* scans in a row while a tree forks faster than it is killed */
#define READ_BYTES   65536
#define DRAIN_READS  64 /* 4 MiB: more than two pipes hold */
#define LINE_ROOM    512
#define SHEPHERD_OOM "-900"
#define LINK_FD      3 /* where musterd leaves its link */

enum phase { PHASE_RUNNING, PHASE_LEFTOVER, PHASE_KILLING, PHASE_GONE };

struct stream {
    int fd; /* -1 = at its end */
    struct logring *log;
};

struct shepherd {
    struct shepherd_spec_file file;
    struct exitrec_shepherd who;
    struct exitrec end;
    bool ended;         /* end is filled: the main process ended, or was refused */
    bool told_leftover; /* what the main process left behind has had its SIGTERM */
    bool recorded;      /* exit.json is on the disk */
    bool forgotten;     /* musterd has the end */
    enum phase phase;
    int64_t phase_ms; /* when it began, monotonic */
    int64_t tried_ms; /* the last try to write the record */
    int control_fd;
    int log_dir_fd;
    int signal_fd;
    int output_fd;       /* copy of both streams, -1 = none */
    int64_t output_left; /* bytes it may still take, -1 = it has ended */
    const char *socket_path;
    struct stream out;
    struct stream err;
    struct shepherd_talk talk;
    char line[LINE_ROOM]; /* of state_line */
};

static int64_t clock_ms(clockid_t id)
{
    struct timespec now;

    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- what it says ---- */

static const char *state_line(void *ctx)
{
    struct shepherd *s = ctx;

    if (!s->ended || s->phase != PHASE_GONE) {
        snprintf(s->line, sizeof(s->line), "running %d\n", (int)s->who.child.pid);
    } else if (s->end.cause == EXITREC_REFUSED) {
        snprintf(s->line, sizeof(s->line), "refused %d %lld %s\n", s->end.node_fault,
                 (long long)s->end.ended_ms, s->end.text);
    } else {
        snprintf(s->line, sizeof(s->line), "ended %s %lld %lld\n",
                 s->end.cause == EXITREC_EXITED ? "exited" : "signalled", (long long)s->end.status,
                 (long long)s->end.ended_ms);
    }
    return s->line;
}

/* ---- the tree ---- */

static void enter(struct shepherd *s, enum phase phase)
{
    s->phase = phase;
    s->phase_ms = clock_ms(CLOCK_MONOTONIC);
}

static size_t signal_tree(const struct shepherd *s, int sig)
{
    struct proctree_query query = {.root = getpid(), .marker = s->file.spec.mark};
    struct proctree_list found = {0};
    size_t count = 0;

    proctree_find(&query, &found);
    for (size_t i = 0; i < found.count; i++) {
        count += proctree_signal(&found.items[i], sig);
    }
    vec_fini(&found);
    return count;
}

/* A tree that forks while it is killed is scanned again at once, so that it loses the race. */
static void kill_tree(const struct shepherd *s)
{
    size_t before = 0;

    if (s->who.cgroup[0] != '\0') {
        cgroup_kill(s->who.cgroup);
    }
    for (int i = 0; i < KILL_ROUNDS; i++) {
        size_t count = signal_tree(s, SIGKILL);

        if (count <= before) {
            break;
        }
        before = count;
    }
}

static void main_ended(struct shepherd *s, int status)
{
    bool exited = WIFEXITED(status);

    s->end.cause = exited ? EXITREC_EXITED : EXITREC_SIGNALLED;
    s->end.status = exited ? WEXITSTATUS(status) : WTERMSIG(status);
    s->ended = true;
    if (s->phase == PHASE_RUNNING) {
        enter(s, PHASE_LEFTOVER);
    }
}

/* True when no child is left. */
static bool reap(struct shepherd *s)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == s->who.child.pid) {
            main_ended(s, status);
        }
    }
    return pid < 0 && errno == ECHILD;
}

static bool tree_gone(const struct shepherd *s)
{
    struct proctree_query query = {.root = getpid(), .marker = s->file.spec.mark};
    struct proctree_list found = {0};
    size_t count;

    if (s->who.cgroup[0] != '\0' && !cgroup_empty(s->who.cgroup)) {
        return false;
    }
    proctree_find(&query, &found);
    count = found.count;
    vec_fini(&found);
    return count == 0;
}

/* ---- output ---- */

static int64_t output_max(const struct shepherd *s)
{
    return s->file.spec.log_file_bytes * s->file.spec.log_files;
}

/* The user's own file is not a ring: it ends, and says so. */
static void copy_output(struct shepherd *s, const char *data, size_t len)
{
    size_t part = (int64_t)len < s->output_left ? len : (size_t)s->output_left;
    ssize_t n;

    if (s->output_fd < 0 || s->output_left < 0) {
        return;
    }
    n = write(s->output_fd, data, part);
    s->output_left -= n > 0 ? n : 0;
    if (part < len) {
        s->output_left = -1;
        dprintf(s->output_fd, "\nmuster: this file ends here: it holds %lld bytes, the most\n",
                (long long)output_max(s));
    }
}

/* False when there is nothing more for now. */
static bool pump(struct shepherd *s, struct stream *st)
{
    char data[READ_BYTES];
    ssize_t n;

    if (st->fd < 0) {
        return false;
    }
    n = read(st->fd, data, sizeof(data));
    if (n > 0) {
        logring_write(st->log, data, (size_t)n);
        copy_output(s, data, (size_t)n);
        return true;
    }
    if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        close(st->fd);
        st->fd = -1;
    }
    return false;
}

static void note(struct shepherd *s, const char *text)
{
    logring_write(s->err.log, text, strlen(text));
    copy_output(s, text, strlen(text));
}

static void note_overwritten(struct shepherd *s, const struct logring *log, const char *name)
{
    char line[160];

    if (logring_overwritten(log) > 0) {
        snprintf(line, sizeof(line),
                 "muster: the first %lld bytes of %s are gone: at most %lld are kept\n",
                 (long long)logring_overwritten(log), name, (long long)output_max(s));
        note(s, line);
    }
}

static void close_logs(struct shepherd *s)
{
    char line[128];
    int64_t dropped = logring_dropped(s->out.log) + logring_dropped(s->err.log);

    /* Bounded: a descriptor given away to a stranger may be written to for ever. */
    for (int i = 0; i < DRAIN_READS && (pump(s, &s->out) || pump(s, &s->err)); i++) {
    }
    if (s->who.cgroup[0] != '\0' && cgroup_out_of_memory(s->who.cgroup)) {
        note(s, "muster: the task reached its memory limit and was killed\n");
    }
    note_overwritten(s, s->out.log, "standard output");
    note_overwritten(s, s->err.log, "standard error");
    if (dropped > 0) {
        snprintf(line, sizeof(line), "muster: the disk refused %lld bytes of output\n",
                 (long long)dropped);
        note(s, line);
    }
}

/* ---- the end ---- */

static void try_record(struct shepherd *s)
{
    struct err err;

    s->tried_ms = clock_ms(CLOCK_MONOTONIC);
    if (exitrec_write(s->control_fd, &s->end, &err) == 0) {
        s->recorded = true;
    } else {
        fprintf(stderr, "muster-shepherd: %s\n", err.text);
    }
}

static void finish(struct shepherd *s)
{
    s->end.ended_ms = clock_ms(CLOCK_REALTIME);
    s->ended = true;
    enter(s, PHASE_GONE);
    try_record(s);
    if (s->who.cgroup[0] != '\0') {
        cgroup_remove(s->who.cgroup);
    }
    shepherd_talk_tell_all(&s->talk, state_line(s));
}

static void refuse(struct shepherd *s, const struct err *why)
{
    s->end.cause = EXITREC_REFUSED;
    s->end.node_fault = why->code == ERR_IO;
    snprintf(s->end.text, sizeof(s->end.text), "%.250s", why->text);
    finish(s);
}

/* What is due now; called after every wait. */
static void step(struct shepherd *s)
{
    int64_t now_ms = clock_ms(CLOCK_MONOTONIC);
    bool childless;

    if (s->phase == PHASE_GONE) {
        if (!s->recorded && now_ms - s->tried_ms >= RECORD_MS) {
            try_record(s);
        }
        return;
    }
    childless = reap(s);
    if (s->ended && childless && tree_gone(s)) {
        close_logs(s);
        finish(s);
        return;
    }
    if (s->phase == PHASE_LEFTOVER && !s->told_leftover) {
        s->told_leftover = true;
        signal_tree(s, SIGTERM);
    }
    if (s->phase == PHASE_LEFTOVER && now_ms - s->phase_ms >= LEFTOVER_MS) {
        enter(s, PHASE_KILLING);
    }
    if (s->phase == PHASE_KILLING) {
        kill_tree(s);
        (void)reap(s);
    }
}

/* ---- commands ---- */

static void obey(void *ctx, const char *line)
{
    struct shepherd *s = ctx;
    int sig;
    char end;

    if (strcmp(line, "kill") == 0) {
        if (s->phase != PHASE_GONE) {
            enter(s, PHASE_KILLING);
        }
    } else if (strcmp(line, "forget") == 0) {
        s->forgotten = s->phase == PHASE_GONE;
    } else if (sscanf(line, "signal %d%c", &sig, &end) == 1 && sig > 0 && sig < NSIG) {
        if (!s->ended && s->who.child.pid > 1) {
            (void)kill(-s->who.child.pid, sig);
        }
    }
}

/* ---- the loop ---- */

static int wait_ms(const struct shepherd *s)
{
    switch (s->phase) {
    case PHASE_RUNNING:
        return -1;
    case PHASE_LEFTOVER:
    case PHASE_KILLING:
        return TICK_MS;
    case PHASE_GONE:
        break;
    }
    return RECORD_MS;
}

static void loop(struct shepherd *s)
{
    struct shepherd_talk_hooks hooks = {.ctx = s, .order = obey, .state = state_line};
    struct pollfd fds[3 + SHEPHERD_TALK_FDS];
    struct signalfd_siginfo info;

    while (s->phase != PHASE_GONE || (!s->recorded && !s->forgotten)) {
        fds[0] = (struct pollfd){.fd = s->signal_fd, .events = POLLIN};
        fds[1] = (struct pollfd){.fd = s->out.fd, .events = POLLIN};
        fds[2] = (struct pollfd){.fd = s->err.fd, .events = POLLIN};
        shepherd_talk_want(&s->talk, fds + 3);
        if (poll(fds, 3 + SHEPHERD_TALK_FDS, wait_ms(s)) > 0) {
            (void)!read(s->signal_fd, &info, sizeof(info)); /* it does not block */
            if (fds[1].revents != 0) {
                pump(s, &s->out);
            }
            if (fds[2].revents != 0) {
                pump(s, &s->err);
            }
            shepherd_talk_serve(&s->talk, fds + 3, &hooks);
        }
        step(s);
    }
}

/* ---- the start ---- */

static int open_log(struct shepherd *s, const char *suffix, struct logring **ret, struct err *err)
{
    const struct shepherd_spec *spec = &s->file.spec;
    struct logring_limits limits = {
        .file_bytes = spec->log_file_bytes > 0 ? spec->log_file_bytes : 1,
        .files = spec->log_files > 0 ? spec->log_files : 1,
        .uid = spec->uid,
        .gid = spec->gid,
    };
    char name[96];

    snprintf(name, sizeof(name), "%.64s.%s", spec->log_stem, suffix);
    return logring_open(s->log_dir_fd, name, &limits, ret, err);
}

static int open_outputs(struct shepherd *s, struct err *err)
{
    const struct shepherd_spec *spec = &s->file.spec;
    int rc;

    s->log_dir_fd = open(spec->log_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->log_dir_fd < 0) {
        return err_set(err, ERR_IO, "log directory %s: %s", spec->log_dir, strerror(errno));
    }
    rc = open_log(s, "stdout", &s->out.log, err);
    if (rc == 0) {
        rc = open_log(s, "stderr", &s->err.log, err);
    }
    if (rc == 0 && spec->output[0] != '\0') {
        s->output_left = output_max(s);
        rc = shepherd_child_open_output(spec, &s->output_fd, err);
    }
    return rc;
}

/* As the mark: another musterd of this host, a demo or a test, has a job of the same number. */
static const char *group_name(const struct shepherd_spec *spec)
{
    const char *equals = strchr(spec->mark, '=');

    return equals == NULL || equals[1] == '\0' ? spec->key : equals + 1;
}

static int make_group(struct shepherd *s, struct err *err)
{
    const struct shepherd_spec *spec = &s->file.spec;
    char base[PATH_MAX];
    int rc;

    if (spec->cgroup[0] == '\0') {
        return 0;
    }
    snprintf(base, sizeof(base), "%s", spec->cgroup);
    if (strcmp(spec->cgroup, "self") == 0) {
        rc = cgroup_split_own(base, err);
        if (rc == ERR_UNSUPPORTED) {
            return 0; /* musterd has told the operator at its start */
        }
        if (rc != 0) {
            return rc;
        }
    }
    return cgroup_make(base, group_name(spec), &spec->limits, s->who.cgroup, err);
}

/* Who we are is on the disk before the first process of the task exists, so that a musterd that
 * finds us dead knows what to look for. */
static int start(struct shepherd *s, struct err *err)
{
    struct shepherd_child child;
    int rc = make_group(s, err);

    /* musterd compares it with what it sees itself, which a container may show it differently. */
    if (s->file.spec.boot[0] != '\0') {
        snprintf(s->who.boot, sizeof(s->who.boot), "%s", s->file.spec.boot);
    } else {
        proctree_boot(s->who.boot);
    }
    s->who.shepherd = (struct proctree_id){getpid(), proctree_start(getpid())};
    snprintf(s->who.mark, sizeof(s->who.mark), "%s", s->file.spec.mark);
    if (rc == 0) {
        rc = exitrec_write_shepherd(s->control_fd, &s->who, err);
    }
    if (rc == 0) {
        rc = shepherd_talk_listen(&s->talk, s->socket_path, err);
    }
    if (rc == 0) {
        rc = open_outputs(s, err);
    }
    if (rc == 0) {
        rc = shepherd_child_start(&s->file.spec, s->who.cgroup, &child, err);
    }
    if (rc != 0) {
        return rc;
    }
    s->who.child = (struct proctree_id){child.pid, proctree_start(child.pid)};
    s->out.fd = child.out_fd;
    s->err.fd = child.err_fd;
    enter(s, PHASE_RUNNING);
    rc = exitrec_write_shepherd(s->control_fd, &s->who, err);
    if (rc != 0) {
        fprintf(stderr, "muster-shepherd: %s\n", err->text); /* the mark and the group remain */
    }
    return 0;
}

static int read_spec(struct shepherd *s, const char *control, struct err *err)
{
    CLEANUP(mem_freep) char *text = NULL;
    int rc;

    s->control_fd = open(control, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->control_fd < 0) {
        return err_set(err, ERR_NOT_FOUND, "control directory %s: %s", control, strerror(errno));
    }
    rc = safedir_read(s->control_fd, "spec.json", SHEPHERD_SPEC_MAX, &text, err);
    return rc != 0 ? rc : shepherd_spec_read(text, &s->file, err);
}

/* With a link (fork_off) leave musterd: its child ends at once, and what goes on is nobody's child
 * in a session of its own.  Without one whoever started us keeps us (systemd). */
static void detach(const struct shepherd *s, bool fork_off)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int errors = openat(s->control_fd, "shepherd.err",
                        O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    pid_t pid;
    int oom;

    pid = fork_off ? fork() : 0;
    if (pid != 0) {
        _exit(pid < 0);
    }
    setsid();
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    dup2(errors >= 0 ? errors : null, STDERR_FILENO);
    umask(077);
    (void)!chdir("/");
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    oom = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (oom >= 0) {
        (void)!write(oom, SHEPHERD_OOM, strlen(SHEPHERD_OOM)); /* only root may */
        close(oom);
    }
}

/* Signals to us are not for the task: it gets those that musterd asks for. */
static int block_signals(void)
{
    sigset_t all;
    sigset_t child;

    for (int sig = 1; sig < NSIG; sig++) {
        if (sig != SIGCHLD && sig != SIGSEGV && sig != SIGABRT && sig != SIGBUS && sig != SIGILL) {
            (void)signal(sig, SIG_IGN);
        }
    }
    sigemptyset(&all);
    sigaddset(&all, SIGCHLD);
    sigprocmask(SIG_SETMASK, &all, NULL);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    return signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
}

int main(int argc, char **argv)
{
    struct shepherd s = {.control_fd = -1, .log_dir_fd = -1, .output_fd = -1};
    struct err err;

    shepherd_talk_init(&s.talk);
    s.out.fd = s.err.fd = -1;
    if (argc < 3) {
        fprintf(stderr, "usage: muster-shepherd CONTROL_DIR SOCKET [FD]; musterd starts it\n");
        return 2;
    }
    (void)close_range(argc > 3 ? LINK_FD + 1 : LINK_FD, ~0U, 0);
    if (read_spec(&s, argv[1], &err) != 0) {
        fprintf(stderr, "muster-shepherd: %s\n", err.text);
        return 1;
    }
    s.socket_path = argv[2];
    detach(&s, argc > 3);
    s.signal_fd = block_signals();
    if (argc > 3) {
        (void)fcntl(LINK_FD, F_SETFD, FD_CLOEXEC);
        (void)fcntl(LINK_FD, F_SETFL, O_NONBLOCK);
        shepherd_talk_add(&s.talk, LINK_FD);
    }
    if (start(&s, &err) != 0) {
        refuse(&s, &err);
    } else {
        shepherd_talk_tell_all(&s.talk, state_line(&s));
    }
    loop(&s);
    logring_close(s.out.log);
    logring_close(s.err.log);
    shepherd_talk_fini(&s.talk);
    (void)unlink(s.socket_path);
    shepherd_spec_fini(&s.file);
    return 0;
}
