/* alike - do two structs say the same?  By the tables of core/schema.h: alike_same holds just where
 * the canonical texts of both are equal, without writing either. */
#ifndef MUSTER_CORE_ALIKE_H
#define MUSTER_CORE_ALIKE_H

#include "core/schema.h"

#include <stdbool.h>
#include <stdint.h>

/* Equal for structs that say the same, on every machine; >= 0. */
int64_t alike_hash(const struct schema *schema, const void *value);

bool alike_same(const struct schema *schema, const void *a, const void *b);

#endif
