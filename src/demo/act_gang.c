#include "demo/act_gang.h"

#include "base/quantity.h"
#include "demo/props.h"

#include <inttypes.h>
#include <stdio.h>

#define MORE       30 /* steps after the restart */
#define RESERVE_GU (24 * GU_PER_GPU)
#define GANG_GU    (PROPS_RANKS * GU_PER_GPU)

struct cast { /* the jobs of this act */
    struct story *s;
    int64_t gang;  /* research, 32 GPUs */
    int64_t owner; /* applied-ml, 16 */
    int64_t fixed; /* research, 16, not preemptible, queued later */
    int64_t spare; /* research, 24, preemptible, queued later */
};

static const struct holdings_job *job(const struct cast *c, int64_t id)
{
    return holdings_of(&c->s->holdings, id);
}

/* ---- it borrows ---- */

/* A queue's reserve is filled oldest start first: what older jobs of research still hold, on their
 * way out, is not the gang's. */
static int check_split(struct cast *c, const char *when, struct err *err)
{
    const struct holdings_job *j = job(c, c->gang);
    int64_t left_gu = RESERVE_GU - j->older_gu;
    json_t *shown = NULL;
    const char *split;
    char own[64];
    int rc = story_job(c->s, c->gang, &shown, err);

    if (rc == 0) {
        split = json_string_value(json_object_get(shown, "split"));
        snprintf(own, sizeof(own), "%" PRId64 "+%" PRId64, j->reserved_gu / GU_PER_GPU,
                 j->borrowed_gu / GU_PER_GPU);
        scorecard_add(c->s->card,
                      j->reserved_gu == left_gu && j->reserved_gu + j->borrowed_gu == GANG_GU &&
                          holdings_job_gu(&c->s->holdings, c->gang) == GANG_GU &&
                          (str_cmp(split, own) == 0 || str_cmp(split, "24+8") == 0),
                      "%s: 32 GPUs in one decision, reserved+borrowed %s (journal), %s (API); "
                      "research's older jobs held %" PRId64 " of its 24",
                      when, own, split, j->older_gu / GU_PER_GPU);
    }
    json_decref(shown);
    return rc;
}

static int borrow(struct cast *c, int64_t step_ms, struct err *err)
{
    const struct props_trainer trainer = {.name = "gang", .more = MORE, .step_ms = step_ms};
    struct story *s = c->s;
    int rc;

    story_tell(s, "\nResearch (reserved 24) submits a gang of 32: 8 are borrowed from applied-ml's "
                  "idle 16.\n");
    rc = story_submit(s, "rosa", props_gang(s, &trainer), &c->gang, err);
    if (rc == 0) {
        rc = story_until(s, c->gang, 1, STORY_RUNS, err);
    }
    if (rc == 0) {
        rc = check_split(c, "the gang starts", err);
    }
    if (rc == 0) {
        rc = props_check_inference(s, "while the gang runs", err);
    }
    return rc != 0 ? rc : story_until(s, c->gang, 1, STORY_SAVED, err);
}

/* ---- it gives back ---- */

static void check_stop(struct cast *c, const struct stepledger_sum *steps)
{
    const struct holdings_job *gang = job(c, c->gang);
    const struct holdings_job *owner = job(c, c->owner);
    struct scorecard *card = c->s->card;
    char lost[32], own[32];

    scorecard_add(card, gang->told_for == c->owner && gang->preemptions == 1,
                  "applied-ml's 16 GPUs are taken back from the gang alone, for job %" PRId64,
                  gang->told_for);
    scorecard_add(card, gang->saved_seq > gang->told_seq && gang->saved_seq < gang->gone_seq,
                  "the gang saves a checkpoint after it is told (journal %" PRId64
                  ") and before it "
                  "is gone (%" PRId64 " < %" PRId64 ")",
                  gang->told_seq, gang->saved_seq, gang->gone_seq);
    scorecard_add(card, gang->killed_seq == 0 && gang->gone_ms <= gang->deadline_ms,
                  "it stops by itself %" PRId64 " ms after the signal, within its %" PRId64
                  " ms of grace",
                  gang->gone_ms - gang->told_ms, gang->deadline_ms - gang->told_ms);
    scorecard_add(card, gang->lost_gu_ms == gang->unsaved_gu_ms,
                  "work lost by the gang: %s GPU-s in the journal, %s by the demo's own sum",
                  props_gpu_s(gang->lost_gu_ms, lost), props_gpu_s(gang->unsaved_gu_ms, own));
    scorecard_add(card,
                  owner->started_seq > gang->told_seq && owner->borrowed_gu == 0 &&
                      c->s->holdings.faults == 0,
                  "applied-ml starts on its own 16 (journal %" PRId64
                  ") once they are proven free, not before",
                  owner->started_seq);
    scorecard_add(card, steps->missing == 0 && steps->again == 0 && steps->wrong == 0,
                  "the gang's ledger has steps 1 to %" PRId64 " once each", steps->last);
}

static int give_back(struct cast *c, struct err *err)
{
    struct story *s = c->s;
    struct stepledger_sum steps;
    json_t *body = props_whole(s, "owner", "applied-ml", 2, 8);
    int rc;

    story_tell(s, "\nApplied-ml needs its 16: 8 are free, 8 must come back.  The gang is told to "
                  "save and stop.\n");
    json_object_set_new(body, "time_limit", json_string("15m"));
    rc = story_submit(s, "amir", body, &c->owner, err);
    if (rc == 0) {
        rc = story_until(s, c->gang, 1, STORY_WAITS, err);
    }
    if (rc == 0) {
        rc = story_until(s, c->owner, 1, STORY_RUNS, err);
    }
    if (rc == 0) {
        rc = props_ledger(s, "gang", &steps, err);
    }
    if (rc == 0) {
        check_stop(c, &steps);
        rc = props_check_inference(s, "after the reclaim", err);
    }
    return rc;
}

