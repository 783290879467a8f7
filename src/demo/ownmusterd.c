#include "demo/ownmusterd.h"

#include "base/check.h"
#include "base/vec.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STOP_SECONDS 60

static const char *const FOLDERS[] = {"gates", "ledgers", "tokens"};

/* The pools and queues of examples/afternoon.yaml. */
static const char POOLS[] =
    "pools:\n"
    "  - name: h100\n"
    "    nodes:\n"
    "      - {name: \"n[1-4]\", gpus: 8, model: h100-80gb, simulated: true,\n"
    "         cpus: 64, memory: 1Ti, domains: {rack: r1}}\n"
    "      - {name: \"n[5-7]\", gpus: 8, model: h100-80gb, simulated: true,\n"
    "         cpus: 64, memory: 1Ti, domains: {rack: r2}}\n"
    "  - name: h100-mig\n"
    "    nodes:\n"
    "      - {name: n8, gpus: 8, model: h100-80gb, mig: true,\n"
    "         simulated: true, cpus: 64, memory: 1Ti, domains: {rack: r2}}\n";

static const struct {
    const char *name;
    const char *settings;
} QUEUES[] = {{"research", "reserved: {h100: 24}"},
              {"applied-ml", "reserved: {h100: 16}"},
              {"inference", "reserved: {h100: 16}, lend: {h100: 0}"},
              {"development", "reserved: {h100-mig: 8}"}};

static const struct {
    const char *name;
    const char *queue;
} USERS[] = {{"rosa", "research"}, {"amir", "applied-ml"}, {"ines", "inference"}};

static void add_policy(int64_t grace_s, struct str *ret)
{
    str_addf(ret,
             "# The afternoon with a grace of %" PRId64
             " s.  All GPUs are simulated; the processes, "
             "signals and files are real.\n"
             "cluster: {name: demo, timezone: Europe/Berlin, levels: [rack]}\n%squeues:\n",
             grace_s, POOLS);
    for (size_t i = 0; i < ARRAY_LEN(QUEUES); i++) {
        str_addf(ret, "  - {name: %s, grace: %" PRId64 "s, %s}\n", QUEUES[i].name, grace_s,
                 QUEUES[i].settings);
    }
    str_add(ret, "users:\n");
    for (size_t i = 0; i < ARRAY_LEN(USERS); i++) {
        str_addf(ret, "  - {name: %s, account: self, queues: [%s]}\n", USERS[i].name,
                 USERS[i].queue);
    }
    for (int i = 1; i <= OWNMUSTERD_PEOPLE; i++) {
        str_addf(ret, "  - {name: p%02d, account: self, queues: [development]}\n", i);
    }
}

const char *ownmusterd_path(const struct ownmusterd *m, const char *folder, const char *name,
                            struct str *ret)
{
    str_clear(ret);
    str_addf(ret, "%s/%s%s%s", m->dir, folder, folder[0] == '\0' ? "" : "/", name);
    return ret->text;
}

static int write_policy(const struct ownmusterd *m, int64_t grace_s, struct err *err)
{
    CLEANUP(str_fini) struct str path = {0};
    CLEANUP(str_fini) struct str text = {0};
    FILE *file = fopen(ownmusterd_path(m, "", "muster.yaml", &path), "we");
    bool good;

    add_policy(grace_s, &text);
    good = file != NULL && fwrite(text.text, 1, text.len, file) == text.len;
    good = (file == NULL || fclose(file) == 0) && good;
    return good ? 0 : err_set(err, ERR_IO, "cannot write %s: %s", path.text, strerror(errno));
}

