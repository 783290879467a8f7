/* order - whose turn it is: between leaves by the tree, inside a leaf by priority and age.
 *
 * Each leaf offers its first job that can start; what fails is remembered.  A leaf first stands
 * with the best that any of its jobs could be, is looked at more closely when it wins with that,
 * and is tried only when it still wins.  A winner tree at every inner queue keeps the best of its
 * children, so one leaf's change costs the depth times the log of the siblings.
 */
#ifndef MUSTER_CORE_ORDER_H
#define MUSTER_CORE_ORDER_H

#include "core/state.h"

struct order;

/* Build from the leaves as they are.  Lives in the plan arena. */
struct order *order_make(struct core *c, int64_t now_ms);
/* The next job whose turn it is and that can start or claim, its trial on the ledgers; NULL =
 * nobody can, or (entitled) nobody within a reserve.  The caller ends ret before the next call. */
struct job *order_next(struct order *o, bool entitled, struct trial *ret);
/* Does the leaf have a job that might still start? */
bool order_has_candidate(struct order *o, int leaf);
/* The pools of a job in the order they are tried; count into ret_count, lent. */
const int *order_pools(struct core *c, const struct job *j, int *ret_count);

/* May the job compete at all now: waiting, not resting, not promised, not decided? */
bool order_competes(const struct job *j, int64_t now_ms);

/* Does a come before b in their leaf? */
bool order_earlier(const struct job *a, const struct job *b);
/* The same for qsort, over pointers to jobs. */
int order_compare(const void *a, const void *b);

#endif
