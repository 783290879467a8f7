#include "demo/scorecard.h"

#include "base/str.h"
#include "base/vec.h"

#include <stdarg.h>
#include <stdio.h>

struct check {
    bool good;
    char *text;
};

struct scorecard {
    VEC(struct check) checks;
};

struct scorecard *scorecard_new(void)
{
    return mem_new(1, sizeof(struct scorecard));
}

void scorecard_free(struct scorecard *s)
{
    if (s == NULL) {
        return;
    }
    for (size_t i = 0; i < s->checks.count; i++) {
        mem_free(s->checks.items[i].text);
    }
    vec_fini(&s->checks);
    mem_free(s);
}

void scorecard_add(struct scorecard *s, bool good, const char *fmt, ...)
{
    char text[512];
    va_list list;

    va_start(list, fmt);
    vsnprintf(text, sizeof(text), fmt, list);
    va_end(list);
    vec_push(&s->checks, (struct check){.good = good, .text = mem_text(text)});
}

void scorecard_print(const struct scorecard *s)
{
    for (size_t i = 0; i < s->checks.count; i++) {
        printf("%s %zu - %s\n", s->checks.items[i].good ? "ok" : "not ok", i + 1,
               s->checks.items[i].text);
    }
    printf("1..%zu\n", s->checks.count);
}

size_t scorecard_count(const struct scorecard *s)
{
    return s->checks.count;
}

size_t scorecard_bad(const struct scorecard *s)
{
    size_t bad = 0;

    for (size_t i = 0; i < s->checks.count; i++) {
        bad += !s->checks.items[i].good;
    }
    return bad;
}
