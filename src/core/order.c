#include "core/order.h"

#include "base/check.h"
#include "core/bounds.h"
#include "core/decay.h"
#include "core/pick.h"
#include "core/shape.h"
#include "core/trial.h"

#include <stdlib.h>
#include <string.h>

struct key { /* what a leaf's candidate is compared by, where no sibling is looked at */
    bool is;
    int leaf;
    int64_t priority;
    int64_t age_ms;
    int64_t id;
    int pool;
    int64_t need_gu;
    int height; /* of the smallest subtree whose reserve covers it; HEIGHT_NONE */
    bool entitled;
};

/* How closely a leaf was looked at: its key is the best that any job of it could be, by what the
 * leaf knows of all of them; or by its shapes; or it is that of the job that was tried. */
enum look { LOOK_LEAF, LOOK_SHAPES, LOOK_JOB };

#define HEIGHT_NONE (QUEUE_DEPTH_MAX + 1)

struct lineup { /* of a leaf whose shapes were looked at: those that may start, in their order */
    struct job **jobs;
    struct key *rest; /* the best that this one and those after it could be */
    size_t count;
    size_t at;
    size_t room; /* for jobs; a leaf is looked at again after each that it starts */
};

struct winners { /* of one inner queue, or of the root */
    int size;    /* leaves of the tree: a power of two */
    int *at;     /* 1 … 2 size - 1: index of the child's queue that wins, -1 = none */
};

struct order {
    struct core *c;
    int64_t now_ms;
    struct key *keys;       /* by queue: the best candidate of its subtree */
    struct winners *inner;  /* by queue; [count] is the root */
    enum look *look;        /* by leaf */
    struct lineup *lineups; /* by leaf */
    struct job **line;      /* of the leaf that is looked at: room for one of each shape */
    int last;               /* leaf of the last one given, -1 = none */
    const struct bounds *bounds;
    int *seat;      /* by queue: its place among its siblings */
    bool *is_short; /* by pool: what is in service is less than what is reserved */
};

const int *order_pools(struct core *c, const struct job *j, int *ret_count)
{
    const struct policy_queue *row = c->queues->items[j->queue].row;
    const int64_t *ids = j->ask->pool_count > 0 ? j->ask->pools : row->pools;
    size_t count = j->ask->pool_count > 0 ? j->ask->pool_count : row->pool_count;
    int *ret = arena_new(c->plan_arena, c->pools.count + count + 1, sizeof(*ret));

    *ret_count = 0;
    for (size_t i = 0; i < count; i++) {
        const struct pool *p = core_pool_of_id(c, ids[i]);

        if (p != NULL) {
            ret[(*ret_count)++] = p->index;
        }
    }
    for (size_t i = 0; count == 0 && i < c->pools.count; i++) {
        ret[(*ret_count)++] = (int)i;
    }
    return ret;
}

/* ---- inside a leaf ---- */

bool order_competes(const struct job *j, int64_t now_ms)
{
    return job_is_waiting(j) && !j->decided && !j->cancel_asked && j->not_before_ms <= now_ms &&
           (!j->nomination.is || j->unseated);
}

static bool is_failed(const struct core *c, const struct shape *s)
{
    if (s->failed == NULL || s->failed_count != (int)c->pools.count) {
        return false;
    }
    for (size_t i = 0; i < c->pools.count; i++) {
        if (s->failed[i] != c->pools.items[i]->generation) {
            return false;
        }
    }
    return s->failed_plan == c->plan_number ||
           (s->failed_for_good && s->failed_heads == c->heads_stamp);
}

/* Memo: this shape could not start as the pools are now. */
static void mark_failed(struct core *c, struct job *j)
{
    struct shape *s = j->shape;

    if (pick_avoids(c, j)) {
        plan_again(c, j->not_before_ms + JOB_AVOID_MS, c->planning_ms);
        j->decided = true; /* it differs from its equals: it alone is done with for this plan */
        plan_touch(c, j);
        return;
    }
    if (s->failed == NULL || s->failed_count != (int)c->pools.count) {
        s->failed = mem_resize(s->failed, c->pools.count, sizeof(s->failed[0]));
        s->failed_count = (int)c->pools.count;
    }
    for (size_t i = 0; i < c->pools.count; i++) {
        s->failed[i] = c->pools.items[i]->generation;
    }
    /* it holds as long as the planned starts are these; a search that was cut short may end
     * otherwise: such a failure counts in this plan only */
    s->failed_for_good = !c->inexact;
    s->failed_heads = c->heads_stamp;
    s->failed_plan = c->plan_number;
}

