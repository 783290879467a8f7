/* casefile - the reader of cases.
 *
 * Amounts are numbers of GPUs with at most three decimals; they are turned into units here, and no
 * float goes further.
 */
#include "sim/casefile.h"

#include "base/quantity.h"
#include "base/str.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#define GU_PER_THOUSANDTH (GU_PER_GPU / 1000)
#define LIST_MAX          100000
#define PRIORITY_ANY      INT64_MAX
#define SECOND_MS         ((int64_t)1000)
#define SECONDS_MAX       ((int64_t)1000 * 1000 * 1000)

static const int64_t COUNTS[] = {0, LIST_MAX};

struct reader {
    struct casefile *c;
    const char *where; /* "jobs[3]" */
    struct err *err;
    int rc; /* the first failure */
};

static void fail(struct reader *r, const char *field, const char *want)
{
    if (r->rc == 0) {
        r->rc = err_set(r->err, ERR_INVALID, "%s%s%s: %s", r->where, *r->where != '\0' ? "." : "",
                        field, want);
    }
}

static const char *read_text(struct reader *r, const json_t *o, const char *field,
                             const char *usual)
{
    const json_t *v = json_object_get(o, field);

    if (v == NULL || json_is_null(v)) {
        return usual;
    }
    if (!json_is_string(v)) {
        fail(r, field, "must be a text");
        return usual;
    }
    return arena_text(r->c->site.arena, json_string_value(v));
}

static int64_t read_int(struct reader *r, const json_t *o, const char *field, int64_t usual)
{
    const json_t *v = json_object_get(o, field);

    if (v == NULL || json_is_null(v)) {
        return usual;
    }
    if (!json_is_integer(v)) {
        fail(r, field, "must be a whole number");
        return usual;
    }
    return json_integer_value(v);
}

/* A number from min to max. */
static int64_t read_within(struct reader *r, const json_t *o, const char *field, int64_t usual,
                           const int64_t range[2])
{
    int64_t value = read_int(r, o, field, usual);

    if (value < range[0] || value > range[1]) {
        fail(r, field, "is out of range");
        return usual;
    }
    return value;
}

static bool read_bool(struct reader *r, const json_t *o, const char *field, bool usual)
{
    const json_t *v = json_object_get(o, field);

    if (v == NULL || json_is_null(v)) {
        return usual;
    }
    if (!json_is_boolean(v)) {
        fail(r, field, "must be true or false");
        return usual;
    }
    return json_is_true(v);
}

/* GPUs as units. */
static int64_t read_gpus(struct reader *r, const json_t *o, const char *field, int64_t usual_gu)
{
    const json_t *v = json_object_get(o, field);

    if (v == NULL || json_is_null(v)) {
        return usual_gu;
    }
    if (!json_is_number(v) || json_number_value(v) < 0 || json_number_value(v) > 1e9) {
        fail(r, field, "must be a number of GPUs from 0");
        return usual_gu;
    }
    return (int64_t)llround(json_number_value(v) * 1000) * GU_PER_THOUSANDTH;
}

static int read_word(struct reader *r, const json_t *o, const char *field, const char *const *names)
{
    const char *word = read_text(r, o, field, names[0]);
    int i;

    for (i = 0; names[i] != NULL; i++) {
        if (str_cmp(names[i], word) == 0) {
            return i;
        }
    }
    fail(r, field, "is not one of the known words");
    return 0;
}

/* A list of texts; *ret stays NULL when there is none. */
static size_t read_texts(struct reader *r, const json_t *o, const char *field, const char ***ret)
{
    const json_t *list = json_object_get(o, field);
    size_t count = json_array_size(list);
    size_t i;

    if (count == 0) {
        return 0;
    }
    *ret = arena_new(r->c->site.arena, count, sizeof(**ret));
    for (i = 0; i < count; i++) {
        const json_t *v = json_array_get(list, i);

        if (!json_is_string(v)) {
            fail(r, field, "must be a list of texts");
            return 0;
        }
        (*ret)[i] = arena_text(r->c->site.arena, json_string_value(v));
    }
    return count;
}

