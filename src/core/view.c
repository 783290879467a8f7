#include "core/view.h"

#include "core/claim.h"
#include "core/shape.h"
#include "core/state.h"

#include <string.h>

const struct policy *view_policy(const struct core *c)
{
    return c->policy;
}

int64_t view_policy_seq(const struct core *c)
{
    return c->policy_seq;
}

const struct queue_tree *view_queues(const struct core *c)
{
    return c->queues;
}

int view_pool_count(const struct core *c)
{
    return (int)c->pools.count;
}

const struct pool *view_pool(const struct core *c, int index)
{
    return c->pools.items[index];
}

int view_node_count(const struct core *c)
{
    return (int)c->nodes.count;
}

const struct node *view_node(const struct core *c, int index)
{
    return c->nodes.items[index];
}

const struct node *view_node_of_id(const struct core *c, int64_t id)
{
    return core_node(c, id);
}

const struct node *view_node_of_name(const struct core *c, const char *cluster, const char *name)
{
    const struct omap_key from = {shape_text_hash(name), shape_text_hash(cluster), INT64_MIN};

    for (const struct omap_item *i = omap_lower_bound(&c->node_names, from);
         i != NULL && i->key.a == from.a && i->key.b == from.b; i = omap_next(i)) {
        const struct node *n = i->value;

        if (strcmp(n->name, name) == 0 && strcmp(n->cluster, cluster) == 0) {
            return n;
        }
    }
    return NULL;
}

const struct job *view_job(const struct core *c, int64_t id)
{
    return core_job(c, id);
}

const struct job *view_job_next(const struct core *c, int64_t after)
{
    const struct job *j = core_job(c, after);

    if (j != NULL) {
        return j->next;
    }
    j = c->first_job;
    while (j != NULL && j->id <= after) {
        j = j->next;
    }
    return j;
}

int64_t view_waiting_count(const struct core *c)
{
    return c->waiting_count;
}

const struct view_token *view_token_next(const struct core *c, int64_t after_id)
{
    const struct omap_item *i = omap_lower_bound(&c->tokens, (struct omap_key){after_id + 1, 0, 0});

    return i != NULL ? &((const struct token *)i->value)->shown : NULL;
}

int64_t view_available_gu(const struct core *c, int queue, int pool)
{
    return quota_avail(c->queues, c->pools.items[pool], queue);
}

/* Its unused reserve, as far as what is not free any more is used by others. */
int64_t view_lent_gu(const struct core *c, int queue, int pool)
{
    const struct queue_quota *q = &c->queues->items[queue].quotas[pool];
    const struct pool *p = c->pools.items[pool];
    int64_t unused = q->mine > q->used ? q->mine - q->used : 0;
    int64_t lendable = q->mine - q->keep < unused ? q->mine - q->keep : unused;
    int64_t free_gu = p->capacity_gu - p->taken_gu;

    return lendable > free_gu ? lendable - free_gu : 0;
}

int64_t core_now_ms(const struct core *c)
{
    return c->now_ms;
}

int64_t core_next_job(const struct core *c)
{
    return c->next_job;
}

int64_t core_next_node(const struct core *c)
{
    return c->next_node;
}

int64_t core_next_token(const struct core *c)
{
    return c->next_token;
}

int64_t core_next_pool(const struct core *c)
{
    return c->next_pool;
}

int64_t core_next_queue(const struct core *c)
{
    return c->next_queue;
}

/* Does a fill the reserve before b? */
static bool fills_before(const struct job *a, const struct job *b)
{
    if (a->ask->nonpreemptible != b->ask->nonpreemptible) {
        return a->ask->nonpreemptible;
    }
    return a->started_ms != b->started_ms ? a->started_ms < b->started_ms : a->id < b->id;
}

void view_split(const struct core *c, const struct job *j, int64_t *ret_reserved_gu,
                int64_t *ret_borrowed_gu)
{
    const struct queue *leaf = &c->queues->items[j->queue];
    int64_t covered = 0; /* of the leaf's usage, what some level reserves */
    int64_t before = 0;

    *ret_reserved_gu = *ret_borrowed_gu = 0;
    if (!job_is_active(j) || j->pool < 0) {
        return;
    }
    for (int q = j->queue; q >= 0; q = c->queues->items[q].parent) {
        int64_t within = leaf->quotas[j->pool].plain - quota_borrowed(c->queues, j->pool, q);

        covered = within > covered ? within : covered;
    }
    for (size_t i = 0; i < leaf->active.count; i++) {
        const struct job *o = leaf->active.items[i];

        before += o != j && o->pool == j->pool && fills_before(o, j) ? o->leased_gu : 0;
    }
    *ret_reserved_gu = covered - before < j->leased_gu ? covered - before : j->leased_gu;
    *ret_reserved_gu = *ret_reserved_gu > 0 ? *ret_reserved_gu : 0;
    *ret_borrowed_gu = j->leased_gu - *ret_reserved_gu;
}