bool order_earlier(const struct job *a, const struct job *b)
{
    if (a->ask->priority != b->ask->priority) {
        return a->ask->priority > b->ask->priority;
    }
    return a->age_ms != b->age_ms ? a->age_ms < b->age_ms : a->id < b->id;
}

int order_compare(const void *a, const void *b)
{
    return order_earlier(*(struct job *const *)a, *(struct job *const *)b) ? -1 : 1;
}

/* Those that a plan has decided stay in their place until its end: what they were is kept, or each
 * of many equal jobs that start would walk past all that started before it. */
static struct job *first_of_shape(const struct order *o, struct shape *s)
{
    bool known = s->skip != NULL && s->skip_plan == o->c->plan_number;
    struct omap_item *i = known ? s->skip : omap_first(&s->waiting);

    while (i != NULL && !order_competes(i->value, o->now_ms)) {
        i = omap_next(i);
    }
    s->skip = i;
    s->skip_plan = o->c->plan_number;
    return i != NULL ? i->value : NULL;
}

static void key_of_need(const struct order *o, int leaf, int pool, int64_t need_gu, struct key *k)
{
    int cover = need_gu < 0 ? -1 : quota_cover(o->c->queues, leaf, pool, need_gu);

    if (need_gu >= 0 && (k->pool < 0 || cover >= 0)) {
        k->pool = pool;
        k->need_gu = need_gu;
    }
    if (cover >= 0) {
        k->height = o->c->queues->items[cover].height;
        k->entitled = true;
    }
}

/* The pool that speaks for it: the first one whose reserve covers it on some level, else the first.
 */
static void fill_key(struct order *o, struct job *j, struct key *k)
{
    int count;
    const int *pools = order_pools(o->c, j, &count);

    *k = (struct key){.is = true,
                      .leaf = j->queue,
                      .priority = j->ask->priority,
                      .age_ms = j->age_ms,
                      .id = j->id,
                      .pool = -1,
                      .height = HEIGHT_NONE};
    for (int i = 0; i < count && !k->entitled; i++) {
        key_of_need(o, j->queue, pools[i], shape_need_gu(o->c, j->shape, pools[i]), k);
    }
    if (k->pool < 0 && count > 0) {
        k->pool = pools[0];
    }
}

static bool key_equal(const struct key *a, const struct key *b)
{
    return a->is == b->is && a->leaf == b->leaf && a->priority == b->priority &&
           a->age_ms == b->age_ms && a->id == b->id && a->pool == b->pool &&
           a->need_gu == b->need_gu && a->height == b->height && a->entitled == b->entitled;
}

static bool key_earlier(const struct key *a, const struct key *b)
{
    if (a->priority != b->priority) {
        return a->priority > b->priority;
    }
    return a->age_ms != b->age_ms ? a->age_ms < b->age_ms : a->id < b->id;
}

static void line_up(struct order *o, const struct queue *q, struct lineup *ret)
{
    size_t count = 0;

    for (size_t i = 0; i < q->shapes.count; i++) {
        struct shape *s = q->shapes.items[i];
        struct job *j = is_failed(o->c, s) ? NULL : first_of_shape(o, s);

        if (j != NULL && bounds_refuse(o->bounds, j)) {
            mark_failed(o->c, j);
        } else if (j != NULL) {
            o->line[count++] = j;
        }
    }
    if (count > 1) {
        qsort(o->line, count, sizeof(o->line[0]), order_compare);
    }
    if (ret->rest == NULL || count > ret->room) {
        ret->room = count;
        ret->jobs = arena_new(o->c->plan_arena, count, sizeof(ret->jobs[0]));
        ret->rest = arena_new(o->c->plan_arena, count + 1, sizeof(ret->rest[0]));
    }
    ret->count = count;
    memcpy(ret->jobs, o->line, count * sizeof(ret->jobs[0]));
    ret->rest[count] = (struct key){0};
    for (size_t i = ret->count; i-- > 0;) {
        const struct key *after = &ret->rest[i + 1];
        struct key *k = &ret->rest[i];

        fill_key(o, ret->jobs[i], k);
        if (after->is) {
            k->height = after->height < k->height ? after->height : k->height;
            k->need_gu = after->need_gu < k->need_gu ? after->need_gu : k->need_gu;
            k->entitled = k->entitled || after->entitled;
        }
    }
}

