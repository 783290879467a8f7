/* cmd_logs - what tasks wrote. */
#include "cli/verbs.h"

#include "base/mem.h"
#include "cli/display.h"
#include "cli/logfollow.h"

#include <inttypes.h>
#include <string.h>

#define STEP_MS 250
#define LOOK_MS 2000

static void write_out(void *arg, const char *data, size_t len)
{
    (void)arg;
    fwrite(data, 1, len, stdout);
}

static int read_once(struct cli *cli, const struct logfollow *l, struct err *err)
{
    struct str path = {0};
    int rc;

    logfollow_path(l, false, &path);
    rc = client_read(cli->client, str_text(&path), write_out, NULL, err);
    str_fini(&path);
    return rc;
}

/* While there is no log: has the job ended, so that there will be none? */
static int still_to_come(struct cli *cli, const char *job, int missing, struct err *err)
{
    CLEANUP(answer_freep) json_t *json = NULL;
    struct str path = {0};
    int rc;

    str_add(&path, "/v1/jobs");
    path_add(&path, job);
    rc = cli_get(cli, str_text(&path), &json, err);
    str_fini(&path);
    if (rc == ERR_UNREACHABLE || rc == ERR_BUSY || rc == ERR_TIMEOUT) {
        return 0;
    }
    if (rc == 0 && member_int(json, "ended_ms") > 0) {
        return err_set(err, (enum err_code)missing, "job %s has ended and there is no such log",
                       job);
    }
    return rc;
}

static int follow_log(struct cli *cli, struct logfollow *l, const char *job, struct err *err)
{
    int64_t looked_ms = 0;
    int rc = l->tail >= 0 ? logfollow_begin(l, l->tail, err) : 0;

    while (rc == 0 && !l->ended) {
        int64_t now_ms = display_now_ms();

        rc = logfollow_step(l, now_ms, err);
        if (rc == 0 && l->missing != 0 && now_ms - looked_ms > LOOK_MS) {
            looked_ms = now_ms;
            rc = still_to_come(cli, job, l->missing, err);
        }
        if (rc == 0 && !l->ended) {
            client_poll(cli->client, -1, STEP_MS);
        }
    }
    return rc;
}

static int run_logs(struct cli *cli, const struct args *args)
{
    struct logfollow *l;
    int64_t task = 0, attempt = 0, tail = -1;
    const char *job = args_word(args, 0);
    struct err err;
    int rc = cli_client(cli, &err);

    rc = rc != 0 ? rc : args_int(args, "task", 0, INT32_MAX, &task, &err);
    rc = rc != 0 ? rc : args_int(args, "attempt", 1, INT32_MAX, &attempt, &err);
    rc = rc != 0 ? rc : args_int(args, "tail", 0, INT32_MAX, &tail, &err);
    if (rc != 0) {
        return cli_fail(cli, &err);
    }
    l = logfollow_new(cli->client, job, attempt, task,
                      args_has(args, "stderr") ? "stderr" : "stdout");
    l->out = stdout;
    l->tail = tail;
    rc = args_has(args, "follow") ? follow_log(cli, l, job, &err) : read_once(cli, l, &err);
    logfollow_free(l);
    return rc != 0 ? cli_fail(cli, &err) : 0;
}

static const struct argp_option LOG_OPTIONS[] = {
    {"follow", 'f', NULL, 0, "go on as the log grows, until the task ends", 1},
    {"task", 't', "N", 0, "of this rank (default 0)", 1},
    {"attempt", LONG, "N", 0, "of this attempt (default: the last)", 1},
    {"stderr", LONG, NULL, 0, "what it wrote to the standard error", 1},
    {"tail", 'n', "N", 0, "only the last N lines", 1},
    {0}};

const struct verb LOG_VERBS[] = {{"logs", "JOB", "show what a job writes", NULL, LOG_OPTIONS, 1, 1,
                                  VERB_MIXED, run_logs},
                                 {0}};
