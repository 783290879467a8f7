/* cgroup - the control group of one task, cgroup v2 only.
 *
 * Where the host mounts cgroup v2 a task gets a group of its own: it finds every process of the
 * task and kills them all at once, whatever they did to their environment, session or parent.
 * Limits (memory.max, pids.max, cpu.weight, cpu.max) hold only where the controllers belong to v2;
 * on a hybrid host they belong to v1, which is not supported, and the probe says so.  Access to
 * device files cannot be limited without BPF programs, which are not used: said too.
 */
#ifndef MUSTER_LOCAL_CGROUP_H
#define MUSTER_LOCAL_CGROUP_H

#include "base/err.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct cgroup_host {
    char base[PATH_MAX]; /* directory below which groups of tasks are made; "" = none can be */
    bool memory;
    bool pids;
    bool cpu;
    char text[512]; /* for people: what is enforced and what not, and why */
};

struct cgroup_limits { /* 0 = no limit */
    int64_t memory_bytes;
    int64_t pids_max;
    int64_t cpu_milli; /* the weight follows it */
    bool cpu_hard;     /* and it is a ceiling too */
};

/* Find cgroup v2 and make a directory NAME for our groups there, with the controllers it has. */
void cgroup_probe(const char *name, struct cgroup_host *ret);

/* Make the group BASE/NAME with its limits; those that the host cannot hold are left out.  ret is
 * its path.  ERR_IO. */
MUST_CHECK int cgroup_make(const char *base, const char *name, const struct cgroup_limits *limits,
                           char ret[PATH_MAX], struct err *err);

/* A supervisor that was given a group of its own (a delegated systemd unit): move it to a child, so
 * that its tasks can have another.  ret is the base for cgroup_make.  ERR_UNSUPPORTED, ERR_IO. */
MUST_CHECK int cgroup_split_own(char ret[PATH_MAX], struct err *err);

/* Move the calling process into the group; no allocation, for the time between fork and exec. */
bool cgroup_enter(const char *path);

/* SIGKILL to every process of the group. */
void cgroup_kill(const char *path);

/* No process is in the group or below it; also when there is no such group. */
bool cgroup_empty(const char *path);

/* True if the group's memory limit killed one of its processes. */
bool cgroup_out_of_memory(const char *path);

/* Remove the empty group and the empty groups below it. */
void cgroup_remove(const char *path);

#endif
