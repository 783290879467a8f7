/* cmd_job - what is known of jobs, and what may be asked of them. */
#include "cli/verbs.h"

#include "base/check.h"
#include "base/quantity.h"
#include "cli/display.h"
#include "cli/explain.h"

#include <inttypes.h>
#include <string.h>

static void job_path(struct str *path, const char *job, const char *verb)
{
    str_add(path, "/v1/jobs");
    path_add(path, job);
    if (verb != NULL) {
        path_add(path, verb);
    }
}

static int get_job(struct cli *cli, const char *job, const char *verb, json_t **ret,
                   struct err *err)
{
    struct str path = {0};
    int rc;

    job_path(&path, job, verb);
    rc = cli_get(cli, str_text(&path), ret, err);
    str_fini(&path);
    return rc;
}

/* ---- ps ---- */

static void fill_gpus(const struct view *view, const json_t *item, struct str *out)
{
    const char *held = member_text(item, "held_gpus");

    (void)view;
    str_addf(out, "%s/%s", held[0] != '\0' ? held : "0", member_text(item, "requested_gpus"));
}

static void fill_kind(const struct view *view, const json_t *item, struct str *out)
{
    const char *kind = member_text(item, "kind");
    const char *split = member_text(item, "split");

    (void)view;
    str_add(out, kind);
    if (strcmp(kind, "mixed") == 0 && split[0] != '\0') {
        str_addf(out, " %s", split);
    }
}

/* How long it has waited, runs, or ran. */
static void fill_span(const struct view *view, const json_t *item, struct str *out)
{
    const char *state = member_text(item, "state");
    bool waits = strcmp(state, "queued") == 0 || strcmp(state, "held") == 0;
    int64_t from_ms = member_int(item, waits ? "submitted_ms" : "started_ms");
    int64_t to_ms = member_int(item, "ended_ms");

    if (from_ms > 0) {
        display_span(out, (to_ms > 0 ? to_ms : view->now_ms) - from_ms);
    }
}

static void fill_lost(const struct view *view, const json_t *item, struct str *out)
{
    int64_t seconds = member_int(item, "lost_gu_ms") / (GU_PER_GPU * 1000); /* whole GPU-seconds */

    (void)view;
    if (seconds > 0) {
        str_addf(out, "%" PRId64 " GPU-s", seconds);
    }
}

static const struct column JOB_COLUMNS[] = {
    {"JOB", "job", COLUMN_TEXT, 0, NULL},
    {"NAME", "name", COLUMN_TEXT, COLUMN_CUT, NULL},
    {"USER", "user", COLUMN_TEXT, COLUMN_CUT, NULL},
    {"QUEUE", "queue", COLUMN_TEXT, 0, NULL},
    {"ST", "state", COLUMN_STATE, 0, NULL},
    {"GPUS", NULL, COLUMN_NUMBER, 0, fill_gpus},
    {"KIND", NULL, COLUMN_TEXT, 0, fill_kind},
    {"WAIT/RUN", NULL, COLUMN_NUMBER, 0, fill_span},
    {"RECLAIM", "reclaimable", COLUMN_FLAG, 0, NULL},
    {"PRIO", "priority", COLUMN_NUMBER, COLUMN_WIDE, NULL},
    {"CLASS", "class", COLUMN_TEXT, COLUMN_WIDE, NULL},
    {"POOL", "pool", COLUMN_TEXT, COLUMN_WIDE, NULL},
    {"NODES", "nodes", COLUMN_LIST, COLUMN_WIDE, NULL},
    {"ATTEMPT", "attempt", COLUMN_NUMBER, COLUMN_WIDE, NULL},
    {"SUBMITTED", "submitted_ms", COLUMN_TIME, COLUMN_WIDE, NULL},
    {"CHECKPOINT", "checkpoint_ms", COLUMN_TIME, COLUMN_WIDE, NULL},
    {"LOST", NULL, COLUMN_NUMBER, COLUMN_WIDE, fill_lost},
    {"INFO", "info", COLUMN_TEXT, COLUMN_CUT, NULL},
};

