/* scenario - the player: line by line, each event a step of the engine unless it is joined to the
 * one before.
 */
#include "sim/scenario.h"

#include "core/view.h"
#include "sim/scene_expect.h"
#include "sim/scene_job.h"
#include "sim/scene_site.h"
#include "sim/world.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ZERO_MS   ((int64_t)1000000000) /* 0 would mean "never" in many fields */
#define LINES_MAX 5000

struct asked { /* a fact that was put and waits for its answer */
    struct player *player;
    char *text; /* "submit A1" */
};

struct player {
    const char *path;
    struct arena *arena;
    struct site site;
    struct world world;
    struct scene_text text;
    struct scenario_result *result;
    bool begun;                    /* the policy is set */
    bool put;                      /* facts were put and not yet stepped */
    int64_t unsettled_jobs;        /* submits among them */
    struct fact_job_submitted job; /* of the last submit line, not yet put */
    struct fact_group groups[SCENE_GROUPS_MAX];
    struct virtual_behaviour how; /* of that job */
    bool has_how;
    bool has_job;
    bool unchecked;
    int line;
};

static void add_time(struct player *p)
{
    scene_text_time(&p->text, p->world.now_ms, &p->result->got);
    str_add_char(&p->result->got, ' ');
}

static void watch(void *ctx, const struct fact *fact, const struct journal_record *record)
{
    struct player *p = ctx;

    (void)record;
    scene_text_fact(&p->text, fact, &p->result->got);
}

/* ---- putting facts ---- */

static void refused(struct player *p, const char *what, int rc, const struct err *err)
{
    add_time(p);
    str_addf(&p->result->got, "refused %s: %s: %s\n", what, err_name(rc), err->text);
}

static void answered(void *arg, int rc, int64_t seq, const struct err *err)
{
    struct asked *a = arg;

    (void)seq;
    if (rc != 0) {
        refused(a->player, a->text, rc, err);
    }
    mem_free(a->text);
    mem_free(a);
}

static void put(struct player *p, const struct fact *fact, const char *verb, const char *name)
{
    struct asked *a = mem_new(1, sizeof(*a));
    struct str text = {0};

    str_addf(&text, "%s %s", verb, name);
    *a = (struct asked){p, str_take(&text)};
    engine_put(p->world.engine, fact, answered, a);
    p->put = true;
}

static void put_submit(struct player *p)
{
    const struct fact fact = {.kind = FACT_JOB_SUBMITTED, .body.as_JOB_SUBMITTED = &p->job};
    struct err err = {0};
    int rc = 0;

    if (!p->has_job) {
        return;
    }
    p->has_job = false;
    p->job.id = core_next_job(world_core(&p->world)) + p->unsettled_jobs;
    if (!p->unchecked) {
        rc = core_submit_check(world_core(&p->world), &p->job, &err);
    }
    if (rc != 0) {
        char what[128];

        (void)snprintf(what, sizeof(what), "submit %s", p->job.name);
        refused(p, what, rc, &err);
        return;
    }
    if (p->has_how) {
        virtual_set_job(p->world.backend, p->job.id, &p->how);
    }
    p->unsettled_jobs++;
    put(p, &fact, "submit", p->job.name);
}

static void check_world(struct player *p)
{
    struct arena *arena = arena_make();
    const char *broken = core_check(world_core(&p->world), arena);

    broken = broken != NULL ? broken : virtual_complaint(p->world.backend);
    if (broken != NULL) {
        str_addf(&p->result->failures, "%s:%d: broken: %s\n", p->path, p->line, broken);
    }
    arena_free(arena);
}

static void settle(struct player *p)
{
    put_submit(p);
    if (p->put) {
        world_settle(&p->world);
        p->put = false;
        p->unsettled_jobs = 0;
        check_world(p);
    }
}

static void begin(struct player *p, struct words *w)
{
    struct err err = {0};

    if (p->begun) {
        return;
    }
    p->begun = true;
    if (world_set_policy(&p->world, &p->site, &err) != 0) {
        words_fail(w, err.code, "the policy is refused: %.150s", err.text);
    }
    world_settle(&p->world);
}

static void go_to(struct player *p, int64_t at_ms)
{
    settle(p);
    if (at_ms > p->world.now_ms) {
        world_run_until(&p->world, at_ms);
        check_world(p);
    }
}

/* ---- events ---- */

