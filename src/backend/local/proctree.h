/* proctree - which processes of this machine belong to a task, read from /proc.
 *
 * A process is named by its pid and its start time, so that a pid that the kernel has given to
 * somebody else is never signalled.  Zombies count as gone: they hold nothing.
 */
#ifndef MUSTER_LOCAL_PROCTREE_H
#define MUSTER_LOCAL_PROCTREE_H

#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct proctree_id {
    pid_t pid;
    uint64_t start; /* clock ticks since boot, field 22 of /proc/PID/stat */
};

struct proctree_list {
    struct proctree_id *items;
    size_t count;
    size_t room;
};

struct proctree_query {
    pid_t root;                 /* its descendants (not itself); 0 = none */
    const char *marker;         /* "NAME=value" in the environment at exec; NULL = none */
    struct proctree_id session; /* the session led by this process, while it lives; pid 0 = none */
};

/* Append every process that matches one of the query's ways, except the caller. */
void proctree_find(const struct proctree_query *query, struct proctree_list *ret);

/* The start time of a pid, 0 = no such process, or a zombie. */
uint64_t proctree_start(pid_t pid);

/* True while this very process runs. */
bool proctree_alive(const struct proctree_id *id);

/* Signal this very process.  False: it is gone. */
bool proctree_signal(const struct proctree_id *id, int sig);

#define PROCTREE_BOOT_LEN 40
/* The id of this boot of the kernel, "" where it cannot be read: starts compare within one boot. */
void proctree_boot(char ret[PROCTREE_BOOT_LEN]);

#endif
