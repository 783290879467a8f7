/* Nodes, their devices and their pool's indices. */
#include "core/codec.h"
#include "core/fold.h"

#include "base/check.h"
#include "core/shape.h"

#include <string.h>

const char *const NODE_HEALTH_NAMES[] = {"up", "unknown", "lost", NULL};

void fold_node_free(struct node *n)
{
    if (n != NULL) {
        arena_free(n->arena);
        mem_free(n->domains);
        mem_free(n);
    }
}

/* ---- indices of the pool ---- */

static const char *domain_name(const struct node *n, const char *level)
{
    for (size_t i = 0; i < n->domain_count; i++) {
        if (strcmp(n->domain_names[i].key, level) == 0) {
            return n->domain_names[i].value;
        }
    }
    return NULL;
}

/* A domain is known by its path from the outermost level. */
static int domain_of(struct pool *p, int level, int parent, const char *name)
{
    for (size_t i = 0; i < p->domains.count; i++) {
        const struct domain *d = &p->domains.items[i];

        if (d->level == level && d->parent == parent && strcmp(d->name, name) == 0) {
            return (int)i;
        }
    }
    vec_push(&p->domains, (struct domain){.level = level, .parent = parent, .name = name});
    return (int)p->domains.count - 1;
}

static void enter_domains(struct core *c, struct pool *p, struct node *n)
{
    int parent = -1;

    mem_free(n->domains);
    n->domains = mem_new((size_t)p->level_count, sizeof(n->domains[0]));
    for (int level = 0; level < p->level_count; level++) {
        const char *name = domain_name(n, c->policy->levels[level]);

        n->domains[level] = -1;
        if (name != NULL) {
            n->domains[level] = domain_of(p, level, parent, name);
            parent = n->domains[level];
            vec_push(&p->domains.items[parent].nodes, n->index);
        }
    }
}

static void grow_bitmaps(struct pool *p)
{
    size_t words = (p->nodes.count + 63) / 64;

    if (words <= p->words) {
        return;
    }
    words = words < 4 ? 4 : words * 2;
    for (int f = 0; f <= POOL_CARDS_MAX; f++) {
        p->by_free[f] = mem_resize(p->by_free[f], words, sizeof(uint64_t));
        memset(p->by_free[f] + p->words, 0, (words - p->words) * sizeof(uint64_t));
    }
    p->words = words;
}

static bool has_slices(const struct node *n)
{
    for (int i = 0; i < n->device_count; i++) {
        if (n->devices[i].mig || n->devices[i].profile[0] != '\0') {
            return true;
        }
    }
    return false;
}

void fold_enter_pool(struct core *c, struct node *n)
{
    struct pool *p;

    if (n->pool < 0) {
        return;
    }
    c->site_stamp++;
    p = c->pools.items[n->pool];
    n->place = (int)p->nodes.count;
    vec_push(&p->nodes, n->index);
    if (has_slices(n)) {
        vec_push(&p->slice_nodes, n->index);
    }
    grow_bitmaps(p);
    p->by_free[0][n->place / 64] |= (uint64_t)1 << (n->place % 64);
    p->by_free_count[0]++;
    n->free_whole = 0;
    enter_domains(c, p, n);
    for (int i = 0; i < n->device_count; i++) {
        p->nominal_gu += n->devices[i].size_gu;
    }
    load_refresh_node(c, n);
    fold_index_node(c, n);
}

void fold_index_node(struct core *c, struct node *n)
{
    int64_t due = 0;

    if (n->timer_ms != 0) {
        omap_remove(&c->timers, (struct omap_key){n->timer_ms, -n->id, 0});
    }
    if (n->health == HEALTH_UNKNOWN) {
        due = n->gone ? n->unknown_since_ms : n->unknown_since_ms + c->policy->node_lost_ms;
    } else if (n->drain && n->drain_by_ms > 0) {
        due = n->drain_by_ms;
    }
    n->timer_ms = due;
    if (due != 0) {
        omap_put(&c->timers, (struct omap_key){due, -n->id, 0}, n);
        fold_timer_set(c, due);
    }
}