static int64_t job_id(struct player *p, struct words *w, const char *name)
{
    const struct roll_job *j = roll_job_of_name(&p->world.roll, name);

    if (j == NULL) {
        words_fail(w, ERR_NOT_FOUND, "there is no job \"%s\"", name);
        return 0;
    }
    return j->id;
}

static int64_t node_id(struct player *p, struct words *w, const char *name)
{
    const struct node *n = view_node_of_name(world_core(&p->world), "local", name);

    if (n == NULL) {
        words_fail(w, ERR_NOT_FOUND, "there is no node \"%s\"", name);
        return 0;
    }
    return n->id;
}

static void ev_submit(struct player *p, struct words *w)
{
    size_t before, i;

    put_submit(p);
    p->unchecked = words_flag(w, "unchecked");
    scene_job_words(&p->site, w, &p->job);
    scene_group_words(w, &p->groups[0]);
    p->job.groups = p->groups;
    p->job.group_count = 1;
    for (before = 0, i = 0; i < w->count; i++) {
        before += w->taken[i] ? 1 : 0;
    }
    p->has_how = before < w->count; /* what is left says how it behaves */
    p->how = virtual_behaviour_of(p->world.backend, 0);
    scene_behaviour_words(w, &p->how);
    p->has_job = true;
}

static void ev_group(struct player *p, struct words *w)
{
    if (!p->has_job || p->job.group_count == SCENE_GROUPS_MAX) {
        words_fail(w, ERR_SYNTAX, "a group follows its job, at most %d of them", SCENE_GROUPS_MAX);
        return;
    }
    scene_group_words(w, &p->groups[p->job.group_count++]);
}

static void ev_behave(struct player *p, struct words *w)
{
    const char *name = words_next(w, "the job, or *");
    int64_t id = strcmp(name, "*") == 0 ? 0 : job_id(p, w, name);
    struct virtual_behaviour how = virtual_behaviour_of(p->world.backend, id);

    scene_behaviour_words(w, &how);
    if (id != 0) {
        virtual_set_job(p->world.backend, id, &how);
    } else {
        virtual_set_default(p->world.backend, &how);
    }
}

static void ask(struct player *p, struct words *w, enum fact_kind kind, const char *verb)
{
    const char *name = words_next(w, "the job");
    struct fact_job_asked body = {.job = job_id(p, w, name), .subject = "someone", .reason = ""};
    const struct fact fact = {.kind = kind, .body.any = &body};
    const struct job *j = view_job(world_core(&p->world), body.job);

    if (kind == FACT_JOB_DONE && j != NULL) {
        body.attempt = j->attempt;
    }
    if (w->rc == 0) { /* a wrong line ends the play: nobody would answer what it asked */
        put(p, &fact, verb, name);
    }
}

static void ev_cancel(struct player *p, struct words *w)
{
    ask(p, w, FACT_JOB_CANCEL, "cancel");
}

static void ev_hold(struct player *p, struct words *w)
{
    ask(p, w, FACT_JOB_HELD, "hold");
}

static void ev_release(struct player *p, struct words *w)
{
    ask(p, w, FACT_JOB_RELEASED, "release");
}

static void ev_requeue(struct player *p, struct words *w)
{
    ask(p, w, FACT_JOB_REQUEUE, "requeue");
}

static void ev_done(struct player *p, struct words *w)
{
    ask(p, w, FACT_JOB_DONE, "done");
}

static void ev_checkpoint(struct player *p, struct words *w)
{
    const char *name = words_next(w, "the job");
    const struct job *j = view_job(world_core(&p->world), job_id(p, w, name));
    const struct fact_job_checkpointed body = {j != NULL ? j->id : 0, j != NULL ? j->attempt : 0,
                                               "step"};
    const struct fact fact = {.kind = FACT_JOB_CHECKPOINTED, .body.as_JOB_CHECKPOINTED = &body};

    put(p, &fact, "checkpoint", name);
}

static void ev_end(struct player *p, struct words *w)
{
    int64_t id = job_id(p, w, words_next(w, "the job"));

    virtual_end_job(p->world.backend, id, words_int(w, "status", 0));
    p->put = true;
}

static void ev_fail_task(struct player *p, struct words *w)
{
    int64_t id = job_id(p, w, words_next(w, "the job"));
    int64_t task = words_int(w, "task", 0);

    virtual_fail_task(p->world.backend, id, task, words_int(w, "signal", 9));
    p->put = true;
}

