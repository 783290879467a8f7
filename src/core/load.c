/* Undo is by the inverse operation, newest first; only MIG layouts are copied, because putting a
 * slice may un-cut idle ones. */
#include "core/load.h"

#include "base/check.h"
#include "base/minmax.h"
#include "core/decay.h"
#include "core/state.h"

int64_t node_cpu_free(const struct node *n)
{
    return n->cpu_milli - n->cpu[LEDGER_HELD] -
           max64(n->cpu[LEDGER_LEAVING], n->cpu[LEDGER_PROMISED]);
}

int64_t node_idle_gu(const struct node *n)
{
    int64_t gu = 0;

    for (int i = 0; i < n->device_count; i++) {
        gu += n->devices[i].capacity_gu - n->devices[i].taken_gu;
    }
    return gu;
}

int64_t node_memory_free(const struct node *n)
{
    return n->memory_bytes - n->memory[LEDGER_HELD] -
           max64(n->memory[LEDGER_LEAVING], n->memory[LEDGER_PROMISED]);
}

int64_t load_task_gu(const struct lease_task *task)
{
    int64_t gu = 0;

    for (int i = 0; i < task->device_count; i++) {
        gu += task->devices[i].gu;
    }
    return gu;
}

enum ledger load_ledger(const struct lease_task *task)
{
    return task->state == TASK_STATE_STOPPING || task->marked ? LEDGER_LEAVING : LEDGER_HELD;
}

/* ---- the indices of the pool ---- */

static void set_bit(struct pool *p, int free_count, int place, bool on)
{
    uint64_t bit = (uint64_t)1 << (place % 64);
    uint64_t *word = &p->by_free[free_count][place / 64];

    if (on) {
        *word |= bit;
    } else {
        *word &= ~bit;
    }
    p->by_free_count[free_count] += on ? 1 : -1;
}

static void count_free(struct pool *p, struct node *n, int delta)
{
    set_bit(p, n->free_whole, n->place, false);
    n->free_whole += delta;
    CHECK(n->free_whole >= 0 && n->free_whole <= POOL_CARDS_MAX);
    set_bit(p, n->free_whole, n->place, true);
    p->free_whole += delta;
    for (int level = 0; level < p->level_count; level++) {
        if (n->domains[level] >= 0) {
            p->domains.items[n->domains[level]].free_whole += delta;
        }
    }
}

static int load_count(const struct device *d)
{
    return d->count[LEDGER_HELD] + d->count[LEDGER_LEAVING] + d->count[LEDGER_PROMISED];
}

void load_refresh(struct core *c, struct node *n, struct device *d)
{
    struct pool *p;
    int64_t taken = d->gu[LEDGER_HELD] + max64(d->gu[LEDGER_LEAVING], d->gu[LEDGER_PROMISED]);
    bool in_service = node_usable(n) && !d->out;
    int64_t held = d->gu[LEDGER_HELD] + d->gu[LEDGER_LEAVING];
    int64_t capacity;
    bool free_whole;

    if (n->pool < 0) {
        return;
    }
    p = c->pools.items[n->pool];
    taken = min64(taken, d->size_gu);
    capacity = in_service ? d->size_gu : taken;
    p->capacity_gu += capacity - d->capacity_gu;
    p->taken_gu += taken - d->taken_gu;
    p->held_gu += held - d->held_gu;
    d->held_gu = held;
    d->capacity_gu = capacity;
    d->taken_gu = taken;
    free_whole = in_service && load_count(d) == 0 && d->soft == 0 && d->profile[0] == '\0';
    if (free_whole != d->free_whole) {
        d->free_whole = free_whole;
        count_free(p, n, free_whole ? 1 : -1);
    }
}

void load_refresh_node(struct core *c, struct node *n)
{
    for (int i = 0; i < n->device_count; i++) {
        load_refresh(c, n, &n->devices[i]);
    }
}

/* ---- tasks ---- */

static struct undo *log_new(struct core *c)
{
    vec_push(&c->undo.items, (struct undo){0});
    return &c->undo.items.items[c->undo.items.count - 1];
}

static void log_layout(struct core *c, struct device *d, int node)
{
    struct undo *u;

    if (c->undo.off) {
        return;
    }
    u = log_new(c);
    u->kind = UNDO_LAYOUT;
    u->device = d;
    u->node = node;
    vec_push(&c->undo.layouts, (struct undo_layout){d->layout, d->promised});
}

/* Who sits on a device is kept as sums, which come back the same whatever the order of coming and
 * going. */
static void share_count(struct core *c, const struct job *job, struct device *d, int sign)
{
    int64_t top = c->queues->items[job->queue].top + 1;
    uint64_t subject = (uint64_t)job->subject_key;

    d->share_count += sign;
    d->share_tops += sign * top;
    d->share_tops_sq += sign * top * top;
    d->share_subjects += sign > 0 ? subject : 0 - subject;
    d->share_subjects_sq += sign > 0 ? subject * subject : 0 - subject * subject;
    d->share_mps += job->ask->groups[0].mps ? sign : 0;
}

static void move_slice(struct device *d, const struct lease_device *part, enum ledger l, int sign)
{
    struct slice *s = l == LEDGER_PROMISED ? &d->promised : &d->layout;

    if (sign > 0) {
        slice_hold(d->table, s, part->profile, part->start);
    } else {
        slice_release(s, part->start);
        if (l == LEDGER_PROMISED) {
            slice_clear_idle(s);
        }
    }
}

struct move { /* of one part of a task */
    const struct job *job;
    struct node *node;
    enum ledger ledger;
    int sign;
    bool layouts; /* an undo restores them from its copy instead */
};