/* ---- what the world says of them ---- */

static int64_t device_size(const struct fact_device *d)
{
    return d->profile[0] != '\0' ? d->charge_gu : GU_PER_GPU;
}

static int check_seen(const struct core *c, const struct fact_node_seen *seen, struct err *err)
{
    int whole = 0;

    if (c->policy == NULL) {
        return err_set(err, ERR_INVALID, "node %s comes before any policy", seen->name);
    }
    if (seen->id <= 0 || seen->id > CORE_ID_MAX) {
        return err_set(err, ERR_INVALID, "node %s has no id that can be", seen->name);
    }
    for (size_t i = 0; i < seen->device_count; i++) {
        const struct fact_device *d = &seen->devices[i];

        if (d->slot != (int64_t)i) {
            return err_set(err, ERR_INVALID, "node %s: slot %lld stands at place %zu", seen->name,
                           (long long)d->slot, i);
        }
        whole += d->profile[0] == '\0';
    }
    if (whole > POOL_CARDS_MAX) {
        return err_set(err, ERR_RANGE, "node %s has %d cards, at most %d are supported", seen->name,
                       whole, POOL_CARDS_MAX);
    }
    return 0;
}

static struct policy_label *copy_labels(struct arena *a, const struct policy_label *from,
                                        size_t count)
{
    struct policy_label *to = arena_new(a, count + 1, sizeof(*to));

    for (size_t i = 0; i < count; i++) {
        to[i].key = arena_text(a, from[i].key);
        to[i].value = arena_text(a, from[i].value);
    }
    return to;
}

static const char *copy_text(struct arena *a, const char *text)
{
    return *text != '\0' ? arena_text(a, text) : "";
}

/* To look up a table by name takes as long as all else that a card needs. */
struct model {
    const char *name;
    const struct slice_table *table;
};

/* The cards of a node are mostly of one model, and the nodes of a site of few: that of the card
 * before it, or of the first card of the node before it. */
static struct model model_of(const struct core *c, const char *name, struct model last,
                             struct arena *a)
{
    const struct node *n = c->nodes.count > 0 ? c->nodes.items[c->nodes.count - 1] : NULL;

    if (last.name != NULL && strcmp(last.name, name) == 0) {
        return last;
    }
    last.name = copy_text(a, name);
    if (n != NULL && n->device_count > 0 && n->devices[0].profile[0] == '\0' &&
        strcmp(n->devices[0].model, name) == 0) {
        last.table = n->devices[0].table;
    } else {
        last.table = slice_table_of(name);
    }
    return last;
}

static void fill_devices(const struct core *c, struct node *n, const struct fact_node_seen *seen)
{
    struct model model = {0};

    for (size_t i = 0; i < seen->device_count; i++) {
        const struct fact_device *from = &seen->devices[i];
        struct device *d = &n->devices[i];
        bool whole = from->profile[0] == '\0';

        model = model_of(c, from->model, model, n->arena);
        d->slot = from->slot;
        d->uuid = copy_text(n->arena, from->uuid);
        d->model = model.name;
        d->table = whole ? model.table : NULL; /* an instance is not cut again */
        d->memory_bytes = from->memory_bytes;
        d->profile = copy_text(n->arena, from->profile);
        d->mig = from->mig && whole;
        d->size_gu = device_size(from);
        d->out_reason = "";
    }
}

static struct node *node_make(const struct core *c, const struct fact_node_seen *seen)
{
    struct node *n = mem_new(1, sizeof(*n));

    n->arena = arena_make_sized(4096);
    n->id = seen->id;
    n->pool_id = seen->pool;
    n->name = arena_text(n->arena, seen->name);
    n->cluster = arena_text(n->arena, seen->cluster);
    n->simulated = seen->simulated;
    n->cpu_milli = seen->cpu_milli;
    n->memory_bytes = seen->memory_bytes;
    n->labels = copy_labels(n->arena, seen->labels, seen->label_count);
    n->label_count = seen->label_count;
    n->domain_names = copy_labels(n->arena, seen->domains, seen->domain_count);
    n->domain_count = seen->domain_count;
    n->reason = "";
    n->device_count = (int)seen->device_count;
    n->devices = arena_new(n->arena, seen->device_count + 1, sizeof(n->devices[0]));
    fill_devices(c, n, seen);
    return n;
}

