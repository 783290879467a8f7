#include "demo/act_desks.h"

#include "base/quantity.h"
#include "demo/props.h"

#include <inttypes.h>
#include <stdio.h>

#define POOL       "h100-mig"
#define CARDS_MOST 3 /* 20 slices, 7 on a card */
#define CARDS      8

static void name_of(int i, char ret[16])
{
    snprintf(ret, 16, "desk-%02d", i + 1);
}

static void user_of(int i, char ret[16])
{
    snprintf(ret, 16, "p%02d", i + 1);
}

static int submit(struct story *s, struct act_desks *d, int i, struct err *err)
{
    char name[16];
    char user[16];
    json_t *body;

    name_of(i, name);
    user_of(i, user);
    body = props_gated(s, name, "development");
    json_object_set_new(body, "class", json_string("workspace"));
    json_object_set_new(body, "mig", json_string("1g.10gb"));
    return story_submit(s, user, body, &d->jobs[i], err);
}

/* By the API: twenty jobs run, each of another user. */
static int count_users(struct story *s, int *ret, struct err *err)
{
    json_t *answer = NULL;
    json_t *seen = json_object();
    const json_t *items;
    int rc = story_get(s, "/v1/jobs?queue=development&state=running&limit=1000", &answer, err);

    items = json_object_get(answer, "items");
    for (size_t i = 0; rc == 0 && i < json_array_size(items); i++) {
        const char *user = json_string_value(json_object_get(json_array_get(items, i), "user"));

        json_object_set_new(seen, user == NULL ? "" : user, json_true());
    }
    *ret = (int)json_object_size(seen);
    json_decref(answer);
    json_decref(seen);
    return rc;
}

int act_desks_come(struct story *s, struct act_desks *d, struct err *err)
{
    int64_t cards;
    int64_t gu;
    int users = 0;
    int rc = 0;

    story_tell(s, "\nTwenty people of development take a MIG slice each.\n");
    for (int i = 0; rc == 0 && i < ACT_DESKS; i++) {
        rc = submit(s, d, i, err);
    }
    for (int i = 0; rc == 0 && i < ACT_DESKS; i++) {
        rc = story_until(s, d->jobs[i], 1, STORY_RUNS, err);
    }
    if (rc == 0) {
        rc = count_users(s, &users, err);
    }
    if (rc == 0) {
        char text[QUANTITY_TEXT_MAX];

        cards = holdings_cards(&s->holdings, POOL);
        gu = holdings_gu(&s->holdings, POOL, "development");
        quantity_gpus_text(gu, text);
        story_tell(s, "  all %d run at once, on %" PRId64 " cards\n", ACT_DESKS, cards);
        scorecard_add(s->card,
                      users == ACT_DESKS && cards <= CARDS_MOST && gu == ACT_DESKS * GU_PER_GPU / 8,
                      "%d people run at once in 1g.10gb slices of %" PRId64
                      " cards, %s GPUs charged",
                      users, cards, text);
    }
    return rc;
}

/* ---- a card is cut anew ---- */

struct cutting {
    int64_t slot;  /* of the card */
    int64_t stays; /* who goes on using it */
    int64_t whole; /* the job that takes the other cards */
    int64_t half;
    int sevenths; /* slices of 1g.10gb before */
};

/* The card with the fewest people, and the one who stays there. */
static int64_t emptiest_card(const struct story *s, const struct act_desks *d, int64_t *ret_stays)
{
    int count[CARDS] = {0};
    int64_t best = -1;

    for (int i = 0; i < ACT_DESKS; i++) {
        const struct holding *row = holdings_row(&s->holdings, d->jobs[i]);

        if (row != NULL && row->slot >= 0 && row->slot < CARDS) {
            count[row->slot]++;
        }
    }
    for (int slot = 0; slot < CARDS; slot++) {
        if (count[slot] > 0 && (best < 0 || count[slot] < count[best])) {
            best = slot;
        }
    }
    for (int i = 0; i < ACT_DESKS; i++) {
        const struct holding *row = holdings_row(&s->holdings, d->jobs[i]);

        if (row != NULL && row->slot == best) {
            *ret_stays = d->jobs[i];
        }
    }
    return best;
}

static int clear_card(struct story *s, const struct act_desks *d, int64_t slot, int64_t stays,
                      struct err *err)
{
    bool leaves[ACT_DESKS] = {false};
    int rc = 0;

    for (int i = 0; rc == 0 && i < ACT_DESKS; i++) {
        const struct holding *row = holdings_row(&s->holdings, d->jobs[i]);
        char name[16];

        leaves[i] = row != NULL && row->slot == slot && d->jobs[i] != stays;
        name_of(i, name);
        rc = leaves[i] ? props_open(s, name, err) : 0;
    }
    for (int i = 0; rc == 0 && i < ACT_DESKS; i++) {
        rc = leaves[i] ? story_until(s, d->jobs[i], 1, STORY_ENDED, err) : 0;
    }
    return rc;
}

