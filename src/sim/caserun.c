/* caserun - set the stage with the engine frozen, then let it plan until nothing changes. */
#include "sim/caserun.h"

#include "base/check.h"
#include "base/quantity.h"
#include "sim/scene_text.h"
#include "sim/world.h"

#include <stdlib.h>
#include <string.h>

#define START_MS      ((int64_t)1000000)
#define SECOND_MS     ((int64_t)1000)
#define ROUNDS_MAX    40
#define ROUNDS_QUIET  5
#define REPAIR_ROUNDS 3
#define STEPS_MAX     400
#define CARD_BYTES    ((int64_t)80 << 30)

struct stage {
    struct casefile *c;
    struct world world;
    struct arena *arena;
    struct str *decisions;             /* may be NULL */
    VEC(const struct case_job *) jobs; /* by age; the id of a job is its index + 1 */
    int64_t *free_gu;                  /* of each slot of each node */
    size_t *first_slot;                /* of each node in free_gu */
    struct fact_grant **grants;        /* by job: of its running pods */
};

/* ---- nodes ---- */

static size_t slots_of(const struct case_node *n)
{
    size_t count = (size_t)n->gpus;
    size_t i;

    for (i = 0; i < n->slice_count; i++) {
        count += (size_t)n->slices[i].count;
    }
    return count;
}

/* What a slice of the profile is charged: as the jobs say that ask for it. */
static int64_t charge_of(const struct casefile *c, const char *profile)
{
    size_t i;

    for (i = 0; i < c->jobs.count; i++) {
        if (str_cmp(c->jobs.items[i].profile, profile) == 0) {
            return c->jobs.items[i].charge_gu;
        }
    }
    return 0;
}

static struct fact_device *devices_of(struct stage *s, const struct case_node *n)
{
    struct fact_device *devices = arena_new(s->arena, slots_of(n) + 1, sizeof(*devices));
    int64_t slot;
    int64_t k;
    size_t i;

    for (slot = 0; slot < n->gpus; slot++) {
        devices[slot].memory_bytes = CARD_BYTES;
    }
    for (i = 0; i < n->slice_count; i++) {
        for (k = 0; k < n->slices[i].count; k++, slot++) {
            devices[slot].profile = n->slices[i].profile;
            devices[slot].charge_gu = charge_of(s->c, n->slices[i].profile);
        }
    }
    for (k = 0; k < slot; k++) {
        devices[k].slot = k;
        devices[k].uuid = arena_printf(s->arena, "GPU-%s-%lld", n->row->name, (long long)k);
        devices[k].model = n->row->model;
    }
    return devices;
}

static void tell_node(struct stage *s, const struct case_node *n)
{
    const struct fact_node_seen body = {
        .id = n->row->id,
        .name = n->row->name,
        .cluster = n->row->cluster,
        .pool = n->row->pool,
        .simulated = true,
        .cpu_milli = n->row->cpu_milli,
        .memory_bytes = n->row->memory_bytes,
        .domains = n->row->domains,
        .domain_count = n->row->domain_count,
        .devices = devices_of(s, n),
        .device_count = slots_of(n),
    };
    const struct fact fact = {.kind = FACT_NODE_SEEN, .body.as_NODE_SEEN = &body};

    world_put(&s->world, &fact);
}

/* ---- jobs ---- */

static struct fact_job_submitted ask_of(struct stage *s, const struct case_job *j, int64_t id)
{
    struct fact_group *g = arena_new(s->arena, 1, sizeof(*g));

    *g = (struct fact_group){
        .name = "pods",
        .tasks = j->pods,
        .min_tasks = j->min_pods,
        .gpus = j->gpus_per_pod,
        .profile = j->profile,
        .slices = *j->profile != '\0' ? 1 : 0,
        .share_gu = j->share_gu,
        .share_memory_bytes = CARD_BYTES / 1000 * (j->share_gu * 1000 / GU_PER_GPU),
        .model = j->model,
        .required = j->required,
        .preferred = j->preferred,
        .nodes = j->nodes,
        .node_count = j->node_count,
    };
    return (struct fact_job_submitted){
        .id = id,
        .name = j->name,
        .queue = j->queue,
        .subject = "case",
        .nonpreemptible = !j->preemptible,
        .independent = *j->profile != '\0',
        .priority = j->priority,
        .groups = g,
        .group_count = 1,
        .spec = "",
    };
}