/* ---- parts ---- */

static void read_policy(struct reader *r, const json_t *root)
{
    const json_t *o = json_object_get(root, "policy");
    struct policy *p = &r->c->site.policy;

    p->overcommit = true;
    p->fair_share = FAIR_NONE;
    p->node_lost_ms = SECOND_MS;
    if (o == NULL) {
        return;
    }
    p->consolidation = read_bool(r, o, "consolidation", false);
    if (json_object_get(o, "fair_share") != NULL) {
        p->fair_share = read_word(r, o, "fair_share", FAIR_SHARE_NAMES);
    }
}

static void read_levels(struct reader *r, const json_t *root)
{
    const char **levels = NULL;
    size_t count = read_texts(r, root, "topology_levels", &levels);
    size_t i;

    for (i = 0; i < count; i++) {
        site_add_level(&r->c->site, levels[i]);
    }
}

static void read_slices(struct reader *r, const json_t *o, struct case_node *n)
{
    json_t *mig = json_object_get(o, "mig");
    const char *profile;
    json_t *count;

    n->slices = arena_new(r->c->site.arena, json_object_size(mig) + 1, sizeof(*n->slices));
    json_object_foreach(mig, profile, count)
    {
        if (!json_is_integer(count) || json_integer_value(count) < 0 ||
            json_integer_value(count) > LIST_MAX) {
            fail(r, "mig", "must be a number of instances by profile");
            return;
        }
        n->slices[n->slice_count++] =
            (struct case_slices){arena_text(r->c->site.arena, profile), json_integer_value(count)};
    }
}

static void read_node(struct reader *r, const json_t *o)
{
    struct site *s = &r->c->site;
    struct policy_node *row =
        site_add_node(s, read_text(r, o, "name", ""), s->pools.items[0].id, 0);
    json_t *domains = json_object_get(o, "domains");
    struct case_node n = {.gpus = read_int(r, o, "gpus", 0)};
    const char *level;
    json_t *domain;

    if (n.gpus < 0 || n.gpus > LIST_MAX) {
        fail(r, "gpus", "must be a number of GPUs from 0");
        n.gpus = 0;
    }
    row->model = read_text(r, o, "gpu_type", "gpu");
    json_object_foreach(domains, level, domain)
    {
        if (json_is_string(domain)) {
            site_add_domain(s, row, level, json_string_value(domain));
        }
    }
    read_slices(r, o, &n);
    vec_push(&r->c->nodes, n);
    vec_push(&r->c->rows, *row);
}

static void read_queue(struct reader *r, const json_t *o, bool may_borrow)
{
    struct site *s = &r->c->site;
    struct policy_queue *q = site_add_queue(s, read_text(r, o, "name", ""), 0);
    struct policy_quota *quota = site_quota(s, q, s->pools.items[0].id);

    quota->reserved_gu = read_gpus(r, o, "reserved", POLICY_NONE);
    quota->borrow_gu = read_gpus(r, o, "borrow_limit", POLICY_NONE);
    quota->lend_gu = read_gpus(r, o, "lend_limit", POLICY_NONE);
    quota->limit_gu = read_gpus(r, o, "max", POLICY_NONE);
    q->weight = read_int(r, o, "weight", 1);
    q->reclaim = read_word(r, o, "reclaim", QUEUE_RECLAIM_NAMES);
    q->preempt_within = read_word(r, o, "preempt_within", QUEUE_PREEMPT_NAMES);
    q->nonpreemptible_may_borrow = may_borrow;
    q->priority_max = PRIORITY_ANY;
    q->grace_ms = 0;
    q->grace_max_ms = 0;
    q->drain_after_ms = POLICY_NONE;
}

