/* nodenames - "n[1-7]", "gpu[01-04,9]-a": many nodes in one line. */
#ifndef MUSTER_CONFIG_NODENAMES_H
#define MUSTER_CONFIG_NODENAMES_H

#include "base/arena.h"

#include <stddef.h>

#define NODENAMES_MAX 100000

/* All names of the pattern in order, in the arena.  A number keeps the zeros it is written with.
 * NULL: ret_wrong says what is wrong, ret_right what would be right. */
const char **nodenames_expand(const char *pattern, struct arena *arena, size_t *ret_count,
                              const char **ret_wrong, const char **ret_right);

#endif
