#include "mutate.h"

#include "base/check.h"
#include "base/mem.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t size_max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t size_max, unsigned seed);

struct mutate_line mutate_any_line(const char *text, size_t len, struct rng *rng)
{
    size_t at = (size_t)rng_below(rng, len);
    size_t end = at;

    while (at > 0 && text[at - 1] != '\n') {
        at--;
    }
    while (end < len && text[end] != '\n') {
        end++;
    }
    return (struct mutate_line){at, end - at};
}

bool mutate_lines(const char *text, size_t len, struct rng *rng, struct str *ret)
{
    struct mutate_line a = mutate_any_line(text, len, rng);
    struct mutate_line b = mutate_any_line(text, len, rng);
    size_t a_end = a.at + a.len + (a.at + a.len < len);
    size_t what = (size_t)rng_below(rng, 3);

    if (what == 0) { /* dropped */
        str_add_n(ret, text, a.at);
        str_add_n(ret, text + a_end, len - a_end);
        return true;
    }
    if (what == 1 || b.at == a.at) { /* doubled before b */
        str_add_n(ret, text, b.at);
        str_add_n(ret, text + a.at, a.len);
        str_add_char(ret, '\n');
        str_add_n(ret, text + b.at, len - b.at);
        return true;
    }
    if (b.at < a.at) { /* moved up to b */
        str_add_n(ret, text, b.at);
        str_add_n(ret, text + a.at, a.len);
        str_add_char(ret, '\n');
        str_add_n(ret, text + b.at, a.at - b.at);
        str_add_n(ret, text + a_end, len - a_end);
        return true;
    }
    str_add_n(ret, text, a.at); /* moved down to b */
    str_add_n(ret, text + a_end, b.at - a_end);
    str_add_n(ret, text + a.at, a.len);
    str_add_char(ret, '\n');
    str_add_n(ret, text + b.at, len - b.at);
    return true;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.' || c == '/' || c == '#';
}

/* A word at random; len 0 = there was none. */
static struct mutate_line any_word(const char *text, size_t len, struct rng *rng)
{
    size_t at = (size_t)rng_below(rng, len);
    size_t end;

    while (at < len && !is_word(text[at])) {
        at++;
    }
    while (at > 0 && at < len && is_word(text[at - 1])) {
        at--;
    }
    for (end = at; end < len && is_word(text[end]); end++) {
    }
    return (struct mutate_line){at, end - at};
}

static void add_near(struct str *ret, int64_t from, struct rng *rng)
{
    static const int64_t EDGES[] = {0,    1,         -1,     7,    8,          64,
                                    1000, INT64_MAX, 126000, 3600, 4294967296, 1000000};

    switch (rng_below(rng, 4)) {
    case 0:
        str_add_int(ret, EDGES[rng_below(rng, ARRAY_LEN(EDGES))]);
        break;
    case 1:
        str_add_int(ret, from < INT64_MAX ? from + 1 : from);
        break;
    case 2:
        str_add_int(ret, from > INT64_MIN ? from - 1 : from);
        break;
    default:
        str_add_int(ret, from < INT64_MAX / 4 && from > -(INT64_MAX / 4) ? from * 2 : from / 2);
        break;
    }
}

bool mutate_words(const char *text, size_t len, struct rng *rng, struct str *ret)
{
    struct mutate_line a = any_word(text, len, rng);
    struct mutate_line b = any_word(text, len, rng);
    char *word = mem_text_n(text + a.at, a.len);
    int64_t number;

    str_add_n(ret, text, a.at);
    if (str_to_int(word, &number) && rng_below(rng, 3) > 0) {
        add_near(ret, number, rng);
    } else if (rng_below(rng, 8) > 0) {
        str_add_n(ret, text + b.at, b.len);
    }
    str_add_n(ret, text + a.at + a.len, len - a.at - a.len);
    mem_free(word);
    return true;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t size_max, unsigned seed)
{
    struct str ret = {0};
    struct rng rng = rng_init(seed);
    size_t len;

    if (size == 0 || rng_below(&rng, 8) == 0 ||
        !mutate_step((const char *)data, size, &rng, &ret) || ret.len > size_max) {
        str_fini(&ret);
        return LLVMFuzzerMutate(data, size, size_max);
    }
    len = ret.len;
    memcpy(data, str_text(&ret), len);
    str_fini(&ret);
    return len;
}