static void read_job(struct reader *r, const json_t *o)
{
    const json_t *topology = json_object_get(o, "topology");
    const json_t *index = json_object_get(o, "gpu_index");
    const struct policy_queue *q = site_queue(&r->c->site, read_text(r, o, "queue", ""));
    struct case_job j = {.name = read_text(r, o, "name", "")};
    size_t i;

    if (q == NULL) {
        fail(r, "queue", "is not among the queues");
        return;
    }
    j.queue = q->id;
    j.priority = read_int(r, o, "priority", 0);
    j.submitted = read_within(r, o, "submitted", 0, (const int64_t[]){-SECONDS_MAX, SECONDS_MAX});
    j.pods = read_within(r, o, "pods", 1, COUNTS);
    j.min_pods = read_within(r, o, "min_pods", j.pods, COUNTS);
    j.gpus_per_pod = read_within(r, o, "gpus_per_pod", 0, COUNTS);
    j.share_gu = read_gpus(r, o, "fraction", 0);
    if (j.share_gu >= GU_PER_GPU) { /* a share that is the whole card */
        j.gpus_per_pod = j.share_gu / GU_PER_GPU;
        j.share_gu = 0;
    }
    j.profile = read_text(r, o, "mig", "");
    j.charge_gu = read_gpus(r, o, "quota_per_pod", 0);
    j.preemptible = read_bool(r, o, "preemptible", true);
    j.model = read_text(r, o, "gpu_type", "");
    j.required = topology != NULL ? read_text(r, topology, "required", "") : "";
    j.preferred = topology != NULL ? read_text(r, topology, "preferred", "") : "";
    j.node_count = read_texts(r, o, "nodes", &j.nodes);
    j.running = str_cmp(read_text(r, o, "state", "pending"), "running") == 0;
    j.on_count = read_texts(r, o, "on", &j.on);
    j.gpu_index = arena_new(r->c->site.arena, json_array_size(index) + 1, sizeof(*j.gpu_index));
    for (i = 0; i < json_array_size(index); i++) {
        j.gpu_index[j.gpu_index_count++] = json_integer_value(json_array_get(index, i));
    }
    if (j.gpus_per_pod > LIST_MAX) {
        fail(r, "fraction", "is out of range");
    }
    if (j.pods < 1 || j.min_pods > j.pods) {
        fail(r, "pods", "must be from 1, and min_pods at most pods");
    }
    vec_push(&r->c->jobs, j);
}

/* ---- the tree ---- */

/* Parents by name, which may come after their children in the file. */
static void link_parents(struct reader *r, const json_t *queues)
{
    struct site *s = &r->c->site;
    size_t i;

    for (i = 0; i < s->queues.count; i++) {
        const char *name = json_string_value(json_object_get(json_array_get(queues, i), "parent"));
        const struct policy_queue *parent = name != NULL ? site_queue(s, name) : NULL;

        if (name != NULL && parent == NULL) {
            r->where = s->queues.items[i].name;
            fail(r, "parent", "is not among the queues");
            return;
        }
        s->queues.items[i].parent = parent != NULL ? parent->id : 0;
    }
}

/* The policy lists parents before children; ids stay. */
static void sort_queues(struct reader *r)
{
    struct site *s = &r->c->site;
    VEC(struct policy_queue) sorted = {0};
    size_t before, i, k;

    do {
        before = sorted.count;
        for (i = 0; i < s->queues.count; i++) {
            const struct policy_queue *q = &s->queues.items[i];
            bool in = false;
            bool ready = q->parent == 0;

            for (k = 0; k < sorted.count; k++) {
                in = in || sorted.items[k].id == q->id;
                ready = ready || sorted.items[k].id == q->parent;
            }
            if (!in && ready) {
                vec_push(&sorted, *q);
            }
        }
    } while (sorted.count > before);
    if (sorted.count < s->queues.count) {
        r->where = "queues";
        fail(r, "parent", "the tree has a cycle");
    } else {
        for (i = 0; i < sorted.count; i++) {
            s->queues.items[i] = sorted.items[i];
        }
    }
    vec_fini(&sorted);
}

