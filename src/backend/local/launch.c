/* Two ways to start a supervisor:
 *   - posix_spawn; it forks once more and leads a session of its own, so that it is nobody's child.
 *     One end of a socket pair is its first connection: no waiting for its socket to appear;
 *   - on a host with systemd, as root: systemd-run makes a transient unit of it with a delegated
 *     control group.  musterd's own unit is hardened (no new privileges, a private view of the file
 *     system), and what it forks inherits that; what process 1 forks does not.  A --scope would not
 *     do: its process is forked by us.
 */
#include "backend/local/launch.h"

#include "backend/local/proctree.h"
#include "backend/local/sandbox.h"
#include "backend/local/shepherd_spec.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define LINK_FD    3
#define ARGS_MAX   20
#define SCRIPT_MAX (1024 * 1024)

/* ---- what is written ---- */

/* Fill in %j job, %A array, %a element, %n attempt, %t task, %x name, %% of an output pattern. */
static char *expand(const char *pattern, const struct backend_job *job, int64_t task)
{
    struct str s = {0};

    str_add(&s, "");
    for (const char *at = pattern; *at != '\0'; at++) {
        if (at[0] != '%' || at[1] == '\0') {
            str_add_char(&s, *at);
            continue;
        }
        at++;
        switch (*at) {
        case 'j':
            str_add_int(&s, job->job);
            break;
        case 'A':
            str_add_int(&s, job->array != 0 ? job->array : job->job);
            break;
        case 'a':
            str_add_int(&s, job->element);
            break;
        case 'n':
            str_add_int(&s, job->attempt);
            break;
        case 't':
            str_add_int(&s, task);
            break;
        case 'x':
            str_add(&s, job->name == NULL ? "" : job->name);
            break;
        default:
            str_add_char(&s, *at);
            break;
        }
    }
    return str_take(&s);
}

struct paths {
    char *dir; /* of the task, the account's */
    char *status;
    char *preempt;
    char *script;
    char *tasks;
    char *token;
    char *checkpoints;
    char *logs;
};

static char *below(const char *dir, const char *name)
{
    struct str s = {0};

    str_addf(&s, "%s/%s", dir, name);
    return str_take(&s);
}

static void paths_init(struct paths *p, const struct local_task *t)
{
    const struct local_attempt *a = t->attempt;
    char name[48];

    snprintf(name, sizeof(name), "task.%lld", (long long)t->task);
    p->dir = local_attempt_path(a, name);
    p->status = below(p->dir, "status");
    p->preempt = below(p->dir, "preempt");
    p->script = below(p->dir, "script");
    p->tasks = local_attempt_path(a, "job/tasks.json");
    p->token = local_attempt_path(a, "job/token");
    p->checkpoints = local_checkpoint_dir(&a->local->base, a->job);
    p->logs = local_attempt_log_dir(a);
}

static void paths_fini(struct paths *p)
{
    mem_free(p->dir);
    mem_free(p->status);
    mem_free(p->preempt);
    mem_free(p->script);
    mem_free(p->tasks);
    mem_free(p->token);
    mem_free(p->checkpoints);
    mem_free(p->logs);
}

static int make_dirs(const struct local_task *t, const char *script, struct err *err)
{
    struct local_attempt *a = t->attempt;
    struct safedir_owner ours = {.uid = geteuid(), .gid = getegid(), .mode = 0700};
    struct safedir_owner theirs = local_attempt_owner(a, 0700);
    CLEANUP(safedir_closep) int control = -1;
    CLEANUP(safedir_closep) int dir = -1;
    char name[48];
    int rc = safedir_make(a->dir_fd, t->control, &ours, &control, err);

    snprintf(name, sizeof(name), "task.%lld", (long long)t->task);
    if (rc == 0) {
        rc = safedir_make(a->dir_fd, name, &theirs, &dir, err);
    }
    if (rc == 0) {
        rc = safedir_remove(dir, "preempt", err); /* of an earlier step */
    }
    if (rc == 0 && script[0] != '\0') {
        rc = safedir_write(dir, "script", script, strlen(script), &theirs, err);
    }
    if (rc == 0) {
        local_attempt_watch(a, dir, t->task);
    }
    return rc;
}

/* argv of a script: run by what its first line names, else by the shell. */
static char **make_argv(const struct backend_spec *spec, const struct paths *p)
{
    char **argv = mem_new(spec->arg_count + 3, sizeof(*argv));
    const char *script = spec->script == NULL ? "" : spec->script;
    size_t count = 0;

    if (script[0] != '\0') {
        if (strncmp(script, "#!", 2) != 0) {
            argv[count++] = mem_text("/bin/sh");
        }
        argv[count++] = mem_text(p->script);
    }
    for (size_t i = 0; i < spec->arg_count; i++) {
        argv[count++] = mem_text(spec->argv[i]);
    }
    return argv;
}

