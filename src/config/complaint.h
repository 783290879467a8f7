/* complaint - what is wrong in a file that people wrote, one line each:
 * `file:line:column: field: what is wrong ("value"), what is right`.
 *
 * All that is wrong is counted; the first COMPLAINT_MAX are kept, in the order they were found
 * until they are sorted. */
#ifndef MUSTER_CONFIG_COMPLAINT_H
#define MUSTER_CONFIG_COMPLAINT_H

#include "base/arena.h"
#include "base/err.h"

#include <stddef.h>

#define COMPLAINT_MAX       20
#define COMPLAINT_VALUE_MAX 60 /* bytes of a wrong value that are shown */

struct complaint {
    enum err_code code;
    int line; /* from 1; 0 = the file as a whole */
    int column;
    const char *field;
    const char *text; /* the whole line */
};

struct complaints {
    struct arena *arena; /* lent: all texts live in it */
    const char *file;    /* as it is named in messages */
    struct complaint items[COMPLAINT_MAX];
    size_t count; /* kept */
    size_t total; /* found */
};

void complaints_init(struct complaints *c, struct arena *arena, const char *file);

/* value NULL: there is none to show; right "" likewise. */
void complaint_add(struct complaints *c, enum err_code code, int line, int column,
                   const char *field, const char *text);

/* `wrong ("value"), right`, for complaint_add; lives in the arena of c. */
const char *complaint_text(const struct complaints *c, const char *wrong, const char *value,
                           const char *right);

/* In the order of the file. */
void complaints_sort(struct complaints *c);

/* 0 when nothing was found, else the code of the first, with its line as the text of err and how
 * many more there are. */
MUST_CHECK int complaints_result(const struct complaints *c, struct err *err);

#endif