static const struct case_node *node_of(const struct stage *s, const char *name, size_t *ret_index)
{
    size_t i;

    for (i = 0; i < s->c->nodes.count; i++) {
        if (str_cmp(s->c->nodes.items[i].row->name, name) == 0) {
            *ret_index = i;
            return &s->c->nodes.items[i];
        }
    }
    return NULL;
}

/* The slot that the pod takes next on the node; -1 when the case gives it more than there is. */
static int64_t take_slot(struct stage *s, const struct case_job *j, const struct case_node *n,
                         size_t node, int64_t wanted)
{
    int64_t need_gu = j->share_gu > 0 ? j->share_gu : GU_PER_GPU;
    int64_t *free_gu = &s->free_gu[s->first_slot[node]];
    bool slice = *j->profile != '\0';
    int64_t slot = slice ? n->gpus : 0;
    int64_t end = slice ? (int64_t)slots_of(n) : n->gpus;
    size_t i;

    for (i = 0; slice && i < n->slice_count && str_cmp(n->slices[i].profile, j->profile) != 0;
         i++) {
        slot += n->slices[i].count;
    }
    for (; slot < end; slot++) {
        if (free_gu[slot] >= need_gu && (wanted < 0 || wanted == slot)) {
            free_gu[slot] -= need_gu;
            return slot;
        }
    }
    return -1;
}

static int grant_pod(struct stage *s, const struct case_job *j, size_t pod, struct fact_grant *ret,
                     struct err *err)
{
    size_t count = j->share_gu > 0 || *j->profile != '\0' ? 1 : (size_t)j->gpus_per_pod;
    bool indexed = j->share_gu > 0 && pod < j->gpu_index_count;
    size_t node = 0;
    const struct case_node *n = node_of(s, j->on[pod], &node);
    size_t i;

    if (n == NULL) {
        return err_set(err, ERR_INVALID, "job %s: node %s is not among the nodes", j->name,
                       j->on[pod]);
    }
    *ret = (struct fact_grant){.task = (int64_t)pod, .node = n->row->id, .device_count = count};
    ret->devices = arena_new(s->arena, count + 1, sizeof(*ret->devices));
    for (i = 0; i < count; i++) {
        struct fact_grant_device *d = &ret->devices[i];

        d->slot = take_slot(s, j, n, node, indexed ? j->gpu_index[pod] : -1);
        if (d->slot < 0) {
            return err_set(err, ERR_INVALID, "job %s: node %s has no room for pod %zu", j->name,
                           j->on[pod], pod);
        }
        d->gu = j->share_gu > 0 ? j->share_gu : GU_PER_GPU;
        if (*j->profile != '\0') {
            d->gu = j->charge_gu;
            d->profile = j->profile;
        } else if (j->share_gu > 0) {
            d->memory_bytes = CARD_BYTES / 1000 * (j->share_gu * 1000 / GU_PER_GPU);
        }
    }
    return 0;
}

/* Who names its card takes it before anybody takes the lowest free one. */
static int grant_running(struct stage *s, bool indexed, struct err *err)
{
    size_t i, k;
    int rc = 0;

    for (i = 0; i < s->jobs.count; i++) {
        const struct case_job *j = s->jobs.items[i];

        if (!j->running || (j->gpu_index_count > 0) != indexed) {
            continue;
        }
        s->grants[i] = arena_new(s->arena, j->on_count + 1, sizeof(*s->grants[i]));
        for (k = 0; rc == 0 && k < j->on_count; k++) {
            rc = grant_pod(s, j, k, &s->grants[i][k], err);
        }
    }
    return rc;
}