static void free_texts(char **rows)
{
    for (char **row = rows; *row != NULL; row++) {
        mem_free(*row);
    }
    mem_free(rows);
}

static void fill_env(const struct local_task *t, const struct environ_input *in,
                     struct environ_list *env)
{
    const char *equals = strchr(t->mark, '=');

    environ_build(in, env);
    if (in->job->spec.dir != NULL && in->job->spec.dir[0] != '\0') {
        environ_set(env, "PWD", in->job->spec.dir);
    }
    environ_set(env, "MUSTER_TASK_KEY", equals + 1);
}

static int write_spec(const struct local_task *t, const struct shepherd_spec *spec, struct err *err)
{
    struct safedir_owner ours = {.uid = geteuid(), .gid = getegid(), .mode = 0600};
    CLEANUP(safedir_closep) int control = -1;
    CLEANUP(mem_freep) char *text = NULL;
    int rc = shepherd_spec_write(spec, &text, err);

    if (rc == 0) {
        rc = safedir_open(t->attempt->dir_fd, t->control, &control, err);
    }
    return rc != 0 ? rc : safedir_write(control, "spec.json", text, strlen(text), &ours, err);
}

static void fill_account(struct shepherd_spec *spec, const struct osaccount *account)
{
    spec->switch_account = account->change;
    spec->uid = account->uid;
    spec->gid = account->gid;
    spec->group_count = account->group_count;
    memcpy(spec->groups, account->groups, sizeof(spec->groups));
}

static bool uses_systemd(const struct local *l)
{
    return l->config.systemd_run[0] != '\0';
}

/* Accounts of services often name a home that does not exist. */
static const char *home_of(const struct osaccount *account)
{
    struct stat st;

    return stat(account->home, &st) == 0 && S_ISDIR(st.st_mode) ? account->home : "/";
}

/* The command becomes the sandbox's, where there is to be one. */
static int fence(const struct local_task *t, const struct environ_input *in, const struct paths *p,
                 struct shepherd_spec *spec, struct err *err)
{
    const struct local *l = t->attempt->local;
    CLEANUP(mem_freep) char *job_dir = local_attempt_path(t->attempt, "job");
    CLEANUP(sandbox_texts_fini) sandbox_texts devices = {0};
    struct sandbox_ask ask = {
        .program = l->config.bwrap,
        .dir = spec->dir,
        .socket = l->config.socket,
        .read = {job_dir, NULL},
        .write = {p->dir, p->checkpoints},
    };
    struct environ_place place;

    if (!in->job->sandbox) {
        return 0;
    }
    if (access(ask.program, X_OK) != 0) {
        return err_set(err, ERR_UNSUPPORTED,
                       "a sandbox is asked for and there is no %s on this node: install bubblewrap",
                       ask.program);
    }
    environ_place_of(in->job, in->index, &place);
    sandbox_devices(&in->job->tasks[in->index], place.node, SANDBOX_CARDS, &devices);
    ask.devices = (const char *const *)(uintptr_t)devices.items;
    ask.device_count = devices.count;
    spec->argv = sandbox_wrap(&ask, spec->argv, &spec->fence_args);
    return 0;
}

static int write_files(const struct local_task *t, const struct environ_input *in,
                       const struct paths *p, const struct osaccount *account, struct err *err)
{
    const struct local *l = t->attempt->local;
    const struct backend_spec *what = &in->job->spec;
    const struct fact_grant *grant = &in->job->tasks[in->index];
    CLEANUP(mem_freep)
    char *output = expand(what->output == NULL ? "" : what->output, in->job, t->task);
    struct shepherd_spec *spec = mem_new(1, sizeof(*spec));
    struct environ_list env = {0};
    char boot[PROCTREE_BOOT_LEN];
    char stem[64];
    int rc;

    proctree_boot(boot);
    snprintf(stem, sizeof(stem), "%lld.%lld", (long long)t->attempt->attempt, (long long)t->task);
    fill_env(t, in, &env);
    spec->key = t->key;
    spec->mark = t->mark;
    spec->boot = boot;
    fill_account(spec, account);
    spec->argv = make_argv(what, p);
    spec->env = env.items;
    spec->dir = what->dir == NULL || what->dir[0] == '\0' ? home_of(account) : what->dir;
    spec->log_dir = p->logs;
    spec->log_stem = stem;
    spec->output = output;
    spec->log_file_bytes = l->config.log_file_bytes;
    spec->log_files = l->config.log_files;
    spec->cgroup = uses_systemd(l) ? "self" : l->cgroup.base;
    spec->limits = (struct cgroup_limits){.memory_bytes = grant->memory_bytes,
                                          .pids_max = l->config.pids_max,
                                          .cpu_milli = grant->cpu_milli,
                                          .cpu_hard = l->config.cpu_hard};
    rc = spec->argv[0] == NULL ? err_set(err, ERR_INVALID, "the job has no command and no script")
                               : fence(t, in, p, spec, err);
    if (rc == 0) {
        rc = write_spec(t, spec, err);
    }
    free_texts(spec->argv);
    environ_fini(&env);
    mem_free(spec);
    return rc;
}

