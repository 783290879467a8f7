/* fuzz/facts - records applied to the core, in any order and with any contents.
 *
 * Input: lines "+MS KIND BODY", a record MS after the one before, and "+MS plan", a plan whose
 * decisions are applied.  A line that is none of both is left out.
 *
 * Whatever comes: what a plan decides is taken; the facts that were taken, alone and without a
 * plan, give the same state, so what was refused and what was planned changed nothing; and so does
 * the snapshot.  The invariants hold as long as every decision is one of the core's own.
 */
#include "core/codec.h"
#include "core/core.h"

#include "base/check.h"
#include "base/mem.h"
#include "planned.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEP_MS_MAX ((int64_t)1000 * 1000 * 1000)
#define LINES_MAX   400

struct play {
    struct core *core;
    struct core *again;  /* what was taken, without plans */
    struct arena *arena; /* of one line */
    int64_t seq;
    int64_t now_ms;
    bool forged; /* a decision came from outside */
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int apply(struct play *p, struct fact *fact)
{
    struct err err = {0};
    int rc;

    fact->seq = p->seq + 1;
    fact->at_ms = p->now_ms;
    rc = core_apply(p->core, fact, &err);
    CHECK(rc == 0 || (err.code == rc && err.text[0] != '\0'));
    if (rc == 0) {
        p->seq++;
        CHECK(core_apply(p->again, fact, &err) == 0);
    }
    return rc;
}

static void plan(struct play *p)
{
    size_t count;
    struct fact *facts = planned(p->core, p->now_ms, p->arena, &count);

    for (size_t i = 0; i < count; i++) {
        if (apply(p, &facts[i]) != 0) {
            CHECK(p->forged);
        }
    }
}

/* "+MS KIND BODY" */
static void line(struct play *p, const char *text, size_t len)
{
    char kind[64] = "";
    int64_t step_ms = 0;
    int taken = 0;
    struct fact fact;
    char *words = mem_text_n(text, len);
    enum fact_kind k;

    if (sscanf(words, "+%" SCNd64 " %63s%n", &step_ms, kind, &taken) < 2 || step_ms < 0 ||
        step_ms > STEP_MS_MAX) {
        mem_free(words);
        return;
    }
    p->now_ms += step_ms;
    k = fact_kind_of(kind);
    if (strcmp(kind, "plan") == 0) {
        plan(p);
    } else if (k != FACT_NONE && words[taken] == ' ' &&
               codec_decode_fact(k, words + taken + 1, strlen(words + taken + 1), p->arena, &fact,
                                 NULL) == 0 &&
               apply(p, &fact) == 0 && fact_kind_is_decision(k)) {
        p->forged = true;
    }
    mem_free(words);
    arena_reset(p->arena);
}

static void finish(struct play *p)
{
    struct core *restored = NULL;
    struct str texts[3] = {0};
    struct err err;
    const char *broken = p->forged ? NULL : core_check(p->core, p->arena);

    if (broken != NULL) {
        (void)fprintf(stderr, "broken: %s\n", broken);
        abort();
    }
    core_snapshot(p->core, &texts[0]);
    core_snapshot(p->again, &texts[1]);
    CHECK(strcmp(texts[0].text, texts[1].text) == 0);
    CHECK(core_restore(texts[0].text, texts[0].len, &restored, &err) == 0);
    core_snapshot(restored, &texts[2]);
    CHECK(strcmp(texts[0].text, texts[2].text) == 0);
    core_free(restored);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        str_fini(&texts[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct play p = {.core = core_new(),
                     .again = core_new(),
                     .arena = arena_make(),
                     .now_ms = 1000000};
    const char *text = (const char *)data;
    int lines = 0;

    while (size > 0 && lines++ < LINES_MAX) {
        const char *end = memchr(text, '\n', size);
        size_t len = end != NULL ? (size_t)(end - text) : size;

        line(&p, text, len);
        size -= len + (end != NULL);
        text += len + (end != NULL);
    }
    finish(&p);
    core_free(p.core);
    core_free(p.again);
    arena_free(p.arena);
    return 0;
}
