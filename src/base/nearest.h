/* nearest - what somebody may have meant by a word that does not exist. */
#ifndef MUSTER_BASE_NEAREST_H
#define MUSTER_BASE_NEAREST_H

#include <stddef.h>

#define NEAREST_WORD_MAX 40 /* of longer words nothing is guessed */

struct nearest {
    const char *word; /* lent, as are the candidates */
    size_t word_len;
    const char *best; /* NULL = none is near */
    size_t best_len;
    size_t distance; /* of the best */
};

void nearest_begin(struct nearest *n, const char *word, size_t len);
/* The first of the nearest wins.  A candidate is near when one letter in three may be wrong, one at
 * least: another one, one too many, one missing, two swapped. */
void nearest_try(struct nearest *n, const char *text, size_t len);

#endif
