/* Between fork and exec the child tells a failed step through a pipe that exec closes, so that
 * "running" is only said of what runs. */
#include "backend/local/shepherd_child.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXIT_NOT_EXECUTABLE 126
#define EXIT_NOT_FOUND      127

enum step { STEP_NONE, STEP_CGROUP, STEP_ACCOUNT, STEP_DIR, STEP_FILES };

struct failure {
    enum step step;
    int number;
};

struct pipes {
    int out[2];
    int err[2];
    int failed[2];
};

static void close_pair(int pair[2])
{
    for (int i = 0; i < 2; i++) {
        if (pair[i] >= 0) {
            close(pair[i]);
            pair[i] = -1;
        }
    }
}

static void close_pipes(struct pipes *p)
{
    close_pair(p->out);
    close_pair(p->err);
    close_pair(p->failed);
}

static bool open_pipes(struct pipes *p)
{
    *p = (struct pipes){{-1, -1}, {-1, -1}, {-1, -1}};
    if (pipe2(p->out, O_CLOEXEC) == 0 && pipe2(p->err, O_CLOEXEC) == 0 &&
        pipe2(p->failed, O_CLOEXEC) == 0) {
        return true;
    }
    close_pipes(p);
    return false;
}

/* Signals go back to what a fresh process has: the supervisor blocks and ignores many. */
static void default_signals(void)
{
    sigset_t none;

    for (int sig = 1; sig < NSIG; sig++) {
        (void)signal(sig, SIG_DFL);
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void default_oom_score(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

    if (fd >= 0) {
        (void)!write(fd, "0", 1);
        close(fd);
    }
}

static bool become(const struct shepherd_spec *s)
{
    if (!s->switch_account) {
        return true;
    }
    return setgroups(s->group_count, s->groups) == 0 && setresgid(s->gid, s->gid, s->gid) == 0 &&
           setresuid(s->uid, s->uid, s->uid) == 0;
}

static enum step prepare(const struct shepherd_spec *s, const char *cgroup, const struct pipes *p)
{
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

    setsid();
    if (cgroup[0] != '\0' && !cgroup_enter(cgroup)) {
        return STEP_CGROUP;
    }
    default_oom_score();
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(p->out[1], STDOUT_FILENO) < 0 ||
        dup2(p->err[1], STDERR_FILENO) < 0) {
        return STEP_FILES;
    }
    if (!become(s)) {
        return STEP_ACCOUNT;
    }
    if (chdir(s->dir[0] == '\0' ? "/" : s->dir) != 0) {
        return STEP_DIR;
    }
    umask(022);
    default_signals();
    return STEP_NONE;
}

/* The sandbox's own processes stand in the task's group and must outlive its signals; inside, the
 * task gets the usual dispositions back (sandbox.c). */
static void ignore_signals(void)
{
    for (int sig = 1; sig < NSIG; sig++) {
        if (sig != SIGCHLD) {
            (void)signal(sig, SIG_IGN);
        }
    }
}

_Noreturn static void child(const struct shepherd_spec *s, char *const *argv, const char *cgroup,
                            const struct pipes *p)
{
    struct failure f = {.step = prepare(s, cgroup, p)};
    int number;

    if (f.step != STEP_NONE) {
        f.number = errno;
        (void)!write(p->failed[1], &f, sizeof(f));
        _exit(EXIT_NOT_EXECUTABLE);
    }
    if (s->fence_args > 0) {
        ignore_signals();
    }
    environ = s->env;
    execvp(argv[0], argv);
    number = errno;
    if (number == ENOENT && access(argv[0], F_OK) == 0) {
        dprintf(STDERR_FILENO, "muster: cannot run %s: the program its #! line names is missing\n",
                argv[0]);
    } else {
        dprintf(STDERR_FILENO, "muster: cannot run %s: %s\n", argv[0], strerror(number));
    }
    _exit(number == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE);
}

static int tell(const struct failure *f, const struct shepherd_spec *s, struct err *err)
{
    const char *why = strerror(f->number);

    switch (f->step) {
    case STEP_CGROUP:
        return err_set(err, ERR_IO, "cannot enter the task's control group: %s", why);
    case STEP_ACCOUNT:
        return err_set(err, ERR_FORBIDDEN, "cannot become uid %u: %s", (unsigned)s->uid, why);
    case STEP_DIR:
        return err_set(err, ERR_NOT_FOUND, "cannot enter working directory %s: %s", s->dir, why);
    case STEP_NONE:
    case STEP_FILES:
        break;
    }
    return err_set(err, ERR_IO, "cannot set up standard input and output: %s", why);
}

static int start(const struct shepherd_spec *spec, char *const *argv, const char *cgroup,
                 struct shepherd_child *ret, struct err *err)
{
    struct failure f = {.step = STEP_NONE};
    struct pipes p;
    pid_t pid;
    ssize_t n;

    if (!open_pipes(&p)) {
        return err_set(err, ERR_IO, "no pipe: %s", strerror(errno));
    }
    pid = fork();
    if (pid < 0) {
        err_set(err, ERR_IO, "no process: %s", strerror(errno));
        close_pipes(&p);
        return ERR_IO;
    }
    if (pid == 0) {
        child(spec, argv, cgroup, &p);
    }
    close(p.failed[1]);
    p.failed[1] = -1;
    do {
        n = read(p.failed[0], &f, sizeof(f));
    } while (n < 0 && errno == EINTR);
    if (n == (ssize_t)sizeof(f)) {
        close_pipes(&p);
        return tell(&f, spec, err);
    }
    (void)fcntl(p.out[0], F_SETFL, O_NONBLOCK);
    (void)fcntl(p.err[0], F_SETFL, O_NONBLOCK);
    *ret = (struct shepherd_child){.pid = pid, .out_fd = p.out[0], .err_fd = p.err[0]};
    p.out[0] = p.err[0] = -1;
    close_pipes(&p);
    return 0;
}

/* What it says until its end; what has no room is read and dropped. */
static void read_all(int fd, char *ret, size_t room)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    char more[256];
    size_t have = 0;
    ssize_t n = 1;

    while (n > 0) {
        (void)poll(&ready, 1, -1);
        n = read(fd, more, sizeof(more));
        for (ssize_t i = 0; i < n && have + 1 < room; i++) {
            ret[have++] = more[i];
        }
    }
    ret[have] = '\0';
    ret[strcspn(ret, "\n")] = '\0';
}

