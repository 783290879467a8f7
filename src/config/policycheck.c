#include "config/policycheck.h"

#include "base/check.h"
#include "base/quantity.h"
#include "core/slice.h"

#include <string.h>

struct checker {
    const struct site *site;
    const struct policyfile *f;
    const struct policy *p;
    struct complaints *c;
};

static const char *gpus_text(const struct checker *k, int64_t gu)
{
    char text[QUANTITY_TEXT_MAX];

    quantity_gpus_text(gu, text);
    return arena_text(k->c->arena, text);
}

/* ---- nodes ---- */

static void check_model(const struct checker *k, size_t i, const char **seen)
{
    const struct policy_node *node = &k->p->nodes[i];
    const struct site_pool *pool = k->f->pools[node->pool - 1];

    if (node->gpus == 0) {
        return;
    }
    if (seen[node->pool - 1] == NULL) {
        seen[node->pool - 1] = node->model;
    }
    if (!pool->mixed && strcmp(seen[node->pool - 1], node->model) != 0) {
        settings_complain(k->c, k->f->nodes[i], ERR_POLICY, "model",
                          complaint_text(k->c,
                                         arena_printf(k->c->arena, "is another model than %s",
                                                      seen[node->pool - 1]),
                                         node->model, "use two pools or set mixed: true"));
    }
    if (node->mig && slice_table_of(node->model) == NULL) {
        settings_complain(k->c, k->f->nodes[i], ERR_NO_PROFILE, "model",
                          complaint_text(k->c, "cannot be cut into MIG slices", node->model,
                                         "set mig: false or name a model that can, e.g. "
                                         "h100-80gb"));
    }
}

