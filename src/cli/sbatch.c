/* sbatch - what the options of a script mean together.  First how many nodes there are and how many
 * processes on each, since most amounts are of one node, one process or one GPU. */
#include "cli/sbatch.h"

#include "base/check.h"
#include "base/mem.h"
#include "cli/sbatchline.h"
#include "cli/sbatchvalue.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct reading {
    const struct sbatch_input *in;
    struct sbatch_result *ret;
    struct jobspec *spec;
    struct sbatchline lines;
    struct sbatchvalue_gpus gpus; /* of one node */
};

/* ---- what is said about a line ---- */

static void note(struct reading *b, int line, const char *name, const char *text)
{
    str_addf(&b->ret->notes, "%s:%d: %s%s%s\n", b->in->file, line, name,
             name[0] != '\0' ? ": " : "", text);
}

static int fail(const struct reading *b, int id, enum err_code code, const char *text,
                struct err *err)
{
    return err_set(err, code, "%s:%d: #SBATCH --%s: %s", b->in->file, b->lines.given[id].line,
                   SBATCHOPTIONS[id].name, text);
}

static int failf(const struct reading *b, int id, struct err *err, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

static int failf(const struct reading *b, int id, struct err *err, const char *fmt, ...)
{
    char text[ERR_TEXT_MAX];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    return fail(b, id, ERR_INVALID, text, err);
}

/* There is no equivalent: the end of the reading, or a note. */
static int refuse(struct reading *b, int id, const char *text, struct err *err)
{
    struct str name = {0};

    if (!b->in->lenient) {
        return failf(b, id, err, "%s (--sbatch=lenient leaves it out)", text);
    }
    str_addf(&name, "#SBATCH --%s is left out", SBATCHOPTIONS[id].name);
    note(b, b->lines.given[id].line, str_text(&name), text);
    str_fini(&name);
    return 0;
}

/* What a value function answered, as the answer of the option. */
static int judge(struct reading *b, int id, int rc, const struct err *why, struct err *err)
{
    if (rc == 0) {
        return 0;
    }
    return rc == ERR_UNSUPPORTED ? refuse(b, id, why->text, err)
                                 : fail(b, id, why->code, why->text, err);
}

/* ---- fields ---- */

static const char *value_of(const struct reading *b, int id)
{
    return b->lines.given[id].value;
}

/* Set a member of the body; the line of option id is where it was said. */
static void put(struct reading *b, int id, const char *field, json_t *value)
{
    struct str at = {0};

    str_addf(&at, "%s:%d", b->in->file, b->lines.given[id].line);
    json_object_set_new(b->spec->body, field, value);
    json_object_set_new(b->spec->origin, field, json_string(str_text(&at)));
    str_fini(&at);
}

static void put_env(struct reading *b, const char *name, const char *value)
{
    json_t *env = json_object_get(b->spec->body, "env");

    if (env == NULL) {
        env = json_object();
        json_object_set_new(b->spec->body, "env", env);
    }
    json_object_set_new(env, name, json_string(value));
}

static void put_env_int(struct reading *b, const char *name, int64_t value)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRId64, value);
    put_env(b, name, text);
}

/* A count, 0 where the option is not given. */
static int count_of(struct reading *b, int id, int64_t *ret, struct err *err)
{
    struct err why;

    *ret = 0;
    if (value_of(b, id) == NULL) {
        return 0;
    }
    return judge(b, id, sbatchvalue_count(value_of(b, id), 1, ret, &why), &why, err);
}

static int memory_of(struct reading *b, int id, int64_t *ret, struct err *err)
{
    struct err why;

    *ret = 0;
    if (value_of(b, id) == NULL) {
        return 0;
    }
    return judge(b, id, sbatchvalue_memory(value_of(b, id), ret, &why), &why, err);
}

/* ---- nodes and processes ---- */