/* The best that any job of the leaf which may still start could be: component by component the
 * least, so no job of it comes before this key.  Only a leaf that wins with it is tried. */
static void look_at_shapes(struct order *o, const struct queue *q, struct key *k)
{
    struct lineup *l = &o->lineups[q->index];

    l->count = l->at = 0;
    *k = (struct key){0};
    if (q->row->state != QUEUE_CLOSED && !bounds_refuse_leaf(o->bounds, q->index)) {
        line_up(o, q, l);
        *k = l->rest[0];
    }
}

/* The same from what the leaf knows of all that wait in it, without a look at any.  Where several
 * pools may speak for its jobs their keys cannot be told apart so. */
static enum look look_at_leaf(struct order *o, struct queue *q, struct key *k)
{
    int64_t least;

    if (o->c->pools.count != 1) {
        look_at_shapes(o, q, k);
        return LOOK_SHAPES;
    }
    *k = (struct key){0};
    if (q->row->state == QUEUE_CLOSED || bounds_refuse_leaf(o->bounds, q->index)) {
        return LOOK_LEAF;
    }
    shape_know_wants(o->c, q);
    least = q->least_gu[0];
    *k = (struct key){.is = true,
                      .leaf = q->index,
                      .priority = q->highest,
                      .age_ms = shape_oldest_ms(q),
                      .height = HEIGHT_NONE};
    key_of_need(o, q->index, 0, least == INT64_MAX ? -1 : least, k);
    return LOOK_LEAF;
}

/* ---- between siblings ---- */

/* U ÷ T, lowest first, T = 0 last. */
static int compare_filled(const struct queue_quota *a, const struct queue_quota *b)
{
    int128 left, right;

    if (a->mine == 0 || b->mine == 0) {
        return (a->mine == 0) - (b->mine == 0);
    }
    left = (int128)a->used * b->mine;
    right = (int128)b->used * a->mine;
    return left < right ? -1 : left > right;
}

/* What the child would have borrowed after the claim, over its weight. */
static int compare_shares(const struct order *o, int a, int b)
{
    const struct queue *qa = &o->c->queues->items[a];
    const struct queue *qb = &o->c->queues->items[b];
    const struct key *ka = &o->keys[a];
    const struct key *kb = &o->keys[b];
    int64_t sa = quota_borrowed_after(o->c->queues, ka->pool, a, ka->leaf, ka->need_gu);
    int64_t sb = quota_borrowed_after(o->c->queues, kb->pool, b, kb->leaf, kb->need_gu);
    int64_t wa = qa->row->weight;
    int64_t wb = qb->row->weight;
    int128 left, right;

    if ((wa == 0) != (wb == 0) && sa > 0 && sb > 0) {
        return wa == 0 ? 1 : -1;
    }
    wa = wa == 0 ? 1 : wa;
    wb = wb == 0 ? 1 : wb;
    left = (int128)sa * wb;
    right = (int128)sb * wa;
    return left < right ? -1 : left > right;
}

/* Which of two children (queues) comes first?  Both have a candidate. */
static bool comes_first(const struct order *o, int a, int b)
{
    const struct key *ka = &o->keys[a];
    const struct key *kb = &o->keys[b];
    int verdict = 0;

    if (ka->height != kb->height) {
        return ka->height < kb->height;
    }
    if (ka->entitled && kb->entitled && ka->pool == kb->pool && ka->pool >= 0 &&
        o->is_short[ka->pool]) {
        verdict = compare_filled(&o->c->queues->items[a].quotas[ka->pool],
                                 &o->c->queues->items[b].quotas[kb->pool]);
    }
    if (verdict == 0 && o->c->policy->fair_share != FAIR_NONE && ka->pool == kb->pool &&
        ka->pool >= 0) {
        verdict = compare_shares(o, a, b);
    }
    if (verdict == 0 && ka->priority == kb->priority && o->c->policy->decay_half_life_ms > 0) {
        int128 lately = decay_used(o->c, a, o->now_ms) - decay_used(o->c, b, o->now_ms);

        verdict = lately < 0 ? -1 : lately > 0;
    }
    return verdict != 0 ? verdict < 0 : key_earlier(ka, kb);
}