static int start_running(struct stage *s, size_t index, struct err *err)
{
    const struct case_job *j = s->jobs.items[index];
    struct fact_job_started body = {
        .job = (int64_t)index + 1,
        .attempt = 1,
        .step = 1,
        .pool = s->c->site.pools.items[0].id,
        .tasks = s->grants[index],
        .task_count = j->on_count,
        .why = {.rule = "given", .text = "ran at the start of the case"},
    };
    const struct fact fact = {.kind = FACT_JOB_STARTED, .body.as_JOB_STARTED = &body};
    size_t i, k;

    for (i = 0; i < j->on_count; i++) {
        for (k = 0; k < body.tasks[i].device_count; k++) {
            body.reserved_gu += body.tasks[i].devices[k].gu;
        }
    }
    return world_ask(&s->world, &fact, err);
}

static int submit(struct stage *s, size_t index, struct err *err)
{
    const struct case_job *j = s->jobs.items[index];
    const struct fact_job_submitted body = ask_of(s, j, (int64_t)index + 1);
    const struct fact fact = {.kind = FACT_JOB_SUBMITTED, .body.as_JOB_SUBMITTED = &body};
    int rc;

    s->world.now_ms = START_MS + (j->submitted - s->jobs.items[0]->submitted) * SECOND_MS;
    rc = world_ask(&s->world, &fact, err);
    if (rc == 0 && j->running && j->on_count > 0) {
        rc = start_running(s, index, err);
    }
    return rc;
}

static int by_age(const void *a, const void *b)
{
    const struct case_job *x = *(const struct case_job *const *)a;
    const struct case_job *y = *(const struct case_job *const *)b;

    if (x->submitted != y->submitted) {
        return x->submitted < y->submitted ? -1 : 1;
    }
    return x < y ? -1 : x > y; /* the order of the file: both lie in one list */
}

/* A gang that is broken when the case begins may be completed until the first rounds are over. */
static void set_repair(struct stage *s)
{
    int64_t span = 0;
    size_t i;

    if (s->jobs.count > 0) {
        span = s->jobs.items[s->jobs.count - 1]->submitted - s->jobs.items[0]->submitted;
    }
    for (i = 0; i < s->c->site.queues.count; i++) {
        s->c->site.queues.items[i].gang_repair_ms = (span + REPAIR_ROUNDS) * SECOND_MS;
    }
}

static int set_stage(struct stage *s, struct err *err)
{
    struct casefile *c = s->c;
    size_t slots = 0;
    size_t i;
    int rc;

    s->first_slot = arena_new(s->arena, c->nodes.count + 1, sizeof(*s->first_slot));
    for (i = 0; i < c->nodes.count; i++) {
        s->first_slot[i] = slots;
        slots += slots_of(&c->nodes.items[i]);
    }
    s->free_gu = arena_new(s->arena, slots + 1, sizeof(*s->free_gu));
    for (i = 0; i < slots; i++) {
        s->free_gu[i] = GU_PER_GPU;
    }
    for (i = 0; i < c->jobs.count; i++) {
        vec_push(&s->jobs, &c->jobs.items[i]);
    }
    if (s->jobs.count > 0) {
        qsort(s->jobs.items, s->jobs.count, sizeof(s->jobs.items[0]), by_age);
    }
    set_repair(s);
    s->grants = arena_new(s->arena, s->jobs.count + 1, sizeof(struct fact_grant *));
    rc = grant_running(s, true, err);
    rc = rc != 0 ? rc : grant_running(s, false, err);
    engine_set_frozen(s->world.engine, true, "the stage is being set");
    rc = rc != 0 ? rc : world_set_policy(&s->world, &c->site, err);
    for (i = 0; rc == 0 && i < c->nodes.count; i++) {
        tell_node(s, &c->nodes.items[i]);
    }
    world_step(&s->world);
    for (i = 0; rc == 0 && i < s->jobs.count; i++) {
        rc = submit(s, i, err);
    }
    engine_set_frozen(s->world.engine, false, NULL);
    return rc;
}

/* ---- rounds ---- */

/* Rounds until nothing changes, then some more that must change nothing.  Where the core waits for
 * a time (a broken gang that may be completed, a move that must have waited long enough) the time
 * goes there. */
