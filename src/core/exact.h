/* exact - all sets of a few candidates that would do, for the least harm to be the true least. */
#ifndef MUSTER_CORE_EXACT_H
#define MUSTER_CORE_EXACT_H

#include "core/hunt.h"

/* Keep every lawful set of these units (CLAIM_EXACT_MAX at most) that makes room for the ask and
 * of which no part would do. */
void exact_try(struct hunt *h, const unit_set *units);

#endif