/* "4" or "4-4"; muster takes no range. */
static int nodes_of(struct reading *b, int64_t *ret, struct err *err)
{
    const char *text = value_of(b, SBATCHOPTION_NODES);
    const char *dash = text != NULL ? strchr(text, '-') : NULL;
    CLEANUP(mem_freep) char *first = NULL;
    struct err why;
    int rc;

    *ret = 0;
    if (text == NULL) {
        return 0;
    }
    first = mem_text_n(text, dash != NULL ? (size_t)(dash - text) : strlen(text));
    rc = sbatchvalue_count(first, 1, ret, &why);
    if (rc == 0 && dash != NULL && strcmp(first, dash + 1) != 0) {
        return failf(b, SBATCHOPTION_NODES, err,
                     "'%.60s': give one number; a job that may run on fewer is elastic "
                     "(--min-tasks of muster)",
                     text);
    }
    return judge(b, SBATCHOPTION_NODES, rc, &why, err);
}

/* "--gpus=8 --gpus-per-task=2" says how many tasks there are. */
static int64_t tasks_by_gpus(const struct reading *b)
{
    const char *total = value_of(b, SBATCHOPTION_GPUS);
    const char *each = value_of(b, SBATCHOPTION_GPUS_PER_TASK);
    struct sbatchvalue_gpus all, one;

    if (total == NULL || each == NULL || sbatchvalue_gpus(total, false, &all, NULL) != 0 ||
        sbatchvalue_gpus(each, false, &one, NULL) != 0 || one.count < 1) {
        return 0; /* what is wrong with them is said where they are read */
    }
    return all.count / one.count;
}

static int read_layout(struct reading *b, struct err *err)
{
    int64_t nodes = 0, tasks = 0, each = 0;
    int rc = nodes_of(b, &nodes, err);

    rc = rc != 0 ? rc : count_of(b, SBATCHOPTION_NTASKS, &tasks, err);
    rc = rc != 0 ? rc : count_of(b, SBATCHOPTION_NTASKS_PER_NODE, &each, err);
    if (rc != 0) {
        return rc;
    }
    tasks = tasks == 0 ? tasks_by_gpus(b) : tasks;
    if (nodes == 0) {
        nodes = tasks > 0 && each > 0 ? (tasks + each - 1) / each : 1;
    }
    if (tasks > 0 && tasks % nodes != 0) {
        return failf(b, SBATCHOPTION_NTASKS, err,
                     "%" PRId64 " tasks cannot be spread evenly over %" PRId64
                     " nodes: muster's nodes of a job are alike; choose a multiple",
                     tasks, nodes);
    }
    if (tasks > 0 && each > 0 && tasks / nodes > each) {
        return failf(b, SBATCHOPTION_NTASKS_PER_NODE, err,
                     "%" PRId64 " tasks on %" PRId64 " nodes are more than %" PRId64 " on each",
                     tasks, nodes, each);
    }
    each = tasks > 0 ? tasks / nodes : each;
    b->ret->nodes = nodes;
    b->ret->procs = each > 0 ? each : 1;
    if (nodes > 1) {
        int id = value_of(b, SBATCHOPTION_NODES) != NULL ? SBATCHOPTION_NODES : SBATCHOPTION_NTASKS;

        put(b, id, "tasks", json_integer(nodes));
    }
    put_env_int(b, "SLURM_NTASKS_PER_NODE", b->ret->procs);
    put_env(b, "SLURM_SUBMIT_DIR", b->in->dir);
    return 0;
}

/* ---- GPUs ---- */