/* Leases point at devices by slot: a node that is seen anew keeps those that something lies on. */
static int check_kept(const struct node *old, const struct fact_node_seen *seen, struct err *err)
{
    for (int i = 0; i < old->device_count; i++) {
        const struct device *d = &old->devices[i];
        bool same = (size_t)i < seen->device_count &&
                    strcmp(d->profile, seen->devices[i].profile) == 0 &&
                    d->mig == (seen->devices[i].mig && d->profile[0] == '\0');

        if (!same &&
            (d->count[LEDGER_HELD] || d->count[LEDGER_LEAVING] || d->count[LEDGER_PROMISED])) {
            return err_set(err, ERR_CONFLICT, "node %s: device %d is held and is not as it was",
                           old->name, i);
        }
    }
    return 0;
}

static void keep_state(struct node *n, const struct node *old)
{
    n->drain = old->drain;
    n->drain_by_ms = old->drain_by_ms;
    n->reason = old->drain ? arena_text(n->arena, old->reason) : "";
    for (int i = 0; i < n->device_count && i < old->device_count; i++) {
        struct device *d = &n->devices[i];

        d->layout = d->mig ? old->devices[i].layout : (struct slice){0};
        if (old->devices[i].out && strcmp(old->devices[i].uuid, d->uuid) == 0) {
            d->out = true;
            d->out_reason = arena_text(n->arena, old->devices[i].out_reason);
        }
    }
}

static struct omap_key name_key(const struct node *n)
{
    return (struct omap_key){shape_text_hash(n->name), shape_text_hash(n->cluster), n->id};
}

static void insert_node(struct core *c, struct node *n)
{
    size_t at = c->nodes.count;

    omap_put(&c->node_names, name_key(n), n);

    while (at > 0 && c->nodes.items[at - 1]->id > n->id) {
        at--;
    }
    vec_insert(&c->nodes, at, n);
    n->index = (int)at;
    n->pool = -1;
    if (at + 1 < c->nodes.count) {
        fold_rebuild(c); /* positions are by id */
        return;
    }
    for (size_t i = 0; i < c->pools.count; i++) {
        if (c->pools.items[i]->id == n->pool_id) {
            n->pool = (int)i;
        }
    }
    fold_enter_pool(c, n);
    if (n->pool >= 0 && c->pools.items[n->pool]->no_reserve) {
        fold_nominal(c);
    }
}

static bool same_as(const struct node *old, const struct node *n)
{
    bool same = old->pool_id == n->pool_id && old->device_count == n->device_count &&
                old->cpu_milli == n->cpu_milli && old->memory_bytes == n->memory_bytes &&
                old->label_count == n->label_count && old->domain_count == n->domain_count &&
                old->health == HEALTH_UP;

    for (size_t i = 0; same && i < n->label_count; i++) {
        same = strcmp(old->labels[i].key, n->labels[i].key) == 0 &&
               strcmp(old->labels[i].value, n->labels[i].value) == 0;
    }
    for (size_t i = 0; same && i < n->domain_count; i++) {
        same = strcmp(old->domain_names[i].key, n->domain_names[i].key) == 0 &&
               strcmp(old->domain_names[i].value, n->domain_names[i].value) == 0;
    }
    for (int i = 0; same && i < n->device_count; i++) {
        const struct device *a = &old->devices[i];
        const struct device *b = &n->devices[i];

        same = strcmp(a->uuid, b->uuid) == 0 && strcmp(a->model, b->model) == 0 &&
               strcmp(a->profile, b->profile) == 0 && a->mig == b->mig &&
               a->size_gu == b->size_gu && a->memory_bytes == b->memory_bytes;
    }
    return same;
}

