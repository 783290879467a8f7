/* mutate - what the mutators of the fuzz targets share.  Only the fuzzers link it; the replay of
 * the corpora does not. */
#ifndef MUSTER_FUZZ_MUTATE_H
#define MUSTER_FUZZ_MUTATE_H

#include "base/rng.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

struct mutate_line {
    size_t at;
    size_t len; /* without its end */
};

/* Append a changed text to ret; false: nothing was appended.  Each mutator has its own; len > 0. */
bool mutate_step(const char *text, size_t len, struct rng *rng, struct str *ret);

struct mutate_line mutate_any_line(const char *text, size_t len, struct rng *rng);
/* A line is doubled elsewhere, dropped or moved. */
bool mutate_lines(const char *text, size_t len, struct rng *rng, struct str *ret);
/* A word or number is changed. */
bool mutate_words(const char *text, size_t len, struct rng *rng, struct str *ret);

#endif