static int better(const struct order *o, int a, int b)
{
    if (a < 0 || !o->keys[a].is) {
        return b;
    }
    if (b < 0 || !o->keys[b].is) {
        return a;
    }
    return comes_first(o, a, b) ? a : b;
}

/* ---- the winner trees ---- */

static void replay(struct order *o, struct winners *w, int seat)
{
    for (int k = (w->size + seat) / 2; k >= 1; k /= 2) {
        w->at[k] = better(o, w->at[2 * k], w->at[2 * k + 1]);
    }
}

static void set_inner(struct order *o, int q, const struct winners *w)
{
    int winner = w->at[1];

    o->keys[q] = winner >= 0 ? o->keys[winner] : (struct key){0};
}

static void replay_up(struct order *o, int leaf)
{
    int q = leaf;

    while (q >= 0) {
        int up = o->c->queues->items[q].parent;
        struct winners *w = &o->inner[up >= 0 ? up : o->c->queues->count];

        replay(o, w, o->seat[q]);
        if (up >= 0) {
            set_inner(o, up, w);
        }
        q = up;
    }
}

static void look_closer(struct order *o, int leaf)
{
    o->look[leaf] = LOOK_SHAPES;
    look_at_shapes(o, &o->c->queues->items[leaf], &o->keys[leaf]);
    replay_up(o, leaf);
}

/* The first of the leaf's line cannot start. */
static void pass_over(struct order *o, int leaf)
{
    struct lineup *l = &o->lineups[leaf];

    if (l->jobs[l->at]->decided) {
        look_closer(o, leaf); /* it alone is done with: its equals may start */
        return;
    }
    o->look[leaf] = LOOK_SHAPES;
    o->keys[leaf] = l->rest[++l->at];
    replay_up(o, leaf);
}

static void seat_children(struct order *o, struct winners *w, const int *children, size_t count)
{
    w->size = 2; /* at least a root above two leaves */
    while ((size_t)w->size < count) {
        w->size *= 2;
    }
    w->at = arena_new(o->c->plan_arena, (size_t)w->size * 2, sizeof(w->at[0]));
    for (int i = 0; i < w->size * 2; i++) {
        w->at[i] = -1;
    }
    for (size_t i = 0; i < count; i++) {
        o->seat[children[i]] = (int)i;
        w->at[w->size + (int)i] = children[i];
    }
}

static void find_short(struct order *o)
{
    for (size_t p = 0; p < o->c->pools.count; p++) {
        int64_t reserved = 0;

        for (int i = 0; i < o->c->queues->count; i++) {
            if (o->c->queues->items[i].parent < 0) {
                reserved += o->c->queues->items[i].quotas[p].reserved;
            }
        }
        o->is_short[p] = o->c->pools.items[p]->capacity_gu < reserved;
    }
}

static void build(struct order *o)
{
    struct core *c = o->c;

    find_short(o);

    for (int q = c->queues->count - 1; q >= -1; q--) {
        struct winners *w = &o->inner[q >= 0 ? q : c->queues->count];

        if (q >= 0 && queue_is_leaf(&c->queues->items[q])) {
            o->look[q] = look_at_leaf(o, &c->queues->items[q], &o->keys[q]);
            continue;
        }
        for (int k = w->size - 1; k >= 1; k--) {
            w->at[k] = better(o, w->at[2 * k], w->at[2 * k + 1]);
        }
        if (q >= 0) {
            set_inner(o, q, w);
        }
    }
}

static size_t most_shapes(const struct core *c)
{
    size_t most = 0;

    for (int q = 0; q < c->queues->count; q++) {
        const size_t shapes = c->queues->items[q].shapes.count;

        most = shapes > most ? shapes : most;
    }
    return most;
}

