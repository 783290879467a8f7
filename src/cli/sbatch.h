/* sbatch - the #SBATCH lines of a script, read as sbatch reads them, as a job of muster.
 *
 * A task of the job stands for a node of Slurm: it is asked for as often as there are nodes, holds
 * what the lines ask of one node, and runs the script; `srun` in it starts that node's processes.
 * So a script for one node runs exactly once, with all its GPUs in sight, as under Slurm; one for
 * several nodes runs on each of them, where Slurm runs it on the first only.
 *
 * sbatch_read depends on nothing but its input (and the variables that --export names): no file, no
 * clock.  What has no equivalent is an error that names file and line and says what would be right;
 * a lenient reading leaves it out and notes it.
 */
#ifndef MUSTER_CLI_SBATCH_H
#define MUSTER_CLI_SBATCH_H

#include "base/str.h"
#include "cli/jobspec.h"

#include <stdbool.h>
#include <stdint.h>

struct sbatch_input {
    const char *file; /* its name in messages */
    const char *text;
    size_t len;
    const char *user; /* for %u in file names */
    const char *dir;  /* where the job is submitted: base of a relative --chdir */
    bool lenient;     /* leave out what has no equivalent */
};

struct sbatch_result {
    int lines;        /* #SBATCH lines that were read */
    int64_t nodes;    /* how often the script runs */
    int64_t procs;    /* what srun starts on each node */
    bool bare_env;    /* nothing is passed on but what is in the job's env */
    struct str notes; /* a line each, for people */
};

/* Add what the lines say to s, which stays as it is when there are none.  The caller ends
 * ret->notes with str_fini, after a failure too.  ERR_SYNTAX: a line is malformed.  ERR_INVALID,
 * ERR_RANGE: an option, its value, or what they ask for together.  s may then hold a part. */
MUST_CHECK int sbatch_read(struct jobspec *s, const struct sbatch_input *in,
                           struct sbatch_result *ret, struct err *err);

#endif