/* ---- later work ---- */

/* The text of the blocker with this code, NULL = none has it. */
static const char *blocked_by(const json_t *why, const char *code)
{
    const json_t *blockers = json_object_get(why, "blockers");

    for (size_t i = 0; i < json_array_size(blockers); i++) {
        const json_t *b = json_array_get(blockers, i);

        if (str_cmp(json_string_value(json_object_get(b, "code")), code) == 0) {
            return json_string_value(json_object_get(b, "text"));
        }
    }
    return NULL;
}

static int check_why(struct cast *c, struct err *err)
{
    char path[64];
    json_t *why = NULL;
    const char *text;
    int rc;

    snprintf(path, sizeof(path), "/v1/jobs/%" PRId64 "/why", c->fixed);
    rc = story_get(c->s, path, &why, err);
    if (rc == 0) {
        text = blocked_by(why, "why.planned_start");
        scorecard_add(c->s->card, job(c, c->fixed)->attempt == 0 && text != NULL,
                      "research's later job of 16 that nobody may preempt does not pass the gang: "
                      "%s",
                      text == NULL ? "why does not say so" : text);
    }
    json_decref(why);
    return rc;
}

static int queue_later(struct cast *c, struct err *err)
{
    static const char *const WHY[] = {"why", NULL};
    struct story *s = c->s;
    json_t *body = props_whole(s, "later-fixed", "research", 2, 8);
    int rc;

    story_tell(s, "\nResearch queues more.  24 GPUs are free, but what would delay the gang may "
                  "not pass it;\nwork that can be told to stop for it may.\n");
    json_object_set_new(body, "preemptible", json_false());
    rc = story_submit(s, "rosa", body, &c->fixed, err);
    if (rc == 0) {
        rc = story_submit(s, "rosa", props_whole(s, "later-spare", "research", 24, 1), &c->spare,
                          err);
    }
    if (rc == 0) {
        rc = story_until(s, c->spare, 1, STORY_RUNS, err);
    }
    if (rc == 0) {
        rc = check_why(c, err);
    }
    if (rc == 0) {
        rc = props_show(s, WHY, c->gang, err);
    }
    return rc != 0 ? rc : props_check_inference(s, "while the gang waits", err);
}

/* ---- it goes on ---- */

static void check_restart(struct cast *c)
{
    const struct holdings_job *gang = job(c, c->gang);
    const struct holdings_job *spare = job(c, c->spare);

    scorecard_add(c->s->card, gang->attempt == 2 && job(c, c->fixed)->attempt == 0,
                  "the gang starts again, attempt %" PRId64 ", ahead of research's later work",
                  gang->attempt);
    scorecard_add(c->s->card, spare->told_for == c->gang && spare->preemptions == 1,
                  "the later job that had passed it stopped for it alone (for job %" PRId64 ")",
                  spare->told_for);
}

static int check_steps(struct cast *c, struct err *err)
{
    const struct holdings_job *gang = job(c, c->gang);
    struct stepledger_sum steps;
    int rc = props_ledger(c->s, "gang", &steps, err);

    if (rc == 0) {
        scorecard_add(c->s->card,
                      gang->state == HOLDINGS_ENDED && str_cmp(gang->outcome, "succeeded") == 0 &&
                          gang->attempt == 2,
                      "the gang %s in attempt %" PRId64, gang->outcome, gang->attempt);
        scorecard_add(c->s->card,
                      steps.missing == 0 && steps.again == 0 && steps.wrong == 0 &&
                          steps.resumed > 1 && steps.last == steps.resumed - 1 + MORE,
                      "its ledger: steps 1 to %" PRId64 ", %" PRId64 " missing, %" PRId64
                      " done twice, %" PRId64 " wrong sums; attempt 2 began with step %" PRId64,
                      steps.last, steps.missing, steps.again, steps.wrong, steps.resumed);
    }
    return rc;
}

static int go_on(struct cast *c, struct err *err)
{
    struct story *s = c->s;
    int rc;

    story_tell(s, "\nApplied-ml's work ends.  The gang goes on from its checkpoint, before all "
                  "that came later.\n");
    rc = props_open(s, "owner", err);
    if (rc == 0) {
        rc = story_until(s, c->gang, 2, STORY_RUNS, err);
    }
    if (rc == 0) {
        check_restart(c);
        rc = check_split(c, "it starts again", err);
    }
    if (rc == 0) {
        rc = props_check_inference(s, "after the restart", err);
    }
    if (rc == 0) {
        rc = story_until(s, c->gang, 2, STORY_ENDED, err);
    }
    return rc != 0 ? rc : check_steps(c, err);
}

static int finish(struct cast *c, struct err *err)
{
    int rc = props_open(c->s, "later-fixed", err);

    if (rc == 0) {
        rc = props_open(c->s, "later-spare", err);
    }
    if (rc == 0) {
        rc = story_until(c->s, c->fixed, 1, STORY_ENDED, err);
    }
    return rc != 0 ? rc : story_until(c->s, c->spare, 1, STORY_ENDED, err);
}

int act_gang(struct story *s, int64_t step_ms, struct err *err)
{
    struct cast cast = {.s = s};
    int rc = borrow(&cast, step_ms, err);

    if (rc == 0) {
        rc = give_back(&cast, err);
    }
    if (rc == 0) {
        rc = queue_later(&cast, err);
    }
    if (rc == 0) {
        rc = go_on(&cast, err);
    }
    return rc != 0 ? rc : finish(&cast, err);
}
