/* mig_table - the MIG profiles of the cards in the field, as data.
 *
 * Fallback and simulator data: a real card says its own profiles and placements (NVML), and those
 * win.  -1 = unknown.  The sources are named in mig_table.c.
 */
#ifndef MUSTER_CORE_MIG_TABLE_H
#define MUSTER_CORE_MIG_TABLE_H

#include "core/slice.h"

#include <stddef.h>

struct mig_model {
    struct slice_table table;
    const char *const *names; /* other ids and the product names NVML gives; ends with NULL */
};

extern const struct mig_model MIG_MODELS[];
extern const size_t MIG_MODEL_COUNT;

#endif