/* What option id says about the GPUs of one node; each must agree with those before. */
static int take_gpus(struct reading *b, int id, int *ret_from, struct err *err)
{
    struct sbatchvalue_gpus g;
    struct err why;
    int rc;

    if (value_of(b, id) == NULL) {
        return 0;
    }
    rc = sbatchvalue_gpus(value_of(b, id), id == SBATCHOPTION_GRES, &g, &why);
    if (rc != 0) {
        return judge(b, id, rc, &why, err);
    }
    if (id == SBATCHOPTION_GPUS_PER_TASK) {
        put_env_int(b, "SLURM_GPUS_PER_TASK", g.count);
        g.count *= b->ret->procs;
    } else if (id == SBATCHOPTION_GPUS) {
        if (g.count % b->ret->nodes != 0) {
            return failf(b, id, err,
                         "%" PRId64 " GPUs cannot be spread evenly over %" PRId64
                         " nodes: choose a multiple",
                         g.count, b->ret->nodes);
        }
        g.count /= b->ret->nodes;
    }
    if (*ret_from >= 0 &&
        (g.count != b->gpus.count ||
         (g.type[0] != '\0' && b->gpus.type[0] != '\0' && strcmp(g.type, b->gpus.type) != 0))) {
        return failf(b, id, err,
                     "gives each node %" PRId64 " GPUs%s%s, but --%s gives %" PRId64
                     "%s%s: say it once",
                     g.count, g.type[0] != '\0' ? " " : "", g.type, SBATCHOPTIONS[*ret_from].name,
                     b->gpus.count, b->gpus.type[0] != '\0' ? " " : "", b->gpus.type);
    }
    if (*ret_from < 0 || b->gpus.type[0] == '\0') {
        b->gpus = g;
    }
    *ret_from = id;
    return 0;
}

static int read_gpus(struct reading *b, struct err *err)
{
    static const int FROM[] = {SBATCHOPTION_GRES, SBATCHOPTION_GPUS_PER_NODE,
                               SBATCHOPTION_GPUS_PER_TASK, SBATCHOPTION_GPUS};
    int from = -1;

    for (size_t i = 0; i < ARRAY_LEN(FROM); i++) {
        int rc = take_gpus(b, FROM[i], &from, err);

        if (rc != 0) {
            return rc;
        }
    }
    if (from < 0 || b->gpus.count == 0) {
        return 0;
    }
    if (sbatchvalue_is_profile(b->gpus.type)) {
        put(b, from, "mig", json_string(b->gpus.type));
        if (b->gpus.count > 1) {
            put(b, from, "slices", json_integer(b->gpus.count));
        }
        return 0;
    }
    put(b, from, "gpus", json_integer(b->gpus.count));
    if (b->gpus.type[0] != '\0') {
        put(b, from, "model", json_string(b->gpus.type));
    }
    return 0;
}

/* ---- CPUs and memory ---- */

static int read_cpus(struct reading *b, int64_t *ret_each, struct err *err)
{
    int64_t per_task = 0, per_gpu = 0;
    int rc = count_of(b, SBATCHOPTION_CPUS_PER_TASK, &per_task, err);
    int id = SBATCHOPTION_CPUS_PER_TASK;
    char text[24];

    rc = rc != 0 ? rc : count_of(b, SBATCHOPTION_CPUS_PER_GPU, &per_gpu, err);
    if (rc != 0) {
        return rc;
    }
    if (per_gpu > 0 && per_task > 0) {
        return fail(b, SBATCHOPTION_CPUS_PER_GPU, ERR_INVALID, "not together with --cpus-per-task",
                    err);
    }
    if (per_gpu > 0 && b->gpus.count == 0) {
        return fail(b, SBATCHOPTION_CPUS_PER_GPU, ERR_INVALID, "the job asks for no GPU", err);
    }
    *ret_each = per_task;
    if (per_task > 0) {
        put_env_int(b, "SLURM_CPUS_PER_TASK", per_task);
        per_task *= b->ret->procs;
    } else if (per_gpu > 0) {
        id = SBATCHOPTION_CPUS_PER_GPU;
        per_task = per_gpu * b->gpus.count;
    } else {
        return 0;
    }
    snprintf(text, sizeof(text), "%" PRId64, per_task);
    put(b, id, "cpus", json_string(text));
    return 0;
}

