#include "demo/afternoon.h"

#include "base/quantity.h"
#include "demo/act_desks.h"
#include "demo/act_gang.h"
#include "demo/act_stubborn.h"
#include "demo/story.h"

#include <inttypes.h>
#include <stdio.h>

struct pace {
    int64_t grace_s;
    int64_t step_ms;
};

static int check_nodes(struct story *s)
{
    bool right = s->holdings.gpus == 64;

    story_tell(s, "  64 GPUs, %s; processes, signals, files and the journal are real\n",
               s->holdings.simulated_gpus == s->holdings.gpus ? "all of them simulated" : "real");
    scorecard_add(s->card, right, "the cluster has %" PRId64 " GPUs, %" PRId64 " of them simulated",
                  s->holdings.gpus, s->holdings.simulated_gpus);
    return 0;
}

/* Two ledgers of the same truth: musterd's own numbers, and the demo's fold of the journal. */
static int check_books(struct story *s, struct err *err)
{
    json_t *pools = NULL;
    const json_t *items;
    int64_t used = 0;
    int rc = story_catch_up(s, err);

    if (rc == 0) {
        rc = story_get(s, "/v1/pools", &pools, err);
    }
    items = json_object_get(pools, "items");
    for (size_t i = 0; rc == 0 && i < json_array_size(items); i++) {
        int64_t gu = 0;

        (void)str_to_int(json_string_value(json_object_get(json_array_get(items, i), "used_gu")),
                         &gu);
        used += gu;
    }
    if (rc == 0) {
        scorecard_add(s->card, used == 0 && s->holdings.rows.count == 0,
                      "at the end nothing is held: %" PRId64 " units by the API, %zu leases by the "
                      "journal",
                      used, s->holdings.rows.count);
        scorecard_add(s->card, s->holdings.faults == 0,
                      "no GPU or slice had two holders, every gang started whole: %" PRId64
                      " faults in %" PRId64 " records%s%s",
                      s->holdings.faults, s->holdings.seq, s->holdings.faults > 0 ? ": " : "",
                      s->holdings.fault);
        scorecard_add(s->card,
                      s->holdings.inference_gu == 0 && s->holdings.lent_most_gu == 40 * GU_PER_GPU,
                      "others never held more than %" PRId64
                      " of the 56: inference's 16 were there at every record",
                      s->holdings.lent_most_gu / GU_PER_GPU);
    }
    json_decref(pools);
    return rc;
}

static int check_journal(struct story *s, struct err *err)
{
    json_t *answer = NULL;
    int rc = story_post(s, "/v1/journal/verify", &answer, err);

    if (rc == 0) {
        scorecard_add(s->card, json_is_true(json_object_get(answer, "ok")),
                      "muster journal verify: %s records, hash %.12s",
                      json_string_value(json_object_get(answer, "records")),
                      json_string_value(json_object_get(answer, "hash")));
    }
    json_decref(answer);
    return rc;
}

/* Without musterd, by the program that only knows the file. */
static int check_file(struct story *s, struct err *err)
{
    CLEANUP(str_fini) struct str path = {0};
    CLEANUP(str_fini) struct str out = {0};
    const char *words[] = {"verify", ownmusterd_path(&s->musterd, "state", "journal.db", &path),
                           NULL};
    int status = 0;
    int rc = ownmusterd_ask(&s->musterd, "muster-journal", words, &out, &status, err);

    if (rc == 0) {
        scorecard_add(s->card, status == 0,
                      "muster-journal verifies the file of the stopped "
                      "musterd: %.*s",
                      (int)strcspn(str_text(&out), "\n"), str_text(&out));
    }
    return rc;
}

static int play(struct story *s, const struct pace *pace, struct err *err)
{
    struct act_desks desks = {{0}};
    int rc = check_nodes(s);

    if (rc == 0) {
        rc = act_desks_come(s, &desks, err);
    }
    if (rc == 0) {
        rc = act_gang(s, pace->step_ms, err);
    }
    if (rc == 0) {
        rc = act_stubborn(s, pace->step_ms, err);
    }
    if (rc == 0) {
        rc = act_desks_recut(s, &desks, err);
    }
    if (rc == 0) {
        rc = act_desks_leave(s, &desks, err);
    }
    if (rc == 0) {
        rc = check_books(s, err);
    }
    return rc != 0 ? rc : check_journal(s, err);
}

static int begin(struct story *s, const struct pace *pace, struct err *err)
{
    int rc = ownmusterd_prepare(&s->musterd, pace->grace_s, err);

    if (rc == 0) {
        story_tell(s, "muster demo afternoon: a musterd of its own in %s\n", s->musterd.dir);
        rc = story_begin(s, err);
    }
    return rc;
}

int afternoon_run(const struct afternoon_want *want)
{
    const struct pace pace = {.grace_s = want->fast ? 3 : 6, .step_ms = want->fast ? 40 : 100};
    struct story s = {.card = scorecard_new(), .quiet = want->quiet};
    struct err err = {0};
    struct err end_err = {0};
    size_t bad;
    int rc = begin(&s, &pace, &err);

    if (rc == 0) {
        rc = play(&s, &pace, &err);
    }
    scorecard_add(s.card, rc == 0, "the story was played to its end%s%s", rc == 0 ? "" : ": ",
                  rc == 0 ? "" : err.text);
    if (s.musterd.pid != 0) {
        rc = story_end(&s, &end_err);
        scorecard_add(s.card, rc == 0, "musterd stopped as asked%s%s", rc == 0 ? "" : ": ",
                      rc == 0 ? "" : end_err.text);
        if (rc == 0 && check_file(&s, &end_err) != 0) {
            scorecard_add(s.card, false, "%s", end_err.text);
        }
    }
    story_tell(&s, "\nScorecard\n");
    scorecard_print(s.card);
    bad = scorecard_bad(s.card);
    printf("# %zu of %zu as it must be%s%s\n", scorecard_count(s.card) - bad,
           scorecard_count(s.card), want->keep ? "; kept: " : "", want->keep ? s.musterd.dir : "");
    story_fini(&s);
    ownmusterd_fini(&s.musterd, want->keep);
    return bad == 0 ? 0 : 1;
}