/* An end that was on its way for long: it speaks of the task of that step and no other. */
static void ev_late_end(struct player *p, struct words *w)
{
    struct backend *world = p->world.backend;
    int64_t id = job_id(p, w, words_next(w, "the job"));
    int64_t task = words_int(w, "task", 0);
    const struct job *j = view_job(world_core(&p->world), id);
    const struct fact_task_ended body = {.job = id,
                                         .attempt = j != NULL ? j->attempt : 0,
                                         .task = task,
                                         .step = words_int(w, "step", 0)};
    const struct fact fact = {.kind = FACT_TASK_ENDED, .body.any = &body};

    world->sink(world->sink_ctx, &fact);
    p->put = true;
}

static void ev_node_dark(struct player *p, struct words *w)
{
    bool dies = words_flag(w, "dies");

    virtual_node_dark(p->world.backend, node_id(p, w, words_next(w, "the node")), dies);
    p->put = true;
}

static void ev_node_back(struct player *p, struct words *w)
{
    virtual_node_back(p->world.backend, node_id(p, w, words_next(w, "the node")));
    p->put = true;
}

static void ev_node_gone(struct player *p, struct words *w)
{
    virtual_node_gone(p->world.backend, node_id(p, w, words_next(w, "the node")));
    p->put = true;
}

static void put_drain(struct player *p, struct words *w, bool drain)
{
    const char *name = words_next(w, "the node");
    int64_t by_ms = words_ms(w, "by", 0);
    const struct fact_node_drain body = {.node = node_id(p, w, name),
                                         .drain = drain,
                                         .by_ms = by_ms > 0 ? ZERO_MS + by_ms : 0,
                                         .reason = "maintenance",
                                         .subject = "someone"};
    const struct fact fact = {.kind = FACT_NODE_DRAIN, .body.as_NODE_DRAIN = &body};

    put(p, &fact, drain ? "drain" : "resume", name);
}

static void ev_drain(struct player *p, struct words *w)
{
    put_drain(p, w, true);
}

static void ev_resume(struct player *p, struct words *w)
{
    put_drain(p, w, false);
}

static void put_device(struct player *p, struct words *w, bool out)
{
    const char *name = words_next(w, "the node");
    const struct fact_device_state body = {.node = node_id(p, w, name),
                                           .slot = words_int(w, "slot", 0),
                                           .out = out,
                                           .reason = out ? "broken" : "repaired"};
    const struct fact fact = {.kind = FACT_DEVICE_STATE, .body.as_DEVICE_STATE = &body};

    put(p, &fact, out ? "device-out" : "device-in", name);
}

static void ev_device_out(struct player *p, struct words *w)
{
    put_device(p, w, true);
}

static void ev_device_in(struct player *p, struct words *w)
{
    put_device(p, w, false);
}

/* `policy queue a limit=6`: the line of the site, then the whole policy as one event. */
static void ev_policy(struct player *p, struct words *w)
{
    const char *verb = words_next(w, "what to change");
    struct err err = {0};
    int rc;

    if (!scene_site_line(&p->site, verb, w)) {
        words_fail(w, ERR_SYNTAX, "\"%s\" is no part of a policy", verb);
        return;
    }
    if (words_flag(w, "later")) {
        return; /* more lines follow, one policy is set for all */
    }
    rc = world_set_policy(&p->world, &p->site, &err);
    if (rc != 0) {
        refused(p, "policy", rc, &err);
    }
    p->put = true;
}

static void ev_restart(struct player *p, struct words *w)
{
    struct err err = {0};

    settle(p);
    if (world_restart(&p->world, &err) != 0) {
        words_fail(w, err.code, "restart: %.150s", err.text);
    }
}

static void ev_freeze(struct player *p, struct words *w)
{
    (void)w;
    engine_set_frozen(p->world.engine, true, "asked for");
}

static void ev_thaw(struct player *p, struct words *w)
{
    (void)w;
    engine_set_frozen(p->world.engine, false, NULL);
    p->put = true;
}

static void ev_wait(struct player *p, struct words *w)
{
    (void)p;
    (void)w;
}

static void ev_why(struct player *p, struct words *w)
{
    struct arena *arena = arena_make();
    struct why why = {0};
    struct err err = {0};
    int64_t id = job_id(p, w, words_next(w, "the job"));

    if (why_job(world_core(&p->world), id, p->world.now_ms, arena, &why, &err) != 0) {
        words_fail(w, err.code, "why: %.150s", err.text);
    } else {
        scene_text_why(&p->text, &why, p->world.now_ms, &p->result->got);
    }
    arena_free(arena);
}

