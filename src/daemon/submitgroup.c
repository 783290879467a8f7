#include "daemon/submitgroup.h"

#include "base/check.h"
#include "base/str.h"
#include "daemon/submitjson.h"

#include <string.h>

static const char *const SHORT[] = {SUBMITGROUP_FIELDS, NULL};
static const char *const GROUP[] = {"name", SUBMITGROUP_FIELDS, NULL};
static const char *const TOPOLOGY[] = {"required", "preferred", NULL};

static void read_topology(struct bodyread *r, const struct jsonin *o, struct fact_group *g)
{
    const struct jsonin *t = jsonin_get(o, "topology");
    const char *path = r->path;

    g->required = g->preferred = "";
    if (t == NULL || t->kind == JSONIN_NULL) {
        return;
    }
    if (t->kind != JSONIN_OBJECT) {
        bodyread_fail(r, ERR_INVALID, "topology",
                      "write {\"required\": LEVEL} or {\"preferred\": "
                      "LEVEL}");
        return;
    }
    r->path = path[0] == '\0' ? "topology" : arena_printf(r->arena, "%s.topology", path);
    bodyread_known(r, t, TOPOLOGY);
    g->required = bodyread_text(r, t, "required", "");
    g->preferred = bodyread_text(r, t, "preferred", "");
    r->path = path;
}

static void read_labels(struct bodyread *r, const struct jsonin *o, struct fact_group *g)
{
    const struct jsonin *labels = jsonin_get(o, "labels");

    if (labels == NULL || labels->kind == JSONIN_NULL) {
        return;
    }
    if (labels->kind != JSONIN_OBJECT || labels->count > 64) {
        bodyread_fail(r, ERR_INVALID, "labels", "write at most 64 pairs: {\"key\": \"value\"}");
        return;
    }
    g->labels = arena_new(r->arena, labels->count, sizeof(*g->labels));
    for (const struct jsonin *v = labels->first; v != NULL; v = v->next) {
        if (v->kind != JSONIN_TEXT) {
            bodyread_fail(r, ERR_INVALID, arena_printf(r->arena, "labels.%s", v->key),
                          "write a text");
            return;
        }
        g->labels[g->label_count++] = (struct policy_label){v->key, v->text};
    }
}

/* One kind of GPU request: whole cards, slices, or a share. */
static void check_kind(struct bodyread *r, const struct fact_group *g)
{
    int kinds = (g->gpus > 0) + (g->profile[0] != '\0') + (g->share_gu > 0);

    if (kinds > 1) {
        bodyread_fail(r, ERR_INVALID, "gpus", "write only one of gpus, mig and share");
    } else if (g->slices > 0 && g->profile[0] == '\0') {
        bodyread_fail(r, ERR_INVALID, "slices", "goes with mig only");
    } else if ((g->share_memory_bytes > 0 || g->mps) && g->share_gu == 0) {
        bodyread_fail(r, ERR_INVALID, g->mps ? "mps" : "share_memory", "goes with share only");
    }
}

static void check_gpus_text(struct bodyread *r, const struct jsonin *o)
{
    const struct jsonin *v = jsonin_get(o, "gpus");

    if (v != NULL && v->kind != JSONIN_NULL && v->kind != JSONIN_INT) {
        bodyread_fail(r, ERR_INVALID, "gpus",
                      "write a whole number; for a part of a GPU write share: \"0.5\" or mig");
    }
}

static void read_group(struct bodyread *r, const struct jsonin *o, const char *name,
                       struct fact_group *g)
{
    check_gpus_text(r, o);
    g->name = name;
    g->tasks = bodyread_int(r, o, "tasks", 1, SUBMITJSON_TASKS_MAX, 1);
    g->min_tasks = bodyread_int(r, o, "min_tasks", 1, SUBMITJSON_TASKS_MAX, g->tasks);
    g->gpus = bodyread_int(r, o, "gpus", 0, 1024, 0);
    g->profile = bodyread_text(r, o, "mig", "");
    g->slices = bodyread_int(r, o, "slices", 1, 64, g->profile[0] == '\0' ? 0 : 1);
    g->share_gu = bodyread_share(r, o, "share");
    g->share_memory_bytes = bodyread_bytes(r, o, "share_memory");
    g->mps = bodyread_bool(r, o, "mps", false);
    g->cpu_milli = bodyread_cpu(r, o, "cpus");
    g->memory_bytes = bodyread_bytes(r, o, "memory");
    g->model = bodyread_text(r, o, "model", "");
    g->nodes = bodyread_texts(r, o, "nodes", 10000, &g->node_count);
    read_topology(r, o, g);
    read_labels(r, o, g);
    check_kind(r, g);
    if (!str_is_name(g->name)) {
        bodyread_fail(r, ERR_INVALID, "name", "use 1 to 63 of a-z, 0-9 and -");
    }
    if (g->min_tasks > g->tasks) {
        bodyread_fail(r, ERR_RANGE, "min_tasks", "is more than tasks (%lld)", (long long)g->tasks);
    }
}

/* The two forms do not mix. */
static void check_no_short_form(struct bodyread *r, const struct jsonin *body)
{
    for (size_t i = 0; SHORT[i] != NULL; i++) {
        if (jsonin_get(body, SHORT[i]) != NULL) {
            bodyread_fail(r, ERR_INVALID, SHORT[i], "belongs into a group where there are groups");
        }
    }
}

static void read_groups(struct bodyread *r, const struct jsonin *list,
                        struct fact_job_submitted *ret)
{
    size_t count = jsonin_count(list);
    const struct jsonin *o = jsonin_first(list);
    int64_t tasks = 0;

    if (list->kind != JSONIN_ARRAY || count == 0 || count > SUBMITJSON_GROUPS_MAX) {
        bodyread_fail(r, ERR_INVALID, "groups", "write a list of 1 to %d groups",
                      SUBMITJSON_GROUPS_MAX);
        return;
    }
    ret->groups = arena_new(r->arena, count, sizeof(*ret->groups));
    for (size_t i = 0; i < count; i++, o = o->next) {
        r->path = arena_printf(r->arena, "groups[%zu]", i);
        if (o->kind != JSONIN_OBJECT) {
            bodyread_fail(r, ERR_INVALID, "", "write an object");
            break;
        }
        bodyread_known(r, o, GROUP);
        read_group(r, o, bodyread_text(r, o, "name", arena_printf(r->arena, "g%zu", i)),
                   &ret->groups[i]);
        tasks += ret->groups[i].tasks;
    }
    r->path = "";
    ret->group_count = count;
    if (tasks > SUBMITJSON_TASKS_MAX) {
        bodyread_fail(r, ERR_TOO_LARGE, "groups", "have more than %d tasks together",
                      SUBMITJSON_TASKS_MAX);
    }
}

void submitgroup_read(struct bodyread *r, const struct jsonin *body, struct fact_job_submitted *ret)
{
    const struct jsonin *groups = jsonin_get(body, "groups");

    if (groups != NULL && groups->kind != JSONIN_NULL) {
        check_no_short_form(r, body);
        read_groups(r, groups, ret);
        return;
    }
    ret->groups = arena_new(r->arena, 1, sizeof(*ret->groups));
    ret->group_count = 1;
    read_group(r, body, "main", &ret->groups[0]);
}
