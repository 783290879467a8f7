/* ends - when what runs in a pool ends, as far as time limits, predictions and deadlines say, and
 * so when cards become free, node by node.  Made once a plan, until something is decided. */
#ifndef MUSTER_CORE_ENDS_H
#define MUSTER_CORE_ENDS_H

#include "core/claim.h"

struct core;

struct ending { /* an active job that ends by a known time, or that passed a planned start */
    struct job *job;
    int64_t end_ms; /* INT64_MAX = unknown */
};

struct ends;

/* Of the pool; lives in the plan arena. */
struct ends *ends_of(struct core *c, const struct pool *pool, int64_t now_ms);
/* The endings, the earliest first. */
const struct ending *ends_items(const struct ends *e, size_t *ret_count);
/* Has some job passed this one's planned start? */
bool ends_passed(const struct ends *e, const struct job *head);

/* The first time, not before now, at which so many tasks of so many whole cards fit by the count of
 * cards that are free or whose holders have ended, soft ones not; 0 = none known.  ret: the
 * holders that have to be gone then, each once, in the plan arena. */
int64_t ends_first(struct ends *e, int64_t cards, int64_t tasks, struct job ***ret,
                   size_t *ret_count);
/* What the queue could start at that time, when all has ended that ends until then. */
int64_t ends_slack_gu(const struct ends *e, int leaf, int64_t at_ms);
int64_t ends_now_ms(const struct ends *e);
/* Does it know the ends of all cards?  Not where cards are cut or shared. */
bool ends_by_cards(const struct ends *e);

#endif