int launch_prepare(const struct local_task *t, const struct backend_job *job, size_t index,
                   const struct osaccount *account, struct err *err)
{
    const char *script = job->spec.script == NULL ? "" : job->spec.script;
    struct environ_input in = {.job = job, .index = index};
    struct paths p;
    int rc;

    if (strlen(script) > SCRIPT_MAX) {
        return err_set(err, ERR_TOO_LARGE, "the script has more than %d bytes", SCRIPT_MAX);
    }
    paths_init(&p, t);
    in.account = (struct environ_account){account->name, account->home, account->shell};
    in.files = (struct environ_files){
        .checkpoint_dir = p.checkpoints,
        .status_file = p.status,
        .tasks_file = p.tasks,
        .token_file = p.token,
        .preempt_file = p.preempt,
        .socket = t->attempt->local->config.socket,
    };
    in.master_addr = "127.0.0.1"; /* every node of this backend is this machine */
    in.master_port = t->attempt->port;
    rc = make_dirs(t, script, err);
    if (rc == 0) {
        rc = write_files(t, &in, &p, account, err);
    }
    paths_fini(&p);
    return rc;
}

/* ---- the process ---- */

static int spawn(struct local_task *t, const char *const *argv, int link, struct err *err)
{
    /* It gets nothing of musterd's environment. */
    char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    char *env[] = {path, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t none;
    pid_t pid;
    int rc;

    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
    if (link >= 0) {
        posix_spawn_file_actions_adddup2(&actions, link, LINK_FD);
    }
    /* posix_spawn takes char *const[] for history's sake and changes nothing. */
    rc = posix_spawn(&pid, argv[0], &actions, &attr, (char *const *)(uintptr_t)argv, env);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&actions);
    if (rc != 0) {
        return err_set(err, ERR_IO, "cannot start %s: %s", argv[0], strerror(rc));
    }
    local_add_starter(t->attempt->local, pid, t);
    return 0;
}

static int start_unit(struct local_task *t, const char *control, const char *socket,
                      struct err *err)
{
    const struct local *l = t->attempt->local;
    char unit[EXITREC_TEXT_MAX + 32];
    const char *argv[ARGS_MAX] = {l->config.systemd_run,
                                  "--quiet",
                                  "--collect",
                                  "--slice=muster-tasks.slice",
                                  unit,
                                  "--property=Delegate=yes",
                                  "--property=OOMPolicy=continue",
                                  "--property=TasksMax=infinity",
                                  "--property=SendSIGHUP=no",
                                  "--",
                                  l->config.shepherd,
                                  control,
                                  socket,
                                  NULL};

    /* The mark tells apart what several musterd of this host start. */
    snprintf(unit, sizeof(unit), "--unit=muster-task-%s", strchr(t->mark, '=') + 1);
    return spawn(t, argv, -1, err);
}

static int start_process(struct local_task *t, const char *control, const char *socket,
                         int *ret_link, struct err *err)
{
    const char *argv[] = {t->attempt->local->config.shepherd, control, socket, "3", NULL};
    int pair[2];
    int rc;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        return err_set(err, ERR_IO, "no socket: %s", strerror(errno));
    }
    rc = spawn(t, argv, pair[1], err);
    close(pair[1]);
    if (rc != 0) {
        close(pair[0]);
        return rc;
    }
    (void)fcntl(pair[0], F_SETFL, O_NONBLOCK);
    *ret_link = pair[0];
    return 0;
}

int launch_shepherd(struct local_task *t, int *ret_link, struct err *err)
{
    CLEANUP(mem_freep) char *control = local_attempt_path(t->attempt, t->control);
    struct str socket = {0};
    int rc;

    str_addf(&socket, "%s/%s.sock", t->attempt->local->config.runtime_dir, t->key);
    if (uses_systemd(t->attempt->local)) {
        *ret_link = -1;
        rc = start_unit(t, control, socket.text, err);
    } else {
        rc = start_process(t, control, socket.text, ret_link, err);
    }
    str_fini(&socket);
    return rc;
}

/* Through the directory's descriptor, as a socket address holds short paths only. */
int launch_connect(const struct local_task *t, int *ret_link, struct err *err)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    snprintf(addr.sun_path, sizeof(addr.sun_path), "/proc/self/fd/%d/%.75s.sock",
             t->attempt->local->runtime_fd, t->key);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&addr, sizeof(addr)) != 0) {
        err_set(err, ERR_UNREACHABLE, "supervisor of %s: %s", t->key, strerror(errno));
        if (fd >= 0) {
            close(fd);
        }
        return ERR_UNREACHABLE;
    }
    *ret_link = fd;
    return 0;
}
