/* sbatchoption - every option that sbatch takes in a script, and what becomes of it in muster.
 *
 * One row an option: letter, name, whether it takes a value, what becomes of it, and one phrase:
 * for one that is refused, what would be right; else the field of a job that it sets, for the page
 * that lists them (doc/slurm-scripts.md, held to this table by a check).
 */
#ifndef MUSTER_CLI_SBATCHOPTION_H
#define MUSTER_CLI_SBATCHOPTION_H

#include <stddef.h>

enum sbatchoption_value { SBATCHOPTION_NO, SBATCHOPTION_NEEDED, SBATCHOPTION_MAY };

enum sbatchoption_fate {
    SBATCHOPTION_TAKEN,   /* has an equivalent */
    SBATCHOPTION_IDLE,    /* changes nothing here, as muster does it anyway or nobody sees it */
    SBATCHOPTION_REFUSED, /* has none: an error, or left out with a warning where that was asked */
};

#define SBATCHOPTION_TABLE(X) /* id, letter, name, value, fate, phrase */                          \
    X(ACCOUNT, 'A', "account", NEEDED, TAKEN, "queue")                                             \
    X(ARRAY, 'a', "array", NEEDED, TAKEN, "array")                                                 \
    X(CHDIR, 'D', "chdir", NEEDED, TAKEN, "dir")                                                   \
    X(COMMENT, 0, "comment", NEEDED, IDLE, "is for the eyes of sacct")                             \
    X(CPUS_PER_GPU, 0, "cpus-per-gpu", NEEDED, TAKEN, "cpus")                                      \
    X(CPUS_PER_TASK, 'c', "cpus-per-task", NEEDED, TAKEN, "cpus")                                  \
    X(ERROR, 'e', "error", NEEDED, TAKEN, "output")                                                \
    X(EXPORT, 0, "export", NEEDED, TAKEN, "env")                                                   \
    X(GPUS, 'G', "gpus", NEEDED, TAKEN, "gpus, model, mig")                                        \
    X(GPUS_PER_NODE, 0, "gpus-per-node", NEEDED, TAKEN, "gpus, model, mig")                        \
    X(GPUS_PER_TASK, 0, "gpus-per-task", NEEDED, TAKEN, "gpus, model, mig")                        \
    X(GRES, 0, "gres", NEEDED, TAKEN, "gpus, model, mig")                                          \
    X(HOLD, 'H', "hold", NO, TAKEN, "hold")                                                        \
    X(JOB_NAME, 'J', "job-name", NEEDED, TAKEN, "name")                                            \
    X(MAIL_TYPE, 0, "mail-type", NEEDED, TAKEN, "nothing: only NONE is taken")                     \
    X(MEM, 0, "mem", NEEDED, TAKEN, "memory")                                                      \
    X(MEM_PER_CPU, 0, "mem-per-cpu", NEEDED, TAKEN, "memory")                                      \
    X(MEM_PER_GPU, 0, "mem-per-gpu", NEEDED, TAKEN, "memory")                                      \
    X(NODELIST, 'w', "nodelist", NEEDED, TAKEN, "nodes")                                           \
    X(NODES, 'N', "nodes", NEEDED, TAKEN, "tasks")                                                 \
    X(NO_REQUEUE, 0, "no-requeue", NO, TAKEN, "preemptible: false, retries: 0")                    \
    X(NTASKS, 'n', "ntasks", NEEDED, TAKEN, "processes that srun starts")                          \
    X(NTASKS_PER_NODE, 0, "ntasks-per-node", NEEDED, TAKEN, "processes that srun starts")          \
    X(TASKS_PER_NODE, 0, "tasks-per-node", NEEDED, TAKEN, "another name of ntasks-per-node")       \
    X(OPEN_MODE, 0, "open-mode", NEEDED, TAKEN, "nothing: only append is taken")                   \
    X(OUTPUT, 'o', "output", NEEDED, TAKEN, "output")                                              \
    X(PARTITION, 'p', "partition", NEEDED, TAKEN, "pools")                                         \
    X(REQUEUE, 0, "requeue", NO, IDLE, "is what muster does")                                      \
    X(SIGNAL, 0, "signal", NEEDED, TAKEN, "signal, grace")                                         \
    X(TIME, 't', "time", NEEDED, TAKEN, "time_limit")                                              \
    X(IGNORE_PBS, 0, "ignore-pbs", NO, IDLE, "is what muster does")                                \
    X(QUIET, 'Q', "quiet", NO, IDLE, "is about the output of sbatch")                              \
    X(USE_MIN_NODES, 0, "use-min-nodes", NO, IDLE, "is what muster does")                          \
    X(VERBOSE, 'v', "verbose", NO, IDLE, "is about the output of sbatch")                          \
    X(WCKEY, 0, "wckey", NEEDED, IDLE, "is for the eyes of sacct")                                 \
    X(ACCTG_FREQ, 0, "acctg-freq", NEEDED, REFUSED, "muster counts from events: leave it out")     \
    X(BATCH, 0, "batch", NEEDED, REFUSED, "choose nodes with --label NAME=VALUE")                  \
    X(BB, 0, "bb", NEEDED, REFUSED, "muster has no burst buffers: copy in the script")             \
    X(BBF, 0, "bbf", NEEDED, REFUSED, "muster has no burst buffers: copy in the script")           \
    X(BEGIN, 'b', "begin", NEEDED, REFUSED, "submit with --hold and release it then")              \
    X(CLUSTERS, 'M', "clusters", NEEDED, REFUSED, "submit to the musterd of that cluster")         \
    X(CLUSTER_CONSTRAINT, 0, "cluster-constraint", NEEDED, REFUSED,                                \
      "submit to the musterd of that cluster")                                                     \
    X(CONSTRAINT, 'C', "constraint", NEEDED, REFUSED,                                              \
      "choose nodes with --label NAME=VALUE or --model NAME")                                      \
    X(CONTAINER, 0, "container", NEEDED, REFUSED, "start the container in the script")             \
    X(CONTIGUOUS, 0, "contiguous", NO, REFUSED, "keep nodes near with --topology required=LEVEL")  \
    X(CORES_PER_SOCKET, 0, "cores-per-socket", NEEDED, REFUSED, "ask with --cpus-per-task")        \
    X(CORE_SPEC, 'S', "core-spec", NEEDED, REFUSED, "leave it out")                                \
    X(CPU_FREQ, 0, "cpu-freq", NEEDED, REFUSED, "muster sets no clocks: leave it out")             \
    X(DEADLINE, 0, "deadline", NEEDED, REFUSED, "cancel it then: muster cancel JOB")               \
    X(DELAY_BOOT, 0, "delay-boot", NEEDED, REFUSED, "muster boots no nodes: leave it out")         \
    X(DEPENDENCY, 'd', "dependency", NEEDED, REFUSED,                                              \
      "muster has no dependencies yet: submit --wait the first job, then the next")                \
    X(DISTRIBUTION, 'm', "distribution", NEEDED, REFUSED, "ranks go by node: leave it out")        \
    X(EXCLUDE, 'x', "exclude", NEEDED, REFUSED, "name the nodes that may be used: --nodelist")     \
    X(EXCLUSIVE, 0, "exclusive", MAY, REFUSED, "ask for all GPUs, or the memory, of the node")     \
    X(EXPORT_FILE, 0, "export-file", NEEDED, REFUSED, "read the file in the script")               \
    X(EXTRA_NODE_INFO, 'B', "extra-node-info", NEEDED, REFUSED, "ask with --cpus-per-task")        \
    X(GET_USER_ENV, 0, "get-user-env", MAY, REFUSED, "read the profile in the script")             \
    X(GID, 0, "gid", NEEDED, REFUSED, "jobs run as the account of who submits them")               \
    X(GPU_BIND, 0, "gpu-bind", NEEDED, REFUSED, "bind with srun --gpus-per-task, or leave it out") \
    X(GPU_FREQ, 0, "gpu-freq", NEEDED, REFUSED, "muster sets no clocks: leave it out")             \
    X(GPUS_PER_SOCKET, 0, "gpus-per-socket", NEEDED, REFUSED, "ask with --gpus-per-node")          \
    X(GRES_FLAGS, 0, "gres-flags", NEEDED, REFUSED, "leave it out")                                \
    X(HINT, 0, "hint", NEEDED, REFUSED, "ask with --cpus-per-task")                                \
    X(INPUT, 'i', "input", NEEDED, REFUSED, "redirect it in the script: command < FILE")           \
    X(KILL_ON_INVALID_DEP, 0, "kill-on-invalid-dep", NEEDED, REFUSED,                              \
      "muster has no dependencies yet: leave it out")                                              \
    X(LICENSES, 'L', "licenses", NEEDED, REFUSED, "muster counts no licenses")                     \
    X(MAIL_USER, 0, "mail-user", NEEDED, REFUSED,                                                  \
      "muster sends no mail: wait with muster submit --wait, or leave it out")                     \
    X(MCS_LABEL, 0, "mcs-label", NEEDED, REFUSED, "leave it out")                                  \
    X(MEM_BIND, 0, "mem-bind", NEEDED, REFUSED, "bind with numactl in the script")                 \
    X(MINCPUS, 0, "mincpus", NEEDED, REFUSED, "ask with --cpus-per-task")                          \
    X(NETWORK, 0, "network", NEEDED, REFUSED, "leave it out")                                      \
    X(NICE, 0, "nice", MAY, REFUSED, "order jobs of a queue with --priority of muster")            \
    X(NODEFILE, 'F', "nodefile", NEEDED, REFUSED, "name the nodes: --nodelist")                    \
    X(NO_KILL, 'k', "no-kill", MAY, REFUSED, "an elastic job does that: --min-tasks of muster")    \
    X(NTASKS_PER_CORE, 0, "ntasks-per-core", NEEDED, REFUSED, "ask with --cpus-per-task")          \
    X(NTASKS_PER_GPU, 0, "ntasks-per-gpu", NEEDED, REFUSED, "say --ntasks-per-node and the GPUs")  \
    X(NTASKS_PER_SOCKET, 0, "ntasks-per-socket", NEEDED, REFUSED, "say --ntasks-per-node")         \
    X(OVERCOMMIT, 'O', "overcommit", NO, REFUSED, "ask for fewer CPUs: --cpus-per-task")           \
    X(OVERSUBSCRIBE, 's', "oversubscribe", NO, REFUSED, "share a GPU with --share of muster")      \
    X(PARSABLE, 0, "parsable", NO, REFUSED,                                                        \
      "it is for the command line: muster submit --parsable")                                      \
    X(POWER, 0, "power", NEEDED, REFUSED, "leave it out")                                          \
    X(PREFER, 0, "prefer", NEEDED, REFUSED, "choose nodes with --label NAME=VALUE")                \
    X(PRIORITY, 0, "priority", NEEDED, REFUSED,                                                    \
      "numbers mean something else here: order jobs of a queue with --priority of muster")         \
    X(PROFILE, 0, "profile", NEEDED, REFUSED, "leave it out")                                      \
    X(PROPAGATE, 0, "propagate", MAY, REFUSED, "set limits with ulimit in the script")             \
    X(QOS, 'q', "qos", NEEDED, REFUSED, "muster has no QOS: the queue is chosen by --account")     \
    X(REBOOT, 0, "reboot", NO, REFUSED, "muster boots no nodes: leave it out")                     \
    X(RESERVATION, 0, "reservation", NEEDED, REFUSED, "what is reserved belongs to the queue")     \
    X(SOCKETS_PER_NODE, 0, "sockets-per-node", NEEDED, REFUSED, "ask with --cpus-per-task")        \
    X(SPREAD_JOB, 0, "spread-job", NO, REFUSED, "say --nodes and --ntasks-per-node")               \
    X(SWITCHES, 0, "switches", NEEDED, REFUSED, "keep nodes near with --topology required=LEVEL")  \
    X(TEST_ONLY, 0, "test-only", NO, REFUSED, "it is for the command line: submit --dry-run")      \
    X(THREADS_PER_CORE, 0, "threads-per-core", NEEDED, REFUSED, "ask with --cpus-per-task")        \
    X(THREAD_SPEC, 0, "thread-spec", NEEDED, REFUSED, "leave it out")                              \
    X(TIME_MIN, 0, "time-min", NEEDED, REFUSED, "say how long it will likely run: --predicted")    \
    X(TMP, 0, "tmp", NEEDED, REFUSED, "muster counts no disk space")                               \
    X(UID, 0, "uid", NEEDED, REFUSED, "jobs run as the account of who submits them")               \
    X(WAIT, 'W', "wait", NO, REFUSED, "it is for the command line: muster submit --wait")          \
    X(WAIT_ALL_NODES, 0, "wait-all-nodes", NEEDED, REFUSED, "a gang starts whole: leave it out")   \
    X(WRAP, 0, "wrap", NEEDED, REFUSED, "it is for the command line: muster submit -- COMMAND")

enum sbatchoption_id {
#define SBATCHOPTION_ENUM(id, letter, name, value, fate, phrase) SBATCHOPTION_##id,
    SBATCHOPTION_TABLE(SBATCHOPTION_ENUM)
#undef SBATCHOPTION_ENUM
        SBATCHOPTION_COUNT
};

struct sbatchoption {
    int letter; /* 0 = none */
    const char *name;
    enum sbatchoption_value value;
    enum sbatchoption_fate fate;
    const char *phrase;
};

extern const struct sbatchoption SBATCHOPTIONS[SBATCHOPTION_COUNT];

/* The number of the option with this long name or an abbreviation of it that fits no other, as
 * getopt_long takes them; -1 = none, -2 = several. */
int sbatchoption_find(const char *name, size_t len);
/* By its letter, or -1. */
int sbatchoption_letter(char letter);

#endif