/* How many slices of a profile (NULL = any) a card is cut into, held or idle. */
static int count_slices(struct story *s, int64_t slot, const char *profile, int *ret,
                        struct err *err)
{
    json_t *answer = NULL;
    const json_t *items;
    int rc = story_get(s, "/v1/gpus?limit=1000", &answer, err);

    items = json_object_get(answer, "items");
    for (size_t i = 0; rc == 0 && i < json_array_size(items); i++) {
        const json_t *gpu = json_array_get(items, i);
        const json_t *slices = json_object_get(gpu, "slices");

        if (!json_is_true(json_object_get(gpu, "mig")) ||
            json_integer_value(json_object_get(gpu, "slot")) != slot) {
            continue;
        }
        *ret = 0;
        for (size_t k = 0; k < json_array_size(slices); k++) {
            const json_t *slice = json_array_get(slices, k);

            *ret += profile == NULL ||
                    str_cmp(json_string_value(json_object_get(slice, "profile")), profile) == 0;
        }
    }
    json_decref(answer);
    return rc;
}

static int check_recut(struct story *s, const struct cutting *c, struct err *err)
{
    const struct holdings_job *other = holdings_of(&s->holdings, c->stays);
    const struct holding *row = holdings_row(&s->holdings, c->half);
    int now = 0;
    int rc = count_slices(s, c->slot, "1g.10gb", &now, err);

    if (rc == 0) {
        scorecard_add(s->card,
                      row != NULL && row->slot == c->slot && row->size == 4 && now < c->sevenths &&
                          now >= 3,
                      "a 3g.40gb gets card %" PRId64 ", which is cut anew: %d slices of 1g.10gb "
                      "before, %d beside it now",
                      row == NULL ? -1 : row->slot, c->sevenths, now);
        scorecard_add(s->card, other->running == 1 && other->attempt == 1,
                      "the slice in use there (job %" PRId64 ") is not touched: attempt %" PRId64
                      ", %" PRId64 " task runs",
                      c->stays, other->attempt, other->running);
    }
    return rc;
}

static int take_half(struct story *s, struct cutting *c, struct err *err)
{
    json_t *body = props_gated(s, "half", "development");
    int rc = count_slices(s, c->slot, "1g.10gb", &c->sevenths, err);

    json_object_set_new(body, "mig", json_string("3g.40gb"));
    if (rc != 0) {
        json_decref(body);
        return rc;
    }
    rc = story_submit(s, "p02", body, &c->half, err);
    if (rc == 0) {
        rc = story_until(s, c->half, 1, STORY_RUNS, err);
    }
    return rc != 0 ? rc : check_recut(s, c, err);
}

static int end_whole(struct story *s, const struct cutting *c, struct err *err)
{
    int rc = props_open(s, "half", err);

    if (rc == 0) {
        rc = props_open(s, "whole", err);
    }
    if (rc == 0) {
        rc = story_until(s, c->half, 1, STORY_ENDED, err);
    }
    return rc != 0 ? rc : story_until(s, c->whole, 1, STORY_ENDED, err);
}

int act_desks_recut(struct story *s, const struct act_desks *d, struct err *err)
{
    struct cutting c = {0};
    int rc;

    c.slot = emptiest_card(s, d, &c.stays);
    story_tell(s, "\nFive whole cards are taken; all but one leave the third shared card, and "
                  "somebody asks for half of it.\n");
    rc = story_submit(s, "p01", props_whole(s, "whole", "development", 1, 5), &c.whole, err);
    if (rc == 0) {
        rc = story_until(s, c.whole, 1, STORY_RUNS, err);
    }
    if (rc == 0) {
        rc = clear_card(s, d, c.slot, c.stays, err);
    }
    if (rc == 0) {
        rc = take_half(s, &c, err);
    }
    return rc != 0 ? rc : end_whole(s, &c, err);
}

int act_desks_leave(struct story *s, const struct act_desks *d, struct err *err)
{
    int rc = 0;
    int good = 0;

    for (int i = 0; rc == 0 && i < ACT_DESKS; i++) {
        char name[16];

        name_of(i, name);
        rc = props_open(s, name, err);
    }
    for (int i = 0; rc == 0 && i < ACT_DESKS; i++) {
        rc = story_until(s, d->jobs[i], 1, STORY_ENDED, err);
        good += rc == 0 && holdings_of(&s->holdings, d->jobs[i])->attempt == 1 &&
                str_cmp(holdings_of(&s->holdings, d->jobs[i])->outcome, "succeeded") == 0;
    }
    if (rc == 0) {
        scorecard_add(s->card, good == ACT_DESKS,
                      "%d of 20 people kept their slice from beginning to end", good);
    }
    return rc;
}
