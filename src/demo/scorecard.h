/* scorecard - what was checked and whether it was so: a line a check, with its numbers. */
#ifndef MUSTER_DEMO_SCORECARD_H
#define MUSTER_DEMO_SCORECARD_H

#include <stdbool.h>
#include <stddef.h>

struct scorecard;

struct scorecard *scorecard_new(void);
void scorecard_free(struct scorecard *s);

/* Note one check; the text says what was expected and which numbers were found. */
void scorecard_add(struct scorecard *s, bool good, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Print all lines: TAP, which people can read as well. */
void scorecard_print(const struct scorecard *s);
size_t scorecard_count(const struct scorecard *s);
size_t scorecard_bad(const struct scorecard *s);

#endif