static void move_device(struct core *c, struct move m, const struct lease_device *part)
{
    struct device *d = &m.node->devices[part->slot];
    bool slice = part->profile >= 0;

    d->gu[m.ledger] += m.sign * part->gu;
    d->memory[m.ledger] += m.sign * part->memory_bytes;
    d->count[m.ledger] += m.sign;
    if (slice) {
        if (m.layouts) {
            move_slice(d, part, m.ledger, m.sign);
        }
    } else if (part->gu >= d->size_gu) {
        d->whole += m.sign;
    } else {
        share_count(c, m.job, d, m.sign);
    }
    load_refresh(c, m.node, d);
}

static void move_task(struct core *c, const struct job *job, const struct lease_task *task,
                      enum ledger l, int sign)
{
    struct node *n = c->nodes.items[task->node];

    n->cpu[l] += sign * task->cpu_milli;
    n->memory[l] += sign * task->memory_bytes;
    n->task_count += sign;
    for (int i = 0; i < task->device_count; i++) {
        const struct lease_device *part = &task->devices[i];
        struct device *d = &n->devices[part->slot];

        if (part->profile >= 0) {
            log_layout(c, d, task->node);
        }
        move_device(c, (struct move){job, n, l, sign, true}, part);
    }
}

static void do_task(struct core *c, const struct job *job, const struct lease_task *task,
                    enum ledger l, int sign)
{
    move_task(c, job, task, l, sign);
    if (!c->undo.off) {
        struct undo *u = log_new(c);

        u->kind = UNDO_TASK;
        u->sign = sign;
        u->ledger = l;
        u->node = task->node;
        u->task = task;
        u->job = job;
    }
}

void load_put(struct core *c, const struct job *job, const struct lease_task *task, enum ledger l)
{
    do_task(c, job, task, l, 1);
}

void load_take(struct core *c, const struct job *job, const struct lease_task *task, enum ledger l)
{
    do_task(c, job, task, l, -1);
}

void load_quota(struct core *c, const struct job *job, int pool, int64_t gu, bool stopping,
                int sign)
{
    struct quota_use use = {.gu = gu, .fixed = job->ask->nonpreemptible, .stopping = stopping};

    if (gu == 0) {
        return;
    }
    if (c->undo.off && !c->rebuilding) {
        decay_touch(c, job->queue); /* a fact changes usage; a plan only tries */
    }
    quota_add(c->queues, job->queue, pool, use, sign);
    if (!c->undo.off) {
        struct undo *u = log_new(c);

        u->kind = UNDO_QUOTA;
        u->sign = sign;
        u->leaf = job->queue;
        u->pool = pool;
        u->use = use;
    }
}

void load_soft(struct core *c, struct device *d, struct node *n, int sign)
{
    d->soft += sign;
    load_refresh(c, n, d);
    if (!c->undo.off) {
        struct undo *u = log_new(c);

        u->kind = UNDO_SOFT;
        u->sign = sign;
        u->device = d;
        u->node = n->index;
    }
}

static void count_vacated(struct core *c, const struct lease_task *task, int delta)
{
    struct node *n = c->nodes.items[task->node];

    for (int i = 0; i < task->device_count; i++) {
        n->devices[task->devices[i].slot].vacated += delta;
        n->vacated += delta;
    }
}

void load_vacate(struct core *c, const struct lease_task *task)
{
    struct undo *u = log_new(c);

    CHECK(!c->undo.off);
    count_vacated(c, task, 1);
    u->kind = UNDO_VACATE;
    u->task = task;
}

size_t load_mark(const struct core *c)
{
    return c->undo.items.count;
}

static void undo_task(struct core *c, const struct undo *u)
{
    struct node *n = c->nodes.items[u->node];

    n->cpu[u->ledger] -= u->sign * u->task->cpu_milli;
    n->memory[u->ledger] -= u->sign * u->task->memory_bytes;
    n->task_count -= u->sign;
    for (int i = 0; i < u->task->device_count; i++) {
        const struct lease_device *part = &u->task->devices[i];

        move_device(c, (struct move){u->job, n, u->ledger, -u->sign, false}, part);
    }
}

void load_undo(struct core *c, size_t mark)
{
    while (c->undo.items.count > mark) {
        struct undo u = vec_pop(&c->undo.items);

        switch (u.kind) {
        case UNDO_TASK:
            undo_task(c, &u);
            break;
        case UNDO_QUOTA:
            quota_add(c->queues, u.leaf, u.pool, u.use, -u.sign);
            break;
        case UNDO_LAYOUT: {
            struct undo_layout was = vec_pop(&c->undo.layouts);

            u.device->layout = was.layout;
            u.device->promised = was.promised;
            break;
        }
        case UNDO_VACATE:
            count_vacated(c, u.task, -1);
            break;
        case UNDO_SOFT:
            u.device->soft -= u.sign;
            load_refresh(c, c->nodes.items[u.node], u.device);
            break;
        }
    }
}

bool load_pending_overlap(const struct device *d)
{
    for (int i = 0; i < d->promised.count; i++) {
        const struct slice_cut *a = &d->promised.cuts[i];

        for (int k = 0; k < d->layout.count; k++) {
            const struct slice_cut *b = &d->layout.cuts[k];
            int a_end = a->start + d->table->profiles[a->profile].size;
            int b_end = b->start + d->table->profiles[b->profile].size;

            if (b->held && a->start < b_end && b->start < a_end) {
                return true;
            }
        }
    }
    return false;
}
