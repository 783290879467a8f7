/* cmd_attach - stay with a job that somebody submitted before, as run does with its own. */
#include "cli/verbs.h"

#include "base/mem.h"
#include "cli/display.h"
#include "cli/follow.h"

#include <string.h>

/* It must be there and not have ended: an ended one has nothing to wait for. */
static int check_job(struct cli *cli, const char *job, struct err *err)
{
    CLEANUP(answer_freep) json_t *answer = NULL;
    struct str path = {0};
    int rc;

    str_add(&path, "/v1/jobs");
    path_add(&path, job);
    rc = cli_get(cli, str_text(&path), &answer, err);
    str_fini(&path);
    if (rc == 0 && member_int(answer, "ended_ms") > 0) {
        return err_set(err, ERR_JOB_STATE,
                       "job %s has ended (%s); `muster logs %s` shows what it wrote", job,
                       member_text(answer, "state"), job);
    }
    return rc;
}

static int run_attach(struct cli *cli, const struct args *args)
{
    struct follow_want want = {.logs = true,
                               .visit = true,
                               .all = args_has(args, "all"),
                               .quiet = args_has(args, "quiet"),
                               .tail = args_has(args, "from-start") ? -1 : 0};
    const char *job = args_word(args, 0);
    struct err err;
    int status = 0;
    int rc = args_int(args, "tail", 0, INT32_MAX, &want.tail, &err);

    if (rc == 0 && args_has(args, "tail") && args_has(args, "from-start")) {
        rc = err_set(&err, ERR_INVALID, "--tail and --from-start do not go together");
    }
    rc = rc != 0 ? rc : check_job(cli, job, &err);
    rc = rc != 0 ? rc : follow_job(cli, job, &want, follow_signals(), &status, &err);
    return rc != 0 ? cli_fail(cli, &err) : status;
}

static const struct argp_option ATTACH_OPTIONS[] = {
    {"all", LONG, NULL, 0, "show the logs of all ranks, each line with its rank", 1},
    {"from-start", LONG, NULL, 0, "first what this attempt has written so far", 1},
    {"tail", 'n', "N", 0, "first the last N lines of it", 1},
    {"quiet", LONG, NULL, 0, "no messages about the job, only its own output", 1},
    {0}};

const struct verb ATTACH_VERBS[] = {{"attach", "JOB", "stay with a job that was submitted before",
                                     "Shows from now on what rank 0 writes and what happens to the "
                                     "job, until it ends; the exit code "
                                     "is then the job's own.  Ctrl-C detaches and leaves the job "
                                     "alone.  There is no way to type to "
                                     "a job: its standard input is /dev/null.",
                                     ATTACH_OPTIONS, 1, 1, VERB_MIXED, run_attach},
                                    {0}};