static void add_filters(const struct args *args, struct str *path)
{
    static const char *const FILTERS[] = {"state", "queue", "user"};

    for (size_t i = 0; i < ARRAY_LEN(FILTERS); i++) {
        const char *value = args_text(args, FILTERS[i]);

        if (value != NULL) {
            path_add_query(path, FILTERS[i], value);
        }
    }
    if (args_has(args, "all")) {
        path_add_query(path, "all", "true");
    }
}

static int run_ps(struct cli *cli, const struct args *args)
{
    CLEANUP(answer_freep) json_t *answer = NULL;
    struct str path = {0};
    struct err err;
    int rc;

    str_add(&path, "/v1/jobs");
    add_filters(args, &path);
    rc = cli_list(cli, str_text(&path), &answer, &err);
    str_fini(&path);
    if (rc != 0) {
        return cli_fail(cli, &err);
    }
    table_print(&cli->view, JOB_COLUMNS, ARRAY_LEN(JOB_COLUMNS), answer, NULL,
                args_has(args, "all") ? "no jobs"
                                      : "no jobs wait or run (-a shows those that ended)");
    return 0;
}

/* ---- why ---- */

static int run_why(struct cli *cli, const struct args *args)
{
    CLEANUP(answer_freep) json_t *why = NULL;
    CLEANUP(answer_freep) json_t *job = NULL;
    const char *id = args_word(args, 0);
    struct err err;

    if (get_job(cli, id, "why", &why, &err) != 0 || get_job(cli, id, NULL, &job, &err) != 0) {
        return cli_fail(cli, &err);
    }
    if (!view_raw(&cli->view, why)) {
        explain_print(&cli->view, job, why, stdout);
    }
    return explain_exit_status(why);
}

/* ---- show ---- */

static void print_text(const char *label, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    struct str raw = {0}, text = {0};

    if (json_is_array(value)) {
        member_join(&raw, value);
    } else if (json_is_integer(value)) {
        str_add_int(&raw, json_integer_value(value));
    } else if (json_is_boolean(value)) {
        str_add(&raw, json_is_true(value) ? "yes" : "no");
    } else if (json_is_string(value)) {
        str_add(&raw, json_string_value(value));
    }
    display_text(&text, str_text(&raw));
    if (text.len > 0) {
        printf("%-14s %s\n", label, str_text(&text));
    }
    str_fini(&raw);
    str_fini(&text);
}

static void print_time(const struct cli *cli, const char *label, const json_t *job, const char *key)
{
    struct str text = {0};

    if (member_int(job, key) > 0) {
        display_time(&text, member_int(job, key), cli->view.local);
        printf("%-14s %s\n", label, str_text(&text));
    }
    str_fini(&text);
}

static void print_amounts(const struct cli *cli, const json_t *job)
{
    struct str gpus = {0}, kind = {0}, lost = {0}, command = {0}, raw = {0};
    const json_t *word;
    size_t i;

    fill_gpus(&cli->view, job, &gpus);
    fill_kind(&cli->view, job, &kind);
    fill_lost(&cli->view, job, &lost);
    json_array_foreach(json_object_get(job, "command"), i, word)
    {
        str_addf(&raw, "%s%s", i > 0 ? " " : "", json_string_value(word));
    }
    display_text(&command, str_text(&raw));
    printf("%-14s %s (held/asked), %s%s\n", "gpus", str_text(&gpus), str_text(&kind),
           member_flag(job, "reclaimable") ? ", can be reclaimed" : "");
    if (lost.len > 0) {
        printf("%-14s %s\n", "work lost", str_text(&lost));
    }
    if (command.len > 0) {
        printf("%-14s %s\n", "command", str_text(&command));
    }
    str_fini(&gpus);
    str_fini(&kind);
    str_fini(&lost);
    str_fini(&command);
    str_fini(&raw);
}