/* A sandbox that cannot be made must refuse the task, not look like a task that failed. */
static int try_fence(const struct shepherd_spec *spec, const char *cgroup, struct err *err)
{
    char **argv = mem_new((size_t)spec->fence_args + 2, sizeof(*argv));
    char nothing[] = "/bin/true";
    char text[160];
    struct shepherd_child probe;
    int status = 0;
    int rc;

    memcpy(argv, spec->argv, (size_t)spec->fence_args * sizeof(*argv));
    argv[spec->fence_args] = nothing;
    rc = start(spec, argv, cgroup, &probe, err);
    mem_free(argv);
    if (rc != 0) {
        return rc;
    }
    read_all(probe.err_fd, text, sizeof(text));
    close(probe.err_fd);
    close(probe.out_fd);
    while (waitpid(probe.pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        return err_set(err, ERR_UNSUPPORTED, "no sandbox can be made on this node: %s", text);
    }
    return 0;
}

int shepherd_child_start(const struct shepherd_spec *spec, const char *cgroup,
                         struct shepherd_child *ret, struct err *err)
{
    int rc = spec->fence_args > 0 ? try_fence(spec, cgroup, err) : 0;

    return rc != 0 ? rc : start(spec, spec->argv, cgroup, ret, err);
}

/* The path is the user's, so it is resolved with the user's rights: effective ids and groups change
 * for the one call (the supervisor has one thread). */
int shepherd_child_open_output(const struct shepherd_spec *s, int *ret_fd, struct err *err)
{
    uid_t uid = geteuid();
    gid_t gid = getegid();
    struct stat st;
    int number;
    int fd = -1;

    if (s->switch_account && (setgroups(s->group_count, s->groups) != 0 || setegid(s->gid) != 0 ||
                              seteuid(s->uid) != 0)) {
        return err_set(err, ERR_FORBIDDEN, "cannot become uid %u: %s", (unsigned)s->uid,
                       strerror(errno));
    }
    if (s->output[0] == '/' || chdir(s->dir[0] == '\0' ? "/" : s->dir) == 0) {
        fd = open(s->output, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
                  0644);
    }
    number = errno;
    if (s->switch_account && (seteuid(uid) != 0 || setegid(gid) != 0)) {
        _exit(EXIT_NOT_EXECUTABLE); /* half an account is no state to go on in */
    }
    (void)!chdir("/");
    if (fd < 0) {
        return err_set(err, ERR_FORBIDDEN, "cannot write output file %s: %s", s->output,
                       strerror(number));
    }
    if (fstat(fd, &st) != 0 || !(S_ISREG(st.st_mode) || S_ISCHR(st.st_mode))) {
        close(fd);
        return err_set(err, ERR_FORBIDDEN, "output file %s is not a regular file", s->output);
    }
    *ret_fd = fd;
    return 0;
}
