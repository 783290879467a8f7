/* mirror - rounds are kept as bytes until they are over. */
#include "sim/mirror.h"

#include "base/mem.h"
#include "core/codec.h"
#include "engine/engine.h"

#include <stdio.h>
#include <string.h>

void mirror_init(struct mirror *m)
{
    *m = (struct mirror){.core = core_new(), .arena = arena_make()};
    str_add(&m->failure, "");
}

void mirror_fini(struct mirror *m)
{
    core_free(m->core);
    arena_free(m->arena);
    vec_fini(&m->waiting);
    str_fini(&m->text);
    str_fini(&m->failure);
}

void mirror_add(struct mirror *m, int64_t round, const struct journal_record *r)
{
    struct mirror_record row = {
        .kind = fact_kind_of(r->kind),
        .seq = r->seq,
        .at_ms = r->at_ms,
        .true_at_ms = r->true_at_ms == r->at_ms ? 0 : r->true_at_ms,
        .len = r->len,
    };

    if (round != m->round) {
        mirror_flush(m, false);
        m->round = round;
    }
    row.offset = m->text.len;
    str_add_n(&m->text, r->bytes, r->len);
    vec_push(&m->waiting, row);
}

void mirror_restart(struct mirror *m)
{
    mirror_flush(m, false);
    m->round = INT64_MIN;
}

static void fail(struct mirror *m, const char *what, const char *one, const char *two)
{
    if (m->failure.len == 0) {
        str_addf(&m->failure, "%s\n    %s\n    %s", what, one, two);
    }
}

/* Apply a record as a restart would. */
static void apply(struct mirror *m, struct core *c, const struct mirror_record *row)
{
    struct fact fact = {0};
    struct err err = {0};
    int rc =
        codec_decode_fact(row->kind, m->text.text + row->offset, row->len, m->arena, &fact, &err);

    if (rc == 0) {
        fact.seq = row->seq;
        fact.at_ms = row->at_ms;
        fact.true_at_ms = row->true_at_ms;
        rc = core_apply(c, &fact, &err);
    }
    if (rc != 0) {
        fail(m, "a journaled record cannot be applied", fact_kind_name(row->kind), err.text);
    }
}

static void add_line(struct str *s, enum fact_kind kind, const char *text, size_t len)
{
    str_addf(s, "%s ", fact_kind_name(kind));
    str_add_n(s, text, len);
    str_add_char(s, '\n');
}

/* The first line in which two texts differ, cut to what a terminal takes. */
static void fail_texts(struct mirror *m, const char *what, const char *one, const char *two)
{
    size_t same = 0;
    char a[400], b[400];
    size_t from;

    while (one[same] != '\0' && one[same] == two[same]) {
        same++;
    }
    from = same > 150 ? same - 150 : 0;
    (void)snprintf(a, sizeof(a), "…%.380s", one + from);
    (void)snprintf(b, sizeof(b), "…%.380s", two + from);
    fail(m, what, a, b);
}

/* core_plan may change nothing but the planner's scratch. */
static void plan_unchanging(struct mirror *m, struct core *c, int64_t at_ms, struct decisions *ret)
{
    struct str before = {0}, after = {0};

    core_snapshot(c, &before);
    core_plan(c, at_ms, ret);
    core_snapshot(c, &after);
    if (strcmp(before.text, after.text) != 0) {
        fail_texts(m, "core_plan changed the state", before.text, after.text);
    }
    str_fini(&before);
    str_fini(&after);
}

/* Plan as the engine does, from the facts of the round; every decision is a line of ret. */
static void plan_fully(struct mirror *m, struct core *clone, int64_t at_ms, int64_t seq,
                       struct str *ret)
{
    struct decisions decisions = {0};
    int plans = 0;

    do {
        size_t i;

        core_forget(clone);
        if (plans == 0 && m->compared % 4 == 0) {
            plan_unchanging(m, clone, at_ms, &decisions);
        } else {
            core_plan(clone, at_ms, &decisions);
        }
        for (i = 0; i < decisions.count; i++) {
            struct fact fact = decisions.items[i];
            struct str line = {0};
            struct err err = {0};

            codec_encode_fact(&fact, &line);
            add_line(ret, fact.kind, str_text(&line), line.len);
            str_fini(&line);
            fact.seq = seq++;
            fact.at_ms = at_ms;
            fact.true_at_ms = 0;
            if (core_apply(clone, &fact, &err) != 0) {
                fail(m, "a full plan decides what cannot be applied", ret->text, err.text);
            }
        }
    } while (decisions.next_plan_ms <= at_ms && ++plans < ENGINE_PLANS_MAX);
}

static void compare_plan(struct mirror *m)
{
    struct str before = {0}, got = {0}, want = {0};
    const struct mirror_record *first = &m->waiting.items[0];
    struct core *clone = NULL;
    struct err err = {0};
    int64_t seq = first->seq;
    size_t i;

    core_snapshot(m->core, &before);
    if (core_restore(before.text, before.len, &clone, &err) != 0) {
        fail(m, "a snapshot cannot be restored", err.text, "");
        str_fini(&before);
        return;
    }
    for (i = 0; i < m->waiting.count; i++) {
        const struct mirror_record *row = &m->waiting.items[i];

        if (!fact_kind_is_decision(row->kind)) {
            apply(m, clone, row);
            seq = row->seq + 1;
        } else {
            add_line(&want, row->kind, m->text.text + row->offset, row->len);
        }
    }
    plan_fully(m, clone, first->at_ms, seq, &got);
    if (strcmp(str_text(&got), str_text(&want)) != 0) {
        fail_texts(m, "a full plan decides otherwise (incremental, full)", str_text(&want),
                   str_text(&got));
    }
    m->compared++;
    core_free(clone);
    str_fini(&before);
    str_fini(&got);
    str_fini(&want);
}

void mirror_flush(struct mirror *m, bool compare)
{
    size_t i;

    if (m->waiting.count == 0 || m->failure.len > 0) {
        vec_clear(&m->waiting);
        str_clear(&m->text);
        return;
    }
    if (compare) {
        compare_plan(m);
    }
    for (i = 0; i < m->waiting.count; i++) {
        apply(m, m->core, &m->waiting.items[i]);
    }
    vec_clear(&m->waiting);
    str_clear(&m->text);
    arena_reset(m->arena);
}

void mirror_compare(struct mirror *m, const struct core *c)
{
    struct str one = {0}, two = {0};

    core_snapshot(c, &one);
    core_snapshot(m->core, &two);
    if (strcmp(one.text, two.text) != 0) {
        fail_texts(m, "the journal leads to another state (state, replay)", one.text, two.text);
    }
    str_fini(&one);
    str_fini(&two);
}