int ownmusterd_prepare(struct ownmusterd *m, int64_t grace_s, struct err *err)
{
    CLEANUP(str_fini) struct str path = {0};
    const char *base = getenv("TMPDIR");
    char self[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

    if (len <= 0) {
        return err_set(err, ERR_IO, "cannot read /proc/self/exe: %s", strerror(errno));
    }
    self[len] = '\0';
    m->self = mem_text(self);
    str_addf(&path, "%s/muster-demo-XXXXXX", base != NULL && base[0] == '/' ? base : "/tmp");
    if (mkdtemp(path.text) == NULL) {
        return err_set(err, ERR_IO, "cannot make a folder like %s: %s", path.text, strerror(errno));
    }
    m->dir = str_take(&path);
    m->socket = mem_text(ownmusterd_path(m, "", "socket", &path));
    for (size_t i = 0; i < ARRAY_LEN(FOLDERS); i++) {
        if (mkdir(ownmusterd_path(m, "", FOLDERS[i], &path), 0700) != 0) {
            return err_set(err, ERR_IO, "cannot make %s: %s", path.text, strerror(errno));
        }
    }
    return write_policy(m, grace_s, err);
}

/* Beside this program in a build folder; installed, ours lies in libexec/muster. */
static int find_program(const struct ownmusterd *m, const char *name, struct str *ret,
                        struct err *err)
{
    static const char *const BETWEEN[] = {"", "../../bin/", "../../sbin/"};
    const char *slash = strrchr(m->self, '/');
    int len = (int)(slash == NULL ? 0 : slash - m->self);

    for (size_t i = 0; i < ARRAY_LEN(BETWEEN); i++) {
        str_clear(ret);
        str_addf(ret, "%.*s/%s%s", len, m->self, BETWEEN[i], name);
        if (access(ret->text, X_OK) == 0) {
            return 0;
        }
    }
    return err_set(err, ERR_NOT_FOUND, "the program %s is not installed beside muster-demo", name);
}

/* In the child.  The daemon ends with the demo, whatever ends that. */
static void become(const char *path, const char *const *words, int out, pid_t parent)
{
    VEC(char *) argv = {0};
    sigset_t none;

    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) {
        _exit(127);
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    vec_push(&argv, mem_text(path));
    for (size_t i = 0; words[i] != NULL; i++) {
        vec_push(&argv, mem_text(words[i]));
    }
    vec_push(&argv, NULL);
    dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    execv(path, argv.items);
    dprintf(STDERR_FILENO, "cannot run %s: %s\n", path, strerror(errno));
    _exit(127);
}

int ownmusterd_start(struct ownmusterd *m, struct err *err)
{
    CLEANUP(str_fini) struct str program = {0};
    CLEANUP(str_fini) struct str config = {0};
    CLEANUP(str_fini) struct str state = {0};
    CLEANUP(str_fini) struct str log = {0};
    pid_t parent = getpid();
    int out;
    int rc = find_program(m, "musterd", &program, err);

    if (rc != 0) {
        return rc;
    }
    ownmusterd_path(m, "", "muster.yaml", &config);
    ownmusterd_path(m, "", "state", &state);
    out = open(ownmusterd_path(m, "", "musterd.log", &log),
               O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    m->pid = out < 0 ? -1 : fork();
    if (m->pid == 0) {
        const char *const words[] = {"--config", config.text, "--simulate", "--state",
                                     state.text, "--socket",  m->socket,    NULL};

        setsid(); /* Ctrl-C is for the demo, which then ends the daemon in order */
        become(program.text, words, out, parent);
    }
    if (out >= 0) {
        close(out);
    }
    if (m->pid < 0) {
        m->pid = 0;
        return err_set(err, ERR_IO, "cannot start musterd: %s", strerror(errno));
    }
    return 0;
}

bool ownmusterd_is_gone(struct ownmusterd *m)
{
    if (m->pid > 0 && waitpid(m->pid, NULL, WNOHANG) == m->pid) {
        m->pid = 0;
    }
    return m->pid == 0;
}

int ownmusterd_stop(struct ownmusterd *m, struct err *err)
{
    const struct timespec tick = {.tv_nsec = 20000000};
    time_t until = time(NULL) + STOP_SECONDS;
    int status = 0;
    pid_t got = 0;

    if (m->pid == 0) {
        return err_set(err, ERR_UNREACHABLE,
                       "musterd ended by itself; its last words are in %s/"
                       "musterd.log (--keep)",
                       m->dir);
    }
    kill(m->pid, SIGTERM);
    while (got == 0 && time(NULL) < until) {
        got = waitpid(m->pid, &status, WNOHANG);
        nanosleep(&tick, NULL);
    }
    if (got == 0) {
        kill(m->pid, SIGKILL);
        waitpid(m->pid, &status, 0);
    }
    m->pid = 0;
    if (got <= 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        return err_set(err, ERR_INTERNAL, "musterd did not stop as asked (wait status %d)", status);
    }
    return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
    (void)st;
    (void)type;
    (void)where;
    remove(path); /* what cannot be removed is left in the temporary folder */
    return 0;
}

void ownmusterd_fini(struct ownmusterd *m, bool keep)
{
    if (m->dir != NULL && !keep) {
        nftw(m->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
    }
    mem_free(m->dir);
    mem_free(m->socket);
    mem_free(m->self);
    *m = (struct ownmusterd){0};
}

int ownmusterd_ask(const struct ownmusterd *m, const char *program, const char *const *words,
                   struct str *ret, int *ret_status, struct err *err)
{
    CLEANUP(str_fini) struct str path = {0};
    pid_t parent = getpid();
    char chunk[4096];
    int pipes[2];
    int status = 0;
    ssize_t len;
    pid_t pid;
    int rc = find_program(m, program, &path, err);

    if (rc != 0) {
        return rc;
    }
    if (pipe2(pipes, O_CLOEXEC) != 0) {
        return err_set(err, ERR_IO, "cannot make a pipe: %s", strerror(errno));
    }
    pid = fork();
    if (pid == 0) {
        setenv("MUSTER_SOCKET", m->socket, 1);
        unsetenv("MUSTER_SERVER");
        unsetenv("MUSTER_TOKEN");
        become(path.text, words, pipes[1], parent);
    }
    close(pipes[1]);
    while (pid > 0 &&
           ((len = read(pipes[0], chunk, sizeof(chunk))) > 0 || (len < 0 && errno == EINTR))) {
        str_add_n(ret, chunk, len > 0 ? (size_t)len : 0);
    }
    close(pipes[0]);
    if (pid < 0 || waitpid(pid, &status, 0) != pid) {
        return err_set(err, ERR_IO, "cannot run %s: %s", path.text, strerror(errno));
    }
    *ret_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return 0;
}