static int read_memory(struct reading *b, int64_t cpus_each, struct err *err)
{
    static const int FROM[] = {SBATCHOPTION_MEM, SBATCHOPTION_MEM_PER_CPU,
                               SBATCHOPTION_MEM_PER_GPU};
    int64_t times[] = {1, b->ret->procs * (cpus_each > 0 ? cpus_each : 1), b->gpus.count};
    int64_t bytes = 0;
    int from = -1;
    char text[32];

    for (size_t i = 0; i < ARRAY_LEN(FROM); i++) {
        int64_t one = 0;
        int rc = memory_of(b, FROM[i], &one, err);

        if (rc != 0 || value_of(b, FROM[i]) == NULL) {
            if (rc != 0) {
                return rc;
            }
            continue;
        }
        if (from >= 0) {
            return failf(b, FROM[i], err, "not together with --%s", SBATCHOPTIONS[from].name);
        }
        if (times[i] == 0) {
            return fail(b, FROM[i], ERR_INVALID, "the job asks for no GPU", err);
        }
        if (one == 0) {
            return fail(b, FROM[i], ERR_INVALID,
                        "0 is all memory of a node, which muster does not give: say how much", err);
        }
        if (one > INT64_MAX / times[i]) {
            return fail(b, FROM[i], ERR_RANGE, "is more than any node has", err);
        }
        bytes = one * times[i];
        from = FROM[i];
    }
    if (from >= 0) {
        snprintf(text, sizeof(text), "%" PRId64, bytes);
        put(b, from, "memory", json_string(text));
        put_env_int(b, "SLURM_MEM_PER_NODE", bytes >> 20);
    }
    return 0;
}

/* ---- names, times, files ---- */

static int read_time(struct reading *b, struct err *err)
{
    const char *text = value_of(b, SBATCHOPTION_TIME);
    struct err why;
    int64_t seconds = 0;
    char span[32];
    int rc;

    if (text == NULL) {
        return 0;
    }
    rc = sbatchvalue_time(text, &seconds, &why);
    if (rc != 0) {
        return judge(b, SBATCHOPTION_TIME, rc, &why, err);
    }
    snprintf(span, sizeof(span), "%" PRId64 "%s", seconds, seconds > 0 ? "s" : "");
    put(b, SBATCHOPTION_TIME, "time_limit", json_string(span));
    return 0;
}

static int read_signal(struct reading *b, struct err *err)
{
    const char *text = value_of(b, SBATCHOPTION_SIGNAL);
    struct sbatchvalue_signal signal;
    struct err why;
    char span[32];
    int rc;

    if (text == NULL) {
        return 0;
    }
    rc = sbatchvalue_signal(text, &signal, &why);
    if (rc != 0) {
        return judge(b, SBATCHOPTION_SIGNAL, rc, &why, err);
    }
    if (signal.early) {
        rc = refuse(b, SBATCHOPTION_SIGNAL, "muster has no reservations: leave out R:", err);
    }
    snprintf(span, sizeof(span), "%" PRId64 "%s", signal.grace_s, signal.grace_s > 0 ? "s" : "");
    put(b, SBATCHOPTION_SIGNAL, "signal", json_string(signal.name));
    put(b, SBATCHOPTION_SIGNAL, "grace", json_string(span));
    return rc;
}