struct order *order_make(struct core *c, int64_t now_ms)
{
    struct order *o = arena_new(c->plan_arena, 1, sizeof(*o));
    size_t count = (size_t)c->queues->count;
    int *tops = arena_new(c->plan_arena, count + 1, sizeof(*tops));
    size_t top_count = 0;

    o->c = c;
    o->now_ms = now_ms;
    o->keys = arena_new(c->plan_arena, count + 1, sizeof(o->keys[0]));
    o->inner = arena_new(c->plan_arena, count + 1, sizeof(o->inner[0]));
    o->is_short = arena_new(c->plan_arena, c->pools.count + 1, sizeof(o->is_short[0]));
    o->look = arena_new(c->plan_arena, count + 1, sizeof(o->look[0]));
    o->lineups = arena_new(c->plan_arena, count + 1, sizeof(o->lineups[0]));
    o->line = arena_new(c->plan_arena, most_shapes(c), sizeof(o->line[0]));
    o->last = -1;
    o->bounds = bounds_make(c, now_ms);
    o->seat = arena_new(c->plan_arena, count + 1, sizeof(o->seat[0]));
    for (size_t q = 0; q < count; q++) {
        const struct queue *own = &c->queues->items[q];

        if (own->parent < 0) {
            tops[top_count++] = (int)q;
        }
        if (!queue_is_leaf(own)) {
            seat_children(o, &o->inner[q], own->children.items, own->children.count);
        }
    }
    seat_children(o, &o->inner[count], tops, top_count);
    build(o);
    return o;
}

static int winning_leaf(const struct order *o)
{
    int winner = o->inner[o->c->queues->count].at[1];

    return winner >= 0 && o->keys[winner].is ? o->keys[winner].leaf : -1;
}

/* Try the leaf's first job.  True: it can, and it is still its turn; its trial is on the ledgers.
 */
static bool try_leaf(struct order *o, int leaf, bool entitled, struct trial *ret)
{
    struct job *j = o->lineups[leaf].jobs[o->lineups[leaf].at];
    struct core *c = o->c;
    size_t mark = load_mark(c);
    struct key own = o->keys[leaf]; /* of the ledgers without the trial */

    if (o->look[leaf] != LOOK_JOB) {
        fill_key(o, j, &own);
    }
    c->inexact = false;
    forecast_save(c);
    if (!trial_job(c, j, o->now_ms, ret)) {
        mark_failed(c, j);
        if (forecast_blocked(c, j, o->now_ms)) {
            j->shape->failed_for_good = false; /* it has to become a head in each plan */
        }
        pass_over(o, leaf);
        return false;
    }
    o->look[leaf] = LOOK_JOB;
    if (key_equal(&own, &o->keys[leaf])) {
        return true;
    }
    /* the key was a hope: with its own it may have to wait for others */
    trial_undo(c, ret, mark);
    forecast_load(c);
    o->keys[leaf] = own;
    replay_up(o, leaf);
    if (winning_leaf(o) == leaf && (!entitled || o->keys[leaf].entitled)) {
        bool again;

        trial_clear(ret);
        again = trial_job(c, j, o->now_ms, ret);
        CHECK(again);
        return true;
    }
    return false;
}

struct job *order_next(struct order *o, bool entitled, struct trial *ret)
{
    int leaf;

    if (o->last >= 0) {
        look_closer(o, o->last); /* what was decided last changed its leaf */
        o->last = -1;
    }
    while ((leaf = winning_leaf(o)) >= 0 && (!entitled || o->keys[leaf].entitled)) {
        if (o->look[leaf] == LOOK_LEAF) {
            look_closer(o, leaf);
        } else if (try_leaf(o, leaf, entitled, ret)) {
            o->last = leaf;
            return o->lineups[leaf].jobs[o->lineups[leaf].at];
        }
        trial_clear(ret);
    }
    return NULL;
}

bool order_has_candidate(struct order *o, int leaf)
{
    if (o->keys[leaf].is && o->look[leaf] == LOOK_LEAF) {
        look_closer(o, leaf);
    }
    return o->keys[leaf].is;
}
