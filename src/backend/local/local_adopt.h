/* local_adopt - after a restart: what the core holds against what an earlier musterd left. */
#ifndef MUSTER_LOCAL_LOCAL_ADOPT_H
#define MUSTER_LOCAL_LOCAL_ADOPT_H

#include "backend/local/local_state.h"

/* ERR_IO: the state directory cannot be read.  Ends are told when the loop runs, those of rows that
 * are not there at once. */
MUST_CHECK int local_adopt(struct local *l, const struct backend_held *held, size_t count,
                           struct err *err);

#endif
