/* scene_expect - each word is compared with what the core shows. */
#include "sim/scene_expect.h"

#include "base/quantity.h"
#include "core/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct check {
    struct world *world;
    const struct scene_text *text;
    struct words *words;
    const char *what; /* the job, queue or node */
    struct str *ret;
};

static void differ(struct check *c, const char *field, const char *want, const char *is)
{
    str_addf(c->ret, "%s:%d: %s: %s should be %s, is %s\n", c->words->path, c->words->line, c->what,
             field, want, is);
}

static void expect_text(struct check *c, const char *field, const char *is)
{
    const char *want = words_value(c->words, field);

    if (want != NULL && str_cmp(want, is) != 0) {
        differ(c, field, want, is);
    }
}

static void expect_int(struct check *c, const char *field, int64_t is)
{
    char text[32];

    (void)snprintf(text, sizeof(text), "%lld", (long long)is);
    expect_text(c, field, text);
}

static void expect_gpus(struct check *c, const char *field, int64_t is_gu)
{
    char text[QUANTITY_TEXT_MAX];

    quantity_gpus_text(is_gu, text);
    expect_text(c, field, text);
}

static void expect_time(struct check *c, const char *field, int64_t is_ms)
{
    struct str text = {0};

    if (is_ms == 0) {
        str_add(&text, "none");
    } else {
        scene_text_time(c->text, is_ms, &text);
    }
    expect_text(c, field, text.text);
    str_fini(&text);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The nodes of the tasks, each once, by name; "none". */
static void expect_nodes(struct check *c, const char *field, const lease_tasks *tasks)
{
    VEC(const char *) names = {0};
    struct str text = {0};
    size_t i;

    for (i = 0; i < tasks->count; i++) {
        vec_push(&names, view_node(world_core(c->world), tasks->items[i].node)->name);
    }
    if (names.count > 0) {
        qsort(names.items, names.count, sizeof(names.items[0]), by_text);
    }
    for (i = 0; i < names.count; i++) {
        if (i == 0 || strcmp(names.items[i], names.items[i - 1]) != 0) {
            str_addf(&text, "%s%s", i > 0 ? "," : "", names.items[i]);
        }
    }
    expect_text(c, field, text.len > 0 ? text.text : "none");
    str_fini(&text);
    vec_fini(&names);
}

/* ---- a job ---- */

static int64_t stopping_tasks(const struct job *j)
{
    int64_t count = 0;
    size_t i;

    for (i = 0; i < j->tasks.count; i++) {
        count += j->tasks.items[i].state == TASK_STATE_STOPPING ? 1 : 0;
    }
    return count;
}

static bool has_code(const struct why *why, const char *code)
{
    size_t i;

    for (i = 0; i < why->blocker_count; i++) {
        if (strcmp(err_name(why->blockers[i].code), code) == 0) {
            return true;
        }
    }
    return false;
}

static void expect_why(struct check *c, const struct job *j)
{
    struct arena *arena = arena_make();
    struct why why = {0};
    struct err err = {0};
    const char *code;

    if (why_job(world_core(c->world), j->id, c->world->now_ms, arena, &why, &err) != 0) {
        differ(c, "why", "an answer", err.text);
    } else {
        expect_time(c, "earliest", why.earliest_ms);
        expect_time(c, "latest", why.latest_ms);
        while ((code = words_value(c->words, "code")) != NULL) {
            if (!has_code(&why, code)) {
                differ(c, "code", code, "not among the blockers");
            }
        }
    }
    arena_free(arena);
}

static void expect_details(struct check *c, const struct job *j)
{
    expect_int(c, "attempt", j->attempt);
    expect_int(c, "tasks", (int64_t)j->tasks.count);
    expect_int(c, "stopping", stopping_tasks(j));
    expect_int(c, "preemptions", j->preemptions);
    expect_int(c, "retries", j->retries_used);
    expect_gpus(c, "reserved", j->reserved_gu);
    expect_gpus(c, "borrowed", j->borrowed_gu);
    expect_gpus(c, "lost", j->lost_gu_ms / 1000);
    expect_nodes(c, "nodes", &j->tasks);
    expect_nodes(c, "nominated", &j->nomination.tasks);
    expect_time(c, "deadline", j->stop.told ? j->stop.deadline_ms : 0);
    expect_time(c, "not_before", j->not_before_ms);
    expect_why(c, j);
}

/* Ended jobs may have been forgotten by the core; the roll knows them for good. */
static const char *state_of(const struct roll_job *r, const struct job *j)
{
    if (j != NULL) {
        return JOB_STATE_NAMES[j->state];
    }
    return r->state == ROLL_ENDED ? ATTEMPT_OUTCOME_NAMES[r->outcome] : "unknown";
}

void scene_expect_job(struct world *w, const struct scene_text *t, struct words *words,
                      struct str *ret)
{
    struct check c = {w, t, words, words_next(words, "the job"), ret};
    const char *state = words_maybe(words);
    const struct roll_job *r = roll_job_of_name(&w->roll, c.what);
    const struct job *j = r != NULL ? view_job(world_core(w), r->id) : NULL;

    if (r == NULL) {
        words_fail(words, ERR_NOT_FOUND, "there is no job \"%s\"", c.what);
        return;
    }
    if (state != NULL && strcmp(state, state_of(r, j)) != 0) {
        differ(&c, "state", state, state_of(r, j));
    }
    if (j != NULL) {
        expect_details(&c, j);
    }
}

/* ---- queues and nodes ---- */

void scene_expect_queue(struct world *w, struct words *words, struct str *ret)
{
    struct check c = {w, NULL, words, words_next(words, "the queue"), ret};
    const struct core *core = world_core(w);
    const struct queue_tree *tree = view_queues(core);
    int q = tree != NULL ? queue_index_of_name(tree, c.what) : -1;
    const char *name = words_value(words, "pool");
    int pool = 0;

    while (name != NULL && pool < view_pool_count(core) &&
           strcmp(view_pool(core, pool)->name, name) != 0) {
        pool++;
    }
    if (q < 0 || pool >= view_pool_count(core)) {
        words_fail(words, ERR_NOT_FOUND, "there is no queue \"%s\" or no such pool", c.what);
        return;
    }
    expect_gpus(&c, "used", tree->items[q].quotas[pool].plain);
    expect_gpus(&c, "lent", view_lent_gu(core, q, pool));
    expect_gpus(&c, "available", view_available_gu(core, q, pool));
    expect_int(&c, "waiting", tree->items[q].waiting);
}

void scene_expect_node(struct world *w, struct words *words, struct str *ret)
{
    struct check c = {w, NULL, words, words_next(words, "the node"), ret};
    const char *state = words_next(words, "up, unknown or lost");
    const struct node *n = view_node_of_name(world_core(w), "local", c.what);

    if (n == NULL) {
        words_fail(words, ERR_NOT_FOUND, "there is no node \"%s\"", c.what);
    } else if (strcmp(state, NODE_HEALTH_NAMES[n->health]) != 0) {
        differ(&c, "state", state, NODE_HEALTH_NAMES[n->health]);
    }
}
