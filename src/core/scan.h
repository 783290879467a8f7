/* scan - strict reading of JSON where it stands: what comes next, texts, whole numbers, and errors
 * that say where.  It knows no tables; core/codec.c walks them.
 *
 * The input is lent for the life of the scan.  A string is lent from the input, or lies in the
 * arena where it had escapes.  All int functions return 0 or a negative code; results are written
 * on success only, and the place in the input moves on success only as far as it matters: after an
 * error the scan is over.
 */
#ifndef MUSTER_CORE_SCAN_H
#define MUSTER_CORE_SCAN_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCAN_STEP_MAX 16 /* nesting of tables; the deepest in use is 6 */
#define SCAN_NO_INDEX SIZE_MAX

struct scan_step {
    const char *name;
    size_t index; /* in a list, else SCAN_NO_INDEX */
};

struct scan {
    const char *start;
    const char *at;
    const char *end;
    struct arena *arena;
    struct scan_step steps[SCAN_STEP_MAX]; /* the path to the value being read */
    size_t depth;
    struct err *err;
};

struct scan_string {
    const char *text;
    size_t len;
    bool unescaped; /* in the arena, ended by NUL */
};

/* The first character behind white space, '\0' at the end. */
static inline char scan_peek(struct scan *r)
{
    if (r->at<r->end && * r->at> ' ') {
        return *r->at;
    }
    while (r->at < r->end &&
           (*r->at == ' ' || *r->at == '\n' || *r->at == '\t' || *r->at == '\r')) {
        r->at++;
    }
    return r->at < r->end ? *r->at : '\0';
}

/* The text is not JSON here: ERR_SYNTAX, "line:column: what". */
int scan_fail_syntax(struct scan *r, const char *what);
/* The text is JSON, but the field that the path leads to cannot be this: "a.b[3].c: what". */
int scan_fail_field(struct scan *r, int code, const char *what);
/* What stands there is not what was wanted ("a list"): ERR_INVALID, or ERR_SYNTAX where no value
 * begins. */
int scan_fail_type(struct scan *r, const char *wanted);

/* A string whose quote stands there: UTF-8, no character 0. */
MUST_CHECK int scan_string(struct scan *r, struct scan_string *ret);
/* The same as a value: any other type is refused, and the text is the arena's. */
MUST_CHECK int scan_text(struct scan *r, const char **ret);
/* Whole numbers of 64 bits: ERR_INVALID with a point or exponent, ERR_RANGE past 64 bits. */
MUST_CHECK int scan_int(struct scan *r, int64_t *ret);
MUST_CHECK int scan_bool(struct scan *r, bool *ret);

#endif
