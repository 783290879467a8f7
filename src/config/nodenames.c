#include "config/nodenames.h"

#include "base/check.h"
#include "base/str.h"
#include "base/vec.h"

#include <string.h>

#define DIGITS_MAX 9

struct names {
    VEC(const char *) v;
    struct arena *arena;
    const char *before; /* of the bracket */
    size_t before_len;
    const char *after;
    const char **wrong;
    const char **right;
};

static bool bad(struct names *n, const char *wrong, const char *right)
{
    *n->wrong = wrong;
    *n->right = right;
    return false;
}

static bool add(struct names *n, const char *name)
{
    if (!str_is_name(name)) {
        return bad(n, "is not a name", "use 1 to 63 of a-z, 0-9 and -, and at most one [1-7]");
    }
    if (n->v.count == NODENAMES_MAX) {
        return bad(n, "stands for more than 100000 nodes", "use fewer");
    }
    vec_push(&n->v, name);
    return true;
}

/* Digits at *text; the number and how many digits were there, 0 = none. */
static size_t number(const char **text, long *ret)
{
    size_t len = strspn(*text, "0123456789");
    long value = 0;

    if (len > DIGITS_MAX) {
        return 0;
    }
    for (size_t i = 0; i < len; i++) {
        value = value * 10 + ((*text)[i] - '0');
    }
    *text += len;
    *ret = value;
    return len;
}

/* One "4" or "1-7" at *text. */
static bool add_range(struct names *n, const char **text)
{
    long from = 0;
    long to = 0;
    size_t width = number(text, &from);

    to = from;
    if (width > 0 && **text == '-') {
        (*text)++;
        if (number(text, &to) == 0) {
            width = 0;
        }
    }
    if (width == 0) {
        return bad(n, "has no number in its bracket", "write n[1-7] or n[1,3,5]");
    }
    if (to < from) {
        return bad(n, "counts down", "write the lower number first");
    }
    for (long i = from; i <= to; i++) {
        if (!add(n, arena_printf(n->arena, "%.*s%0*ld%s", (int)n->before_len, n->before, (int)width,
                                 i, n->after))) {
            return false;
        }
    }
    return true;
}

static bool expand(struct names *n, const char *pattern)
{
    const char *open = strchr(pattern, '[');
    const char *close = strchr(pattern, ']');
    const char *at;

    if (open == NULL) {
        return add(n, pattern);
    }
    if (close == NULL || close < open || strlen(pattern) > 200) {
        return bad(n, "has a bracket that does not end", "write n[1-7] or n[1,3,5]");
    }
    n->before = pattern;
    n->before_len = (size_t)(open - pattern);
    n->after = close + 1;
    at = open + 1;
    while (add_range(n, &at)) {
        if (at == close) {
            return true;
        }
        if (*at++ != ',') {
            return bad(n, "has more than numbers in its bracket", "write n[1-7] or n[1,3,5]");
        }
    }
    return false;
}

const char **nodenames_expand(const char *pattern, struct arena *arena, size_t *ret_count,
                              const char **ret_wrong, const char **ret_right)
{
    struct names n = {.arena = arena, .wrong = ret_wrong, .right = ret_right};
    const char **names = NULL;

    if (expand(&n, pattern)) {
        names = arena_copy(arena, n.v.items, n.v.count * sizeof(*names));
        *ret_count = n.v.count;
    }
    vec_fini(&n.v);
    return names;
}