static const struct column TASK_COLUMNS[] = {
    {"TASK", "task", COLUMN_TEXT, 0, NULL},      {"GROUP", "group", COLUMN_TEXT, 0, NULL},
    {"NODE", "node", COLUMN_TEXT, 0, NULL},      {"ST", "state", COLUMN_STATE, 0, NULL},
    {"GPU SLOTS", "gpus", COLUMN_LIST, 0, NULL}, {"MIG", "mig", COLUMN_TEXT, 0, NULL},
    {"SHARE", "share", COLUMN_TEXT, 0, NULL},
};

static void fill_text(const struct view *view, const json_t *item, struct str *out)
{
    (void)view;
    display_text(out, member_text(item, "text"));
}

static const struct column HISTORY_COLUMNS[] = {
    {"AT", "at_ms", COLUMN_TIME, 0, NULL},
    {"SEQ", "seq", COLUMN_NUMBER, 0, NULL},
    {"KIND", "kind", COLUMN_TEXT, 0, NULL},
    {"WHAT", NULL, COLUMN_TEXT, 0, fill_text},
};

/* Neighbours about tasks of one kind become one row with a count: a gang of 32 is one line. */
static json_t *short_history(const json_t *history)
{
    json_t *rows = json_array();
    const json_t *item;
    const char *last = "";
    int64_t more = 0;
    size_t i;

    json_array_foreach(history, i, item)
    {
        const char *kind = member_text(item, "kind");
        bool same = strncmp(kind, "task_", 5) == 0 && strcmp(kind, last) == 0;
        json_t *row = same ? json_array_get(rows, json_array_size(rows) - 1)
                           : json_copy((json_t *)(uintptr_t)item);

        if (!same) {
            json_array_append_new(rows, row);
            more = 0;
        } else {
            struct str text = {0};

            more++;
            str_addf(&text, "%s, and %" PRId64 " more like it", member_text(row, "first"), more);
            json_object_set_new(row, "text", json_string(str_text(&text)));
            str_fini(&text);
        }
        if (more == 0) {
            json_object_set_new(row, "first", json_string(member_text(row, "text")));
        }
        last = kind;
    }
    return rows;
}

static void print_job(struct cli *cli, const json_t *job)
{
    static const char *const MEMBERS[][2] = {
        {"job", "job"},
        {"name", "name"},
        {"queue", "queue"},
        {"user", "user"},
        {"class", "class"},
        {"state", "state"},
        {"info", "info"},
        {"request", "request"},
        {"priority", "priority"},
        {"preemptible", "preemptible"},
        {"pool", "pool"},
        {"nodes", "nodes"},
        {"attempt", "attempt"},
        {"preemptions", "preemptions"},
        {"retries used", "retries_used"},
    };
    struct view plain = cli->view;

    for (size_t i = 0; i < ARRAY_LEN(MEMBERS); i++) {
        print_text(MEMBERS[i][0], job, MEMBERS[i][1]);
    }
    if (member_flag(job, "simulated")) {
        printf("%-14s the GPUs are simulated\n", "note");
    }
    print_amounts(cli, job);
    print_time(cli, "submitted", job, "submitted_ms");
    print_time(cli, "started", job, "started_ms");
    print_time(cli, "checkpoint", job, "checkpoint_ms");
    print_time(cli, "stops at", job, "stops_ms");
    print_time(cli, "ended", job, "ended_ms");
    if (json_object_get(job, "exit") != NULL && member_int(job, "ended_ms") > 0) {
        const json_t *end = json_object_get(job, "exit");

        printf("%-14s status %" PRId64 ", signal %" PRId64 "\n", "exit", member_int(end, "status"),
               member_int(end, "signal"));
    }
    plain.format = VIEW_TABLE;
    fflush(stdout);
    if (json_array_size(json_object_get(job, "tasks")) > 0) {
        printf("\n");
        table_print(&plain, TASK_COLUMNS, ARRAY_LEN(TASK_COLUMNS), job,
                    json_object_get(job, "tasks"), NULL);
    }
    if (json_array_size(json_object_get(job, "history")) > 0) {
        CLEANUP(answer_freep) json_t *rows = short_history(json_object_get(job, "history"));

        printf("\n");
        table_print(&plain, HISTORY_COLUMNS, ARRAY_LEN(HISTORY_COLUMNS), job, rows, NULL);
    }
}

