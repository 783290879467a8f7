/* why - one record that explains a job: what it waits for, with numbers and the remedy, or why it
 * runs. The CLI, the API, the portal and the golden tests show this record. */
#ifndef MUSTER_CORE_WHY_H
#define MUSTER_CORE_WHY_H

#include "core/core.h"

struct why_blocker {
    int code;           /* WHY_* of base/err.h */
    const char *text;   /* one sentence with the numbers */
    const char *remedy; /* the smallest change that would help, "" = none */
    int64_t pool;       /* 0 = none */
    int64_t queue;      /* whose limit, reserve, … 0 = none */
    int64_t need_gu;    /* what the job asks for */
    int64_t have_gu;    /* what it could get now */
    int64_t *jobs;      /* who holds or was promised what it needs */
    size_t job_count;   /* at most 32; the numbers of the text count all */
};

struct why {
    int64_t job;
    const char *state;   /* as in job_state_name */
    const char *summary; /* one line */
    struct why_blocker
        *blockers; /* all of them, stable order; empty when it runs or would start now */
    size_t blocker_count;
    int64_t earliest_ms;         /* earliest start where it can be known, 0 = unknown */
    int64_t latest_ms;           /* e.g. the deadline of its victims; 0 = unknown */
    struct fact_reason decision; /* of the last decision about it */
    int64_t decision_seq;
};

/* ERR_NOT_FOUND.  All of ret lives in the arena. */
MUST_CHECK int why_job(struct core *c, int64_t job, int64_t now_ms, struct arena *arena,
                       struct why *ret, struct err *err);

/* What a row of a list has room for: the text of the first blocker of that record, or its summary.
 * The work ends with the first blocker, so it costs less where much waits.  ERR_NOT_FOUND. */
MUST_CHECK int why_line(struct core *c, int64_t job, int64_t now_ms, struct arena *arena,
                        const char **ret, struct err *err);

#endif
