/* bid - the search for victims where there are many candidates: node by node, those that lose least
 * first.
 *
 * Candidates of all leaves come in one sequence and are laid on the nodes that they hold, until
 * nodes have become roomy enough for the claimant; only those are tried.  So a search costs what it
 * looks at, not what runs.  The sets that rule 6 prefers are looked for first: elastic surplus,
 * then those that take no queue below its reserve, then any.
 */
#ifndef MUSTER_CORE_BID_H
#define MUSTER_CORE_BID_H

#include "core/hunt.h"

#define BID_JOBS_MIN 64 /* below, all candidates are gathered and weighed (core/search.c) */

/* Leaves whose jobs are lawful victims of the ask, alone, on the ledgers as they are.  leaving_gu:
 * what is leaving of the claimant's own queue and is off the ledgers. */
struct bid_leaves {
    int *items;
    int count;
    int64_t jobs; /* that run in them */
};

struct bid_leaves bid_leaves(struct core *c, const struct ask *ask, int64_t leaving_gu);

/* Could they give as much as is missing, by sums? */
bool bid_suffices(const struct hunt *h, const struct bid_leaves *leaves);

/* Find sets among the jobs of these leaves, and keep them in the hunt. */
void bid_hunt(struct hunt *h, const struct bid_leaves *leaves, int64_t now_ms);

/* The same where others are lawful only once the own candidates, the hunt's units, are gone: sets
 * of all of those and some of theirs, less what turns out not to be needed. */
void bid_hunt_after_own(struct hunt *h, int64_t now_ms);

/* Is the ask one task? */
bool bid_one_task(const struct ask *ask);

/* The sets of candidates on one node. */
void bid_try_units(struct hunt *h, const unit_set *units);

#endif
