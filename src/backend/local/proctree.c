/* The tree is found in three ways, since each alone has a hole:
 *   - descendants of the supervisor: whole while it lives, as it is a subreaper (a process that
 *     forks twice and leaves its session falls to it), and empty once it was killed;
 *   - the mark MUSTER_TASK_KEY in the environment: survives the supervisor, but a program may clear
 *     its environment;
 *   - the session of the main process: survives a cleared environment, but setsid leaves it, and
 *     without its leader a session's number proves nothing (the pid may have been reused).
 * Where the host has cgroup v2 the cgroup is the fourth way and has no hole (cgroup.c).
 */
#include "backend/local/proctree.h"

#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct entry {
    pid_t pid;
    pid_t parent;
    pid_t session;
    uint64_t start;
    bool found;
};

struct entries {
    struct entry *items;
    size_t count;
    size_t room;
};

static ssize_t read_file(const char *path, char *buf, size_t room)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t have = 0;
    ssize_t n = 1;

    if (fd < 0) {
        return -1;
    }
    while (have < room && n > 0) {
        n = read(fd, buf + have, room - have);
        have += n > 0 ? (size_t)n : 0;
    }
    close(fd);
    return n < 0 ? -1 : (ssize_t)have;
}

/* Fields 3 (state), 4 (parent), 6 (session) and 22 (start) follow the last ')', as the command's
 * name may hold anything. */
static bool read_stat(pid_t pid, struct entry *ret)
{
    char path[64];
    char text[1024];
    const char *rest;
    char state;
    int parent;
    int session;
    unsigned long long start;
    ssize_t n;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    n = read_file(path, text, sizeof(text) - 1);
    if (n <= 0) {
        return false;
    }
    text[n] = '\0';
    rest = strrchr(text, ')');
    if (rest == NULL || sscanf(rest + 1,
                               " %c %d %*d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
                               "%*d %*d %llu",
                               &state, &parent, &session, &start) != 4) {
        return false;
    }
    if (state == 'Z' || state == 'X') {
        return false;
    }
    *ret = (struct entry){.pid = pid, .parent = parent, .session = session, .start = start};
    return true;
}

static void read_all(struct entries *ret)
{
    DIR *dir = opendir("/proc");
    struct dirent *entry;
    struct entry row;

    if (dir == NULL) {
        return;
    }
    while ((entry = readdir(dir)) != NULL) {
        char *end;
        long pid = strtol(entry->d_name, &end, 10);

        if (pid > 0 && *end == '\0' && read_stat((pid_t)pid, &row)) {
            vec_push(ret, row);
        }
    }
    closedir(dir);
}

/* The environment block is "A=1\0B=2\0…". */
static bool has_marker(pid_t pid, const char *marker)
{
    enum { ENVIRON_ROOM = 256 * 1024 };
    CLEANUP(mem_freep) char *block = mem_new(ENVIRON_ROOM, 1);
    size_t len = strlen(marker);
    char path[64];
    ssize_t n;

    snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
    n = read_file(path, block, ENVIRON_ROOM - 1);
    for (ssize_t at = 0; at < n; at += (ssize_t)strlen(block + at) + 1) {
        if (strncmp(block + at, marker, len + 1) == 0) {
            return true;
        }
    }
    return false;
}

static bool in_session(const struct proctree_id *session, const struct entry *e)
{
    return session->pid != 0 && e->session == session->pid;
}

static int by_pid(const void *a, const void *b)
{
    const struct entry *x = a;
    const struct entry *y = b;

    return (x->pid > y->pid) - (x->pid < y->pid);
}

static bool parent_found(const struct entries *all, const struct entry *e, pid_t root)
{
    struct entry key = {.pid = e->parent};
    const struct entry *p;

    if (root != 0 && e->parent == root) {
        return true;
    }
    p = bsearch(&key, all->items, all->count, sizeof(all->items[0]), by_pid);
    return p != NULL && p->found;
}

/* Mark children of what is marked (or of the root) until nothing is new. */
static void mark_descendants(struct entries *all, pid_t root)
{
    bool more = all->count > 0;

    if (more) {
        qsort(all->items, all->count, sizeof(all->items[0]), by_pid);
    }
    while (more) {
        more = false;
        for (size_t i = 0; i < all->count; i++) {
            struct entry *e = &all->items[i];

            if (!e->found && parent_found(all, e, root)) {
                e->found = true;
                more = true;
            }
        }
    }
}

void proctree_find(const struct proctree_query *query, struct proctree_list *ret)
{
    struct entries all = {0};
    struct proctree_id session = query->session;
    pid_t self = getpid();

    if (session.pid != 0 && !proctree_alive(&session)) {
        session.pid = 0;
    }
    read_all(&all);
    for (size_t i = 0; i < all.count; i++) {
        struct entry *e = &all.items[i];

        e->found = e->pid != self && e->pid != query->root &&
                   (in_session(&session, e) ||
                    (query->marker != NULL && has_marker(e->pid, query->marker)));
    }
    mark_descendants(&all, query->root);
    for (size_t i = 0; i < all.count; i++) {
        const struct entry *e = &all.items[i];

        if (e->found && e->pid != self) {
            vec_push(ret, ((struct proctree_id){.pid = e->pid, .start = e->start}));
        }
    }
    vec_fini(&all);
}

uint64_t proctree_start(pid_t pid)
{
    struct entry e;

    return read_stat(pid, &e) ? e.start : 0;
}

bool proctree_alive(const struct proctree_id *id)
{
    uint64_t start = proctree_start(id->pid);

    return start != 0 && start == id->start;
}

/* The descriptor pins the process before its start time is looked at. */
bool proctree_signal(const struct proctree_id *id, int sig)
{
    int fd = (int)syscall(SYS_pidfd_open, id->pid, 0);
    bool ok;

    if (fd < 0 && errno != ENOSYS) {
        return false;
    }
    ok = proctree_alive(id);
    if (ok && fd >= 0) {
        ok = syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0) == 0;
    } else if (ok) {
        ok = kill(id->pid, sig) == 0;
    }
    if (fd >= 0) {
        close(fd);
    }
    return ok;
}

void proctree_boot(char ret[PROCTREE_BOOT_LEN])
{
    ssize_t n = read_file("/proc/sys/kernel/random/boot_id", ret, PROCTREE_BOOT_LEN - 1);

    ret[n > 0 ? n : 0] = '\0';
    ret[strcspn(ret, "\n")] = '\0';
}
