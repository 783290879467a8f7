/* jobspec - one table of what a job may ask for, read from options, #MUSTER lines and job files.
 *
 * A jobspec is the JSON body of POST /v1/jobs as far as it is known, and for each field where it
 * was said ("train.sh:3", "job.yaml:7:3", "--gpus"), so that a refusal by the server can name it.
 * The server decides what is possible; what is checked here is form: known names, whole numbers,
 * times, amounts.
 */
#ifndef MUSTER_CLI_JOBSPEC_H
#define MUSTER_CLI_JOBSPEC_H

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum jobspec_kind {
    JOBSPEC_TEXT,
    JOBSPEC_INT,
    JOBSPEC_SPAN,   /* 12h */
    JOBSPEC_GPUS,   /* 0.5, 1/7 */
    JOBSPEC_CPUS,   /* 2, 500m */
    JOBSPEC_BYTES,  /* 8Gi */
    JOBSPEC_FLAG,   /* no value; true */
    JOBSPEC_UNFLAG, /* no value; false */
    JOBSPEC_LIST,   /* texts, several times or with commas */
    JOBSPEC_PAIRS,  /* k=v, several times */
    JOBSPEC_TOPOLOGY,
    JOBSPEC_ENV,    /* NAME or NAME=VALUE */
    JOBSPEC_ARGV,   /* job files only: a list of texts that keeps commas */
    JOBSPEC_GROUPS, /* job files only */
};

/* symbol, letter, option (NULL = job files only), value name, field, kind, of a task group, help */
#define JOBSPEC_OPTIONS(X)                                                                         \
    X(QUEUE, 'q', "queue", "NAME", "queue", TEXT, false, "the queue to submit to")                 \
    X(NAME, 'n', "name", "NAME", "name", TEXT, false, "a name for people")                         \
    X(GPUS, 'g', "gpus", "N", "gpus", INT, true, "whole GPUs of each task")                        \
    X(TASKS, 't', "tasks", "N", "tasks", INT, true, "tasks of the gang (default 1)")               \
    X(MIN_TASKS, 0, "min-tasks", "N", "min_tasks", INT, true,                                      \
      "run with so few tasks, grow to --tasks (elastic)")                                          \
    X(MIG, 0, "mig", "PROFILE", "mig", TEXT, true, "a MIG slice for each task, e.g. 1g.10gb")      \
    X(SLICES, 0, "slices", "N", "slices", INT, true, "MIG slices of each task (default 1)")        \
    X(SHARE, 0, "share", "PART", "share", GPUS, true, "a part of a GPU, e.g. 0.5 or 1/7")          \
    X(SHARE_MEMORY, 0, "share-memory", "SIZE", "share_memory", BYTES, true,                        \
      "GPU memory of the part, e.g. 10Gi")                                                         \
    X(MPS, 0, "mps", NULL, "mps", FLAG, true, "share by MPS instead of time slices")               \
    X(CPUS, 'c', "cpus", "N", "cpus", CPUS, true, "CPUs of each task, e.g. 2 or 500m")             \
    X(MEMORY, 'm', "memory", "SIZE", "memory", BYTES, true, "host memory of each task, e.g. 8Gi")  \
    X(MODEL, 0, "model", "NAME", "model", TEXT, true, "only this GPU model, e.g. h100-80gb")       \
    X(LABEL, 0, "label", "NAME=VALUE", "labels", PAIRS, true, "only nodes with this label")        \
    X(NODE, 0, "node", "NAME[,NAME]", "nodes", LIST, true, "only these nodes")                     \
    X(TOPOLOGY, 0, "topology", "required=LEVEL", "topology", TOPOLOGY, true,                       \
      "keep tasks in one rack, node, ...: required=LEVEL or preferred=LEVEL")                      \
    X(POOL, 0, "pool", "NAME[,NAME]", "pools", LIST, false, "only these pools, in this order")     \
    X(PRIORITY, 'p', "priority", "N", "priority", INT, false, "before lower ones of its queue")    \
    X(CLASS, 0, "class", "CLASS", "class", TEXT, false, "training (default), service, workspace")  \
    X(NONPREEMPTIBLE, 0, "non-preemptible", NULL, "preemptible", UNFLAG, false,                    \
      "never taken back, so never beyond the queue's reserve")                                     \
    X(PREEMPTIBLE, 0, "preemptible", NULL, "preemptible", FLAG, false,                             \
      "may be taken back (default for training)")                                                  \
    X(INDEPENDENT, 0, "independent", NULL, "independent", FLAG, false,                             \
      "the tasks do not talk to each other (needed for gangs on slices)")                          \
    X(SANDBOX, 0, "sandbox", NULL, "sandbox", FLAG, false,                                         \
      "fence the tasks off from the rest of their node")                                           \
    X(TIME, 'T', "time", "TIME", "time_limit", SPAN, false,                                        \
      "stop each attempt after this time, e.g. 12h; 0 is no limit")                                \
    X(PREDICTED, 0, "predicted", "TIME", "predicted", SPAN, false, "how long it will likely run")  \
    X(GRACE, 0, "grace", "TIME", "grace", SPAN, false, "time between signal and kill, e.g. 60s")   \
    X(SIGNAL, 0, "signal", "NAME", "signal", TEXT, false, "what tells it to stop, e.g. USR1")      \
    X(RETRIES, 0, "retries", "N", "retries", INT, false, "start again so often after a failure")   \
    X(ARRAY, 0, "array", "FIRST-LAST", "array", TEXT, false, "several jobs, e.g. 0-9")             \
    X(HOLD, 0, "hold", NULL, "hold", FLAG, false, "do not start before `muster release`")          \
    X(ENV, 'e', "env", "NAME[=VALUE]", "env", ENV, false, "pass or set an environment variable")   \
    X(DIR, 0, "dir", "PATH", "dir", TEXT, false, "working directory (default: this one)")          \
    X(OUTPUT, 0, "output", "PATTERN", "output", TEXT, false, "write the logs there too")

