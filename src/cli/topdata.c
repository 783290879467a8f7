#include "cli/topdata.h"

#include "base/check.h"
#include "cli/display.h"

#include <stdio.h>

static int fetch_jobs(struct topdata *d, struct cli *cli, const char *state,
                      const struct topdata_filter *filter, struct err *err)
{
    CLEANUP(answer_freep) json_t *answer = NULL;
    struct str path = {0};
    char limit[16];
    int rc;

    snprintf(limit, sizeof(limit), "%d", TOPDATA_JOBS_MAX);
    str_add(&path, "/v1/jobs");
    path_add_query(&path, "limit", limit);
    path_add_query(&path, "state", state);
    if (filter->queue != NULL) {
        path_add_query(&path, "queue", filter->queue);
    }
    if (filter->user != NULL) {
        path_add_query(&path, "user", filter->user);
    }
    rc = cli_get(cli, str_text(&path), &answer, err);
    str_fini(&path);
    if (rc == 0) {
        json_array_extend(d->jobs, json_object_get(answer, "items"));
        d->more = d->more || json_is_string(json_object_get(answer, "next"));
    }
    return rc;
}

static int fetch_list(struct cli *cli, const char *path, json_t **ret, struct err *err)
{
    CLEANUP(answer_freep) json_t *answer = NULL;
    int rc = cli_list(cli, path, &answer, err);

    if (rc == 0) {
        *ret = json_incref(json_object_get(answer, "items"));
    }
    return rc;
}

int topdata_fetch(struct topdata *d, struct cli *cli, const struct topdata_filter *filter,
                  struct err *err)
{
    static const char *const STATES[] = {"running", "starting", "stopping", "queued", "held"};
    struct topdata fresh = {.jobs = json_array()};
    int rc = fetch_list(cli, "/v1/pools", &fresh.pools, err);

    rc = rc != 0 ? rc : fetch_list(cli, "/v1/queues", &fresh.queues, err);
    for (size_t i = 0; i < ARRAY_LEN(STATES) && rc == 0; i++) {
        rc = fetch_jobs(&fresh, cli, STATES[i], filter, err);
    }
    if (rc != 0) {
        topdata_fini(&fresh);
        return rc;
    }
    topdata_fini(d);
    *d = fresh;
    return 0;
}

void topdata_fini(struct topdata *d)
{
    json_decref(d->pools);
    json_decref(d->queues);
    json_decref(d->jobs);
    *d = (struct topdata){0};
}