int fold_node_seen(struct core *c, const struct fact *f, struct err *err)
{
    const struct fact_node_seen *seen = fact_of(f, NODE_SEEN);
    struct node *old = core_node(c, seen->id);
    struct node *n;
    int rc = check_seen(c, seen, err);

    if (rc == 0 && old != NULL) {
        rc = check_kept(old, seen, err);
    }
    if (rc != 0) {
        return rc;
    }
    n = node_make(c, seen);
    if (n->id >= c->next_node) {
        c->next_node = n->id + 1;
    }
    if (old == NULL) {
        insert_node(c, n);
        fold_wake(c, n->pool);
        return 0;
    }
    if (same_as(old, n)) {
        fold_node_free(n);
        return 0;
    }
    keep_state(n, old);
    c->nodes.items[old->index] = n;
    omap_remove(&c->node_names, name_key(old));
    omap_put(&c->node_names, name_key(n), n);
    fold_node_free(old);
    fold_rebuild(c);
    return 0;
}

int fold_node_state(struct core *c, const struct fact *f, struct err *err)
{
    const struct fact_node_state *said = fact_of(f, NODE_STATE);
    struct node *n = core_node(c, said->node);

    if (n == NULL) {
        return err_set(err, ERR_NOT_FOUND, "no node %lld", (long long)said->node);
    }
    n->reason = arena_text(n->arena, said->reason);
    n->gone = said->state == NODE_GONE;
    if (said->state == NODE_UP) {
        n->health = HEALTH_UP;
    } else if (n->health == HEALTH_UP) {
        n->health = HEALTH_UNKNOWN;
        n->unknown_since_ms = f->at_ms;
    }
    fold_index_node(c, n);
    load_refresh_node(c, n);
    fold_wake(c, n->pool);
    return 0;
}

int fold_node_drain(struct core *c, const struct fact *f, struct err *err)
{
    const struct fact_node_drain *asked = fact_of(f, NODE_DRAIN);
    struct node *n = core_node(c, asked->node);

    if (n == NULL) {
        return err_set(err, ERR_NOT_FOUND, "no node %lld", (long long)asked->node);
    }
    n->drain = asked->drain;
    n->drain_by_ms = asked->drain ? asked->by_ms : 0;
    n->reason = arena_text(n->arena, asked->reason);
    fold_index_node(c, n);
    load_refresh_node(c, n);
    fold_wake(c, n->pool);
    return 0;
}

int fold_device_state(struct core *c, const struct fact *f, struct err *err)
{
    const struct fact_device_state *said = fact_of(f, DEVICE_STATE);
    struct node *n = core_node(c, said->node);

    if (n == NULL || said->slot < 0 || said->slot >= n->device_count) {
        return err_set(err, ERR_NOT_FOUND, "no device %lld on node %lld", (long long)said->slot,
                       (long long)said->node);
    }
    n->devices[said->slot].out = said->out;
    n->devices[said->slot].out_reason = said->out ? arena_text(n->arena, said->reason) : "";
    load_refresh(c, n, &n->devices[said->slot]);
    fold_wake(c, n->pool);
    return 0;
}

/* What ran there is taken as ended: unknown is not dead, but the time for that is over. */
int fold_node_lost(struct core *c, const struct fact *f, struct err *err)
{
    const struct fact_node_lost *lost = fact_of(f, NODE_LOST);
    struct node *n = core_node(c, lost->node);

    if (n == NULL || n->health != HEALTH_UNKNOWN) {
        return err_set(err, ERR_INVALID, "node %lld is not unknown", (long long)lost->node);
    }
    n->health = HEALTH_LOST;
    fold_index_node(c, n);
    for (struct job *j = c->first_job; j != NULL; j = j->next) {
        bool hit = false;

        for (size_t k = j->tasks.count; job_is_active(j) && k-- > 0;) {
            if (j->tasks.items[k].node == n->index) {
                fold_drop_task(c, j, k);
                hit = true;
            }
        }
        if (hit) {
            j->ended_by_loss = true;
            j->fault_node = n->id;
            fold_broken(c, j, f->at_ms);
            fold_index_job(c, j);
        }
    }
    load_refresh_node(c, n);
    fold_wake(c, n->pool);
    return 0;
}
