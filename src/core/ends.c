/* For each size of task the nodes are listed by the time at which they have room for one more, on
 * the ledgers as they were at first; whether they really have it is counted at the question, card
 * by card, so that what was wished for or tried meanwhile is seen. */
#include "core/ends.h"

#include "base/check.h"
#include "base/minmax.h"
#include "core/decide.h"
#include "core/state.h"

#include <stdlib.h>

struct card { /* a whole card that one job holds */
    struct job *job;
    int64_t end_ms;
};

struct room { /* the node has room for one more task from then on */
    int64_t at_ms;
    int node; /* place in the pool */
};

typedef VEC(struct room) rooms;

struct ends {
    struct ends *next; /* of another pool, or of before the last decision */
    struct core *c;
    const struct pool *pool;
    size_t decisions; /* how many the plan had when it was made */
    int64_t now_ms;
    struct ending *items;
    size_t count;
    int64_t *passed; /* ids of jobs whose planned start some job has passed, sorted */
    size_t passed_count;
    bool by_cards;
    bool mapped;
    int *first_card;    /* by place of the node */
    struct card *cards; /* all nodes' one after the other */
    int *idle;          /* by place of the node */
    struct room *frees; /* a card each, as they become free */
    size_t free_count;
    bool listed[POOL_CARDS_MAX + 1];
    struct room *rooms[POOL_CARDS_MAX + 1]; /* by cards a task */
    size_t room_count[POOL_CARDS_MAX + 1];
};

static int64_t known_end(const struct job *j, int64_t now_ms)
{
    int64_t from = j->running_ms > 0 ? j->running_ms : j->started_ms;

    if (j->ask->predicted_ms > 0 && from + j->ask->predicted_ms > now_ms) {
        return from + j->ask->predicted_ms;
    }
    if (j->ask->limit_ms == 0) {
        return INT64_MAX; /* a prediction that was wrong says nothing more */
    }
    return max64(from + j->ask->limit_ms, now_ms);
}

/* A job that was told to stop is gone by its deadline; its limit may say earlier. */
static int64_t stop_end(const struct core *c, const struct job *j, int64_t known_ms, int64_t now_ms)
{
    int64_t end = j->stop.told ? j->stop.deadline_ms : decide_deadline(c, j, now_ms);

    return min64(known_ms, end > now_ms ? end : INT64_MAX); /* overdue: nobody knows */
}

static int by_end(const void *a, const void *b)
{
    const struct ending *x = a;
    const struct ending *y = b;

    if (x->end_ms != y->end_ms) {
        return x->end_ms < y->end_ms ? -1 : 1;
    }
    return x->job->id < y->job->id ? -1 : x->job->id > y->job->id;
}

static bool has_whole_cards_only(const struct job *j)
{
    for (size_t i = 0; i < j->ask->group_count; i++) {
        if (j->ask->groups[i].share_gu > 0 || j->ask->groups[i].profile[0] != '\0') {
            return false;
        }
    }
    return true;
}

