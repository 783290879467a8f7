/* words - one line of a scenario, cut into words: a verb, then names, flags and key=value.
 *
 * Each word is taken once; words_end complains of what nobody took, so that a misspelt setting is
 * never passed over.  Failures are kept: the first one is told by words_end.
 */
#ifndef MUSTER_SIM_WORDS_H
#define MUSTER_SIM_WORDS_H

#include "base/arena.h"
#include "base/err.h"

#define WORDS_MAX 40

struct words {
    struct arena *arena;
    const char *path;
    int line;
    const char *items[WORDS_MAX];
    bool taken[WORDS_MAX];
    size_t count;
    int rc;
    struct err err;
};

/* Cut text; everything is copied into the arena. */
void words_cut(struct words *w, struct arena *arena, const char *path, int line, const char *text);

/* Note the first failure; the place is put before it. */
void words_fail(struct words *w, enum err_code code, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* The first failure, or what was not taken. */
MUST_CHECK int words_end(struct words *w, struct err *err);

/* The next word that is not key=value; "" (and a failure naming `what`) if there is none. */
const char *words_next(struct words *w, const char *what);
/* The same, NULL if there is none. */
const char *words_maybe(struct words *w);
/* Is this very word there? */
bool words_flag(struct words *w, const char *flag);
/* The value of key=value, NULL if it is not there. */
const char *words_value(struct words *w, const char *key);
/* The first word left that begins with prefix, e.g. "label."; *ret_value is what follows '='. */
const char *words_prefix(struct words *w, const char *prefix, const char **ret_value);

/* Values with a default. */
int64_t words_int(struct words *w, const char *key, int64_t usual);
int64_t words_gpus(struct words *w, const char *key, int64_t usual_gu); /* "none" = POLICY_NONE */
int64_t words_ms(struct words *w, const char *key, int64_t usual_ms);   /* "off" = POLICY_NONE */
int64_t words_bytes(struct words *w, const char *key, int64_t usual_bytes);
int64_t words_cpu(struct words *w, const char *key, int64_t usual_milli);
bool words_bool(struct words *w, const char *key, bool usual); /* yes, no, on, off */
int words_enum(struct words *w, const char *key, const char *const *names, int usual);
/* a,b,c; NULL and 0 when it is not there. */
const char **words_list(struct words *w, const char *key, size_t *ret_count);

/* Seconds ("12", "0.5") or a duration ("12h") as ms. */
MUST_CHECK int words_time(const char *text, int64_t *ret_ms, struct err *err);

#endif
