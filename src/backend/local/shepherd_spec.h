/* shepherd_spec - what a supervisor is told: one JSON file in the task's control directory.
 *
 * musterd writes it, muster-shepherd reads it.  Unknown members are ignored and missing ones have
 * defaults, so that a supervisor of one release works with the musterd of the next.
 */
#ifndef MUSTER_LOCAL_SHEPHERD_SPEC_H
#define MUSTER_LOCAL_SHEPHERD_SPEC_H

#include "backend/local/cgroup.h"
#include "base/err.h"

#include <jansson.h>
#include <sys/types.h>

#define SHEPHERD_SPEC_MAX   (4 * 1024 * 1024)
#define SHEPHERD_GROUPS_MAX 256

struct shepherd_spec {
    const char *key;  /* "JOB.ATTEMPT.TASK" */
    const char *mark; /* "MUSTER_TASK_KEY=…", also in env */
    const char *boot; /* this boot of the kernel as musterd sees it, "" or NULL = not told */
    bool switch_account;
    uid_t uid;
    gid_t gid;
    gid_t groups[SHEPHERD_GROUPS_MAX];
    size_t group_count;
    char **argv;        /* ends with NULL */
    int64_t fence_args; /* so many of argv make the sandbox for what follows, 0 = there is none */
    char **env;         /* ends with NULL */
    const char *dir;
    const char *log_dir;
    const char *log_stem; /* files are log_dir/STEM.stdout and .stderr */
    const char *output;   /* a copy of both streams as the account, "" = none */
    int64_t log_file_bytes;
    int64_t log_files;
    const char *cgroup; /* "" = none, "self" = split the own one, else the base directory */
    struct cgroup_limits limits;
};

/* The spec as JSON.  ERR_INVALID: a text is not UTF-8. */
MUST_CHECK int shepherd_spec_write(const struct shepherd_spec *spec, char **ret, struct err *err);

struct shepherd_spec_file { /* a spec that was read, and what its texts lie in */
    struct shepherd_spec spec;
    json_t *root;
};

/* ERR_SYNTAX, ERR_INVALID. */
MUST_CHECK int shepherd_spec_read(const char *text, struct shepherd_spec_file *ret,
                                  struct err *err);
void shepherd_spec_fini(struct shepherd_spec_file *f);

#endif
