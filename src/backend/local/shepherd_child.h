/* shepherd_child - the main process of a task: fork, become the account, exec. */
#ifndef MUSTER_LOCAL_SHEPHERD_CHILD_H
#define MUSTER_LOCAL_SHEPHERD_CHILD_H

#include "backend/local/shepherd_spec.h"

struct shepherd_child {
    pid_t pid;  /* leads its own session and process group */
    int out_fd; /* its standard output, to read, non-blocking */
    int err_fd;
};

/* Start it in the control group (path, "" = none).  A program that cannot be executed has started
 * all the same: it says so on its standard error and ends with 127 or 126, as in a shell.
 * ERR_IO: this machine cannot (no process, no group); ERR_FORBIDDEN: it cannot become the account;
 * ERR_NOT_FOUND: the working directory cannot be entered; ERR_UNSUPPORTED: this machine makes no
 * sandbox, which is tried with a command that does nothing first. */
MUST_CHECK int shepherd_child_start(const struct shepherd_spec *spec, const char *cgroup,
                                    struct shepherd_child *ret, struct err *err);

/* Open the job's own output file with the rights of the account.  ERR_FORBIDDEN. */
MUST_CHECK int shepherd_child_open_output(const struct shepherd_spec *spec, int *ret_fd,
                                          struct err *err);

#endif