static bool settle(struct world *w)
{
    int rounds = 0;
    int quiet = 0;
    int steps;

    for (steps = 0; steps < STEPS_MAX && rounds <= ROUNDS_MAX && quiet < ROUNDS_QUIET; steps++) {
        int64_t before = w->roll.decisions;
        int64_t next_ms = world_next_ms(w);

        w->now_ms = next_ms != INT64_MAX && next_ms > w->now_ms ? next_ms : w->now_ms + SECOND_MS;
        world_step(w);
        if (w->roll.decisions > before) {
            rounds++;
            quiet = 0;
        } else {
            quiet++;
        }
    }
    return quiet >= ROUNDS_QUIET;
}

/* ---- outcome ---- */

static void add_pod(struct str *ret, const struct roll *f, const struct roll_task *t)
{
    const char *name = roll_node_name(f, t->node);
    size_t i;

    str_add(ret, "{\"node\":");
    str_add_json(ret, name, strlen(name));
    if (t->devices.count == 1 && *t->devices.items[0].profile != '\0') {
        const char *profile = t->devices.items[0].profile;

        str_add(ret, ",\"mig\":");
        str_add_json(ret, profile, strlen(profile));
    } else {
        str_add(ret, ",\"gpus\":[");
        for (i = 0; i < t->devices.count; i++) {
            str_add(ret, i > 0 ? "," : "");
            str_add_int(ret, t->devices.items[i].slot);
        }
        str_add_char(ret, ']');
    }
    str_add_char(ret, '}');
}

static void add_pods(struct str *ret, const struct roll *f)
{
    const struct omap_item *it;
    bool first = true;
    size_t i;

    for (it = omap_first(&f->jobs); it != NULL; it = omap_next(it)) {
        const struct roll_job *j = it->value;

        if (j->tasks.count == 0) {
            continue;
        }
        str_add(ret, first ? "" : ",");
        first = false;
        str_add_json(ret, j->name, strlen(j->name));
        str_add(ret, ":[");
        for (i = 0; i < j->tasks.count; i++) {
            str_add(ret, i > 0 ? "," : "");
            add_pod(ret, f, &j->tasks.items[i]);
        }
        str_add_char(ret, ']');
    }
}

static void add_evicted(struct str *ret, const struct roll *f)
{
    const struct omap_item *it;
    bool first = true;

    for (it = omap_first(&f->jobs); it != NULL; it = omap_next(it)) {
        const struct roll_job *j = it->value;

        if (j->evictions + j->stops > 0) {
            str_add(ret, first ? "" : ",");
            first = false;
            str_add_json(ret, j->name, strlen(j->name));
        }
    }
}

static void add_outcome(struct str *ret, struct stage *s, bool settled)
{
    struct engine_stats stats;

    engine_stats(s->world.engine, &stats);
    str_add(ret, "{\"id\":");
    str_add_json(ret, s->c->id, strlen(s->c->id));
    str_addf(ret, ",\"settled\":%s,\"pods\":{", settled ? "true" : "false");
    add_pods(ret, &s->world.roll);
    str_add(ret, "},\"evicted\":[");
    add_evicted(ret, &s->world.roll);
    str_addf(ret, "],\"plan_us\":%lld}", (long long)stats.call_us);
}

static void watch(void *ctx, const struct fact *fact, const struct journal_record *record)
{
    struct stage *s = ctx;
    const struct scene_text text = {&s->world.roll, START_MS};

    (void)record;
    scene_text_fact(&text, fact, s->decisions);
}

int caserun(struct casefile *c, struct str *ret, struct str *decisions, struct err *err)
{
    struct stage s = {.c = c, .arena = arena_make(), .decisions = decisions};
    int rc;

    world_init(&s.world, START_MS,
               1); /* who is stopped is back among the waiting before the next plan */
    s.world.alone = true;
    if (decisions != NULL) {
        s.world.watch = watch;
        s.world.watch_ctx = &s;
    }
    rc = set_stage(&s, err);
    if (rc == 0) {
        add_outcome(ret, &s, settle(&s.world));
    }
    world_fini(&s.world);
    vec_fini(&s.jobs);
    arena_free(s.arena);
    return rc;
}
