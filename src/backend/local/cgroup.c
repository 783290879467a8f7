/* Only files are used (STACK: "cgroup v2 files"): no library, no D-Bus.  On a host with systemd the
 * supervisor is started as a transient unit with Delegate=yes and splits its own group
 * (cgroup_split_own), so that systemd stays the only writer of its tree; without systemd, and as
 * root, a directory at the top of the mount is ours. */
#include "backend/local/cgroup.h"

#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WEIGHT_MAX    10000
#define CPU_PERIOD_US 100000

static void join(char ret[PATH_MAX], const char *dir, const char *name)
{
    snprintf(ret, PATH_MAX, "%.*s/%.*s", PATH_MAX / 2, dir, PATH_MAX / 2 - 2, name);
}

static bool write_text(const char *dir, const char *name, const char *text)
{
    char path[PATH_MAX];
    size_t len = strlen(text);
    int fd;
    bool ok;

    join(path, dir, name);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    ok = write(fd, text, len) == (ssize_t)len;
    close(fd);
    return ok;
}

static bool read_text(const char *dir, const char *name, char *ret, size_t room)
{
    char path[PATH_MAX];
    ssize_t n;
    int fd;

    join(path, dir, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    n = read(fd, ret, room - 1);
    close(fd);
    ret[n > 0 ? n : 0] = '\0';
    return n >= 0;
}

/* Is the word in a list such as "cpuset cpu io memory pids"? */
static bool has_word(const char *list, const char *word)
{
    size_t len = strlen(word);

    for (const char *at = strstr(list, word); at != NULL; at = strstr(at + 1, word)) {
        bool begins = at == list || at[-1] == ' ';

        if (begins && (at[len] == ' ' || at[len] == '\n' || at[len] == '\0')) {
            return true;
        }
    }
    return false;
}

static bool find_mount(char ret[PATH_MAX], bool *ret_v1)
{
    FILE *mounts = setmntent("/proc/self/mounts", "re");
    struct mntent *m;
    bool found = false;

    *ret_v1 = false;
    if (mounts == NULL) {
        return false;
    }
    while ((m = getmntent(mounts)) != NULL) {
        if (strcmp(m->mnt_type, "cgroup2") == 0 && !found) {
            snprintf(ret, PATH_MAX, "%s", m->mnt_dir);
            found = true;
        } else if (strcmp(m->mnt_type, "cgroup") == 0) {
            *ret_v1 = true;
        }
    }
    endmntent(mounts);
    return found;
}

/* Hand the controllers that this level has down to its children. */
static void enable(const char *dir)
{
    static const char *const WANTED[] = {"+memory", "+pids", "+cpu"};

    for (size_t i = 0; i < sizeof(WANTED) / sizeof(WANTED[0]); i++) {
        (void)write_text(dir, "cgroup.subtree_control", WANTED[i]);
    }
}

static void describe(struct cgroup_host *h, bool v1)
{
    if (h->base[0] == '\0') {
        snprintf(h->text, sizeof(h->text),
                 "no cgroup v2 that may be written: memory, processes and CPU of tasks are not "
                 "limited; a task's processes are found by their parent, session and the mark "
                 "MUSTER_TASK_KEY; device files are not fenced");
        return;
    }
    snprintf(h->text, sizeof(h->text),
             "cgroup v2 at %.200s: every process of a task is found and killed by its group; "
             "memory %s, processes %s, CPU %s%s; device files are not fenced (needs BPF)",
             h->base, h->memory ? "limited" : "NOT limited", h->pids ? "limited" : "NOT limited",
             h->cpu ? "weighted" : "NOT weighted",
             !v1 || (h->memory && h->pids && h->cpu)
                 ? ""
                 : " (this host is hybrid: its controllers belong to cgroup v1, which is not "
                   "supported)");
}

void cgroup_probe(const char *name, struct cgroup_host *ret)
{
    char mount[PATH_MAX];
    char base[PATH_MAX];
    char list[256] = "";
    bool v1;

    *ret = (struct cgroup_host){0};
    if (find_mount(mount, &v1)) {
        enable(mount);
        join(base, mount, name);
        if ((mkdir(base, 0755) == 0 || errno == EEXIST) && access(base, W_OK) == 0) {
            enable(base);
            snprintf(ret->base, sizeof(ret->base), "%s", base);
            (void)read_text(base, "cgroup.subtree_control", list, sizeof(list));
            ret->memory = has_word(list, "memory");
            ret->pids = has_word(list, "pids");
            ret->cpu = has_word(list, "cpu");
        }
    }
    describe(ret, v1);
}

static void write_int(const char *dir, const char *name, int64_t value)
{
    char text[32];

    snprintf(text, sizeof(text), "%lld", (long long)value);
    (void)write_text(dir, name, text);
}

/* A CPU weighs 100, the kernel's default for a group. */
static void limit_cpu(const char *path, const struct cgroup_limits *limits)
{
    int64_t weight = limits->cpu_milli / 10;
    char text[64];

    weight = weight < 1 ? 1 : weight;
    write_int(path, "cpu.weight", weight > WEIGHT_MAX ? WEIGHT_MAX : weight);
    if (limits->cpu_hard) {
        int64_t quota_us = limits->cpu_milli * (CPU_PERIOD_US / 1000);

        snprintf(text, sizeof(text), "%lld %d", (long long)quota_us, CPU_PERIOD_US);
        (void)write_text(path, "cpu.max", text);
    }
}

int cgroup_make(const char *base, const char *name, const struct cgroup_limits *limits,
                char ret[PATH_MAX], struct err *err)
{
    char path[PATH_MAX];

    join(path, base, name);
    if (mkdir(path, 0755) != 0 && errno != EEXIST) {
        return err_set(err, ERR_IO, "cannot make control group %s: %s", path, strerror(errno));
    }
    if (limits->memory_bytes > 0) {
        write_int(path, "memory.max", limits->memory_bytes);
        (void)write_text(path, "memory.swap.max", "0");
        /* A task that lost one process to the limit is broken: let it end whole. */
        (void)write_text(path, "memory.oom.group", "1");
    }
    if (limits->pids_max > 0) {
        write_int(path, "pids.max", limits->pids_max);
    }
    if (limits->cpu_milli > 0) {
        limit_cpu(path, limits);
    }
    snprintf(ret, PATH_MAX, "%s", path);
    return 0;
}

int cgroup_split_own(char ret[PATH_MAX], struct err *err)
{
    char mount[PATH_MAX];
    char list[4096] = "";
    char own[PATH_MAX];
    char child[PATH_MAX];
    const char *at;
    bool v1;

    if (!find_mount(mount, &v1) || !read_text("/proc/self", "cgroup", list, sizeof(list))) {
        return err_set(err, ERR_UNSUPPORTED, "no cgroup v2 is mounted");
    }
    at = strncmp(list, "0::/", 4) == 0 ? list : strstr(list, "\n0::/");
    if (at == NULL) {
        return err_set(err, ERR_UNSUPPORTED, "this process is in no cgroup v2");
    }
    at = strstr(at, "0::/") + 4;
    snprintf(child, sizeof(child), "%.*s", (int)strcspn(at, "\n"), at);
    if (child[0] == '\0') {
        return err_set(err, ERR_UNSUPPORTED, "this process has no control group of its own");
    }
    join(own, mount, child);
    join(child, own, "supervisor");
    if ((mkdir(child, 0755) != 0 && errno != EEXIST) || !cgroup_enter(child)) {
        return err_set(err, ERR_IO, "cannot use control group %s: %s", child, strerror(errno));
    }
    enable(own);
    snprintf(ret, PATH_MAX, "%s", own);
    return 0;
}

bool cgroup_enter(const char *path)
{
    return write_text(path, "cgroup.procs", "0");
}

/* Kernels before 5.14 have no cgroup.kill: then one by one; the caller repeats until it is empty.
 */
void cgroup_kill(const char *path)
{
    char file[PATH_MAX];
    FILE *procs;
    int pid;

    if (write_text(path, "cgroup.kill", "1")) {
        return;
    }
    join(file, path, "cgroup.procs");
    procs = fopen(file, "re");
    if (procs == NULL) {
        return;
    }
    while (fscanf(procs, "%d", &pid) == 1) {
        if (pid > 1) {
            kill(pid, SIGKILL);
        }
    }
    fclose(procs);
}

bool cgroup_empty(const char *path)
{
    char events[256];

    return !read_text(path, "cgroup.events", events, sizeof(events)) ||
           strstr(events, "populated 0") != NULL;
}

bool cgroup_out_of_memory(const char *path)
{
    char events[512];
    const char *at;

    if (!read_text(path, "memory.events", events, sizeof(events))) {
        return false;
    }
    at = strstr(events, "oom_kill ");
    return at != NULL && strtol(at + strlen("oom_kill "), NULL, 10) > 0;
}

void cgroup_remove(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    char child[PATH_MAX];

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.') {
            join(child, path, entry->d_name);
            cgroup_remove(child);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    (void)rmdir(path);
}