static int read_array(struct reading *b, struct err *err)
{
    const char *text = value_of(b, SBATCHOPTION_ARRAY);
    struct sbatchvalue_array array;
    struct err why;
    int rc;

    if (text == NULL) {
        return 0;
    }
    rc = sbatchvalue_array(text, &array, &why);
    if (rc != 0) {
        return judge(b, SBATCHOPTION_ARRAY, rc, &why, err);
    }
    if (array.at_once > 0) {
        rc = refuse(b, SBATCHOPTION_ARRAY,
                    "muster does not bound how many elements run at once (%N): the queue's limit "
                    "does that",
                    err);
    }
    put(b, SBATCHOPTION_ARRAY, "array", json_string(str_text(&array.list)));
    put_env_int(b, "SLURM_ARRAY_TASK_COUNT", array.count);
    put_env_int(b, "SLURM_ARRAY_TASK_MIN", array.first);
    put_env_int(b, "SLURM_ARRAY_TASK_MAX", array.last);
    put_env_int(b, "SLURM_ARRAY_TASK_STEP", array.step);
    str_fini(&array.list);
    return rc;
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

static int read_name(struct reading *b, struct err *err)
{
    const char *text = value_of(b, SBATCHOPTION_JOB_NAME);
    struct str name = {0};
    int rc = 0;

    if (text == NULL) {
        return 0;
    }
    sbatchvalue_name(text, &name);
    if (name.len == 0) {
        rc = failf(b, SBATCHOPTION_JOB_NAME, err, "'%.60s' holds no letter or digit", text);
    } else {
        put(b, SBATCHOPTION_JOB_NAME, "name", json_string(str_text(&name)));
    }
    str_fini(&name);
    return rc;
}

/* One file takes both streams, as under Slurm unless --error names another. */
static int read_output(struct reading *b, struct err *err)
{
    const char *output = value_of(b, SBATCHOPTION_OUTPUT);
    const char *error = value_of(b, SBATCHOPTION_ERROR);
    const char *name = value_of(b, SBATCHOPTION_JOB_NAME);
    bool array = value_of(b, SBATCHOPTION_ARRAY) != NULL;
    struct sbatchvalue_names names = {name != NULL ? name : base_of(b->in->file), b->in->user};
    struct str pattern = {0};
    struct err why;
    int rc = 0;

    if (error != NULL && (output == NULL || strcmp(output, error) != 0)) {
        rc = refuse(b, SBATCHOPTION_ERROR,
                    "muster writes both streams to the file of --output; `muster logs --stderr` "
                    "shows one",
                    err);
    }
    if (rc != 0) {
        return rc;
    }
    if (output == NULL) {
        output = array ? "slurm-%A_%a.out" : "slurm-%j.out";
        b->lines.given[SBATCHOPTION_OUTPUT].line = 1;
    }
    rc = sbatchvalue_pattern(output, &names, &pattern, &why);
    if (rc == 0) {
        put(b, SBATCHOPTION_OUTPUT, "output", json_string(str_text(&pattern)));
    }
    str_fini(&pattern);
    return judge(b, SBATCHOPTION_OUTPUT, rc, &why, err);
}

static int read_places(struct reading *b, struct err *err)
{
    const char *dir = value_of(b, SBATCHOPTION_CHDIR);
    const char *nodes = value_of(b, SBATCHOPTION_NODELIST);
    const char *pools = value_of(b, SBATCHOPTION_PARTITION);
    json_t *list = NULL;
    struct err why;
    int rc;

    if (dir != NULL) {
        put(b, SBATCHOPTION_CHDIR, "dir",
            dir[0] == '/' ? json_string(dir) : json_sprintf("%s/%s", b->in->dir, dir));
    }
    if (value_of(b, SBATCHOPTION_ACCOUNT) != NULL) {
        put(b, SBATCHOPTION_ACCOUNT, "queue", json_string(value_of(b, SBATCHOPTION_ACCOUNT)));
    }
    if (pools != NULL) {
        rc = jobspec_value(&JOBSPEC_FIELDS[JOBSPEC_ID_POOL], pools, &list, &why);
        if (rc != 0) {
            return judge(b, SBATCHOPTION_PARTITION, rc, &why, err);
        }
        put(b, SBATCHOPTION_PARTITION, "pools", list);
    }
    if (nodes != NULL) {
        rc = sbatchvalue_nodes(nodes, &list, &why);
        if (rc != 0) {
            return judge(b, SBATCHOPTION_NODELIST, rc, &why, err);
        }
        put(b, SBATCHOPTION_NODELIST, "nodes", list);
    }
    return 0;
}

/* ---- the environment ---- */

/* ALL is muster's own way, NONE passes nothing on, a list only what it names (and ALL beside). */
static int read_export(struct reading *b, struct err *err)
{
    const char *at = value_of(b, SBATCHOPTION_EXPORT);
    bool all = false;
    struct err why;

    if (at == NULL) {
        return 0;
    }
    if (strcmp(at, "NONE") == 0 || strcmp(at, "NIL") == 0) {
        b->ret->bare_env = true;
        return 0;
    }
    for (;;) {
        size_t len = strcspn(at, ",");
        CLEANUP(mem_freep) char *item = mem_text_n(at, len);
        json_t *pair = NULL;

        if (strcmp(item, "ALL") == 0) {
            all = true;
        } else {
            int rc = jobspec_value(&JOBSPEC_FIELDS[JOBSPEC_ID_ENV], item, &pair, &why);

            if (rc != 0) {
                return judge(b, SBATCHOPTION_EXPORT, rc, &why, err);
            }
            put_env(b, json_object_iter_key(json_object_iter(pair)),
                    json_string_value(json_object_iter_value(json_object_iter(pair))));
            json_decref(pair);
        }
        if (at[len] == '\0') {
            break;
        }
        at += len + 1;
    }
    b->ret->bare_env = !all;
    return 0;
}

/* ---- options that are yes or no ---- */

static int read_flags(struct reading *b, struct err *err)
{
    const char *mail = value_of(b, SBATCHOPTION_MAIL_TYPE);
    const char *mode = value_of(b, SBATCHOPTION_OPEN_MODE);
    int rc = 0;

    json_object_set_new(b->spec->body, "retries", json_integer(0)); /* a failed job has failed */
    if (value_of(b, SBATCHOPTION_HOLD) != NULL) {
        put(b, SBATCHOPTION_HOLD, "hold", json_true());
    }
    if (value_of(b, SBATCHOPTION_NO_REQUEUE) != NULL &&
        b->lines.given[SBATCHOPTION_NO_REQUEUE].line > b->lines.given[SBATCHOPTION_REQUEUE].line) {
        put(b, SBATCHOPTION_NO_REQUEUE, "preemptible", json_false());
    }
    if (mail != NULL && strcmp(mail, "NONE") != 0) {
        rc = refuse(b, SBATCHOPTION_MAIL_TYPE,
                    "muster sends no mail: wait with muster submit --wait, or leave it out", err);
    }
    if (rc == 0 && mode != NULL && strcmp(mode, "append") != 0) {
        rc = refuse(b, SBATCHOPTION_OPEN_MODE, "muster appends to the file of --output", err);
    }
    return rc;
}

static int refuse_others(struct reading *b, struct err *err)
{
    int rc = 0;

    for (int i = 0; i < SBATCHOPTION_COUNT && rc == 0; i++) {
        if (SBATCHOPTIONS[i].fate == SBATCHOPTION_REFUSED && value_of(b, i) != NULL) {
            rc = refuse(b, i, SBATCHOPTIONS[i].phrase, err);
        }
    }
    return rc;
}

static int read_meaning(struct reading *b, struct err *err)
{
    static int (*const READ[])(struct reading * b,
                               struct err * err) = {refuse_others, read_layout, read_gpus,
                                                    read_time,     read_signal, read_array,
                                                    read_name,     read_output, read_places,
                                                    read_export,   read_flags};
    int64_t cpus_each = 0;
    int rc = 0;

    for (size_t i = 0; i < ARRAY_LEN(READ) && rc == 0; i++) {
        rc = READ[i](b, err);
    }
    rc = rc != 0 ? rc : read_cpus(b, &cpus_each, err);
    return rc != 0 ? rc : read_memory(b, cpus_each, err);
}

int sbatch_read(struct jobspec *s, const struct sbatch_input *in, struct sbatch_result *ret,
                struct err *err)
{
    struct reading b = {.in = in, .ret = ret, .spec = s};
    int rc;

    *ret = (struct sbatch_result){.nodes = 1, .procs = 1};
    rc = sbatchline_read(&b.lines, in->file, in->text, in->len, &ret->notes, err);
    ret->lines = b.lines.count;
    if (rc == 0 && ret->lines > 0) {
        rc = read_meaning(&b, err);
    }
    sbatchline_fini(&b.lines);
    return rc;
}
