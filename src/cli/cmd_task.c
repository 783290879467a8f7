/* cmd_task - what a running job says of itself, with the token of its attempt. */
#include "cli/verbs.h"

#include "base/mem.h"
#include "cli/display.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *own_job(const struct args *args)
{
    static const char *const NAMES[] = {"MUSTER_JOB", "MUSTER_JOB_ID"};
    const char *job = args_text(args, "job");

    for (size_t i = 0; job == NULL && i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
        job = getenv(NAMES[i]);
    }
    return job;
}

/* The client of this job: its token file instead of the user's. */
static int open_client(struct cli *cli, struct err *err)
{
    const char *file = getenv("MUSTER_TOKEN_FILE");

    return client_open(&(struct client_where){.timeout_ms = cli->timeout_ms,
                                              .socket = getenv("MUSTER_SOCKET"),
                                              .token_file = file},
                       &cli->client, err);
}

static int tell(struct cli *cli, const struct args *args, const json_t *body)
{
    CLEANUP(answer_freep) json_t *answer = NULL;
    const char *job = own_job(args);
    struct str path = {0};
    struct err err;
    int rc;

    if (job == NULL || job[0] == '\0') {
        (void)err_set(&err, ERR_INVALID, "%s is for use inside a job: MUSTER_JOB is not set",
                      cli->verb->name);
        return cli_fail(cli, &err);
    }
    rc = open_client(cli, &err);
    if (rc == 0) {
        str_add(&path, "/v1/jobs");
        path_add(&path, job);
        path_add(&path, cli->verb->name);
        rc = client_call_once(cli->client, str_text(&path), body, &answer, &err);
        str_fini(&path);
    }
    if (rc != 0) {
        return cli_fail(cli, &err);
    }
    (void)view_raw(&cli->view, answer);
    return 0;
}

static int run_done(struct cli *cli, const struct args *args)
{
    return tell(cli, args, NULL);
}

static int run_checkpoint(struct cli *cli, const struct args *args)
{
    CLEANUP(answer_freep) json_t *body = json_pack("{s:s}", "name", args_word(args, 0));
    struct err err;

    if (body == NULL) {
        (void)err_set(&err, ERR_INVALID, "the checkpoint's name is not UTF-8");
        return cli_fail(cli, &err);
    }
    return tell(cli, args, body);
}

static const struct argp_option TASK_OPTIONS[] = {
    {"job", LONG, "JOB", 0, "of this job (default: the one this runs in)", 1}, {0}};

const struct verb TASK_VERBS[] = {
    {"done", "", "inside a job: its work is complete, do not start it again",
     "An attempt that ends after its preemption signal is queued again whatever its exit code, "
     "unless it said this.",
     TASK_OPTIONS, 0, 0, VERB_MIXED, run_done},
    {"checkpoint", "NAME", "inside a job: a checkpoint was saved",
     "Only needed where the job does not rename its checkpoints into MUSTER_CHECKPOINT_DIR.",
     TASK_OPTIONS, 1, 1, VERB_MIXED, run_checkpoint},
    {0}};
