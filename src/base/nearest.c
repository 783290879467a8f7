#include "base/nearest.h"

#include <string.h>

void nearest_begin(struct nearest *n, const char *word, size_t len)
{
    size_t wrong = len < 6 ? 1 : len / 3;

    *n = (struct nearest){.word = word, .word_len = len, .distance = wrong + 1};
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Letters that differ between two words, where a swap of neighbours counts once. */
static size_t distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t rows[3][NEAREST_WORD_MAX + 1]; /* [two before, the one before, this] */

    for (size_t k = 0; k <= b_len; k++) {
        rows[1][k] = k;
    }
    for (size_t i = 1; i <= a_len; i++) {
        rows[2][0] = i;
        for (size_t k = 1; k <= b_len; k++) {
            size_t d = rows[1][k - 1] + (a[i - 1] != b[k - 1] ? 1 : 0);

            d = least(d, least(rows[1][k], rows[2][k - 1]) + 1);
            if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1]) {
                d = least(d, rows[0][k - 2] + 1);
            }
            rows[2][k] = d;
        }
        memcpy(rows[0], rows[1], sizeof(rows[0]));
        memcpy(rows[1], rows[2], sizeof(rows[1]));
    }
    return rows[1][b_len];
}

void nearest_try(struct nearest *n, const char *text, size_t len)
{
    size_t d;

    if (n->word_len > NEAREST_WORD_MAX || len > NEAREST_WORD_MAX) {
        return;
    }
    d = distance(n->word, n->word_len, text, len);
    if (d < n->distance) {
        n->distance = d;
        n->best = text;
        n->best_len = len;
    }
}
