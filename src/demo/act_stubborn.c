#include "demo/act_stubborn.h"

#include "base/quantity.h"
#include "demo/props.h"

#include <inttypes.h>
#include <stdlib.h>

#define MORE 10

static void check_kill(struct story *s, int64_t stubborn, int64_t urgent)
{
    const struct holdings_job *j = holdings_of(&s->holdings, stubborn);
    const struct holdings_job *owner = holdings_of(&s->holdings, urgent);
    char priced[32], cost[32], lost[32], own[32];

    scorecard_add(s->card, j->priced_gu_ms > 0 && j->cost_gu_ms >= j->priced_gu_ms,
                  "the claim priced it: %s GPU-s would be lost, %s with the restart",
                  props_gpu_s(j->priced_gu_ms, priced), props_gpu_s(j->cost_gu_ms, cost));
    scorecard_add(s->card, j->killed_seq > j->told_seq && j->killed_ms >= j->deadline_ms,
                  "it ignores the signal and is killed %" PRId64
                  " ms after it, its grace being %" PRId64 " ms",
                  j->killed_ms - j->told_ms, j->deadline_ms - j->told_ms);
    scorecard_add(s->card,
                  owner->started_seq > j->killed_seq && owner->borrowed_gu == 0 &&
                      s->holdings.faults == 0,
                  "applied-ml starts only after the kill, when its 16 are proven free (journal "
                  "%" PRId64 " > %" PRId64 ")",
                  owner->started_seq, j->killed_seq);
    scorecard_add(s->card, j->lost_gu_ms == j->unsaved_gu_ms && j->lost_gu_ms > j->priced_gu_ms,
                  "work lost: %s GPU-s in the journal, %s by the demo's own sum",
                  props_gpu_s(j->lost_gu_ms, lost), props_gpu_s(j->unsaved_gu_ms, own));
}

static int check_metered(struct story *s, int64_t stubborn, struct err *err)
{
    const struct holdings_job *j = holdings_of(&s->holdings, stubborn);
    json_t *shown = NULL;
    int64_t metered = -1;
    char text[32];
    int rc = story_job(s, stubborn, &shown, err);

    if (rc == 0) {
        (void)str_to_int(json_string_value(json_object_get(shown, "lost_gu_ms")), &metered);
        scorecard_add(s->card, metered == j->lost_gu_ms,
                      "muster show %" PRId64 " meters the same: %s GPU-s", stubborn,
                      props_gpu_s(metered, text));
    }
    json_decref(shown);
    return rc;
}

static int check_again(struct story *s, struct err *err)
{
    struct stepledger_sum steps;
    int rc = props_ledger(s, "stubborn", &steps, err);

    if (rc == 0) {
        scorecard_add(s->card,
                      steps.missing == 0 && steps.wrong == 0 && steps.again > 0 &&
                          steps.last == steps.resumed - 1 + steps.again + MORE,
                      "its ledger: steps 1 to %" PRId64 ", %" PRId64
                      " missing; it went on at step %" PRId64 " and did %" PRId64
                      " lost steps again",
                      steps.last, steps.missing, steps.resumed, steps.again);
    }
    return rc;
}

static int be_killed(struct story *s, int64_t stubborn, int64_t *ret_urgent, struct err *err)
{
    int rc = story_until(s, stubborn, 1, STORY_SAVED, err);

    if (rc == 0) {
        rc = story_submit(s, "amir", props_whole(s, "urgent", "applied-ml", 2, 8), ret_urgent, err);
    }
    if (rc == 0) {
        rc = story_until(s, stubborn, 1, STORY_KILLED, err);
    }
    if (rc == 0) {
        rc = story_until(s, stubborn, 1, STORY_WAITS, err);
    }
    return rc != 0 ? rc : story_until(s, *ret_urgent, 1, STORY_RUNS, err);
}

int act_stubborn(struct story *s, int64_t step_ms, struct err *err)
{
    const struct props_trainer trainer = {.name = "stubborn",
                                          .more = MORE,
                                          .step_ms = step_ms,
                                          .ignores_signal = true};
    int64_t stubborn = 0;
    int64_t urgent = 0;
    int rc;

    story_tell(s, "\nAnother gang of research does not listen: it is told to stop and goes on.\n");
    rc = story_submit(s, "rosa", props_gang(s, &trainer), &stubborn, err);
    if (rc == 0) {
        rc = be_killed(s, stubborn, &urgent, err);
    }
    if (rc == 0) {
        check_kill(s, stubborn, urgent);
        rc = check_metered(s, stubborn, err);
    }
    if (rc == 0) {
        rc = props_check_inference(s, "after the kill", err);
    }
    if (rc == 0) {
        rc = props_open(s, "urgent", err);
    }
    if (rc == 0) {
        rc = story_until(s, stubborn, 2, STORY_ENDED, err);
    }
    return rc != 0 ? rc : check_again(s, err);
}