static int run_show(struct cli *cli, const struct args *args)
{
    CLEANUP(answer_freep) json_t *job = NULL;
    struct err err;

    if (get_job(cli, args_word(args, 0), NULL, &job, &err) != 0) {
        return cli_fail(cli, &err);
    }
    if (cli->view.format == VIEW_NAME) {
        printf("%s\n", member_text(job, "job"));
    } else if (!view_raw(&cli->view, job)) {
        print_job(cli, job);
    }
    return 0;
}

/* ---- asking ---- */

static int ask_one(struct cli *cli, const char *job, const char *verb, const char *reason)
{
    CLEANUP(answer_freep) json_t *answer = NULL;
    CLEANUP(answer_freep) json_t *body = NULL;
    struct str path = {0};
    struct err err;
    int rc;

    job_path(&path, job, verb);
    if (reason != NULL) {
        body = json_pack("{s:s}", "reason", reason);
    }
    rc = cli_post(cli, str_text(&path), body, &answer, &err);
    str_fini(&path);
    if (rc != 0) {
        return cli_fail(cli, &err);
    }
    if (cli->view.format == VIEW_NAME) {
        printf("%s\n", member_text(answer, "job"));
    } else if (!view_raw(&cli->view, answer)) {
        printf("job %s: %s noted (journal %" PRId64 ")\n", job, verb, member_int(answer, "seq"));
    }
    return 0;
}

/* All jobs are asked, whatever one of them answers; the first failure is the exit status. */
static int ask_all(struct cli *cli, const struct args *args)
{
    int first = 0;

    for (size_t i = 0; i < args->words.count; i++) {
        int status = ask_one(cli, args->words.items[i], cli->verb->name, args_text(args, "reason"));

        first = first != 0 ? first : status;
    }
    return first;
}

static const struct argp_option PS_OPTIONS[] = {
    {"all", 'a', NULL, 0, "also jobs that ended", 1},
    {"state", 's', "STATE", 0, "only held, queued, starting, running, stopping, ...", 1},
    {"queue", 'q', "NAME", 0, "only of this queue and those below it", 1},
    {"user", 'u', "NAME", 0, "only of this user", 1},
    {0}};

static const struct argp_option ASK_OPTIONS[] = {{"reason", 'r', "TEXT", 0, "why, for the journal",
                                                  1},
                                                 {0}};

const struct verb JOB_VERBS[] = {
    {"ps", "", "list jobs",
     "GPUS is held/asked.  KIND says on whose quota it runs: reserved, borrowed or mixed.  RECLAIM "
     "says whether it can be taken back.  INFO is the first thing a waiting job waits for, or the "
     "nodes it runs on.",
     PS_OPTIONS, 0, 0, VERB_MIXED, run_ps},
    {"why", "JOB", "say what a job waits for, or why it runs",
     "Exit code: 0 it runs or can start, 3 it waits, 4 it can never run.", NULL, 1, 1, VERB_MIXED,
     run_why},
    {"show", "JOB", "show all about a job and its history", NULL, NULL, 1, 1, VERB_MIXED, run_show},
    {"cancel", "JOB...", "end jobs", NULL, ASK_OPTIONS, 1, -1, VERB_MIXED, ask_all},
    {"hold", "JOB...", "keep waiting jobs from starting", NULL, ASK_OPTIONS, 1, -1, VERB_MIXED,
     ask_all},
    {"release", "JOB...", "let held jobs start", NULL, ASK_OPTIONS, 1, -1, VERB_MIXED, ask_all},
    {"requeue", "JOB...", "stop jobs and let them start again", NULL, ASK_OPTIONS, 1, -1,
     VERB_MIXED, ask_all},
    {0}};