#define JOBSPEC_FILE_ONLY(X)                                                                       \
    X(COMMAND, 0, NULL, NULL, "command", ARGV, false, "")                                          \
    X(SCRIPT, 0, NULL, NULL, "script", TEXT, false, "")                                            \
    X(ARGS, 0, NULL, NULL, "args", ARGV, false, "")                                                \
    X(GROUPS, 0, NULL, NULL, "groups", GROUPS, false, "")

#define JOBSPEC_TABLE(X) JOBSPEC_OPTIONS(X) JOBSPEC_FILE_ONLY(X)

enum jobspec_id {
#define JOBSPEC_ENUM(id, key, option, arg, field, kind, group, help) JOBSPEC_ID_##id,
    JOBSPEC_TABLE(JOBSPEC_ENUM)
#undef JOBSPEC_ENUM
        JOBSPEC_ID_COUNT
};

/* A row as argp sees it; an option without a letter gets a key that no letter has. */
#define JOBSPEC_ARGP(id, letter, option, arg, field, kind, group, help)                            \
    {option, (letter) != 0 ? (letter) : 200000 + JOBSPEC_ID_##id, arg, 0, help, 2},

struct jobspec_field {
    const char *option;
    const char *field;
    const char *help;
    int letter;
    enum jobspec_kind kind;
    bool group;
};

extern const struct jobspec_field JOBSPEC_FIELDS[JOBSPEC_ID_COUNT];

struct jobspec {
    json_t *body;   /* object */
    json_t *origin; /* field → where it was said */
};

void jobspec_init(struct jobspec *s);
void jobspec_fini(struct jobspec *s);

/* The row of "--gpus", "gpus" (long) or "-g", or NULL. */
const struct jobspec_field *jobspec_option(const char *name, size_t len);
/* The row of a member of a job file, or NULL; of a task group where group is set. */
const struct jobspec_field *jobspec_member(const char *name, bool group);

/* The JSON value of a text.  ERR_INVALID, ERR_RANGE: the text alone, without where it stands. */
MUST_CHECK int jobspec_value(const struct jobspec_field *f, const char *text, json_t **ret,
                             struct err *err);
/* Set a field as an option does; a list or a map gets one more.  at = where ("train.sh:3"), NULL
 * for an option of the command line. */
MUST_CHECK int jobspec_set(struct jobspec *s, const struct jobspec_field *f, const char *value,
                           const char *at, struct err *err);
/* What over says replaces what s says (one of gpus, mig and share replaces the others); maps are
 * joined.  ERR_INVALID: group options over a file that has `groups`. */
MUST_CHECK int jobspec_merge(struct jobspec *s, const struct jobspec *over, struct err *err);
/* Where the field that a problem names was said, "" = not known. */
const char *jobspec_origin(const struct jobspec *s, const char *field);

#endif
