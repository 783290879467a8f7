#include "demo/props.h"

#include "base/quantity.h"
#include "demo/gate.h"

#include <inttypes.h>
#include <stdio.h>

#define SAVE_EVERY 10
#define EXIT_WAITS 3 /* of muster why */

static json_t *word_int(int64_t value)
{
    return json_sprintf("%" PRId64, value);
}

json_t *props_gang(const struct story *s, const struct props_trainer *t)
{
    CLEANUP(str_fini) struct str ledger = {0};
    json_t *words = json_pack("[s, s, s, s]", s->musterd.self, "trainer", "--ledger",
                              ownmusterd_path(&s->musterd, "ledgers", t->name, &ledger));

    json_array_append_new(words, json_string("--more"));
    json_array_append_new(words, word_int(t->more));
    json_array_append_new(words, json_string("--step-ms"));
    json_array_append_new(words, word_int(t->step_ms));
    json_array_append_new(words, json_string("--save-every"));
    json_array_append_new(words, word_int(SAVE_EVERY));
    if (t->ignores_signal) {
        json_array_append_new(words, json_string("--ignore-signal"));
    }
    return json_pack("{s:s, s:s, s:i, s:i, s:i, s:o}", "name", t->name, "queue", "research",
                     "tasks", PROPS_RANKS, "gpus", 1, "retries", 0, "command", words);
}

json_t *props_gated(const struct story *s, const char *name, const char *queue)
{
    CLEANUP(str_fini) struct str gate = {0};

    ownmusterd_path(&s->musterd, "gates", name, &gate);
    return json_pack("{s:s, s:s, s:i, s:[s, s, s]}", "name", name, "queue", queue, "retries", 0,
                     "command", s->musterd.self, "gate", gate.text);
}

json_t *props_whole(const struct story *s, const char *name, const char *queue, int64_t tasks,
                    int64_t gpus)
{
    json_t *body = props_gated(s, name, queue);

    json_object_set_new(body, "tasks", json_integer(tasks));
    json_object_set_new(body, "gpus", json_integer(gpus));
    return body;
}

int props_open(const struct story *s, const char *name, struct err *err)
{
    CLEANUP(str_fini) struct str gate = {0};

    return gate_open(ownmusterd_path(&s->musterd, "gates", name, &gate), err);
}

int props_ledger(const struct story *s, const char *name, struct stepledger_sum *ret,
                 struct err *err)
{
    CLEANUP(str_fini) struct str path = {0};

    return stepledger_read(ownmusterd_path(&s->musterd, "ledgers", name, &path), PROPS_RANKS, ret,
                           err);
}

int props_check_inference(struct story *s, const char *when, struct err *err)
{
    json_t *queue = NULL;
    const json_t *pool;
    const char *used;
    const char *lent;
    int rc = story_get(s, "/v1/queues/inference", &queue, err);

    if (rc == 0) {
        rc = story_catch_up(s, err);
    }
    if (rc == 0) {
        int64_t others = holdings_gu(&s->holdings, "h100", NULL);

        pool = json_array_get(json_object_get(queue, "pools"), 0);
        used = json_string_value(json_object_get(pool, "used_gpus"));
        lent = json_string_value(json_object_get(pool, "lent_gpus"));
        scorecard_add(
            s->card,
            str_cmp(used, "0") == 0 && str_cmp(lent, "0") == 0 && others <= 40 * GU_PER_GPU,
            "%s: inference's 16 GPUs are untouched (used %s, lent %s; others hold %" PRId64
            " of 56)",
            when, used, lent, others / GU_PER_GPU);
    }
    json_decref(queue);
    return rc;
}

int props_show(struct story *s, const char *const *words, int64_t job, struct err *err)
{
    CLEANUP(str_fini) struct str out = {0};
    char id[32];
    const char *all[8] = {0};
    size_t n = 0;
    int status = 0;
    int rc;

    snprintf(id, sizeof(id), "%" PRId64, job);
    while (n < 6 && words[n] != NULL) {
        all[n] = words[n];
        n++;
    }
    all[n] = id;
    rc = ownmusterd_ask(&s->musterd, "muster", all, &out, &status, err);
    if (rc != 0) {
        return rc;
    }
    story_tell(s, "\n  $ muster %s %s\n", words[0], id);
    for (const char *at = str_text(&out); *at != '\0';) {
        int len = (int)strcspn(at, "\n");

        story_tell(s, "  | %.*s\n", len, at);
        at += len + (at[len] == '\n');
    }
    story_tell(s, "\n");
    scorecard_add(s->card, (status == 0 || status == EXIT_WAITS) && out.len > 0,
                  "muster %s %s answers (status %d, %zu bytes)", words[0], id, status, out.len);
    return 0;
}

const char *props_gpu_s(int64_t gu_ms, char ret[32])
{
    int64_t tenths = gu_ms / (GU_PER_GPU * 100);

    snprintf(ret, 32, "%" PRId64 ".%" PRId64, tenths / 10, tenths % 10);
    return ret;
}