static void ev_expect(struct player *p, struct words *w)
{
    scene_expect_job(&p->world, &p->text, w, &p->result->failures);
}

static void ev_expect_queue(struct player *p, struct words *w)
{
    scene_expect_queue(&p->world, w, &p->result->failures);
}

static void ev_expect_node(struct player *p, struct words *w)
{
    scene_expect_node(&p->world, w, &p->result->failures);
}

static const struct {
    const char *verb;
    void (*take)(struct player *p, struct words *w);
    bool asks; /* looks at a settled world */
} EVENTS[] = {
    {"submit", ev_submit, false},
    {"group", ev_group, false},
    {"behave", ev_behave, true},
    {"cancel", ev_cancel, false},
    {"hold", ev_hold, false},
    {"release", ev_release, false},
    {"requeue", ev_requeue, false},
    {"done", ev_done, false},
    {"checkpoint", ev_checkpoint, false},
    {"end", ev_end, false},
    {"fail-task", ev_fail_task, false},
    {"late-end", ev_late_end, false},
    {"node-dark", ev_node_dark, false},
    {"node-back", ev_node_back, false},
    {"node-gone", ev_node_gone, false},
    {"drain", ev_drain, false},
    {"resume", ev_resume, false},
    {"device-out", ev_device_out, false},
    {"device-in", ev_device_in, false},
    {"policy", ev_policy, true},
    {"restart", ev_restart, true},
    {"freeze", ev_freeze, true},
    {"thaw", ev_thaw, false},
    {"wait", ev_wait, true},
    {"why", ev_why, true},
    {"expect", ev_expect, true},
    {"expect-queue", ev_expect_queue, true},
    {"expect-node", ev_expect_node, true},
};

/* ---- lines ---- */

static void play_event(struct player *p, const char *verb, struct words *w)
{
    size_t i;

    for (i = 0; i < sizeof(EVENTS) / sizeof(EVENTS[0]); i++) {
        if (strcmp(EVENTS[i].verb, verb) == 0) {
            if (EVENTS[i].asks) {
                settle(p);
            }
            EVENTS[i].take(p, w);
            return;
        }
    }
    words_fail(w, ERR_SYNTAX, "\"%s\" is not known", verb);
}

static void play_timed(struct player *p, struct words *w, const char *time)
{
    struct err err = {0};
    int64_t at_ms = 0;
    const char *verb = words_next(w, "what happens");

    if (words_time(time, &at_ms, &err) != 0) {
        words_fail(w, err.code, "%.150s", err.text);
    } else if (ZERO_MS + at_ms < p->world.now_ms) {
        words_fail(w, ERR_RANGE, "t=%s is before the line above", time);
    } else {
        begin(p, w);
        go_to(p, ZERO_MS + at_ms);
        play_event(p, verb, w);
    }
}

static int play_line(struct player *p, const char *line, struct err *err)
{
    struct words w;
    const char *time;
    const char *verb;

    words_cut(&w, p->arena, p->path, p->line, line);
    if (w.count == 0) {
        return words_end(&w, err);
    }
    time = words_value(&w, "t");
    if (time != NULL) {
        play_timed(p, &w, time);
        return words_end(&w, err);
    }
    verb = words_next(&w, "a verb");
    if (strcmp(verb, "and") == 0 && p->begun) {
        play_event(p, words_next(&w, "what happens"), &w);
    } else if (strcmp(verb, "group") == 0) {
        ev_group(p, &w);
    } else if (strcmp(verb, "behave") == 0) {
        ev_behave(p, &w);
    } else if (p->begun || !scene_site_line(&p->site, verb, &w)) {
        words_fail(&w, ERR_SYNTAX, "\"%s\" is not known here", verb);
    }
    return words_end(&w, err);
}

/* The journal alone leads to the same state. */
static void check_replay(struct player *p)
{
    const struct engine_config config = {.journal = p->world.journal};
    struct engine *again = NULL;
    struct str one = {0};
    struct str two = {0};
    struct err err = {0};

    core_snapshot(world_core(&p->world), &one);
    if (engine_open(&config, &again, &err) != 0) {
        str_addf(&p->result->failures, "%s: replay: %s\n", p->path, err.text);
        str_fini(&one);
        return;
    }
    core_snapshot(engine_core(again), &two);
    if (strcmp(one.text, two.text) != 0) {
        str_addf(&p->result->failures, "%s: the replay is another state\n", p->path);
    }
    engine_close(again);
    str_fini(&one);
    str_fini(&two);
}