static bool is_level(const struct policy *p, const char *name)
{
    for (size_t i = 0; i < p->level_count; i++) {
        if (strcmp(p->levels[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static void check_domains(const struct checker *k, size_t i)
{
    const struct site_node *from = k->f->nodes[i];
    const struct settings_pair *pairs = from->domains.items;

    for (size_t d = 0; d < from->domains.count; d++) {
        if (!is_level(k->p, pairs[d].key)) {
            settings_complain(k->c, from, ERR_NO_LEVEL, "domains",
                              complaint_text(k->c, "names a level that is not there", pairs[d].key,
                                             "name one of those in cluster.levels"));
        }
    }
}

/* A row of the file may stand for many nodes: it is told once. */
static void check_nodes(const struct checker *k)
{
    const char **seen = arena_new(k->c->arena, k->p->pool_count, sizeof(*seen));

    for (size_t i = 0; i < k->p->node_count; i++) {
        if (i > 0 && k->f->nodes[i] == k->f->nodes[i - 1]) {
            continue;
        }
        check_model(k, i, seen);
        check_domains(k, i);
    }
}

static void check_levels(const struct checker *k)
{
    if (is_level(k->p, "node")) {
        settings_complain(k->c, &k->site->cluster, ERR_NO_LEVEL, "levels",
                          "names the level node, leave it out: it is always the innermost");
    }
}

/* ---- reserves ---- */

static int64_t capacity(const struct checker *k, int64_t pool)
{
    int64_t gpus = 0;

    for (size_t i = 0; i < k->p->node_count; i++) {
        gpus += k->p->nodes[i].pool == pool ? k->p->nodes[i].gpus : 0;
    }
    return gpus * GU_PER_GPU;
}

static int64_t reserved_of(const struct policy_queue *q, int64_t pool)
{
    for (size_t i = 0; i < q->quota_count; i++) {
        if (q->quotas[i].pool == pool) {
            return q->quotas[i].reserved_gu;
        }
    }
    return 0;
}

static int64_t reserved_by_children(const struct checker *k, int64_t parent, int64_t pool)
{
    int64_t sum = 0;

    for (size_t i = 0; i < k->p->queue_count; i++) {
        if (k->p->queues[i].parent == parent) {
            sum += reserved_of(&k->p->queues[i], pool);
        }
    }
    return sum;
}

static void check_capacity(const struct checker *k, const struct policy_pool *pool)
{
    int64_t sum = reserved_by_children(k, 0, pool->id);
    int64_t have = capacity(k, pool->id);

    if (sum > have && !k->p->overcommit) {
        settings_complain(
            k->c, k->f->pools[pool->id - 1], ERR_POLICY_OVERCOMMIT, "name",
            complaint_text(k->c, "is reserved beyond its capacity", pool->name,
                           arena_printf(k->c->arena,
                                        "the top queues reserve %s GPUs of %s: reserve less, add "
                                        "nodes or set cluster.overcommit: true",
                                        gpus_text(k, sum), gpus_text(k, have))));
    }
}

static void check_children(const struct checker *k, const struct policy_queue *q)
{
    const struct site_queue *from = k->f->queues[q->id - 1];

    if (from->queues.count == 0) {
        return;
    }
    for (size_t i = 0; i < k->p->pool_count; i++) {
        int64_t pool = k->p->pools[i].id;
        int64_t sum = reserved_by_children(k, q->id, pool);
        int64_t own = reserved_of(q, pool);

        if (sum > own) {
            settings_complain(k->c, from, ERR_POLICY_OVERCOMMIT, "reserved",
                              complaint_text(k->c, "is less than its children reserve",
                                             gpus_text(k, own),
                                             arena_printf(k->c->arena,
                                                          "they reserve %s in pool %s: write at "
                                                          "least that",
                                                          gpus_text(k, sum), k->p->pools[i].name)));
        }
    }
}

static void check_lend(const struct checker *k, const struct policy_queue *q)
{
    const struct site_queue *from = k->f->queues[q->id - 1];

    for (size_t i = 0; i < q->quota_count; i++) {
        const struct policy_quota *quota = &q->quotas[i];

        if (quota->lend_gu != POLICY_NONE && quota->lend_gu > quota->reserved_gu) {
            settings_complain(k->c, from, ERR_POLICY, "lend",
                              complaint_text(k->c, "is more than the queue reserves",
                                             gpus_text(k, quota->lend_gu),
                                             arena_printf(k->c->arena,
                                                          "write at most %s for pool %s",
                                                          gpus_text(k, quota->reserved_gu),
                                                          k->p->pools[quota->pool - 1].name)));
        }
    }
}

static void check_queues(const struct checker *k)
{
    for (size_t i = 0; i < k->p->queue_count; i++) {
        const struct policy_queue *q = &k->p->queues[i];

        check_children(k, q);
        check_lend(k, q);
        if (q->grace_ms > q->grace_max_ms) {
            settings_complain(k->c, k->f->queues[i], ERR_RANGE, "grace",
                              "is longer than grace_max, write a longer grace_max too");
        }
    }
}

/* ---- charges ---- */

struct layout { /* one card, filled from memory slice `at` on */
    const struct slice_table *table;
    int64_t charges[32];
    int used[32];
};

/* The dearest legal layout from one memory slice on.  The tables have at most 12 memory slices, so
 * that trying all of them is some thousand steps. */
static int64_t dearest(struct layout *l, int at)
{
    int64_t best;

    if (at >= l->table->grid) {
        return 0;
    }
    best = dearest(l, at + 1);
    for (int i = 0; i < l->table->profile_count && i < (int)ARRAY_LEN(l->charges); i++) {
        const struct slice_profile *profile = &l->table->profiles[i];
        int64_t sum;

        if ((profile->starts >> at & 1) == 0 || l->used[i] == profile->count_max) {
            continue;
        }
        l->used[i]++;
        sum = l->charges[i] + dearest(l, at + profile->size);
        l->used[i]--;
        best = sum > best ? sum : best;
    }
    return best;
}

static bool model_came_before(const struct policy *p, size_t i)
{
    for (size_t k = 0; k < i; k++) {
        if (strcmp(p->charges[k].model, p->charges[i].model) == 0) {
            return true;
        }
    }
    return false;
}

static void check_layouts(const struct checker *k, const struct slice_table *table, size_t first)
{
    const struct site_charge *from = k->site->charges.items;
    struct layout l = {.table = table};
    int64_t most;

    for (int i = 0; i < table->profile_count && i < (int)ARRAY_LEN(l.charges); i++) {
        l.charges[i] = slice_charge_gu(table, i);
    }
    for (size_t i = first; i < k->p->charge_count; i++) {
        if (strcmp(k->p->charges[i].model, k->p->charges[first].model) == 0) {
            int profile = slice_profile_of(table, k->p->charges[i].profile);

            if (profile >= 0) {
                l.charges[profile] = k->p->charges[i].charge_gu;
            }
        }
    }
    most = dearest(&l, 0);
    if (most > GU_PER_GPU) {
        settings_complain(k->c, &from[first], ERR_POLICY, "gpus",
                          complaint_text(k->c, "makes a whole card cost more than one GPU",
                                         gpus_text(k, most), "lower the charges of this model"));
    }
}

static void check_charges(const struct checker *k)
{
    const struct site_charge *from = k->site->charges.items;

    for (size_t i = 0; i < k->p->charge_count; i++) {
        const struct policy_charge *charge = &k->p->charges[i];
        const struct slice_table *table = slice_table_of(charge->model);

        if (charge->model[0] == '\0' || charge->profile[0] == '\0') {
            continue; /* was told already */
        }
        if (table == NULL || slice_profile_of(table, charge->profile) < 0) {
            settings_complain(k->c, &from[i], ERR_NO_PROFILE, table == NULL ? "model" : "profile",
                              complaint_text(k->c, "is not in the table of MIG profiles",
                                             table == NULL ? charge->model : charge->profile,
                                             "use a name that nvidia-smi mig -lgip prints"));
        } else if (!model_came_before(k->p, i)) {
            check_layouts(k, table, i);
        }
    }
}

/* ---- what the daemon reads ---- */

static void check_timezone(const struct checker *k)
{
    const char *name = k->p->timezone;

    if (strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+-/") !=
            strlen(name) ||
        name[0] == '/' || strlen(name) > 63) {
        settings_complain(k->c, &k->site->cluster, ERR_POLICY, "timezone",
                          complaint_text(k->c, "is not a time zone", name,
                                         "write an IANA name, e.g. Europe/Berlin"));
    }
}

void policycheck_run(const struct site *site, const struct policyfile *f, struct complaints *c)
{
    struct checker k = {.site = site, .f = f, .p = &f->policy, .c = c};

    check_timezone(&k);
    check_levels(&k);
    check_nodes(&k);
    for (size_t i = 0; i < k.p->pool_count; i++) {
        check_capacity(&k, &k.p->pools[i]);
    }
    check_queues(&k);
    check_charges(&k);
}
