/* story - the demo's connection to its musterd: it submits, follows the journal, narrates it, and
 * waits for what the journal must say next.
 *
 * Nothing waits for a time: every wait ends with a record, or fails after STORY_MS_MAX with what
 * was waited for.
 */
#ifndef MUSTER_DEMO_STORY_H
#define MUSTER_DEMO_STORY_H

#include "base/err.h"
#include "demo/holdings.h"
#include "demo/ownmusterd.h"
#include "demo/scorecard.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define STORY_MS_MAX 180000

struct story_link; /* clients, the stream of events */

struct story {
    struct ownmusterd musterd;
    struct holdings holdings;
    struct scorecard *card;
    struct story_link *link;
    bool quiet;
};

/* Start musterd (prepared before) and follow its journal from the first record; returns when it
 * answers. */
MUST_CHECK int story_begin(struct story *s, struct err *err);
/* Cancel what is left, stop musterd. */
MUST_CHECK int story_end(struct story *s, struct err *err);
void story_fini(struct story *s);

/* Print, unless the story is quiet. */
void story_tell(const struct story *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Submit as a user; takes body.  ret_job is the id. */
MUST_CHECK int story_submit(struct story *s, const char *user, json_t *body, int64_t *ret_job,
                            struct err *err);
/* GET and POST as the account that runs the demo. */
MUST_CHECK int story_get(struct story *s, const char *path, json_t **ret, struct err *err);
MUST_CHECK int story_post(struct story *s, const char *path, json_t **ret, struct err *err);
/* GET /v1/jobs/JOB. */
MUST_CHECK int story_job(struct story *s, int64_t job, json_t **ret, struct err *err);

/* Take records until `met` is so. */
typedef bool story_met(const struct story *s, const void *arg);
MUST_CHECK int story_wait(struct story *s, story_met *met, const void *arg, const char *what,
                          struct err *err);

enum story_until {
    STORY_RUNS,   /* all its tasks run */
    STORY_SAVED,  /* it saved a checkpoint in its present attempt */
    STORY_TOLD,   /* it is told to stop for a claim */
    STORY_WAITS,  /* its attempt has ended and it is queued again */
    STORY_KILLED, /* the grace was over */
    STORY_ENDED   /* it is over */
};

/* Wait until a job is so far in this attempt. */
MUST_CHECK int story_until(struct story *s, int64_t job, int64_t attempt, enum story_until until,
                           struct err *err);
/* Take all records that the journal has by now. */
MUST_CHECK int story_catch_up(struct story *s, struct err *err);

#endif
