/* minmax - the smaller and the larger of two amounts. */
#ifndef MUSTER_BASE_MINMAX_H
#define MUSTER_BASE_MINMAX_H

#include <stdint.h>

static inline int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t max64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

#endif
