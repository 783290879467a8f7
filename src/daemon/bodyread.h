/* bodyread - the JSON body of a request, field by field: the first thing that is wrong is kept with
 * its path, and the rest is read as if it were not there. */
#ifndef MUSTER_DAEMON_BODYREAD_H
#define MUSTER_DAEMON_BODYREAD_H

#include "base/arena.h"
#include "base/err.h"
#include "http/jsonin.h"

#include <stdbool.h>
#include <stdint.h>

struct bodyread {
    struct arena *arena; /* lent: lists live in it; texts are those of the body, as long as it */
    int rc;              /* 0, or the code of the first failure */
    struct err err;
    const char *field; /* its path, "" = the body */
    const char *path;  /* of the object that is read now: "" or "groups[0]" */
};

void bodyread_init(struct bodyread *r, struct arena *arena);
/* The field name of the present object is wrong. */
void bodyread_fail(struct bodyread *r, enum err_code code, const char *name, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

/* Only these names (ends with NULL) are fields. */
void bodyread_known(struct bodyread *r, const struct jsonin *o, const char *const *names);

/* Each gives usual where the field is not there (null is not there). */
const char *bodyread_text(struct bodyread *r, const struct jsonin *o, const char *name,
                          const char *usual);
bool bodyread_bool(struct bodyread *r, const struct jsonin *o, const char *name, bool usual);
int64_t bodyread_int(struct bodyread *r, const struct jsonin *o, const char *name, int64_t min,
                     int64_t max, int64_t usual);
/* "90s", or the number 0. */
int64_t bodyread_time(struct bodyread *r, const struct jsonin *o, const char *name, int64_t usual);
/* Text or a whole number. */
int64_t bodyread_cpu(struct bodyread *r, const struct jsonin *o, const char *name);
int64_t bodyread_bytes(struct bodyread *r, const struct jsonin *o, const char *name);
int64_t bodyread_share(struct bodyread *r, const struct jsonin *o, const char *name);
/* A list of texts, at most max of them. */
const char **bodyread_texts(struct bodyread *r, const struct jsonin *o, const char *name,
                            size_t max, size_t *ret_count);

struct asked;

/* A body may come, without any field: else answers and returns false. */
bool bodyread_nothing(const struct asked *a);

#endif