static int by_id(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

static void list_passed(struct ends *e)
{
    VEC(int64_t) ids = {0};

    for (size_t i = 0; i < e->count; i++) {
        const struct job *j = e->items[i].job;

        for (size_t k = 0; k < j->passes.count; k++) {
            vec_push(&ids, j->passes.items[k]);
        }
    }
    if (ids.count > 1) {
        qsort(ids.items, ids.count, sizeof(ids.items[0]), by_id);
    }
    e->passed_count = ids.count;
    e->passed = arena_copy(e->c->plan_arena, ids.items, ids.count * sizeof(ids.items[0]));
    vec_fini(&ids);
}

struct ends *ends_of(struct core *c, const struct pool *pool, int64_t now_ms)
{
    struct ends *e;
    VEC(struct ending) found = {0};

    for (e = c->ends; e != NULL && e->decisions == c->decisions.count; e = e->next) {
        if (e->pool == pool) {
            return e;
        }
    }
    e = arena_new(c->plan_arena, 1, sizeof(*e));
    *e = (struct ends){.next = c->ends,
                       .c = c,
                       .pool = pool,
                       .decisions = c->decisions.count,
                       .now_ms = now_ms,
                       .by_cards = pool->slice_nodes.count == 0};
    for (int q = 0; q < c->queues->count; q++) {
        const struct queue *leaf = &c->queues->items[q];

        for (size_t i = 0; i < leaf->active.count; i++) {
            struct job *j = leaf->active.items[i];
            int64_t end;

            if (!job_is_active(j) || j->pool != pool->index) {
                continue;
            }
            end = known_end(j, now_ms);
            if (j->marked || j->stop.told) {
                end = stop_end(c, j, end, now_ms);
            }
            if (end != INT64_MAX || j->passes.count > 0) {
                vec_push(&found, (struct ending){j, end});
                e->by_cards = e->by_cards && has_whole_cards_only(j);
            }
        }
    }
    if (found.count > 1) {
        qsort(found.items, found.count, sizeof(found.items[0]), by_end);
    }
    e->count = found.count;
    e->items = arena_copy(c->plan_arena, found.items, found.count * sizeof(found.items[0]));
    for (size_t i = 0; i < e->count && e->items[i].end_ms != INT64_MAX; i++) {
        plan_again(c, e->items[i].end_ms, now_ms); /* the forecast is another one then */
    }
    vec_fini(&found);
    list_passed(e);
    c->ends = e;
    return e;
}

const struct ending *ends_items(const struct ends *e, size_t *ret_count)
{
    *ret_count = e->count;
    return e->items;
}

bool ends_passed(const struct ends *e, const struct job *head)
{
    return e->passed_count > 0 &&
           bsearch(&head->id, e->passed, e->passed_count, sizeof(head->id), by_id) != NULL;
}

int64_t ends_now_ms(const struct ends *e)
{
    return e->now_ms;
}

/* Where nothing but what is idle bounds the queue, sums tell it; else usage is taken off. */
int64_t ends_slack_gu(const struct ends *e, int leaf, int64_t at_ms)
{
    struct core *c = e->c;
    const struct queue_tree *t = c->queues;
    int pool = e->pool->index;
    struct pool *p = c->pools.items[pool];
    bool free = t->kept[pool] == 0;
    int64_t taken_gu = p->taken_gu;
    int64_t gone_gu = 0;
    int64_t slack_gu;
    size_t mark = load_mark(c);

    for (int q = leaf; q >= 0; q = t->items[q].parent) {
        free = free && t->items[q].quotas[pool].limit == QUEUE_NO_LIMIT &&
               t->items[q].quotas[pool].borrow == QUEUE_NO_LIMIT;
    }
    for (size_t i = 0; i < e->count && e->items[i].end_ms <= at_ms; i++) {
        struct job *j = e->items[i].job;

        gone_gu += j->leased_gu;
        if (!free) {
            load_quota(c, j, pool, j->leased_gu - j->stopping_gu, j->marked, -1);
            load_quota(c, j, pool, j->stopping_gu, true, -1);
        }
    }
    if (free) {
        return e->pool->capacity_gu - e->pool->taken_gu + gone_gu;
    }
    p->taken_gu = taken_gu - gone_gu;
    slack_gu = quota_avail(t, p, leaf);
    p->taken_gu = taken_gu;
    load_undo(c, mark);
    return slack_gu;
}

bool ends_by_cards(const struct ends *e)
{
    return e->by_cards;
}

/* ---- cards ---- */

/* Cards that are free now, or wished for, which they may not be at the question. */
static int idle_cards(const struct core *c, const struct node *n)
{
    int count = 0;

    if (c->heads.count == 0 || !node_usable(n)) {
        return node_usable(n) ? n->free_whole : 0; /* nobody wishes yet */
    }
    for (int d = 0; d < n->device_count; d++) {
        const struct device *dev = &n->devices[d];

        count += dev->free_whole || (dev->soft > 0 && !dev->out && dev->taken_gu == 0);
    }
    return count;
}

/* The endings come in the order of time, so the cards do. */
static void map_cards(struct ends *e)
{
    struct core *c = e->c;
    const struct pool *p = e->pool;
    int count = 0;

    e->first_card = arena_new(c->plan_arena, p->nodes.count + 1, sizeof(int));
    e->idle = arena_new(c->plan_arena, p->nodes.count + 1, sizeof(int));
    for (size_t i = 0; i < p->nodes.count; i++) {
        const struct node *n = c->nodes.items[p->nodes.items[i]];

        e->first_card[i] = count;
        e->idle[i] = idle_cards(c, n);
        count += n->device_count;
    }
    e->cards = arena_new(c->plan_arena, (size_t)count + 1, sizeof(e->cards[0]));
    e->frees = arena_new(c->plan_arena, (size_t)count + 1, sizeof(e->frees[0]));
    for (size_t i = 0; i < e->count && e->items[i].end_ms != INT64_MAX; i++) {
        struct job *j = e->items[i].job;

        for (size_t t = 0; t < j->tasks.count; t++) {
            const struct lease_task *task = &j->tasks.items[t];
            const struct node *n = c->nodes.items[task->node];

            for (int d = 0; d < task->device_count; d++) {
                struct card *card = &e->cards[e->first_card[n->place] + task->devices[d].slot];

                *card = (struct card){j, e->items[i].end_ms};
                if (node_usable(n)) {
                    e->frees[e->free_count++] = (struct room){e->items[i].end_ms, n->place};
                }
            }
        }
    }
    e->mapped = true;
}

static void list_rooms(struct ends *e, int cards)
{
    struct core *c = e->c;
    size_t places = e->pool->nodes.count;
    int *counts = arena_copy(c->plan_arena, e->idle, (places + 1) * sizeof(*counts));
    rooms found = {0};

    for (int place = 0; place < (int)places; place++) {
        for (int k = cards; k <= counts[place]; k += cards) {
            vec_push(&found, (struct room){e->now_ms, place});
        }
    }
    for (size_t i = 0; i < e->free_count; i++) {
        if (++counts[e->frees[i].node] % cards == 0) {
            vec_push(&found, e->frees[i]);
        }
    }
    e->rooms[cards] = arena_copy(c->plan_arena, found.items, found.count * sizeof(found.items[0]));
    e->room_count[cards] = found.count;
    e->listed[cards] = true;
    vec_fini(&found);
}

/* Cards of the node that are free by then, on the ledgers as they are. */
static int free_by(const struct ends *e, int place, int64_t at_ms)
{
    const struct node *n = e->c->nodes.items[e->pool->nodes.items[place]];
    int count = 0;

    for (int d = 0; d < n->device_count; d++) {
        const struct card *card = &e->cards[e->first_card[place] + d];

        count += n->devices[d].free_whole ||
                 (n->devices[d].soft == 0 && !n->devices[d].out && card->job != NULL &&
                  card->end_ms <= at_ms && n->devices[d].count[LEDGER_PROMISED] == 0);
    }
    return count;
}

static void list_holders(const struct ends *e, int place, int64_t at_ms, struct job **ret,
                         size_t *count)
{
    const struct node *n = e->c->nodes.items[e->pool->nodes.items[place]];

    for (int d = 0; d < n->device_count; d++) {
        const struct card *card = &e->cards[e->first_card[place] + d];
        bool there = card->job == NULL || card->end_ms > at_ms;

        for (size_t i = 0; i < *count && !there; i++) {
            there = ret[i] == card->job;
        }
        if (!there) {
            ret[(*count)++] = card->job;
        }
    }
}

int64_t ends_first(struct ends *e, int64_t cards, int64_t tasks, struct job ***ret,
                   size_t *ret_count)
{
    int64_t at_ms = 0;
    int64_t left = tasks;
    size_t most = 0; /* holders that the places could have */
    int *taken;      /* by place: tasks counted on it */
    VEC(int) places = {0};

    *ret_count = 0;
    if (cards < 1 || cards > POOL_CARDS_MAX) {
        return 0;
    }
    if (!e->mapped) {
        map_cards(e);
    }
    if (!e->listed[cards]) {
        list_rooms(e, (int)cards);
    }
    taken = arena_new(e->c->plan_arena, e->pool->nodes.count + 1, sizeof(*taken));
    for (size_t i = 0; i < e->room_count[cards] && left > 0; i++) {
        const struct room *r = &e->rooms[cards][i];
        int more = free_by(e, r->node, r->at_ms) / (int)cards - taken[r->node];

        if (more > 0) {
            if (taken[r->node] == 0) {
                vec_push(&places, r->node);
                most += POOL_CARDS_MAX;
            }
            taken[r->node] += more;
            left -= more;
            at_ms = r->at_ms;
        }
    }
    if (left > 0) {
        at_ms = 0;
    } else {
        *ret = arena_new(e->c->plan_arena, most + 1, sizeof(**ret));
        for (size_t i = 0; i < places.count; i++) {
            list_holders(e, places.items[i], at_ms, *ret, ret_count);
        }
    }
    vec_fini(&places);
    return at_ms;
}
