/* hunt - one search for victims: sets of candidates, whether a set is lawful and sufficient, and
 * the least harm among those that are.
 *
 * A set is tried by taking it off the ledgers, testing the quota rules and placing the claimant on
 * what is left, and putting everything back.
 */
#ifndef MUSTER_CORE_HUNT_H
#define MUSTER_CORE_HUNT_H

#include "core/claim.h"
#include "core/harm.h"
#include "core/units.h"

typedef VEC(const struct claim_unit *) unit_set;
typedef int unit_order(const void *a, const void *b);

struct hunt {
    struct core *c;
    const struct ask *ask;
    claim_units units;
    int64_t leaving_gu;     /* of the claimant's own queue: it counts there until it is gone */
    VEC(struct harm) works; /* sets that work; their units live in the plan arena */
    unit_set best;
    bool found;
    int64_t candidates; /* looked at */
    bool exact;         /* all sets of them were */
};

void hunt_sort(unit_set *set, unit_order *by);
/* An elastic victim of another queue shrinks instead of going whole, where that would do; off_gu:
 * what of its surplus is off already. */
bool hunt_would_shrink(struct hunt *h, const struct claim_unit *u, int64_t off_gu);
/* No set member twice: a whole job and its single tasks, or more tasks than its surplus.  What is
 * no proper set is part of none. */
bool hunt_is_proper(const unit_set *set);
/* The order in which victims of other queues are taken. */
int hunt_by_size(const void *a, const void *b);
/* The subtree that the claim comes out of, once the own victims are off the ledgers; -1 = none. */
int hunt_cover(const struct hunt *h);
/* May a victim of another queue go after those that are off?  off_gu as above. */
bool hunt_is_lawful(struct hunt *h, const struct claim_unit *u, int cover, int64_t off_gu);
/* Take a victim of another queue off the ledgers, if that is lawful after those that are off. */
bool hunt_take(struct hunt *h, const struct claim_unit *u, int cover);
/* The set is off the ledgers, which stay so: is there room, by the quota rules too? */
bool hunt_suffices(struct hunt *h, const unit_set *set, struct harm *ret_harm);
/* Does the set work?  The ledgers are as before afterwards; ret_harm is what it would do. */
bool hunt_works(struct hunt *h, unit_set *set, struct harm *ret_harm);
/* Remember a set that works, and in the end choose the one of least harm into best. */
void hunt_keep(struct hunt *h, const unit_set *set, const struct harm *harm);
void hunt_choose(struct hunt *h);
/* The child of `common` on the way to leaf. */
int hunt_below(const struct queue_tree *t, int leaf, int common);

#endif
