/* mutate_text - a mutator for inputs of lines and words: scenarios, YAML, scripts.
 * A word becomes another word of the same text or a near number, lines are doubled, dropped, moved.
 */
#include "mutate.h"

bool mutate_step(const char *text, size_t len, struct rng *rng, struct str *ret)
{
    return rng_below(rng, 3) == 0 ? mutate_lines(text, len, rng, ret)
                                  : mutate_words(text, len, rng, ret);
}