static int play_head(struct player *p, const char *head, struct err *err)
{
    struct words none;
    int rc = 0;

    while (rc == 0 && *head != '\0') {
        size_t len = strcspn(head, "\n");
        const char *line = arena_text_n(p->arena, head, len);

        p->line++;
        rc = play_line(p, line, err);
        head += len + (head[len] == '\n' ? 1 : 0);
    }
    words_cut(&none, p->arena, p->path, p->line, "");
    if (rc == 0) {
        begin(p, &none);
        settle(p);
        rc = words_end(&none, err);
    }
    return rc;
}

static void compare(struct player *p)
{
    const char *got = str_text(&p->result->got);
    const char *want = str_text(&p->result->want);
    int line = p->line + 1;

    while (*got != '\0' || *want != '\0') {
        size_t got_len = strcspn(got, "\n");
        size_t want_len = strcspn(want, "\n");

        line++;
        if (got_len != want_len || strncmp(got, want, got_len) != 0) {
            str_addf(&p->result->failures, "%s:%d: differs:\n  - %.*s\n  + %.*s\n", p->path, line,
                     (int)want_len, want, (int)got_len, got);
            return;
        }
        got += got_len + (got[got_len] == '\n' ? 1 : 0);
        want += want_len + (want[want_len] == '\n' ? 1 : 0);
    }
}

/* ---- files ---- */

static int read_file(const char *path, struct str *ret, struct err *err)
{
    FILE *f = fopen(path, "re");
    char block[4096];
    size_t len;

    if (f == NULL) {
        return err_set(err, ERR_NOT_FOUND, "%s: %s", path, strerror(errno));
    }
    while ((len = fread(block, 1, sizeof(block), f)) > 0) {
        str_add_n(ret, block, len);
    }
    (void)fclose(f);
    return 0;
}

static void split(const struct str *whole, struct scenario_result *ret)
{
    const char *text = str_text(whole);
    const char *dashes = strncmp(text, "---\n", 4) == 0 ? text : strstr(text, "\n---\n");

    str_add(&ret->head, "");
    str_add(&ret->want, "");
    if (dashes == NULL) {
        str_add(&ret->head, text);
        return;
    }
    dashes += *dashes == '\n' ? 1 : 0;
    str_add_n(&ret->head, text, (size_t)(dashes - text));
    str_add(&ret->want, dashes + 4);
}

int scenario_play(const char *path, struct scenario_result *ret, struct err *err)
{
    struct player p = {.path = path, .arena = arena_make(), .result = ret};
    struct str whole = {0};
    int rc;

    *ret = (struct scenario_result){0};
    rc = read_file(path, &whole, err);
    if (rc != 0) {
        arena_free(p.arena);
        str_fini(&whole);
        return rc;
    }
    split(&whole, ret);
    str_fini(&whole);
    site_init(&p.site);
    world_init(&p.world, ZERO_MS, 0);
    p.text = (struct scene_text){&p.world.roll, ZERO_MS};
    p.world.watch = watch;
    p.world.watch_ctx = &p;
    rc = play_head(&p, ret->head.text, err);
    if (rc == 0) {
        check_replay(&p);
        compare(&p);
    } else if (p.put) {
        world_step(&p.world); /* what was put is answered before the player goes */
    }
    world_fini(&p.world);
    site_fini(&p.site);
    arena_free(p.arena);
    return rc;
}

void scenario_result_fini(struct scenario_result *r)
{
    str_fini(&r->got);
    str_fini(&r->failures);
    str_fini(&r->head);
    str_fini(&r->want);
}

int scenario_update(const char *path, const struct scenario_result *r, struct err *err)
{
    FILE *f = fopen(path, "we");
    bool written;

    if (f == NULL) {
        return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
    }
    written = fprintf(f, "%s%s---\n%s", str_text(&r->head),
                      r->head.len > 0 && r->head.text[r->head.len - 1] != '\n' ? "\n" : "",
                      str_text(&r->got)) >= 0;
    if (fclose(f) != 0 || !written) {
        return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
    }
    return 0;
}