/* A reserve that is not given is the sum of the children's; the list has parents first. */
static void sum_reserves(struct site *s)
{
    int64_t pool = s->pools.items[0].id;
    size_t i, k;

    for (i = s->queues.count; i-- > 0;) {
        struct policy_queue *q = &s->queues.items[i];
        struct policy_quota *quota = site_quota(s, q, pool);

        if (quota->reserved_gu != POLICY_NONE) {
            continue;
        }
        quota->reserved_gu = 0;
        for (k = i + 1; k < s->queues.count; k++) {
            if (s->queues.items[k].parent == q->id) {
                quota->reserved_gu += site_quota(s, &s->queues.items[k], pool)->reserved_gu;
            }
        }
    }
}

/* ---- the file ---- */

static void read_list(struct reader *r, const json_t *root, const char *field,
                      void (*each)(struct reader *r, const json_t *o))
{
    const json_t *list = json_object_get(root, field);
    char where[64];
    size_t i;

    for (i = 0; r->rc == 0 && i < json_array_size(list); i++) {
        (void)snprintf(where, sizeof(where), "%s[%zu]", field, i);
        r->where = where;
        each(r, json_array_get(list, i));
    }
    r->where = "";
}

static void read_queue_usual(struct reader *r, const json_t *o)
{
    read_queue(r, o, false);
}

static void read_queue_borrowing(struct reader *r, const json_t *o)
{
    read_queue(r, o, true);
}

/* Nothing shows the names of queues, and those of a case need not be names to the core. */
static void rename_queues(struct casefile *c)
{
    size_t i;

    for (i = 0; i < c->site.queues.count; i++) {
        struct policy_queue *q = &c->site.queues.items[i];

        q->name = arena_printf(c->site.arena, "q%lld", (long long)q->id);
    }
}

static void read_all(struct reader *r, const json_t *root)
{
    struct casefile *c = r->c;
    const json_t *policy = json_object_get(root, "policy");
    struct policy_pool *pool = site_add_pool(&c->site, "pool");
    bool may_borrow = policy != NULL && read_bool(r, policy, "nonpreemptible_may_borrow", false);
    size_t i;

    pool->mixed = true;
    pool->share_within = SHARE_ANY;
    c->id = read_text(r, root, "id", "");
    read_policy(r, root);
    read_levels(r, root);
    read_list(r, root, "nodes", read_node);
    read_list(r, root, "queues", may_borrow ? read_queue_borrowing : read_queue_usual);
    if (r->rc == 0) {
        link_parents(r, json_object_get(root, "queues"));
    }
    if (r->rc == 0) {
        sort_queues(r);
    }
    if (r->rc == 0) {
        sum_reserves(&c->site);
    }
    read_list(r, root, "jobs", read_job);
    rename_queues(c);
    for (i = 0; i < c->nodes.count; i++) {
        c->nodes.items[i].row = &c->rows.items[i];
    }
    vec_clear(&c->site.nodes);
}

int casefile_read(const char *path, struct casefile *ret, struct err *err)
{
    struct casefile c = {0};
    struct reader r = {.c = &c, .where = "", .err = err};
    json_error_t at;
    json_t *root;

    if (access(path, R_OK) != 0) {
        return err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "it cannot be read: %s",
                       strerror(errno));
    }
    root = json_load_file(path, JSON_REJECT_DUPLICATES, &at);
    if (root == NULL) {
        return err_set(err, ERR_SYNTAX, "line %d, column %d: %s", at.line, at.column, at.text);
    }
    if (!json_is_object(root)) {
        json_decref(root);
        return err_set(err, ERR_INVALID, "a case is one JSON object");
    }
    site_init(&c.site);
    read_all(&r, root);
    json_decref(root);
    if (r.rc != 0) {
        casefile_fini(&c);
        return r.rc;
    }
    *ret = c;
    return 0;
}

void casefile_fini(struct casefile *c)
{
    site_fini(&c->site);
    vec_fini(&c->rows);
    vec_fini(&c->nodes);
    vec_fini(&c->jobs);
}
